from fractions import Fraction
from pathlib import Path

import av
import pytest

from cli.video.file_source import opened
from cli.video.reader import Reader
from cli.video.sampling import SamplingPlan
from cli.video.survey import Survey, SurveyedSource, survey
from cli.video.timeouts import DEFAULT_TIMEOUTS
from protocol.errors import InputError
from tests.clips import make_clip, numbered, real_clips, steady


def surveyed(path: Path, longest_s: float = 60.0) -> tuple[Survey, tuple[str, ...]]:
    reader = Reader(str(path))
    found = survey(reader, longest_s)
    reader.close()
    return found, found.oddities(reader.info)


def test_an_ordinary_clip_has_no_oddity(tmp_path: Path) -> None:
    found, words = surveyed(make_clip(tmp_path / "clip.mp4", steady(50)))
    assert words == ()
    assert found == Survey(
        end_s=2.0,
        frames_decoded=50,
        shown=50,
        first_s=0.0,
        shortest_s=0.04,
        longest_s=0.04,
        sizes=((128, 64),),
    )


def test_times_rounded_to_milliseconds_are_no_variable_rate(tmp_path: Path) -> None:
    times = [round(index * 1000 / 30) for index in range(30)]
    assert surveyed(make_clip(tmp_path / "clip.mkv", times))[1] == ()


def test_a_variable_rate(tmp_path: Path) -> None:
    found, words = surveyed(make_clip(tmp_path / "clip.mp4", [0, 40, 50, 1500, 1540]))
    assert (found.shortest_s, found.longest_s) == (0.01, 1.45)
    assert words == ("variable frame rate: frames of 10 ms to 1.4 s",)


def test_a_late_beginning(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", [1500, 1540, 1580], audio_s=1.6)
    assert "its first picture comes at 1.5 s" in surveyed(path)[1]


def test_a_missing_end(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", steady(200), container={"movflags": "faststart"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found, words = surveyed(path)
    assert found.truncated
    assert f"ends early: at {found.end_s:.1f} s of the 8.0 s it declares" in words


def test_damaged_packets_do_not_make_a_variable_rate(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", steady(20), options={"x264-params": "keyint=1"})
    with av.open(str(path)) as container:
        places = [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]
    data = bytearray(path.read_bytes())
    for at, size in places[5:7]:
        data[at : at + size] = b"\xff" * size
    path.write_bytes(data)
    assert surveyed(path)[1] == ("damaged: 2 packets could not be decoded",)


def test_sizes_that_change(tmp_path: Path) -> None:
    data = b""
    for width in (128, 64):
        clip = make_clip(tmp_path / "part.ts", steady(5), pictures=[numbered(1, width, 64)] * 5)
        data += clip.read_bytes()
    (tmp_path / "clip.ts").write_bytes(data)
    assert "changes its size: 128x64, 64x64" in surveyed(tmp_path / "clip.ts")[1]


def test_it_ends_in_time(tmp_path: Path) -> None:
    found, words = surveyed(make_clip(tmp_path / "clip.mp4", steady(50)), longest_s=0)
    assert not found.whole
    assert not found.truncated
    assert found.frames_decoded < 50
    assert words == ()


async def test_in_a_thread(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", steady(25))
    source = await opened(SurveyedSource(str(path), SamplingPlan(fps=Fraction(2)), DEFAULT_TIMEOUTS, 60))
    assert source.expected_frames == 2
    assert (await source.survey()).frames_decoded == 25
    await source.close()
    with pytest.raises(InputError, match="no such file"):
        await opened(SurveyedSource(str(tmp_path / "none"), SamplingPlan(), DEFAULT_TIMEOUTS, 60))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "am_sample_edit_list_no_sync_frame_before_edit.mp4",
            ["HDR (HLG)", "10 frames before its beginning"],
        ),
        (
            "am_bbb_800x640_768kbps_30fps_avc_2b_firstpts_10_sec.mp4",
            ["starts at 10 s", "1137:800"],
        ),
        ("am_sample-with-large-length.avi", ["run backwards at 24 frames", "first picture comes at 0.1 s"]),
        ("am_sample.flv", ["claims 1000 frames a second"]),
        ("da_cfr.mpeg", ["159 of 180 frames without a time"]),
        ("mb_cursed-vfr.mp4", ["variable frame rate: frames of 5 ms to 1.6 s"]),
        ("am_sample_android_slow_motion.mp4", ["variable frame rate"]),
        ("de_corrupted.mp4", ["damaged: 1 packet "]),
        ("am_sample_with_invalid_nalu.mp4", ["damaged: 1 packet "]),
        ("mz_no_timescale.mp4", ["no right angle: ignored", "damaged: 12 packets"]),
        ("mb_annex-b.mp4", ["ends early: at 0.5 s of the 35.2 s"]),
        ("mp_no_duration.webm", ["declares no duration"]),
        ("am_portrait_4k60.mp4", ["turned by 90", "over the pixel limit"]),
        ("am_sample_rotate_and_reflect.mp4", ["turned by 90", "mirrored"]),
        ("am_hdr10-av1.mp4", ["HDR (PQ)", "10 bits a colour"]),
        ("mp_transparent.webm", ["transparent"]),
        ("tc_nasa_13013.mp4", ["2 video streams"]),
        ("sk_bikes.mp4", []),
    ],
)
def test_oddities_of_real_clips(name: str, expected: list[str]) -> None:
    reader = Reader(str(real_clips() / name))
    words = [*reader.info.oddities, *survey(reader, 60).oddities(reader.info)]
    reader.close()
    for each in expected:
        assert any(each in word for word in words), words
    assert len(words) >= len(expected)
    assert expected or not words
