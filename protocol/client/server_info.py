"""What a server says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from protocol.limits import MAX_FRAME_BYTES, MAX_FRAME_PIXELS

if TYPE_CHECKING:
    from protocol.client.settings import Backend


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The result of the checks; retention and sampling are as the server gave them, whatever is in them.

    Attributes:
        model: what a session is created with.
        profile: of a NIM, the profile it selected.
        version: of the server's software, where it says so.
        retention: the policy of a session that asks for none.
        sampling: how replies are generated in a session that asks for nothing else.
        round_trip_s: the quickest answer met while checking.
    """

    url: str
    backend: Backend
    model: str
    profile: str | None = None
    version: str | None = None
    retention: dict[str, Any] = field(default_factory=dict)
    sampling: dict[str, Any] = field(default_factory=dict)
    round_trip_s: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """All of it, with the protocol's limits for a picture, as JSON values."""
        return {
            "url": self.url,
            "backend": self.backend,
            "model": self.model,
            "profile": self.profile,
            "version": self.version,
            "retention": self.retention,
            "sampling": self.sampling,
            "limits": {"max_frame_bytes": MAX_FRAME_BYTES, "max_frame_pixels": MAX_FRAME_PIXELS},
            "round_trip_ms": round(self.round_trip_s * 1000, 3),
        }
