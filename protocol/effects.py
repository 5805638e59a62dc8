"""What a session's state machine wants done: see `protocol.session_protocol`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol.messages import SessionConfig


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Ask the host for a session; report the outcome with `opened`."""

    config: SessionConfig


@dataclass(frozen=True, slots=True)
class CancelOpen:
    """Nobody waits for the session that is being opened; reporting it with `opened` all the same is fine."""


@dataclass(frozen=True, slots=True)
class SubmitFrame:
    """Give a picture to the host, bytes of a file or their base64; report the outcome with `answered`."""

    session_id: str
    image: bytes | str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReleaseSession:
    """Let the host close the session, cancelling its frame with `abort`; report with `released`."""

    session_id: str
    abort: bool


@dataclass(frozen=True, slots=True)
class SendText:
    """Send a text message."""

    text: str


@dataclass(frozen=True, slots=True)
class CloseSocket:
    """Close the connection; no effect follows but the release of a session that opens late."""

    code: int


Effect = OpenSession | CancelOpen | SubmitFrame | ReleaseSession | SendText | CloseSocket
