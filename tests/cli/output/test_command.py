"""The command that is run for a caption: what it gets, and what is told of how it went."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.exit_codes import EXIT_TERMINATED
from cli.output.command import MAX_SEARCHED, Command
from cli.output.jsonl import JsonlWriter
from cli.signals import run_until_signalled
from protocol.errors import UsageError
from tests.cli.commands.stream import environment
from tests.cli.output.fifo import Lifeline, hearing, telling
from tests.cli.output.records import record


def python(code: str, *arguments: str, timeout_s: float = 60.0) -> Command:
    """A command that runs `code`."""
    command = Command.of(shlex.join([sys.executable, "-I", "-S", "-c", code, *arguments]), None, timeout_s)
    assert command is not None
    return command


def shell(script: str, *, timeout_s: float = 60.0) -> Command:
    """A command that runs `script`."""
    command = Command.of(shlex.join(["sh", "-c", script]), None, timeout_s)
    assert command is not None
    return command


def test_nothing_is_run_unless_it_is_asked_for() -> None:
    assert Command.of(None, None, 30.0) is None


@pytest.mark.parametrize(
    ("command", "when", "said"),
    [
        (None, "hazard", "--when chooses captions to run a command for; add --exec CMD"),
        ("no-such-program --now", None, "--exec no-such-program: there is no such program"),
        ("./no-such-program", None, "--exec ./no-such-program: there is no such program"),
        ("/", None, "--exec /: is a folder"),
        ("", None, "--exec: there is no command in it"),
        ("  ", None, "--exec: there is no command in it"),
        ("''", None, "--exec: there is no command in it"),
        ("sh -c 'exit", None, "--exec: no closing quotation in the command"),
        ("sh", "[", "--when '[': not a regular expression: unterminated character set at position 0"),
        ("sh", "a{99999999999}", "--when 'a{99999999999}': not a regular expression: the repetition"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(command: str | None, when: str | None, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        Command.of(command, when, 30.0)
    assert str(refused.value).startswith(said)


def test_a_command_needs_some_time() -> None:
    with pytest.raises(UsageError, match=r"^--exec-timeout 0: a command needs some time$"):
        Command.of("sh", None, 0.0)


def test_a_program_of_this_folder_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "alert"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(UsageError, match=r"^--exec \./alert: is not executable; chmod \+x \./alert$"):
        Command.of("./alert", None, 30.0)
    program.chmod(0o755)
    with pytest.raises(UsageError, match=r"^--exec alert: there is no such program; \./alert if the one"):
        Command.of("alert", None, 30.0)
    found = Command.of("./alert --key secret 'two words'", None, 30.0)
    assert found is not None
    assert found.arguments == ("./alert", "--key", "secret", "two words")
    assert found.name == "alert"


@pytest.mark.parametrize(
    ("when", "text", "wanted"),
    [
        (None, "", True),
        ("hazard", "a hazard ahead", True),
        ("hazard", "Hazard", False),
        ("(?i)hazard", "Hazard", True),
        ("^hazard$", "a hazard", False),
        ("hazard", "clear", False),
        ("end", " " * (MAX_SEARCHED - 3) + "end", True),
        ("end", " " * (MAX_SEARCHED - 2) + "end", False),
    ],
)
def test_it_wants_captions_that_hold_the_expression(when: str | None, text: str, wanted: bool) -> None:
    command = Command.of("sh", when, 30.0)
    assert command is not None
    assert command.wants(record(0.0, text)) is wanted


async def test_it_gets_the_line_that_stands_in_jsonl(tmp_path: Path) -> None:
    said = record(1.5, "ein Schild:\n“漢字” \x85 \U0001f6d1", source="rtsp://***@door/1")
    got, written = tmp_path / "got", tmp_path / "written.jsonl"
    problem = await shell(f"cat > {shlex.quote(str(got))}").run(said)
    with written.open("w", encoding="utf-8") as file:
        JsonlWriter(file, "written").write(said)
    assert problem is None
    assert got.read_bytes() == written.read_bytes()


async def test_the_environment_tells_the_essentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALARM_KIND", "bell")
    got = tmp_path / "got"
    code = "import json,os,sys; open(sys.argv[1], 'w').write(json.dumps(dict(os.environ)))"
    said = record(1.5, "a\nsign 漢" + "x" * 200_000, source="cam", frame_index=7)
    assert await python("import sys; sys.stdin.read();" + code, str(got)).run(said) is None
    environment = json.loads(got.read_text())
    assert environment["ALARM_KIND"] == "bell"
    told = {name: value for name, value in environment.items() if name.startswith("STREAM_")}
    assert told["STREAM_TEXT"] == said.text[:8192]
    assert told["STREAM_SOURCE"] == "cam"
    assert told["STREAM_PTS_S"] == "1.5"
    assert told["STREAM_FRAME_INDEX"] == "7"
    assert told["STREAM_CAPTURED_AT"] == said.as_row()["captured_at"]
    assert await python(code, str(got)).run(record(None, "no time")) is None
    environment = json.loads(got.read_text())
    assert environment["STREAM_PTS_S"] == environment["STREAM_CAPTURED_AT"] == ""


def test_text_that_the_locale_lacks_is_no_failure(tmp_path: Path) -> None:
    got = tmp_path / "got"
    script = f'printf %s "$STREAM_TEXT" > {shlex.quote(str(got))}'
    code = (
        "import asyncio, sys; from cli.output.command import Command; "
        "from tests.cli.output.records import record; assert sys.getfilesystemencoding() == 'ascii'; "
        f"print(asyncio.run(Command(('/bin/sh', '-c', {script!r}), None, 60).run(record(0.0, '\\u6f22'))))"
    )
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment(**locale), capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("None\n", "")
    assert got.read_text(encoding="utf-8") == "漢"


async def test_what_it_prints_is_no_data(capfd: pytest.CaptureFixture[str]) -> None:
    assert await shell("echo printed; echo told >&2").run(record(0.0, "a sign")) is None
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == ["printed", "told"]


async def test_it_need_not_read_what_it_gets() -> None:
    assert await shell("exit 0").run(record(0.0, "x" * 1_000_000)) is None


async def test_what_it_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    left = Lifeline(tmp_path / "left")
    with telling(tmp_path / "gone") as gone:
        script = f"(exec 3> {left.path}; read line < {gone.path}) & exit 0"
        assert await shell(script).run(record(0.0, "a sign")) is None
        gone.send("go")  # it is there to hear it: it was not ended
        assert left.ended()


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exit 3", "ended with status 3"),
        ("no-such-program 2> /dev/null", "ended with status 127"),
        ("kill -KILL $$", "was ended by signal SIGKILL"),
        ("kill -40 $$", "was ended by signal 40"),
    ],
)
async def test_a_failure_is_told_in_a_few_words(script: str, problem: str) -> None:
    assert await shell(script).run(record(0.0, "a sign")) == problem


@pytest.mark.parametrize(
    ("content", "reason"),
    [("#!/no/such/interpreter\n", "No such file or directory"), ("nothing known", "Exec format error")],
)
async def test_a_program_that_cannot_be_started_is_a_failure(
    tmp_path: Path, content: str, reason: str
) -> None:
    program = tmp_path / "alert"
    program.write_text(content)
    program.chmod(0o755)
    command = Command.of(shlex.quote(str(program)), None, 60.0)
    assert command is not None
    assert await command.run(record(0.0, "a sign")) == f"could not be started: {reason}"


async def test_a_program_that_is_gone_by_then_is_a_failure(tmp_path: Path) -> None:
    program = tmp_path / "alert"
    program.symlink_to("/bin/sh")
    command = Command.of(shlex.quote(str(program)), None, 60.0)
    assert command is not None
    program.unlink()
    assert await command.run(record(0.0, "a sign")) == "could not be started: No such file or directory"


async def test_it_is_ended_with_its_children_when_its_time_is_up(tmp_path: Path) -> None:
    lives = Lifeline(tmp_path / "lives")
    deaf = "trap '' TERM"  # they have to be killed
    command = shell(f"exec 3> {lives.path}; {deaf}; (sleep 60; sleep 60) & sleep 60; sleep 60", timeout_s=1.0)
    problem = await command.run(record(0.0, "a sign" + "x" * 1_000_000))
    assert problem == command.overrun == "took over 1 s"
    assert lives.ended()


async def test_it_can_clear_up_when_its_time_is_up(tmp_path: Path) -> None:
    cleared = tmp_path / "cleared"
    command = shell(f"trap 'echo > {cleared}; exit' TERM; while :; do sleep 0.01; done", timeout_s=1.0)
    assert await command.run(record(0.0, "a sign")) == "took over 1 s"
    assert cleared.exists()


@pytest.mark.parametrize(
    ("told", "trap", "ends"),
    [
        (signal.SIGINT, "", KeyboardInterrupt),
        (signal.SIGTERM, "", SystemExit),
        (signal.SIGINT, "kill -INT $PPID", KeyboardInterrupt),  # a second Ctrl-C while it is being ended
    ],
)
def test_it_is_ended_with_its_children_when_the_run_is(
    tmp_path: Path, told: signal.Signals, trap: str, ends: type[BaseException]
) -> None:
    lives = Lifeline(tmp_path / "lives")

    async def run() -> None:
        async with hearing(tmp_path / "here") as here:
            script = (
                f"trap '{trap}' TERM; exec 3> {lives.path}; echo > {here.path}; sleep 60 & wait; sleep 60"
            )
            running = asyncio.create_task(shell(script).run(record(0.0, "a sign")))
            await here.line()
            os.kill(os.getpid(), told)
            await running

    with pytest.raises(ends) as ended:
        run_until_signalled(run())
    assert lives.ended()
    if told == signal.SIGTERM:
        assert ended.value.code == EXIT_TERMINATED  # type: ignore[attr-defined]
