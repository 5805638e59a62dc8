"""A session of the embedded engine."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

from engine.lite.describer import Abandoned
from engine.lite.sentence import compose, cut
from protocol.errors import (
    Conflict,
    EngineError,
    EngineFailure,
    InputError,
    InvalidRequest,
    NotFound,
    StreamError,
)
from protocol.frame_guard import FrameGuard
from protocol.messages import Closed, Created, FrameReply
from protocol.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from engine.lite.describer import Describer
    from protocol.frame import Frame


class LiteSession(Session):
    """Captions frames, each beside the ones before it that the session's retention keeps.

    Of an earlier frame it keeps a grey copy of 320 pixels and what was found in it, never the frame itself.
    """

    def __init__(self, created: Created, describer: Describer, executor: Executor, *, max_words: int) -> None:
        """Analyses frames in `executor`, which sessions share, and cuts captions after `max_words` words."""
        self.created = created
        self._describer = describer
        self._executor = executor
        self._max_words = max_words
        self._answered = 0
        self._guard = FrameGuard()

    async def caption(self, frame: Frame) -> FrameReply:
        """The caption of `frame`; its tokens are words.

        Raises:
            InvalidRequest: the picture is damaged; the session goes on.
            Conflict: another frame is under way, or an earlier one failed.
            NotFound: the session is closed.
            EngineFailure: the analysis failed; the session is over.
            EngineError: the engine is closed.
        """
        with self._guard.frame():
            return await self._answer(frame)

    async def close(self) -> Closed:
        """Forgets the frames; a second call gives the same answer."""
        if not isinstance(self._guard.over, NotFound):
            self._guard.over = NotFound("the session is closed")
            self._describer.forget()
        return Closed(session_id=self.created.session_id, frames=self._answered)

    async def _answer(self, frame: Frame) -> FrameReply:
        submitted = time.perf_counter()
        abandoned = threading.Event()
        work = _Work(self._describer, frame, abandoned.is_set)
        try:
            future = asyncio.get_running_loop().run_in_executor(self._executor, work)
            await future
        except asyncio.CancelledError:
            abandoned.set()  # the thread stops at its next step, and the frame is not remembered
            raise
        except InputError as error:
            raise InvalidRequest(error.message, hint=error.hint) from error
        except StreamError:
            raise
        except RuntimeError as error:  # what a shut-down executor says
            if "shutdown" not in str(error):
                raise self._fail(error) from error
            raise EngineError("the lite engine is closed") from error
        except Exception as error:
            raise self._fail(error) from error
        latency_s = time.perf_counter() - submitted
        text, words, was_cut = cut(work.text, self._max_words)
        reply = FrameReply(
            frame_index=self._answered,
            text=text,
            finish_reason="length" if was_cut else "stop",
            token_count=words,
            ttft_s=latency_s,
            latency_s=latency_s,
            decode_ms=work.decode_ms,
            engine_ms=work.engine_ms,
            inqueue_ms=(work.started - submitted) * 1000,
        )
        self._answered += 1
        return reply

    def _fail(self, error: Exception) -> EngineFailure:
        reason = str(error) or type(error).__name__
        self._guard.over = Conflict(f"an earlier frame of this session failed: {reason}")
        return EngineFailure(f"the lite engine failed: {reason}")


class _Work:
    """The analysis of one frame, run in a thread, with its times."""

    def __init__(self, describer: Describer, frame: Frame, abandoned: Callable[[], bool]) -> None:
        self._describer = describer
        self._frame = frame
        self._abandoned = abandoned
        self.text = ""
        self.started = 0.0
        self.decode_ms: float | None = None
        self.engine_ms = 0.0

    def __call__(self) -> None:
        self.started = time.perf_counter()
        if self._abandoned():
            return
        was_encoded = not self._frame.decoded
        pixels = self._frame.pixels
        decoded = time.perf_counter()
        if was_encoded:
            self.decode_ms = (decoded - self.started) * 1000
        try:
            seen = self._describer.look(pixels, abandoned=self._abandoned)
        except Abandoned:
            return
        self.text = compose(seen)
        self.engine_ms = (time.perf_counter() - decoded) * 1000
