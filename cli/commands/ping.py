"""`stream ping`: what a server is, and whether it would caption."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.exit_codes import EXIT_FAILED, EXIT_OK
from cli.options import Debug
from cli.remote_options import URL_VARIABLE, ApiKey, CaCert, ConnectTimeout, Insecure, RemoteOptions
from protocol.errors import StreamError, UsageError

if TYPE_CHECKING:
    from protocol.client.server_info import ServerInfo
    from protocol.client.settings import ClientSettings

_KINDS = {"nim": "NIM, or what speaks as one does", "dynamo": "Dynamo frontend"}


def ping_command(
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="URL",
            help=f"The server's base URL. Default: {URL_VARIABLE} of the environment.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, as a pipe gets it anyway.")
    ] = False,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="NAME",
            help="nim or dynamo. Default: whichever it is.",
            show_default=False,
        ),
    ] = None,
    api_key: ApiKey = None,
    ca_cert: CaCert = None,
    insecure: Insecure = False,
    connect_timeout: ConnectTimeout = None,
    debug: Debug = False,
) -> int:
    """Show what the server at URL is: its model, what it remembers, its limits.

    Makes the checks that `stream caption --nim-url` makes, and opens no session.
    Exit codes: 0 it would caption, 1 it would not, 2 usage, 130 interrupted.
    """
    if debug:
        from cli.logs import show_logs

        show_logs()
    from cli.main import print_error
    from cli.signals import run_until_signalled

    settings = RemoteOptions(
        nim_url=url,
        backend=backend,
        api_key=api_key,
        ca_cert=ca_cert,
        insecure=insecure,
        connect_timeout_s=connect_timeout,
    ).settings("auto", url_option="URL")
    if settings is None:
        raise UsageError("there is no server to ask", hint=f"stream ping URL, or set {URL_VARIABLE}")
    as_json = as_json or not sys.stdout.isatty()
    try:
        info = run_until_signalled(_ask(settings, detect=backend is None))
    except UsageError:
        raise
    except StreamError as error:
        if debug:
            raise
        print_error(str(error))
        if as_json:
            _print_json({"url": str(settings.address), "ok": False, "error": str(error)})
        return EXIT_FAILED
    if as_json:
        _print_json({"url": info.url, "ok": True, **info.to_json()})
    else:
        _print_text(info)
    return EXIT_OK


async def _ask(settings: ClientSettings, *, detect: bool) -> ServerInfo:
    from protocol.client.checks import check_server, identify_server
    from protocol.client.connection import Connection

    connection = Connection(settings)
    try:
        if detect:
            return await identify_server(connection)
        return await check_server(connection, settings.backend)
    finally:
        await connection.close()


def _print_json(line: dict[str, Any]) -> None:
    from cli.clean import escape_controls, valid_unicode

    sys.stdout.write(escape_controls(valid_unicode(json.dumps(line, ensure_ascii=False))) + "\n")
    sys.stdout.flush()


def _print_text(info: ServerInfo) -> None:
    from cli.clean import one_line
    from protocol.limits import MAX_FRAME_BYTES, MAX_FRAME_PIXELS

    version = f", version {info.version}" if info.version else ""
    rows = [("kind", _KINDS[info.backend] + version), ("model", info.model)]
    if info.profile:
        rows.append(("profile", info.profile))
    rows += [
        ("retention", _listed(info.retention)),
        ("sampling", _listed(info.sampling)),
        ("limits", f"{MAX_FRAME_BYTES >> 20} MiB and {MAX_FRAME_PIXELS:,} pixels a frame"),
        ("answers in", f"{info.round_trip_s * 1000:.1f} ms"),
    ]
    lines = [one_line(info.url), *(f"  {label:<12}{one_line(value)}" for label, value in rows)]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _listed(fields: dict[str, Any]) -> str:
    """``max_tokens 24, temperature 0.3``; what is null is left out."""
    return ", ".join(f"{name} {value}" for name, value in fields.items() if value is not None) or "not told"
