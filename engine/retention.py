"""Which part of a session's history stays in its context.

Knows no engine: token counts go in, the number of turns that leave comes out.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol.errors import FrameTooLarge

if TYPE_CHECKING:
    from protocol.messages import Retention

LOW_WATER = 0.4
"""Share of a budget that is left after it ran out.

An engine that caches prefixes computes again whatever is kept when the oldest leave, so they leave many at a
time. Growing from 0.4 of the maximum to all of it, the window holds 0.7 of it on average, and each frame is
computed 1 + 0.4 / 0.6, about 1.7 times.
"""
EXACT = 1.0
"""As `low_water`: only those leave that must. A window that is full stays so, and all that is kept is
computed again for each frame."""


@dataclass(slots=True)
class _Turn:
    tokens: int
    text_tokens: int


class RetentionWindow:
    """A session's history as token counts: whole turns come in, the oldest whole turns go.

    A turn is a frame with what was asked and answered about it. It goes as a whole, since a reply without its
    picture, or a picture whose reply is gone, is a conversation no model was trained on. `max_text_tokens` is
    met by the same means; being a soft cap, it lets the newest turn stand even if that alone exceeds it.

    `reprefill_threshold` needs no bookkeeping: what is kept after an eviction is computed anew from position
    zero, and a session is admitted only if `max_session_tokens` lies below the threshold.
    """

    def __init__(self, retention: Retention, *, pinned_tokens: int, low_water: float = LOW_WATER) -> None:
        """An empty window.

        Args:
            pinned_tokens: the system prompt and all else in the prompt that never leaves.
            low_water: share of a budget that is left after it ran out, above 0; `EXACT` slides turn by turn.
        """
        self._retention = retention
        self._low_water = low_water
        self._pinned_tokens = pinned_tokens
        self._turns: deque[_Turn] = deque()

    def __len__(self) -> int:
        """Turns kept."""
        return len(self._turns)

    @property
    def tokens(self) -> int:
        """Tokens in the prompt: what is pinned and what is kept."""
        return self._pinned_tokens + sum(turn.tokens for turn in self._turns)

    @property
    def text_tokens(self) -> int:
        """Of those, text that is not pinned."""
        return sum(turn.text_tokens for turn in self._turns)

    def admit(self, tokens: int, text_tokens: int) -> int:
        """Takes in a frame's turn, without its reply; gives how many of the oldest turns leave for it.

        Args:
            tokens: what the turn adds to the prompt.
            text_tokens: how many of them are words.

        Raises:
            FrameTooLarge: it does not fit beside what is pinned, even alone. Nothing has changed.
        """
        room = self._retention.max_session_tokens - self._pinned_tokens
        if tokens > room:
            raise FrameTooLarge(
                f"the frame takes {tokens} tokens, and max_session_tokens leaves {max(0, room)} for it",
                hint="send smaller pictures or raise max_session_tokens",
            )
        words = self._retention.max_text_tokens
        frame_count = _Budget(self._retention.max_video_segments, [1] * len(self._turns), 1)
        total = _Budget(room, [turn.tokens for turn in self._turns], tokens)
        text = _Budget(words, [turn.text_tokens for turn in self._turns], text_tokens)
        leaving = max(budget.leaving(self._low_water) for budget in (frame_count, total, text))
        for _ in range(leaving):
            self._turns.popleft()
        self._turns.append(_Turn(tokens, text_tokens))
        return leaving

    def measured(self, tokens: int) -> None:
        """The prompt really has `tokens` tokens: what the turns' counts miss belongs to what is pinned."""
        self._pinned_tokens += tokens - self.tokens

    def reply(self, tokens: int) -> None:
        """The newest turn was answered with `tokens` of text."""
        newest = self._turns[-1]
        newest.tokens += tokens
        newest.text_tokens += tokens

    def retract(self) -> None:
        """The newest turn was not answered and is forgotten."""
        self._turns.pop()


@dataclass(frozen=True, slots=True)
class _Budget:
    """One limit, what the kept turns use of it, oldest first, and what the new one needs."""

    limit: int | None
    used: list[int]
    needed: int

    def leaving(self, low_water: float) -> int:
        """How many of the oldest turns must go: none while there is room, else down to the low-water mark.

        The turn before the new one stays if it fits at all: motion is seen from one frame to the next.
        """
        left = sum(self.used) + self.needed
        if self.limit is None or left <= self.limit:
            return 0
        low = math.ceil(self.limit * low_water)
        if self.used and self.used[-1] + self.needed <= self.limit:
            low = max(low, self.used[-1] + self.needed)
        for count, tokens in enumerate(self.used):
            if left <= low:
                return count
            left -= tokens
        return len(self.used)
