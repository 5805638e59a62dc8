"""Serving a model under another name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol.errors import NotFound
from protocol.host import Refused

if TYPE_CHECKING:
    from protocol.host import CloseOutcome, FrameOutcome, OpenOutcome, SessionHost
    from protocol.messages import SessionConfig


@dataclass(frozen=True, slots=True)
class NamedHost:
    """A `SessionHost` whose clients know the model as `name`, whatever the host behind it calls it."""

    host: SessionHost
    name: str

    async def open(self, config: SessionConfig, *, idle_timeout_s: float) -> OpenOutcome:
        """See `SessionHost.open`."""
        if config.model not in (None, self.name):
            return Refused(NotFound(f"no model {config.model!r} here", hint=f"this server has {self.name!r}"))
        unnamed = config.model_copy(update={"model": None})
        outcome = await self.host.open(unnamed, idle_timeout_s=idle_timeout_s)
        if isinstance(outcome, Refused):
            return outcome
        return outcome.model_copy(update={"model": self.name})

    async def frame(self, session_id: str, image: bytes | str) -> FrameOutcome:
        """See `SessionHost.frame`."""
        return await self.host.frame(session_id, image)

    async def close(self, session_id: str, *, abort: bool = False) -> CloseOutcome:
        """See `SessionHost.close`."""
        return await self.host.close(session_id, abort=abort)
