"""Captions that only tell changes, and commands that are run for them, by the real command line."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cli.exit_codes import EXIT_INTERRUPTED, EXIT_OK, EXIT_TERMINATED, EXIT_USAGE
from tests.cli.commands.stream import SAMPLE, environment
from tests.cli.output.fifo import Lifeline, telling

if TYPE_CHECKING:
    from pathlib import Path

SAID = "clear clear hazard hazard clear hazard clear"
LIVE = "lavfi:testsrc2=size=64x48:rate=50"


def command(*arguments: str, said: str = SAID) -> dict[str, Any]:
    """How to run ``stream caption`` with `arguments` on an engine that says those words in turn."""
    return {
        "args": [sys.executable, "-m", "tests.cli.commands.fake_stream", "0", "caption", *arguments],
        "env": environment(FAKE_TEXTS=said),
        "text": True,
        "encoding": "utf-8",
    }


def caption(*arguments: str, said: str = SAID) -> subprocess.CompletedProcess[str]:
    """Runs it to its end."""
    return subprocess.run(**command(*arguments, said=said), capture_output=True, check=False, timeout=90)


def shell(script: str) -> tuple[str, str]:
    """``--exec`` with `script` for a shell."""
    return "--exec", shlex.join(["sh", "-c", script])


def sampled(frames: int) -> tuple[str, ...]:
    """So many frames of the sample."""
    return SAMPLE, "--fps", "2", "--max-frames", str(frames)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_command_is_run_for_each_caption_that_matches(tmp_path: Path) -> None:
    got = tmp_path / "got"
    ran = caption(*sampled(7), "--when", "hazard", *shell(f"echo alert; cat >> {got}"))
    assert (ran.returncode, ran.stderr) == (EXIT_OK, "alert\n" * 3)
    assert [line["text"] for line in lines(ran.stdout)] == SAID.split()
    assert lines(got.read_text()) == [line for line in lines(ran.stdout) if line["text"] == "hazard"]


def test_only_changes_are_written_and_counted(tmp_path: Path) -> None:
    got = tmp_path / "got"
    ran = caption(*sampled(7), "--changes-only", "--when", "hazard", *shell(f"cat >> {got}"))
    assert (ran.returncode, ran.stderr) == (EXIT_OK, "")
    written = lines(ran.stdout)
    assert [line["text"] for line in written] == ["clear", "hazard", "clear", "hazard", "clear"]
    assert [line["unchanged"] for line in written] == [0, 1, 1, 0, 0]
    assert [line["frame_index"] for line in written] == [0, 2, 4, 5, 6]
    assert lines(got.read_text()) == [line for line in written if line["text"] == "hazard"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--exec", "no-such-program"), "error: --exec no-such-program: there is no such program\n"),
        (("--exec", "sh", "--when", "("), "error: --when '(': not a regular expression: missing ), "),
        (("--when", "hazard"), "error: --when chooses captions to run a command for; add --exec CMD\n"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_read(arguments: tuple[str, ...], said: str) -> None:
    ran = caption("no-such-video.mp4", *arguments)
    assert (ran.returncode, ran.stdout) == (EXIT_USAGE, "")
    assert ran.stderr.startswith(said)
    assert ran.stderr.count("\n") == 1


def test_a_command_that_fails_stops_nothing() -> None:
    ran = caption(*sampled(7), "--when", "hazard", *shell("exit 7"))
    assert ran.returncode == EXIT_OK
    assert len(lines(ran.stdout)) == 7
    first, count = ran.stderr.splitlines()
    assert first.startswith(f"warning: {SAMPLE}: caption at 00:01.")
    assert first.endswith(": --exec sh ended with status 7; going on")
    assert count == "warning: --exec sh: 3 of 3 runs failed (3 ended with status 7)"


def test_a_file_waits_for_a_slow_command_and_leaves_none_out(tmp_path: Path) -> None:
    got = tmp_path / "got"
    ran = caption(SAMPLE, "--fps", "10", "--max-frames", "30", *shell(f"cat >> {got}; sleep 0.01"))
    assert (ran.returncode, ran.stderr) == (EXIT_OK, "")
    assert got.read_text() == ran.stdout
    assert len(lines(ran.stdout)) == 30


def test_a_live_source_does_not_wait_for_a_slow_command(tmp_path: Path) -> None:
    got = tmp_path / "got"
    with telling(tmp_path / "go") as go:
        script = f"read line < {go.path}; cat >> {got}"
        arguments = (LIVE, "--fps", "50", "--max-frames", "30", *shell(script))
        with subprocess.Popen(
            **command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            written = [process.stdout.readline() for _ in range(30)]  # the first command still waits
            for _ in range(30):
                go.send("go")
            rest, told = process.communicate(timeout=60)
    assert (process.returncode, rest) == (EXIT_OK, "")
    assert got.read_text() == "".join([written[0], *written[-16:]])
    assert (
        "warning: --exec sh is slower than the captions: 16 wait for it, and the oldest are left out" in told
    )
    assert "warning: --exec sh: 13 captions left out while it was busy" in told


@pytest.mark.parametrize(
    ("given", "number", "code"),
    [
        ((LIVE,), signal.SIGINT, EXIT_INTERRUPTED),
        ((SAMPLE, "--max-frames", "2"), signal.SIGTERM, EXIT_TERMINATED),  # at its end already
    ],
)
def test_the_command_is_ended_with_its_children_when_the_run_is(
    tmp_path: Path, given: tuple[str, ...], number: signal.Signals, code: int
) -> None:
    lives = Lifeline(tmp_path / "lives")
    script = f"exec 3> {lives.path}; trap '' TERM; echo here >&2; sleep 60 & wait"
    with subprocess.Popen(
        **command(*given, "-o", "none", *shell(script)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "here\n"
        process.send_signal(number)
        process.communicate(timeout=30)  # its pipes are the command's too
    assert process.returncode == code
    assert lives.ended()
