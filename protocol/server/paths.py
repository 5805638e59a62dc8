"""Paths and methods as clients write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_SLASHES = re.compile("/{2,}")


class PlainPaths:
    """ASGI middleware that takes ``//v1//x/`` for ``/v1/x``: base URLs come with a slash at the end.

    HEAD is taken for GET, as load balancers use it; the server below leaves the body out.
    """

    def __init__(self, app: ASGIApp) -> None:
        """`app` gets requests with plain paths."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on, its path made plain."""
        if scope["type"] in ("http", "websocket"):
            path = _SLASHES.sub("/", scope["path"])
            scope = {**scope, "path": path.rstrip("/") or "/"}
            if scope.get("method") == "HEAD":
                scope["method"] = "GET"
        await self._app(scope, receive, send)
