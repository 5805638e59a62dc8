"""What whoever counts is told of a host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol.errors import SessionError
    from protocol.messages import FrameReply


@dataclass(frozen=True, slots=True)
class Chatted:
    """A chat completion that was answered. Times are from its admission."""

    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    ttft_s: float | None
    latency_s: float


class HostObserver:
    """Hears what happens in a host, to count it. Overridden where it matters; called in the event loop."""

    def opened(self) -> None:
        """A session was admitted."""

    def refused(self, error: SessionError) -> None:
        """A session was not admitted."""

    def ended(self, how: str) -> None:
        """A session ended: `closed`, `aborted`, `expired`, `failed`, `timed out` or `shut down`."""

    def answered(self, reply: FrameReply) -> None:
        """A frame was answered; its reply has the times of its stages."""

    def failed(self, error: SessionError) -> None:
        """A frame was not answered."""

    def chatted(self, chatted: Chatted) -> None:
        """A chat completion was answered to its end."""

    def engine_lost(self, reason: str) -> None:
        """The engine is gone for good: the server is not ready any more."""
