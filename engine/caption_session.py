"""A captioning session over any language model: the policy that turns frames into a conversation."""

from __future__ import annotations

from contextlib import aclosing
from time import perf_counter
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from engine.retention import LOW_WATER, RetentionWindow
from protocol.context import Image, Text, Turn
from protocol.errors import Conflict, EngineFailure, NotFound, StreamError
from protocol.frame_guard import FrameGuard
from protocol.messages import Closed, FrameReply
from protocol.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.context import Context
    from protocol.frame import Frame
    from protocol.messages import Created, SessionConfig


class CaptionSession(Session):
    """Each frame is a user's turn holding its picture, each reply the assistant's turn after it.

    The system prompt is pinned. The question goes with the first frame and leaves with it. What else leaves,
    and when, is the retention window's affair.
    """

    def __init__(
        self,
        context: Context,
        window: RetentionWindow,
        created: Created,
        config: SessionConfig,
        on_close: Callable[[], None],
    ) -> None:
        """Use `open`, which pins the system prompt."""
        self.created = created
        self._context = context
        self._window = window
        self._config = config
        self._on_close = on_close
        self._answered = 0
        self._prepared: Image | None = None
        self._guard = FrameGuard()

    @classmethod
    async def open(
        cls,
        context: Context,
        created: Created,
        config: SessionConfig,
        on_close: Callable[[], None],
        *,
        low_water: float = LOW_WATER,
    ) -> Self:
        """A session over an empty `context`.

        Args:
            on_close: called once, when the session is closed.
            low_water: how the window makes room, see `RetentionWindow`.
        """
        pinned = await context.append(Turn("system", (Text(config.system_prompt),)))
        window = RetentionWindow(created.retention, pinned_tokens=pinned.tokens, low_water=low_water)
        return cls(context, window, created, config, on_close)

    async def caption(self, frame: Frame) -> FrameReply:
        """See `Session.caption`.

        Raises:
            FrameTooLarge: the picture takes more tokens than the session may hold; the session goes on.
            InvalidRequest: the model cannot take the picture; the session goes on.
            Conflict: another frame is under way, or an earlier one failed.
            NotFound: the session is closed.
            EngineFailure: generation failed; the session is over.
            EngineError: the engine is gone.
        """
        with self._guard.frame():
            try:
                return await self._answer(frame)
            except EngineFailure as error:
                self._guard.over = Conflict(f"an earlier frame of this session failed: {error}")
                raise

    async def prepare(self, frame: Frame) -> None:
        """See `Session.prepare`."""
        self._prepared = Image(frame, uuid=uuid4().hex)
        await self._context.prepare(self._prepared)

    async def close(self) -> Closed:
        """See `Session.close`."""
        if not isinstance(self._guard.over, NotFound):
            self._guard.over = NotFound("the session is closed")
            await self._context.close()
            self._on_close()
        return Closed(session_id=self.created.session_id, frames=self._answered)

    async def _answer(self, frame: Frame) -> FrameReply:
        submitted = perf_counter()
        asked = self._config.question if self._answered == 0 else ""
        prepared, self._prepared = self._prepared, None
        picture = prepared if prepared and prepared.frame is frame else Image(frame, uuid=uuid4().hex)
        turn = Turn("user", (picture, Text(asked)) if asked else (picture,))
        size = await self._context.append(turn)
        try:
            leaving = self._window.admit(size.tokens, size.text_tokens)
        except StreamError:
            self._context.drop(-1, None)
            raise
        # Turns come in pairs behind the system prompt: a frame and its reply.
        self._context.drop(1, 1 + 2 * leaving)
        started = perf_counter()
        try:
            reply = await self._generate(submitted, started)
        except BaseException:
            self._window.retract()
            self._context.drop(-1, None)
            raise
        said = await self._context.append(Turn("assistant", (Text(reply.text),)))
        self._window.reply(said.tokens)
        self._answered += 1
        return reply

    async def _generate(self, submitted: float, started: float) -> FrameReply:
        text = ""
        tokens = 0
        finish_reason = "stop"
        first_s: float | None = None
        async with aclosing(self._context.generate(self._config.sampling)) as deltas:
            async for delta in deltas:
                text += delta.text
                tokens = delta.token_count
                if first_s is None and text:
                    first_s = perf_counter() - submitted
                if delta.finish_reason is not None:
                    finish_reason = delta.finish_reason
                if delta.prompt_tokens is not None:
                    self._window.measured(delta.prompt_tokens)
        ended = perf_counter()
        return FrameReply(
            frame_index=self._answered,
            text=text.strip(),
            finish_reason=finish_reason,
            token_count=tokens,
            ttft_s=first_s,
            latency_s=ended - submitted,
            build_ms=(started - submitted) * 1000,
            engine_ms=(ended - started) * 1000,
        )
