"""A running server: the application behind a socket, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn

from protocol.limits import MAX_WEBSOCKET_MESSAGE_BYTES, PING_INTERVAL_S, PING_TIMEOUT_S
from protocol.server.keepalive import PatientWebSocket

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import ASGIApp

BACKLOG = 1024
"""Connections the system holds until they are accepted; more are refused by it."""


class Server(uvicorn.Server):
    """uvicorn, serving one application on sockets it is handed, its signals left to whoever runs it."""

    def __init__(self, app: ASGIApp, *, certfile: Path | None = None, keyfile: Path | None = None) -> None:
        """Serves HTTPS and WSS with `certfile`.

        Raises:
            OSError, ssl.SSLError: the certificate or its key cannot be read.
        """
        config = uvicorn.Config(
            app,
            ws=PatientWebSocket,
            ws_max_size=MAX_WEBSOCKET_MESSAGE_BYTES,
            ws_ping_interval=PING_INTERVAL_S,
            ws_ping_timeout=PING_TIMEOUT_S,
            ws_per_message_deflate=False,  # pictures are compressed already: it costs 5 ms and saves nothing
            http="h11",  # the same refusals everywhere, whatever else is installed
            lifespan="off",
            log_config=None,
            access_log=False,  # the application writes its own
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=5,
            ssl_certfile=certfile,
            ssl_keyfile=keyfile,
        )
        config.load()
        super().__init__(config)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals alone."""
        yield


def new_event_loop() -> asyncio.AbstractEventLoop:
    """The loop to serve on: uvloop's where there is one, which takes a third off what is added to a frame."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets bound to the addresses of `host` that this machine has, all on one port; 0 is any that is free.

    Raises:
        OSError: there is no such address here, or the port is taken.
    """
    sockets: list[socket.socket] = []
    absent: OSError | None = None
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, kind, proto, _, address in addresses:
            try:
                bound = socket.socket(family, kind, proto)
            except OSError as error:  # no IPv6 on this machine
                absent = error
                continue
            sockets.append(bound)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                bound.bind((address[0], port, *address[2:]))
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
                absent = error  # localhost is ::1 by name also where that is switched off
                sockets.pop().close()
                continue
            bound.listen(BACKLOG)  # from here on clients may come; they wait until they are served
            port = bound.getsockname()[1]
    except BaseException:
        for each in sockets:
            each.close()
        raise
    if not sockets:
        raise absent or OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    return sockets
