"""``--exec``: a command that is run for a caption, with its record on standard input."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli.output.jsonl import json_line
from cli.process_group import end_group, start_group
from protocol.errors import UsageError

if TYPE_CHECKING:
    from cli.output.record import CaptionRecord

MAX_SEARCHED = 8192
"""Characters of a caption that ``--when`` looks at.

They bound a search in the square of the text's length to a fraction of a second. Nothing bounds one that is
exponential, like ``(a+)+$``: the pattern is the person's own.
"""

_IN_ENVIRONMENT = ("source", "text", "pts_s", "frame_index", "captured_at")
_MAX_VALUE = 8192
"""Characters of an environment variable: Linux takes 128 KiB of one, Windows 32,767 characters."""
_STDERR = 2


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, when it is run, and how long that may take.

    No shell reads it, unless it is one: ``sh -c '...'``. For each run

    - standard input is the record as one line of JSON, the same as in JSONL, and then ends;
    - the environment has ``STREAM_SOURCE``, ``STREAM_TEXT``, ``STREAM_PTS_S``, ``STREAM_FRAME_INDEX`` and
      ``STREAM_CAPTURED_AT``: fields of the record, cut to 8,192 characters, and empty where they are null;
    - standard output is our standard error, since ours is data.

    Attributes:
        arguments: the program as it was found, and its arguments.
        when: what a caption's text must hold somewhere; None takes every caption.
        timeout_s: after so many seconds it is ended, with the processes it has started.
    """

    arguments: tuple[str, ...]
    when: re.Pattern[str] | None
    timeout_s: float

    @classmethod
    def of(cls, command: str | None, when: str | None, timeout_s: float) -> Command | None:
        """The one that ``--exec``, ``--when`` and ``--exec-timeout`` ask for; None if they ask for none.

        Raises:
            UsageError: there is no such program, the regular expression is none, or there is nothing to run.
        """
        if command is None:
            if when is not None:
                raise UsageError("--when chooses captions to run a command for", hint="add --exec CMD")
            return None
        if timeout_s <= 0:
            raise UsageError(f"--exec-timeout {timeout_s:g}: a command needs some time")
        return cls(_found(_split(command)), None if when is None else _pattern(when), timeout_s)

    @property
    def name(self) -> str:
        """What messages call it: without its arguments, which may hold a key."""
        return Path(self.arguments[0]).name

    @property
    def overrun(self) -> str:
        """What `run` gives when the time is up."""
        return f"took over {self.timeout_s:g} s"

    def wants(self, record: CaptionRecord) -> bool:
        """Whether it is to be run for `record`."""
        return self.when is None or self.when.search(record.text, 0, MAX_SEARCHED) is not None

    async def run(self, record: CaptionRecord) -> str | None:
        """Runs it for `record`, and gives what went wrong, to be read after its name; None if nothing did.

        Cancelled, it ends the program and the processes that has started, in under a second.
        """
        line = json_line(record)
        try:
            process = await start_group(
                self.arguments, stdin=asyncio.subprocess.PIPE, stdout=_STDERR, env=_environment(record)
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return f"could not be started: {reason}"
        try:
            async with asyncio.timeout(self.timeout_s):
                await process.communicate(line.encode())  # it need not read: a broken pipe is no failure
        except TimeoutError:
            return self.overrun
        finally:
            if process.returncode is None:
                await end_group(process)
        return _failure(process.returncode)


def _split(command: str) -> list[str]:
    """`command` as a shell would split it. On Windows a backslash is part of a path, not an escape."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if os.name == "nt":
        lexer.escape = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise UsageError(f"--exec: {str(error).lower()} in the command") from error
    if not words or not words[0]:
        raise UsageError("--exec: there is no command in it")
    return words


def _found(words: list[str]) -> tuple[str, ...]:
    """`words` with the program's path in front."""
    program, *rest = words
    found = shutil.which(program)
    if found is not None:
        return (found, *rest)
    if os.path.isdir(program):
        raise UsageError(f"--exec {program}: is a folder")
    path = Path(program)
    if path.name != program and os.path.isfile(program):
        raise UsageError(f"--exec {program}: is not executable", hint=f"chmod +x {shlex.quote(program)}")
    hint = f"./{program} if the one here is meant" if os.path.isfile(program) else ""
    raise UsageError(f"--exec {program}: there is no such program", hint=hint)


def _pattern(when: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python may read otherwise
            return re.compile(when)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"--when {when!r}: not a regular expression: {error}") from error


def _environment(record: CaptionRecord) -> dict[str, str | bytes]:
    """Ours, with what the command is most likely to want of `record`; UTF-8 whatever the locale."""
    row = record.as_row()
    told = {
        f"STREAM_{name.upper()}": "" if row[name] is None else str(row[name])[:_MAX_VALUE]
        for name in _IN_ENVIRONMENT
    }
    if os.name == "nt":
        return {**os.environ, **told}
    return {**os.environ, **{name: value.encode() for name, value in told.items()}}


def _failure(status: int | None) -> str | None:
    if not status:
        return None
    if status > 0:
        return f"ended with status {status}"
    name = str(-status)
    with suppress(ValueError):
        name = signal.Signals(-status).name
    return f"was ended by signal {name}"
