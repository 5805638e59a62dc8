"""Which sessions a model can hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol.errors import EngineError, InvalidRequest, Unavailable
from protocol.limits import MIN_SESSION_TOKENS
from protocol.messages import SERVER_RETENTION

if TYPE_CHECKING:
    from protocol.messages import Retention, SessionConfig


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a loaded model offers, in tokens and pictures.

    Attributes:
        context_tokens: longest prompt and reply together.
        trained_positions: positions the model was trained on.
        cache_tokens: tokens whose keys and values fit in memory, all sessions together.
        block_tokens: tokens in one block of the cache, which a session takes whole.
        images: most pictures in one prompt.
        waiting_requests: most requests that may stay open between frames: half of those that vLLM runs at a
            time, since each takes a place from the others.
    """

    context_tokens: int
    trained_positions: int
    cache_tokens: int
    block_tokens: int
    images: int
    waiting_requests: int

    def default_retention(self, max_tokens: int) -> Retention:
        """The server's own policy, with a smaller budget where the model cannot hold the usual one.

        Raises:
            EngineError: the model is too small for any session.
        """
        usual = SERVER_RETENTION
        positions = math.ceil(usual.reprefill_threshold * self.trained_positions) - 1
        most = min(self.context_tokens - max_tokens - 1, positions, self.cache_tokens - max_tokens)
        if most < MIN_SESSION_TOKENS:
            raise EngineError(
                f"the model's context of {self.context_tokens} tokens is too small for a session: "
                f"{MIN_SESSION_TOKENS} and {max_tokens} for the reply are needed",
                hint="raise --max-model-len, lower --max-tokens or take another model",
            )
        return usual.model_copy(
            update={
                "max_session_tokens": min(usual.max_session_tokens, most),
                "max_video_segments": min(usual.max_video_segments, self.images),
            }
        )

    def admit(self, config: SessionConfig, retention: Retention, reserved_tokens: int) -> int:
        """Tokens to reserve for the session; `reserved_tokens` are taken by those open now.

        Both inequalities of the protocol are strict.

        Raises:
            InvalidRequest: it could never be held.
            Unavailable: it cannot be held beside the sessions open now.
        """
        session, reply = retention.max_session_tokens, config.sampling.max_tokens
        if session + reply >= self.context_tokens:
            raise InvalidRequest(
                f"max_session_tokens ({session}) and max_tokens ({reply}) together must stay below the "
                f"model's context of {self.context_tokens} tokens"
            )
        threshold = retention.reprefill_threshold
        if session >= threshold * self.trained_positions:
            raise InvalidRequest(
                f"max_session_tokens ({session}) must stay below reprefill_threshold ({threshold:g}) of the "
                f"model's {self.trained_positions} trained positions"
            )
        if retention.max_video_segments > self.images:
            raise InvalidRequest(
                f"max_video_segments ({retention.max_video_segments}) is more than the {self.images} "
                "pictures this engine takes in one prompt"
            )
        return self._reserve("a session", session + reply, reserved_tokens)

    def admit_once(self, prompt_tokens: int, max_tokens: int, images: int, reserved_tokens: int) -> int:
        """Tokens to reserve for one prompt and its reply; `reserved_tokens` are taken by others.

        Raises:
            InvalidRequest: it could never be answered.
            Unavailable: there is no room for it now.
        """
        if prompt_tokens + max_tokens > self.context_tokens:
            raise InvalidRequest(
                f"the prompt takes {prompt_tokens} tokens, which with max_tokens ({max_tokens}) is more than "
                f"the model's context of {self.context_tokens}"
            )
        if images > self.images:
            raise InvalidRequest(
                f"there are {images} pictures, and this engine takes {self.images} in one prompt"
            )
        return self._reserve("a conversation", prompt_tokens + max_tokens, reserved_tokens)

    def _reserve(self, what: str, tokens: int, reserved_tokens: int) -> int:
        needed = math.ceil(tokens / self.block_tokens) * self.block_tokens
        if needed > self.cache_tokens:
            raise InvalidRequest(
                f"{what} of {needed} tokens never fits the engine's cache of {self.cache_tokens}"
            )
        if reserved_tokens + needed > self.cache_tokens:
            raise Unavailable(
                f"{needed} tokens do not fit the engine's cache beside the sessions open now "
                f"({reserved_tokens} of {self.cache_tokens} are taken)",
                hint="close a session or ask for a smaller window",
            )
        return needed
