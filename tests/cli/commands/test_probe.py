import json
from fractions import Fraction
from pathlib import Path

import pytest

from cli.main import run
from cli.video.reader import Reader
from protocol.errors import InputError
from tests.clips import make_clip, steady


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    turned = (0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)
    return make_clip(tmp_path / "clip.mp4", steady(75), matrix=turned, sample_aspect=Fraction(2))


def test_tells_what_is_there_and_what_would_be_done(clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", str(clip)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for words in (
        "h264, 128x64",
        "00:00:03.000, 75 frames",
        "about 3 frames, 1 a second, 64x256",
        "turned by 90",
    ):
        assert words in captured.out


def test_json_is_one_object_an_input(clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", str(clip), "none.mp4", str(clip), "--json", "--fps", "2", "--start", "1"]) == 3
    captured = capsys.readouterr()
    first, failed, last = (json.loads(line) for line in captured.out.splitlines())
    assert first == last
    assert failed == {"source": "none.mp4", "error": "none.mp4: no such file"}
    assert first["source"] == str(clip)
    assert first["display_size"] == [64, 256]
    assert first["sampling"] == {
        "mode": "rate",
        "fps": 2.0,
        "start_s": 1.0,
        "end_s": None,
        "max_frames": None,
        "expected_frames": 4,
        "width": 64,
        "height": 256,
    }
    assert captured.err == "error: none.mp4: no such file\n"


@pytest.mark.parametrize(
    ("option", "words"),
    [("--every-frame", "about 75 frames, every one"), ("--keyframes", "frames, the keyframes")],
)
def test_other_ways_to_sample(
    clip: Path, capsys: pytest.CaptureFixture[str], option: str, words: str
) -> None:
    assert run(["probe", str(clip), option]) == 0
    assert words in capsys.readouterr().out


def test_what_a_scan_finds_is_shown(clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_clip(clip.parent / "uneven.mp4", [0, 40, 500, 1500])
    assert run(["probe", str(path), "--scan", "60"]) == 0
    text = capsys.readouterr().out
    assert "to its end: 4 frames decoded, 0 packets damaged" in text
    assert "variable frame rate: frames of 40 ms to 1.0 s" in text
    assert run(["probe", str(path), "--scan", "60", "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["scan"]["longest_frame_s"] == 1.0
    assert line["oddities"] == ["variable frame rate: frames of 40 ms to 1.0 s"]
    assert run(["probe", str(path), "--scan", "0", "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["scan"], line["oddities"]) == (None, [])


def test_what_breaks_off_is_shown_as_far_as_it_goes(
    clip: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Reader) -> list[object]:
        raise InputError("clip.mp4: reading broke off")

    monkeypatch.setattr(Reader, "frames", broken)
    assert run(["probe", str(clip), str(clip), "--json"]) == 1
    captured = capsys.readouterr()
    line = json.loads(captured.out.splitlines()[0])
    assert (line["codec"], line["scan"], line["error"]) == ("h264", None, "clip.mp4: reading broke off")
    assert captured.err.count("reading broke off") == 2


def test_nothing_readable_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "none.mp4"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: none.mp4: no such file\n")


def test_credentials_stay_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "http://me:secret@127.0.0.1:9/a.mp4", "--json"]) == 1
    captured = capsys.readouterr()
    assert "secret" not in captured.out + captured.err
