"""The frames that are taken are those of a full decode: same times, same pixels, whatever was left out."""

import logging
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from cli.video.packet_window import Distrusted
from cli.video.reader import Reader
from cli.video.sampled import sampled
from cli.video.sampling import SamplingPlan
from cli.video.timeline import Decoded, Timeline
from protocol.source import Ended
from tests.cli.video.full_decode import LOOPS, PLANS, FullDecode, taken_in_full, taken_sparsely
from tests.clips import make_clip, real_clips, real_facts, steady

FRAMES = 100
SLOWLY = "one in ten seconds"


def moving(count: int, width: int = 128, height: int = 64) -> list[Any]:
    """Pictures of which each differs from all others everywhere, and whose motion predicts well."""
    random = np.random.default_rng(7)
    scene = random.integers(0, 256, (height // 8, width // 8, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    pictures = [np.roll(scene, (index, 3 * index), (0, 1)) for index in range(count)]
    for index, picture in enumerate(pictures):
        picture[:8] = index * 255 // count
    return pictures


def uneven(count: int) -> list[int]:
    """Times in ms with gaps from 5 ms to 1 s."""
    gaps = np.random.default_rng(3).choice([5, 17, 33, 40, 67, 250, 1000], count, p=[0.2] * 3 + [0.1] * 4)
    return [0, *(int(time) for time in np.cumsum(gaps)[:-1])]


def x264(parameters: str = "") -> dict[str, str]:
    return {"preset": "veryfast", "x264-params": "scenecut=0:" + parameters}


def clip(name: str, **options: Any) -> Callable[[Path], Path]:
    count = options.pop("count", FRAMES)
    times: Sequence[int] = options.pop("times", None) or steady(count)
    return lambda folder: make_clip(folder / name, times, pictures=moving(count), **options)


def mpeg2(name: str) -> Callable[[Path], Path]:
    options = {"bf": "2", "b": "1M"}
    return clip(name, codec="mpeg2video", options=options, time_base=Fraction(1, 25))


# What is decoded at one frame in two seconds, in parts of all there is: jumps, and frames nothing refers to.
CLIPS: dict[str, tuple[Callable[[Path], Path], float]] = {
    "H.264": (clip("a.mp4", options=x264("bframes=3:b-pyramid=strict")), 0.15),
    "H.264, one group": (clip("a.mp4", keyframe_every=250), 0.6),
    "H.264, many B-frames": (clip("a.mp4", options=x264("bframes=8:b-adapt=0:b-pyramid=normal")), 0.15),
    "H.264, B-frames without a pyramid": (
        clip("a.mkv", options=x264("bframes=5:b-adapt=0:b-pyramid=0")),
        0.12,
    ),
    "H.264, open groups": (clip("a.mp4", options=x264("open-gop=1:bframes=3:b-adapt=0")), 0.15),
    "H.264, open groups in Matroska": (clip("a.mkv", options=x264("open-gop=1:bframes=3:b-adapt=0")), 0.15),
    "H.264 without B-frames": (clip("a.mov", options=x264("bframes=0")), 0.15),
    "H.264, intra only": (clip("a.mp4", keyframe_every=1, count=60), 0.15),
    "H.264, intra refresh": (clip("a.mp4", keyframe_every=25, options=x264("intra-refresh=1:bframes=0")), 1),
    "H.264, interlaced": (clip("a.mp4", options=x264("tff=1")), 0.15),
    "H.264, uneven": (clip("a.mp4", times=uneven(FRAMES)), 0.5),
    "H.264, uneven, in Matroska": (clip("a.mkv", times=uneven(FRAMES)), 0.5),
    "H.264, late": (clip("a.mp4", times=[1500 + time for time in steady(FRAMES)], audio_s=1.0), 0.15),
    "H.264 in Matroska": (clip("a.mkv"), 0.15),
    "H.264 in a transport stream": (clip("a.ts"), 0.15),
    "H.264 in FLV": (clip("a.flv"), 0.15),
    "H.264 in AVI": (clip("a.avi"), 1),
    "H.264 in fragments": (clip("a.mp4", container={"movflags": "frag_keyframe+empty_moov"}), 0.15),
    "HEVC": (clip("a.mp4", codec="libx265", options={"x265-params": "log-level=0"}), 0.15),
    "HEVC, open groups": (
        clip("a.mkv", codec="libx265", options={"x265-params": "open-gop=1:log-level=0"}),
        0.15,
    ),
    "HEVC in layers": (
        clip("a.mp4", codec="libx265", options={"x265-params": "temporal-layers=3:bframes=7:log-level=0"}),
        0.15,
    ),
    "VP9, hidden frames": (
        clip("a.webm", codec="libvpx-vp9", options={"auto-alt-ref": "1", "lag-in-frames": "16", "b": "1M"}),
        0.15,
    ),
    "VP8, hidden frames": (
        clip("a.webm", codec="libvpx", options={"auto-alt-ref": "1", "lag-in-frames": "16", "b": "1M"}),
        0.15,
    ),
    "AV1": (clip("a.mp4", codec="libsvtav1", options={"preset": "12"}), 0.15),
    "AV1 in Matroska": (clip("a.mkv", codec="libsvtav1", options={"preset": "12"}), 0.15),
    "MPEG-2": (mpeg2("a.mp4"), 0.15),
    "MPEG-2 in a transport stream": (mpeg2("a.ts"), 0.15),
    "MPEG-2 in a programme stream": (mpeg2("a.mpg"), 0.15),
    "MPEG-4": (clip("a.mp4", codec="mpeg4", options={"bf": "2", "b": "1M"}), 0.15),
    "MPEG-4 in AVI": (clip("a.avi", codec="mpeg4", options={"bf": "2", "b": "1M"}), 1),
    "ProRes": (clip("a.mov", codec="prores_ks", pixel_format="yuv422p10le", count=60), 0.15),
    "Motion JPEG": (clip("a.mkv", codec="mjpeg", pixel_format="yuvj420p", count=60), 0.15),
    "FFV1": (clip("a.mkv", codec="ffv1", count=60), 0.3),
}


@pytest.mark.parametrize("name", CLIPS)
def test_frames_are_those_of_a_full_decode(name: str, tmp_path: Path) -> None:
    make, share = CLIPS[name]
    path = make(tmp_path)
    full = FullDecode(path)
    assert len({checksum for _, _, checksum in full.frames}) == len(full.frames)
    for words, plan in PLANS.items():
        taken, ended = taken_sparsely(path, plan)
        assert taken == full.taken(plan), words
        assert ended.frames_decoded <= full.count, words
        assert (ended.damaged, ended.truncated) == (0, False), words
        if words == "one in two seconds":
            assert ended.frames_decoded <= share * full.count


@pytest.mark.parametrize(
    "name", ["H.264", "H.264, uneven, in Matroska", "HEVC, open groups", "VP9, hidden frames"]
)
def test_so_are_the_ends_and_the_loops(name: str, tmp_path: Path) -> None:
    path = CLIPS[name][0](tmp_path)
    for words, plan in (PLANS | LOOPS).items():
        whole, ended = taken_in_full(path, plan)
        taken, sooner = taken_sparsely(path, plan)
        assert taken == whole, words
        assert sooner.end_s == ended.end_s, words


def rewritten(path: Path, change: Callable[[int, Any], None]) -> Path:
    """A copy of `path` with its packets changed, which are numbered as they stand in the file."""
    copy = path.with_name(f"rewritten{path.suffix}")
    with av.open(str(path)) as source, av.open(str(copy), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        packets = [packet for packet in source.demux(video=0) if packet.size]
        for number, packet in enumerate(packets):
            change(number, packet)
            packet.stream = stream
            target.mux(packet)
    return copy


def distrusted(path: Path, plan: SamplingPlan, log: pytest.LogCaptureFixture) -> str:
    """Why sampling went on to decode everything; it must have, and have given the right frames."""
    log.clear()
    with log.at_level(logging.INFO, "cli.video.sampled"):
        taken, ended = taken_sparsely(path, plan)
    whole, in_full = taken_in_full(path, plan)
    assert taken == whole
    assert ended == in_full
    assert len(log.messages) == 1
    return log.messages[0]


def test_an_index_that_calls_another_frame_a_keyframe(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def lie(number: int, packet: Any) -> None:
        packet.is_keyframe = number % 20 == 0

    make = clip("a.mp4", count=200, keyframe_every=250, options=x264("bframes=0"))
    assert "keyframe" in distrusted(rewritten(make(tmp_path), lie), PLANS["one in ten seconds"], caplog)


def test_a_time_that_comes_twice_late_in_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def double(number: int, packet: Any) -> None:
        if number == 80:
            packet.pts = packet.dts = packet.pts - int(Fraction(1, 25) / packet.time_base)

    path = rewritten(clip("a.mkv", options=x264("bframes=0"), keyframe_every=250)(tmp_path), double)
    assert distrusted(path, PLANS["two a second"], caplog)


def test_damage_is_found_and_counted_as_in_a_full_decode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = clip("a.mp4", keyframe_every=50, options=x264("bframes=0"))(tmp_path)
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        wreck = [(packet.pos, packet.size) for packet in packets[70:75]]
    data = bytearray(path.read_bytes())
    for position, size in wreck:
        data[position : position + size] = b"\xff" * size
    path.write_bytes(data)
    assert "cannot be decoded" in distrusted(path, PLANS["two a second"], caplog)
    _, ended = taken_sparsely(path, PLANS["two a second"])
    assert ended.damaged == 5


@pytest.mark.parametrize("words", [SLOWLY, "one a second", "ten a second", "keyframes"])
@pytest.mark.parametrize("kept", [0.5, 0.9])
def test_a_file_cut_short_is_noticed(tmp_path: Path, words: str, kept: float) -> None:
    whole = clip("a.mp4", container={"movflags": "faststart"}, options={"preset": "veryfast"})(tmp_path)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole.read_bytes()[: int(whole.stat().st_size * kept)])
    full = FullDecode(cut)
    assert full.truncated
    taken, ended = taken_sparsely(cut, PLANS[words])
    assert ended.truncated
    assert taken == full.taken(PLANS[words])


def test_frames_already_given_are_not_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is found wrong, whenever: nothing is repeated, nothing missed."""
    path = clip("a.mp4")(tmp_path)
    plan = PLANS["ten a second"]
    expected, _ = taken_in_full(path, plan)
    place = Timeline.pass_over
    for fatal in (1, 5, 15):
        calls = []

        def broken(timeline: Timeline, pts: int, *, fatal: int = fatal, calls: list[int] = calls) -> Fraction:
            calls.append(pts)
            if len(calls) == fatal:
                raise Distrusted("a test")
            return place(timeline, pts)

        monkeypatch.setattr(Timeline, "pass_over", broken)
        assert taken_sparsely(path, plan)[0] == expected
        assert len(calls) == fatal


def test_reading_stops_when_nothing_more_is_wanted(tmp_path: Path) -> None:
    reader = Reader(str(clip("a.mp4")(tmp_path)))
    events = list(sampled(reader, SamplingPlan(fps=Fraction(1), max_frames=1)))
    reader.close()
    assert [type(event) for event in events] == [Decoded, Ended]
    assert reader.frames_decoded < 15


REAL = sorted(
    name for name, fact in real_facts().items() if "error" not in fact and fact["frames_decoded"] < 1000
)
# What a decoder makes of damage is up to how its threads meet.
DAMAGED = {"am_sample_with_invalid_nalu.mp4", "de_corrupted.mp4", "mz_no_timescale.mp4"}


@pytest.mark.skipif(not REAL, reason="STREAM_TEST_CLIPS names no folder of real clips")
@pytest.mark.parametrize("name", REAL)
def test_real_clips_too(name: str) -> None:
    path = real_clips() / name
    full = FullDecode(path)
    for words, plan in PLANS.items():
        taken, ended = taken_sparsely(path, plan, pixels=name not in DAMAGED)
        expected = full.taken(plan)
        if name in DAMAGED:
            expected = [(pts, 0) for pts, _ in expected]
        assert taken == expected, words
        if not (plan.max_frames or plan.end):
            assert ended.end_s == float(full.end), words
            assert ended.truncated == full.truncated, words
