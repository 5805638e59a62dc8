"""Chat completions by an engine in this process."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from time import perf_counter
from typing import TYPE_CHECKING

from protocol.errors import EngineFailure, Unavailable
from protocol.limits import FRAME_TIMEOUT_S, MAX_SESSIONS
from protocol.server.chat_flight import ChatFlight
from protocol.server.chat_pictures import ChatPictures, check_pictures
from protocol.server.engine_errors import engine_gone, frame_error, is_engine_lost, shutting_down
from protocol.server.held_session import PATIENCE_S
from protocol.server.host_observer import Chatted, HostObserver
from protocol.server.picture_decoder import PictureDecoder
from protocol.server.stop_texts import StopTexts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.context import Delta
    from protocol.messages import Sampling
    from protocol.server.chat_request import ChatMessage
    from protocol.server.picture_fetcher import PictureFetcher
    from protocol.session import Engine


class ChatHost:
    """Answers conversations that nothing is kept of, at most so many at once.

    One that outlives `timeout_s`, from its admission to its last token, is aborted. When the engine itself is
    gone (`EngineError`), none is admitted any more. All of it runs in one event loop. The engine is not
    closed here: whoever made it does that, after `shut_down`.

    Attributes:
        lost: why the engine is gone; None while it is there.
        draining: whether `drain` or `shut_down` was called, so that nothing is admitted any more.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        max_requests: int = MAX_SESSIONS,
        timeout_s: float = FRAME_TIMEOUT_S,
        decoders: int = 2,
        fetcher: PictureFetcher | None = None,
        observer: HostObserver | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            max_requests: those answered at once, those being aborted included.
            timeout_s: the longest one may take, the decoding of its pictures included.
            decoders: pictures decoded at once.
            fetcher: gets pictures at http(s) URLs; without it there are only data: URLs.
        """
        self.lost: str | None = None
        self.draining = False
        self._engine = engine
        self._max_requests = max_requests
        self._timeout_s = timeout_s
        self._decoder = PictureDecoder(decoders)
        self._fetching = fetcher is not None
        self._pictures = ChatPictures(self._decoder, fetcher)
        self._observer = observer or HostObserver()
        self._flights: set[ChatFlight] = set()

    @property
    def running(self) -> int:
        """Requests being answered."""
        return len(self._flights)

    def require_room(self) -> None:
        """Checks whether a request would be admitted now.

        Raises:
            Unavailable: no room, no engine, or the server is stopping.
        """
        if self.draining:
            raise shutting_down()
        if self.lost is not None:
            raise engine_gone(self.lost)
        if len(self._flights) >= self._max_requests:
            raise Unavailable(
                f"{self._max_requests} chat completions are being answered", hint="try again later"
            )

    def complete(
        self, messages: Sequence[ChatMessage], sampling: Sampling, *, stops: Sequence[str] = ()
    ) -> ChatFlight:
        """Begins to answer; what becomes of it is for the flight to say.

        `stops` are texts before which the answer ends.

        Raises:
            InvalidRequest: there are too many pictures, or one where none may be.
            Unavailable: see `require_room`.
        """
        check_pictures(messages, fetching=self._fetching)
        self.require_room()
        flight = ChatFlight()
        flight.start(self._answer(flight, messages, sampling, StopTexts(stops)), self._timeout_s, self._late)
        self._flights.add(flight)
        # Not left to `_answer`, which never begins if it is aborted at once.
        flight.work.add_done_callback(lambda _: self._flights.discard(flight))
        return flight

    async def drain(self, timeout_s: float) -> None:
        """Admits nothing more, waits for what is being answered, and aborts what outlives `timeout_s`."""
        self.draining = True
        if self._flights:
            await asyncio.wait([flight.work for flight in self._flights], timeout=timeout_s)
        self._abort_all(shutting_down())

    async def shut_down(self) -> None:
        """Aborts everything, and waits until the engine has let go of it."""
        self.draining = True
        self._abort_all(shutting_down())
        if self._flights:
            await asyncio.wait([flight.work for flight in self._flights], timeout=PATIENCE_S)
        self._decoder.close()

    async def _answer(
        self, flight: ChatFlight, messages: Sequence[ChatMessage], sampling: Sampling, stops: StopTexts
    ) -> None:
        began = perf_counter()
        first_s: float | None = None
        last: Delta | None = None
        try:
            turns = await self._pictures.turns(messages)
            del messages  # with all the base64 in them
            async with aclosing(self._engine.complete(turns, sampling)) as deltas:
                async for delta in deltas:
                    if first_s is None and delta.text:
                        first_s = perf_counter() - began
                    last = stops.cut(delta)
                    flight.add(last)
                    if stops.found:  # leaving ends it in the engine, too
                        break
        except asyncio.CancelledError:
            # Aborted, which has ended it already; or else the engine gave it up of its own accord.
            flight.end(EngineFailure("the engine cancelled the answer"))
            raise
        except Exception as error:
            flight.end(frame_error(error))
            if is_engine_lost(error):
                self._lose(error)
            return
        if last is None:
            flight.end(EngineFailure("the engine gave no answer"))
        elif flight.end():
            self._observer.chatted(
                Chatted(
                    finish_reason=last.finish_reason or "stop",
                    prompt_tokens=last.prompt_tokens or 0,
                    completion_tokens=last.token_count,
                    ttft_s=first_s,
                    latency_s=perf_counter() - began,
                )
            )

    def _lose(self, error: Exception) -> None:
        """The engine is gone, and every answer with it."""
        if self.lost is None:
            self.lost = str(error)
            self._observer.engine_lost(self.lost)
        self._abort_all(EngineFailure(self.lost))

    def _late(self) -> EngineFailure:
        return EngineFailure(
            f"the answer took longer than {self._timeout_s:g} s", hint="a smaller max_tokens makes it shorter"
        )

    def _abort_all(self, error: Unavailable | EngineFailure) -> None:
        for flight in self._flights:
            flight.abort(error)
