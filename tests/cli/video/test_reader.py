import resource
import struct
import threading
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import pytest

from cli.video.picture import PictureRenderer
from cli.video.reader import Decoded, Reader
from protocol.errors import InputError
from protocol.source import Damage
from tests.clips import make_clip, number_of, numbered, steady


def read(path: Path, start: Fraction = Fraction(0)) -> list[tuple[float, int]]:
    """Time and shown number of every frame."""
    reader = Reader(str(path))
    renderer = PictureRenderer(None)
    try:
        return [
            (float(each.pts), number_of(renderer.render(each.picture)))
            for each in reader.frames(start)
            if isinstance(each, Decoded)
        ]
    finally:
        reader.close()


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv", "ts", "flv"])
def test_frames_come_in_order_with_their_times(tmp_path: Path, suffix: str) -> None:
    path = make_clip(tmp_path / f"clip.{suffix}", steady(40))
    assert read(path) == [(pytest.approx(index * 0.04), index) for index in range(40)]


@pytest.mark.parametrize(
    ("name", "codec"), [("a.mp4", "mpeg4"), ("a.webm", "libvpx-vp9"), ("a.mkv", "ffv1"), ("a.mkv", "mjpeg")]
)
def test_other_codecs(tmp_path: Path, name: str, codec: str) -> None:
    pixel_format = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    path = make_clip(tmp_path / name, steady(6), codec=codec, pixel_format=pixel_format)
    assert [number for _, number in read(path)] == list(range(6))


def test_an_uneven_rate(tmp_path: Path) -> None:
    times = [0, 5, 400, 2000, 2040]
    path = make_clip(tmp_path / "clip.mp4", times)
    assert read(path) == [(time / 1000, number) for number, time in enumerate(times)]


def test_time_zero_is_the_containers_start(tmp_path: Path) -> None:
    assert read(make_clip(tmp_path / "late.mp4", [1500, 1600]))[0] == (0.0, 0)
    assert read(make_clip(tmp_path / "sound.mp4", [1500, 1600], audio_s=1.0))[0] == (1.5, 0)


def test_avi_has_its_frames_in_steady_order(tmp_path: Path) -> None:
    frames = read(make_clip(tmp_path / "clip.avi", steady(20)))
    assert [number for _, number in frames] == list(range(20))
    gaps = [b - a for (a, _), (b, _) in pairwise(frames)]
    assert gaps == [pytest.approx(0.04)] * 19


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts", "flv", "avi"])
@pytest.mark.parametrize("start", [Fraction(1, 25), Fraction(2), Fraction(501, 100), Fraction(39, 5)])
def test_reading_from_the_middle_gives_the_same_frames(tmp_path: Path, suffix: str, start: Fraction) -> None:
    path = make_clip(tmp_path / f"clip.{suffix}", steady(200))
    whole, part = read(path), read(path, start)
    assert part == whole[-len(part) :]
    assert part[0][0] <= max(start, Fraction(whole[0][0]))


def test_seeking_saves_the_reading(tmp_path: Path) -> None:
    reader = Reader(str(make_clip(tmp_path / "clip.mp4", steady(200))))
    frames = list(reader.frames(Fraction(6)))
    assert len(frames) == reader.frames_decoded < 70
    assert not reader.truncated()
    reader.close()


def test_a_seek_that_lands_too_late_reads_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_clip(tmp_path / "clip.mp4", steady(200))
    whole = read(path)
    monkeypatch.setattr(Reader, "_reached_keyframe", lambda *_: False)
    assert read(path, Fraction(6)) == whole


def damaged(path: Path, wreck: range) -> Path:
    """A copy of `path` in which the packets numbered `wreck` are noise."""
    copy = path.with_name(f"damaged{path.suffix}")
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        for packet in packets[wreck.start : wreck.stop]:
            data[packet.pos : packet.pos + packet.size] = b"\xff" * packet.size
    copy.write_bytes(data)
    return copy


def test_what_fails_is_counted_and_skipped(tmp_path: Path) -> None:
    path = damaged(make_clip(tmp_path / "clip.mp4", steady(60), keyframe_every=10), range(20, 30))
    reader = Reader(str(path))
    events = list(reader.frames())
    times = [float(each.pts) for each in events if isinstance(each, Decoded)]
    damage = [each for each in events if isinstance(each, Damage)]
    assert reader.damaged == 10
    assert reader.frames_decoded == len(times) == 50
    assert times[-1] == pytest.approx(59 * 0.04)
    assert [each.detail for each in damage] == ["10 packets could not be decoded"]
    assert not reader.truncated()
    reader.close()


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_file_cut_short_is_truncated(tmp_path: Path, suffix: str) -> None:
    whole = make_clip(tmp_path / f"whole.{suffix}", steady(250), container={"movflags": "faststart"})
    cut = tmp_path / f"cut.{suffix}"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    for start in (Fraction(0), Fraction(1)):
        reader = Reader(str(cut))
        frames = list(reader.frames(start))
        assert 10 < len(frames) < 240
        assert reader.truncated()
        reader.close()


def test_a_whole_file_is_not_truncated(tmp_path: Path) -> None:
    for name in ("a.mp4", "a.mkv", "a.ts"):
        reader = Reader(str(make_clip(tmp_path / name, steady(50), audio_s=2.5)))
        list(reader.frames())
        assert not reader.truncated(), name
        assert reader.end == pytest.approx(2, abs=0.03)  # sound may begin before the pictures
        reader.close()


def test_no_picture_at_all_is_an_error(tmp_path: Path) -> None:
    path = damaged(make_clip(tmp_path / "clip.mp4", steady(10)), range(10))
    with pytest.raises(InputError, match="no picture in it can be decoded"):
        Reader(str(path))


def test_stops_between_packets(tmp_path: Path) -> None:
    stop = threading.Event()
    reader = Reader(str(make_clip(tmp_path / "clip.mp4", steady(200))), stopped=stop.is_set)
    frames = reader.frames()
    next(frames)
    stop.set()
    assert len(list(frames)) < 20
    reader.close()


def test_memory_stays_flat(tmp_path: Path) -> None:
    """400 frames and their pictures are 400 MB; none of them may stay behind."""
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        pytest.skip("the memory in use is read from /proc")
    still = numbered(5, 640, 360)
    path = make_clip(tmp_path / "clip.mp4", steady(400), pictures=[still] * 400, codec="mpeg4")
    reader = Reader(str(path))
    renderer = PictureRenderer(None)
    pages = []
    for number, each in enumerate(reader.frames()):
        assert isinstance(each, Decoded)
        renderer.render(each.picture)
        if number in (50, 399):
            pages.append(int(statistics.read_text().split()[1]))
    reader.close()
    assert (pages[1] - pages[0]) * resource.getpagesize() < 20_000_000


def test_a_stream_that_turns_up_late_harms_nothing(tmp_path: Path) -> None:
    silent = make_clip(tmp_path / "silent.flv", steady(25), codec="flv").read_bytes()
    sounding = make_clip(tmp_path / "sounding.flv", steady(25), codec="flv", audio_s=1.0).read_bytes()
    size = 6_000_000  # more than FFmpeg looks through as it opens a file
    filler = struct.pack(">I7x", 0x12 << 24 | size) + bytes(size) + struct.pack(">I", size + 11)
    path = tmp_path / "late.flv"
    path.write_bytes(silent + filler + sounding[13:])
    reader = Reader(str(path))
    assert "audio" not in " ".join(reader.info.streams)
    assert len(list(reader.frames())) == 50
    assert reader.damaged == 0
    reader.close()


def test_pictures_of_an_absurd_size_are_refused(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.avi", steady(3), codec="mjpeg", pixel_format="yuvj420p").read_bytes()
    path = tmp_path / "huge.avi"
    path.write_bytes(clip.replace(struct.pack(">HH", 64, 128), struct.pack(">HH", 9000, 9000)))
    with pytest.raises(InputError, match=r"no picture in it can be decoded \(damaged packets: 3\)"):
        Reader(str(path))
    raw = make_clip(tmp_path / "raw.avi", steady(3), codec="rawvideo", pixel_format="yuv420p").read_bytes()
    path.write_bytes(raw.replace(struct.pack("<II", 128, 64), struct.pack("<II", 9000, 9000)))
    with pytest.raises(InputError, match=r"no picture in it can be decoded"):
        Reader(str(path))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("wrecked", [range(57, 58), range(58, 60)])
def test_damage_near_the_end_takes_nothing_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, wrecked: range
) -> None:
    """Frames still in the decoder's threads when one of them fails come out all the same."""
    path = damaged(make_clip(tmp_path / "clip.mp4", steady(60), keyframe_every=5), wrecked)
    monkeypatch.setattr("cli.video.decoder._thread_count", lambda: threads)
    reader = Reader(str(path))
    frames = [event for event in reader.frames() if isinstance(event, Decoded)]
    assert reader.damaged == len(wrecked)
    assert len(frames) == 60 - len(wrecked)
    reader.close()
