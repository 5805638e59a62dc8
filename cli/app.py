"""The Typer application: which commands there are."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.exit_codes import EXIT_OK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS = {
    "caption": "cli.commands.caption:caption_command",
    "cameras": "cli.commands.cameras:cameras_command",
    "frames": "cli.commands.frames:frames_command",
    "ping": "cli.commands.ping:ping_command",
    "probe": "cli.commands.probe:probe_command",
    "serve": "cli.commands.serve:serve_command",
    "schema": "cli.commands.schema:schema_command",
}
_SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def invoke(arguments: Sequence[str]) -> int:
    """Runs one command line and gives its exit code; errors come out as they are."""
    if arguments and arguments[0] in COMMANDS:
        name, *rest = arguments
        result = command_app(name)(args=rest, prog_name=f"stream {name}", standalone_mode=False)
    else:
        asked = list(arguments) or ["--help"]
        result = program_app()(args=asked, prog_name="stream", standalone_mode=False)
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
