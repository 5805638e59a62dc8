"""The `stream` command: its entry point, and how errors reach a person.

Little is imported here, so that Ctrl-C ends it quietly from the first moment on.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_TERMINATED, EXIT_USAGE

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    """Entry point of the `stream` command."""
    _fill_closed_streams()
    _set_encodings()
    _check_siblings()
    try:
        code = run(sys.argv[1:])
    except SystemExit as ended:
        if ended.code != EXIT_TERMINATED:
            raise
        code = EXIT_TERMINATED
    if code in (EXIT_FAILED, EXIT_INTERRUPTED, EXIT_TERMINATED):
        from cli.leaving import leave_at_once

        leave_at_once(code)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and gives its exit code: 0, 1 failed, 2 usage, 3 incomplete, 130 interrupted."""
    debug = "--debug" in arguments
    try:
        from cli.app import invoke

        return invoke(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        from protocol.errors import StreamError

        if isinstance(error, StreamError):
            line, code = str(error), error.exit_code
        elif hasattr(error, "format_message"):  # Typer's about the command line; its classes have moved
            line, code, debug = _usage_line(error, arguments), EXIT_USAGE, False
        elif isinstance(error, OSError) and error.filename is None and error.strerror:
            line, code = f"standard output: {error.strerror}", EXIT_FAILED  # nothing else is written here
        else:
            line, code = f"unexpected {type(error).__name__}: {error}; --debug shows where", EXIT_FAILED
        if debug:
            raise
        print_error(line)
        return code


def print_error(message: str, *, label: str = "error") -> None:
    """One line on stderr, with nothing in it that a terminal would act on."""
    from cli.clean import one_line

    with contextlib.suppress(OSError):  # stderr may be a full disk or a closed pipe
        sys.stderr.write(f"{one_line(label)}: {one_line(message)}\n")
        sys.stderr.flush()


def _fill_closed_streams() -> None:
    """A standard stream that was closed becomes the null device.

    Python has None for it, and the next file opened would get its number, and all that is written there.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            setattr(sys, name, os.fdopen(opened, "r" if descriptor == 0 else "w", encoding="utf-8"))


def _set_encodings() -> None:
    """Data is UTF-8 whatever the locale; a terminal gets its own encoding, and marks for what that lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _check_siblings() -> None:
    """Ends in one line when `engine` or `protocol` would be imported from somewhere else.

    The folders keep their own plain names once installed, so a module of that name on PYTHONPATH would hide
    ours and end in a baffling ImportError.
    """
    home = Path(__file__).resolve().parent.parent
    for name in ("engine", "protocol"):
        spec = importlib.util.find_spec(name)
        found = spec.origin if spec else None
        if found is None or Path(found).resolve().parent != home / name:
            print_error(
                f"{found or 'something'} hides stream's own package {name!r}; "
                "rename it or take its folder off PYTHONPATH"
            )
            sys.exit(EXIT_FAILED)


def _usage_line(error: Exception, arguments: Sequence[str]) -> str:
    message: str = error.format_message().replace("Value error, ", "").rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    if message.startswith("No such command") and ("://" in arguments[0] or Path(arguments[0]).exists()):
        return f"{arguments[0]}: what is to be done with it? stream caption {arguments[0]}"
    if message.endswith("?"):  # it makes a suggestion already
        return message
    return f"{message}; see {context.command_path if context else 'stream'} --help"


if __name__ == "__main__":
    main()
