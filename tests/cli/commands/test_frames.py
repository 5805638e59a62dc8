import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.main import run
from protocol.frame import Frame
from tests.clips import make_clip, number_of, steady


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return make_clip(tmp_path / "clip.mp4", steady(75))


def index(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]


def test_writes_what_a_model_will_see(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["frames", str(clip), "-o", str(out), "--format", "png"]) == 0
    lines = index(out)
    assert [line["pts_s"] for line in lines] == [0.0, 1.0, 2.0]
    assert {line["source"] for line in lines} == {str(clip)}
    shown = [number_of(Frame(encoded=(out / str(line["file"])).read_bytes()).pixels) for line in lines]
    assert shown == [0, 25, 50]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(r"3 frames of \d+ decoded", captured.err)


def test_none_only_decodes(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = set(tmp_path.iterdir())
    assert run(["frames", str(clip), "-o", "none", "--every-frame"]) == 0
    assert set(tmp_path.iterdir()) == before
    assert capsys.readouterr().err.count("\n") == 1
    assert run(["frames", str(clip), "-o", "none", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_range_at_a_rate(clip: Path, tmp_path: Path) -> None:
    options = ["--fps", "5", "--start", "1", "--end", "00:00:01.5", "--max-frames", "2"]
    assert run(["frames", str(clip), "-o", str(tmp_path / "out"), *options]) == 0
    assert [line["pts_s"] for line in index(tmp_path / "out")] == [1.0, 1.2]


def test_several_inputs_do_not_clash_and_one_may_fail(
    clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other" / "clip.mp4"
    other.parent.mkdir()
    make_clip(other, steady(25))
    out = tmp_path / "out"
    assert run(["frames", str(clip), str(tmp_path / "none.mp4"), str(other), "-o", str(out)]) == 3
    assert [line["file"] for line in index(out)] == [
        "clip-000000.000.jpg",
        "clip-000001.000.jpg",
        "clip-000002.000.jpg",
        "clip_2-000000.000.jpg",
    ]
    assert "none.mp4: no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["none.mp4", "-o", "none"], 1, "none.mp4: no such file"),
        (["{clip}"], 2, "--output"),
        (["{clip}", "-o", "none", "--fps", "0"], 2, "--fps"),
        (["{clip}", "-o", "none", "--start", "soon"], 2, "not a time"),
        (["{clip}", "-o", "none", "--every-frame", "--keyframes"], 2, "exclude each other"),
        (["{clip}", "-o", "none", "--format", "gif"], 2, "gif"),
        (["{clip}", "-o", "{clip}"], 1, "not a folder"),
        (["{folder}/empty", "-o", "none"], 1, "no video file in this folder"),
    ],
)
def test_errors_are_one_line_and_a_code(
    clip: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    (clip.parent / "empty").mkdir()
    given = [each.format(clip=clip, folder=clip.parent) for each in arguments]
    assert run(["frames", *given]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_existing_files_are_kept(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    assert run(["frames", str(clip), "-o", out]) == 0
    assert run(["frames", str(clip), "-o", out]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert run(["frames", str(clip), "-o", out, "--overwrite"]) == 0


def test_a_range_with_nothing_in_it_is_told(clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["frames", str(clip), "-o", "none", "--start", "1:00"]) == 1
    assert (
        capsys.readouterr().err == f"error: {clip}: no frame in the range asked for; it ends at 00:03.000\n"
    )


def test_a_picture_is_no_folder(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["frames", str(clip), "-o", str(tmp_path / "x.png")]) == 2
    assert "a folder is needed" in capsys.readouterr().err


def test_a_damaged_input_is_told(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = make_clip(tmp_path / "whole.mkv", steady(250))
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert run(["frames", str(cut), "-o", "none"]) == 3
    assert "ends early" in capsys.readouterr().err


def stream(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cli.main", "frames", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]


def test_standard_input_as_pipe_and_as_file(clip: Path) -> None:
    with stream("-", "-o", "none", stdin=subprocess.PIPE) as process:
        out, err = process.communicate(clip.read_bytes())
    assert (process.returncode, out) == (0, b"")
    assert re.search(rb"3 frames of \d+ decoded", err)
    with clip.open("rb") as file, stream("-", "-o", "none", stdin=file) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (0, b"")
    assert re.search(rb"3 frames of \d+ decoded", err)


def test_an_interrupt_while_standard_input_is_silent_ends_at_once() -> None:
    reading, writing = os.pipe()
    with stream("-", "-o", "none", stdin=reading) as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    os.close(reading)
    os.close(writing)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert b"Fatal" not in err


def test_ffmpegs_own_lines_stay_away(clip: Path) -> None:
    data = bytearray(clip.read_bytes())
    data[len(data) // 3 : len(data) // 2] = b"\xff" * (len(data) // 2 - len(data) // 3)
    broken = clip.with_name("broken.mp4")
    broken.write_bytes(data)
    with stream(str(broken), "-o", "none") as process:
        _, err = process.communicate()
    lines = io.BytesIO(err).readlines()
    assert all(str(broken).encode() in line for line in lines)
