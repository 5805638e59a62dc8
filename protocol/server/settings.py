"""What a server is told when it is started."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from protocol.limits import REST_IDLE_TIMEOUT_S, WEBSOCKET_IDLE_TIMEOUT_S

ANY: Final = "*"
"""In a list of hosts or origins: all of them."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How a server treats its clients.

    Attributes:
        streaming: whether the streaming routes are there; without them a client is answered 404.
        idle_timeout_s: seconds after its last frame at which a WebSocket session is closed.
        rest_idle_timeout_s: the same for a REST session.
        api_key: what every request but the health checks must carry as its Bearer token; None lets all in.
        allowed_origins: origins (``https://host``) whose web pages may use the server, besides its own.
        allowed_hosts: names that clients may call the server by, besides IP addresses and localhost; a
            leading ``*.`` stands for any subdomain.
        version: of the software.
        license_name, license_text: under which it comes.
    """

    streaming: bool = True
    idle_timeout_s: float = WEBSOCKET_IDLE_TIMEOUT_S
    rest_idle_timeout_s: float = REST_IDLE_TIMEOUT_S
    api_key: str | None = field(default=None, repr=False)
    allowed_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    version: str = "0"
    license_name: str = "Apache-2.0"
    license_text: str = ""
