"""What is done where the world does not wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cli.video.timeouts import STALL_TIMEOUT_S

RETRY_FOR_S = 300.0


@dataclass(frozen=True, slots=True)
class LivePolicy:
    """How a live source is kept up with, and for how long it is waited for.

    Attributes:
        keep: `latest`: the newest frame wins; `all`: frames queue, and then the source waits.
        stall_s: a source that is silent for so long is lost; 0 waits without end.
        retry_for_s: so long a lost source is looked for; 0 gives up at once. None: `RETRY_FOR_S` where there
            is a network in between, else 0.
    """

    keep: Literal["latest", "all"] = "latest"
    stall_s: float = STALL_TIMEOUT_S
    retry_for_s: float | None = None

    def retry_s(self, *, network: bool) -> float:
        """So long a source is looked for."""
        if self.retry_for_s is not None:
            return self.retry_for_s
        return RETRY_FOR_S if network else 0.0


DEFAULT_POLICY = LivePolicy()
