import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from cli.video.info import VideoInfo
from cli.video.reader import Reader
from tests.clips import make_clip, numbered, steady


def info_of(path: Path) -> VideoInfo:
    reader = Reader(str(path))
    reader.close()
    return reader.info


def test_an_ordinary_clip(tmp_path: Path) -> None:
    info = info_of(make_clip(tmp_path / "clip.mp4", steady(50), audio_s=2.0))
    assert info.codec == "h264"
    assert info.size == info.display_size == info.frame_size == (128, 64)
    assert info.rate == 25
    assert info.duration_s == 2
    assert not info.duration_covers_all
    assert info.frame_count == 50
    assert (info.matrix, info.matrix_assumed, info.full_range) == ("bt601", True, False)
    assert info.streams == ("video h264", "audio aac")
    assert info.start_s == 0
    assert info.recorded_at is None
    assert info.oddities == ()


def test_hd_is_taken_for_bt709(tmp_path: Path) -> None:
    info = info_of(make_clip(tmp_path / "clip.mp4", [0], pictures=[numbered(0, 1280, 720)]))
    assert (info.matrix, info.matrix_assumed) == ("bt709", True)


def test_oddities_are_told_in_words(tmp_path: Path) -> None:
    info = info_of(
        make_clip(
            tmp_path / "clip.mp4",
            [2000, 2040],
            sample_aspect=Fraction(2),
            matrix=(0, 1 << 16, 0, 1 << 16, 0, 0, 0, 0, 1 << 30),
        )
    )
    assert info.display_size == (64, 256)
    assert info.start_s == 2
    assert info.oddities == (
        "turned by 90 degrees clockwise",
        "mirrored",
        "pixels 2:1, made square",
        "its own clock starts at 2 s, shown as 0",
    )


def test_absurd_claims_are_told(tmp_path: Path) -> None:
    skewed = (1 << 16, 1 << 16, 0, -(1 << 16), 1 << 16, 0, 0, 0, 1 << 30)
    path = make_clip(tmp_path / "clip.mp4", [0, 40], matrix=skewed, sample_aspect=Fraction(50))
    info = info_of(path)
    assert info.display_size == (128, 64)
    assert "claims a rotation that is no right angle: ignored" in info.oddities
    assert any(words.startswith("claims pixels") for words in info.oddities)
    fast = info_of(make_clip(tmp_path / "clip.avi", steady(3)))  # its rate is the time base's
    assert fast.rate == 1000
    assert fast.believed_rate is None
    assert fast.oddities == ("claims 1000 frames a second: not believed",)


def test_ten_bits_and_the_pixel_limit_are_told(tmp_path: Path) -> None:
    deep = info_of(make_clip(tmp_path / "deep.mkv", [0], codec="ffv1", pixel_format="yuv420p10le"))
    assert "10 bits a colour" in deep.oddities
    large = info_of(make_clip(tmp_path / "large.mp4", [0], pictures=[numbered(0, 3840, 2160)], codec="mpeg4"))
    assert large.frame_size == (2730, 1536)
    assert "over the pixel limit, scaled down" in large.oddities


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-05-06T07:08:09Z", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("2024-05-06T09:08:09+02:00", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("1970-01-01T00:00:00Z", None),
        ("1904-01-01T00:00:00Z", None),
        ("yesterday", None),
    ],
)
def test_recording_times(tmp_path: Path, text: str, moment: datetime | None) -> None:
    path = make_clip(tmp_path / "clip.mkv", [0], metadata={"creation_time": text})
    assert info_of(path).recorded_at == moment


def test_the_containers_own_duration_covers_every_stream(tmp_path: Path) -> None:
    info = info_of(make_clip(tmp_path / "clip.mkv", steady(25), audio_s=3.0))
    assert info.duration_covers_all
    assert info.duration_s is not None
    assert info.duration_s > Fraction(29, 10)


def test_json_is_plain(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mkv", steady(3), metadata={"creation_time": "2024-05-06T07:08:09Z"})
    plain = json.loads(json.dumps(info_of(path).to_json()))
    assert plain["display_size"] == [128, 64]
    assert plain["sample_aspect"] == "1:1"
    assert (plain["rotation"], plain["mirrored"]) == (0, False)
    assert plain["recorded_at"] == "2024-05-06T07:08:09+00:00"
    assert plain["duration_s"] == pytest.approx(0.12)
