"""The caption loop: frames from a source, through a session, to the outputs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from cli.output.journal import NO_PAST
from cli.output.record import CaptionRecord, ErrorRecord, GapRecord
from cli.output.text import clock
from protocol.errors import Conflict, EngineFailure, FrameRefused, InputError, NotFound, SessionError
from protocol.frame import Frame
from protocol.source import Away, Damage, Dropped, Ended, Gap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from cli.output.changes import ChangesOnly
    from cli.output.command_queue import CommandQueue
    from cli.output.journal import Past
    from cli.output.source_display import SourceDisplay
    from cli.output.source_outputs import SourceOutputs
    from protocol.session import Session
    from protocol.similarity import SimilarityFilter
    from protocol.source import Event, Source


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a source that was read to its end went; `refused` counts frames that were not answered."""

    ended: Ended
    refused: int = 0
    damaged_before: bool = False

    @property
    def incomplete(self) -> bool:
        """Whether something is missing."""
        return bool(self.damaged_before or self.ended.damaged or self.ended.truncated or self.refused)


@dataclass(frozen=True, slots=True)
class Ways:
    """What is done with one source beside captioning its frames.

    Attributes:
        similar: leaves frames out that look like the last one captioned.
        changes: leaves captions out that say what the last one written says.
        on_gap: called when a live source is back.
        commands: runs a command for captions that are written.
    """

    similar: SimilarityFilter | None = None
    changes: ChangesOnly | None = None
    on_gap: Callable[[], Awaitable[None]] | None = None
    commands: CommandQueue | None = None


NO_WAYS = Ways()


async def caption_source(
    source: Source,
    session: Session,
    engine_name: str,
    sinks: SourceOutputs,
    shown: SourceDisplay,
    ways: Ways = NO_WAYS,
    past: Past = NO_PAST,
) -> Outcome:
    """Captions the frames of `source` after `past`, and gives how it all went.

    Whatever ends it, the captions so far are written out and the outputs of this source are finished.

    Raises:
        InputError: the source cannot be read, or not any further, or no frame of it is asked for.
        EngineFailure: the engine failed, or no frame was answered.
        SessionError: the session is of no further use.
        EngineError: the engine is gone, or the session with a server is.
        OutputError: captions can no longer be written.
    """
    ended: Ended | None = None
    outcome: Outcome | None = None
    captions = _Captions(source, session, engine_name, past)
    try:
        async for event, skipped in _prepared(source, session, ways.similar):
            shown.skipped(skipped)
            match event:
                case Frame():
                    record = await captions.of(event, skipped)
                    if isinstance(record, ErrorRecord):
                        shown.refused(record)
                        sinks.event(record)
                        continue
                    said = record if ways.changes is None else ways.changes.of(record)
                    if said is None:
                        shown.unchanged(record)
                        continue
                    shown.caption(said)
                    sinks.write(said)
                    if ways.commands is not None:
                        if source.live:
                            ways.commands.put(said)
                        else:
                            await ways.commands.wait_and_put(said)
                case Dropped(frames):
                    captions.dropped += frames
                    shown.dropped(frames)
                case Damage():
                    shown.damage(event)
                    sinks.damaged()
                case Away(_, reason):
                    shown.away(reason)
                case Gap():
                    shown.gap(event)
                    sinks.event(GapRecord.of(event, source=source.name))
                    if ways.on_gap is not None:
                        await ways.on_gap()
                case Ended():
                    ended = event
        if ended and captions.answered:
            outcome = Outcome(ended, captions.refused, past.damaged)
    finally:
        shown.end(ended, sinks.files)
        end_s = ended.end_s if ended else None
        sinks.finish(end_s, done=bool(outcome), incomplete=bool(outcome and outcome.incomplete))
    if outcome is not None:
        return outcome
    if ended is None:
        raise InputError(f"{source.name}: the source broke off")
    if captions.refused:
        raise EngineFailure("no frame was answered")
    raise InputError(
        f"{source.name}: no frame in the range asked for", hint=f"it ends at {clock(ended.end_s)}"
    )


async def _prepared(
    source: Source, session: Session, similar: SimilarityFilter | None
) -> AsyncIterator[tuple[Event, int]]:
    """The events of `source` but for frames that are too similar: their number comes with the next frame.

    While one is answered, the next is read and the session prepares for it. A live source is not read ahead
    of: its next frame is the newest there is when its turn comes.
    """
    events = source.events()
    skipped = 0

    async def read() -> tuple[Event, int] | None:
        nonlocal skipped
        async for event in events:
            if isinstance(event, Frame) and similar and not await asyncio.to_thread(similar.keeps, event):
                skipped += 1
                continue
            before = 0
            if isinstance(event, (Frame, Ended)):
                before, skipped = skipped, 0
            if isinstance(event, Frame):
                await session.prepare(event)
            return event, before
        return None

    if source.live:
        while (following := await read()) is not None:
            yield following
        return
    upcoming = asyncio.create_task(read())
    try:
        while (following := await upcoming) is not None:
            upcoming = asyncio.create_task(read())
            yield following
    finally:
        upcoming.cancel()
        await asyncio.gather(upcoming, return_exceptions=True)


class _Captions:
    """The records of one source's frames, whichever session answers them.

    Attributes:
        answered: captions so far, those of the past included.
        refused: frames that were not answered.
        dropped: frames of a live source that went by since the last caption.
    """

    def __init__(self, source: Source, session: Session, engine_name: str, past: Past) -> None:
        """Counts on from `past`, of which `session` knows nothing."""
        self.answered = past.captions
        self.refused = past.refused
        self.dropped = 0
        self._source = source
        self._session = session
        self._engine_name = engine_name
        # Of the last caption; that of the past is no session now.
        self._session_id = None if past.captions else session.created.session_id

    async def of(self, frame: Frame, skipped: int) -> CaptionRecord | ErrorRecord:
        """The record of `frame`, before which so many were left out."""
        submitted = perf_counter()
        try:
            reply = await self._session.caption(frame)
        except FrameRefused as error:
            return self._refusal(frame, error, skipped)
        except (Conflict, NotFound, EngineFailure):
            raise
        except SessionError as error:  # of this frame only: the session goes on
            refused = FrameRefused(error.message, code=error.code, hint=error.hint)
            return self._refusal(frame, refused, skipped)
        round_trip_s = perf_counter() - submitted
        created = self._session.created
        record = CaptionRecord.of(
            frame,
            reply,
            source=self._source.name,
            frame_index=self.answered,
            engine=self._engine_name,
            created=created,
            history_lost=created.session_id != self._session_id,
            skipped_similar=skipped,
            dropped=self.dropped if self._source.live else None,
            size=self._session.shown_size(frame),
            round_trip_s=round_trip_s,
        )
        self._session_id = created.session_id
        self.answered += 1
        self.dropped = 0
        return record

    def _refusal(self, frame: Frame, error: FrameRefused, skipped: int) -> ErrorRecord:
        self.refused += 1
        return ErrorRecord.of(
            frame,
            error,
            source=self._source.name,
            engine=self._engine_name,
            created=self._session.created,
            skipped_similar=skipped,
        )
