"""The `stream` command: its entry point, and how errors reach a person."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


COMMANDS = {
    "caption": "cli.commands.caption:caption_command",
    "frames": "cli.commands.frames:frames_command",
    "probe": "cli.commands.probe:probe_command",
    "schema": "cli.commands.schema:schema_command",
}
_SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def main() -> None:
    """Entry point of the `stream` command."""
    _check_siblings()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and gives its exit code: 0, 1 failed, 2 usage, 3 incomplete, 130 interrupted."""
    from protocol.errors import StreamError

    debug = "--debug" in arguments
    try:
        if arguments and arguments[0] in COMMANDS:
            name, *rest = arguments
            result = command_app(name)(args=rest, prog_name=f"stream {name}", standalone_mode=False)
        else:
            asked = list(arguments) or ["--help"]
            result = program_app()(args=asked, prog_name="stream", standalone_mode=False)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except StreamError as error:
        if debug:
            raise
        print_error(str(error))
        return error.exit_code
    except Exception as error:
        # Typer's errors about the command line; its classes have moved between releases, this has not.
        if hasattr(error, "format_message"):
            print_error(_usage_line(error))
            return EXIT_USAGE
        if debug:
            raise
        print_error(f"unexpected {type(error).__name__}: {error}; --debug shows where")
        return EXIT_FAILED
    return result if isinstance(result, int) else EXIT_OK


def command_app(name: str) -> typer.Typer:
    """One command as an application of its own: called by name, it does not load the others."""
    app = typer.Typer(add_completion=False, **_SETTINGS)
    app.command()(_command(name))
    return app


def program_app() -> typer.Typer:
    """The application with every command: what the program's own help and shell completion show."""
    app = typer.Typer(**_SETTINGS)
    app.callback()(_program_options)
    for name in COMMANDS:
        app.command(name)(_command(name))
    return app


def print_error(message: str, *, label: str = "error") -> None:
    """One line on stderr, with nothing in it that a terminal would act on."""
    from cli.clean import one_line

    sys.stderr.write(f"{label}: {one_line(message)}\n")


def _command(name: str) -> Callable[..., int | None]:
    module, function = COMMANDS[name].split(":")
    return _until_reader_leaves(getattr(importlib.import_module(module), function))


def _until_reader_leaves(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """`command`, ending quietly when whoever reads its standard output (`head`, say) has had enough.

    Typer would make that exit code 1 if it got to see it.
    """

    @functools.wraps(command)
    def wrapped(*args: object, **options: object) -> int | None:
        try:
            return command(*args, **options)
        except BrokenPipeError:
            # The interpreter flushes standard output once more as it ends: let that go nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_OK

    return wrapped


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


def _usage_line(error: Exception) -> str:
    message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    return f"{message}; see {context.command_path if context else 'stream'} --help"


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"stream {version('stream-caption')}")
        raise typer.Exit


def _program_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Captions for any video: one complete sentence a frame."""


if __name__ == "__main__":
    main()
