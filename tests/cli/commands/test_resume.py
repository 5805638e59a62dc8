"""`stream caption --resume`: whatever ended a run, the next one loses nothing and repeats nothing."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.kills import KilledRun
from tests.cli.commands.served import LiteServer
from tests.cli.commands.stream import SAMPLE, environment, stream

FAKE = [sys.executable, "-m", "tests.cli.commands.fake_stream"]
KILLS = 20


def fake_stream(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """As `stream`, with an engine that is there at once."""
    return subprocess.run(
        [*FAKE, "0", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
        env=environment(),
        **options,
    )


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cut(path: Path, lines: int) -> None:
    """Leaves so many lines and half of the next, as a kill might."""
    content = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(content[:lines]) + content[lines][:50], encoding="utf-8")


@pytest.mark.timeout(300)
def test_killed_at_any_moment_no_caption_is_lost_and_none_repeated(tmp_path: Path) -> None:
    command = [*FAKE, "0.01", "caption", SAMPLE, "--fps", "25"]
    run = KilledRun(command, tmp_path, [k / 25 for k in range(375)])
    for _ in range(KILLS):
        assert run.kill()
    done = run.finish()
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        rf"note: {SAMPLE}: going on after 00:\d\d\.\d\d\d, with \d+ captions? there\n", done.stderr
    )
    said = run.check_all()
    assert run.lines[-1] < 375
    assert run.halves
    firsts = [each["text"].startswith("frame 0 ") for each in said]  # of a session
    assert firsts.count(True) > 3
    assert [each["history_lost"] for each in said] == [False, *firsts[1:]]
    assert (tmp_path / "out.srt").read_text(encoding="utf-8").count("00:00:15,000\n") == 1


def test_what_is_complete_needs_no_work(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    arguments = ("caption", SAMPLE, "--fps", "1", "--max-frames", "3", "-o", str(path))
    first = fake_stream(*arguments, "--resume")  # there is nothing yet: a run like any other
    assert (first.returncode, first.stderr) == (0, "")
    before = path.read_bytes()
    again = fake_stream(*arguments, "--resume")
    assert (again.returncode, again.stdout) == (0, "")
    assert again.stderr == "note: the captions are complete already; there is nothing left to do\n"
    assert path.read_bytes() == before
    other = fake_stream(*arguments, "--resume", "--question", "Why?")
    assert other.returncode == 2
    told = f"--question was '', and is Why?; {path} was begun otherwise"
    assert other.stderr == f"error: --resume: {told}; --overwrite begins again\n"


def test_an_input_that_has_changed_is_refused(tmp_path: Path) -> None:
    clip = Path(shutil.copy(SAMPLE, tmp_path / "clip.mp4"))
    path = tmp_path / "out.jsonl"
    arguments = ("caption", str(clip), "--fps", "1", "--max-frames", "3", "-o", str(path))
    assert fake_stream(*arguments).returncode == 0
    cut(path, 2)
    content = bytearray(clip.read_bytes())
    content[len(content) // 2] ^= 1
    clip.write_bytes(content)
    done = fake_stream(*arguments, "--resume")
    assert done.returncode == 1
    assert done.stderr == (
        f"error: {clip}: not the file that {path} was begun with: its content has changed; "
        "--overwrite begins again\n"
    )


def test_of_several_inputs_those_done_are_left_out(tmp_path: Path) -> None:
    clips = [shutil.copy(SAMPLE, tmp_path / f"{name}.mp4") for name in ("one", "two", "three")]
    out = tmp_path / "out"
    arguments = (
        "caption",
        *clips,
        "--fps",
        "1",
        "--max-frames",
        "3",
        "--output-dir",
        str(out),
        "-f",
        "vtt",
        "-f",
        "jsonl",
    )
    assert fake_stream(*arguments).returncode == 0
    done = (out / "one.jsonl").read_bytes()
    (out / "three.jsonl").unlink()
    (out / "three.vtt").unlink()
    cut(out / "two.jsonl", 1)
    again = fake_stream(*arguments, "--resume")
    assert again.returncode == 0
    assert again.stderr == f"note: {clips[1]}: going on after 00:00.000, with 1 caption there\n"
    assert (out / "one.jsonl").read_bytes() == done
    for name in ("two", "three"):
        assert [each["pts_s"] for each in records(out / f"{name}.jsonl")] == [0, 1, 2]
        assert (out / f"{name}.vtt").read_text(encoding="utf-8").startswith("WEBVTT\n")
    assert [each["history_lost"] for each in records(out / "two.jsonl")] == [False, True, False]


def test_with_a_server_it_goes_on_in_a_new_session(server: LiteServer, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    arguments = (
        "caption",
        SAMPLE,
        "--fps",
        "1",
        "--max-frames",
        "4",
        "--nim-url",
        server.url,
        "-o",
        str(path),
    )
    assert stream(*arguments).returncode == 0
    cut(path, 2)
    again = stream(*arguments, "--resume", "--transport", "rest", "--reconnect")
    assert again.returncode == 0
    said = records(path)
    assert [each["frame_index"] for each in said] == [0, 1, 2, 3]
    assert [each["history_lost"] for each in said] == [False, False, True, False]
    assert len({each["session_id"] for each in said}) == 2
    local = stream(*arguments[:6], "-o", str(path), "--resume")
    assert (local.returncode, local.stdout) == (2, "")
    assert "--engine was nim, and is lite" in local.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out.jsonl", "--overwrite"], "--resume goes on with a file, and --overwrite begins it again"),
        ([], "--resume goes on from a JSONL file; add -o FILE.jsonl, or -f jsonl with --output-dir"),
        (["-o", "out.srt"], "--resume goes on from a JSONL file"),
        (["-o", "none"], "--resume goes on from a JSONL file"),
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = stream("caption", SAMPLE, "--resume", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_standard_input_cannot_be_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    arguments = ("caption", "-", "--fps", "1", "--max-frames", "2", "-o", str(path))
    with Path(SAMPLE).open("rb") as clip:
        assert fake_stream(*arguments, stdin=clip).returncode == 0
    cut(path, 1)
    with Path(SAMPLE).open("rb") as clip:
        done = fake_stream(*arguments, "--resume", stdin=clip)
    assert done.returncode == 2
    assert done.stderr == "error: --resume: - cannot be read a second time; --overwrite begins again\n"
