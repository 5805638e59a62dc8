"""The caption loop: frames from a source, through a session, to the outputs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from cli.output.record import CaptionRecord, ErrorRecord
from cli.output.text import clock
from cli.tally import Tally
from cli.video.inputs import unique_stems
from cli.video.timeouts import DEFAULT_TIMEOUTS
from protocol.errors import Conflict, EngineFailure, FrameRefused, InputError, NotFound, SessionError
from protocol.frame import Frame
from protocol.similarity import SimilarityFilter
from protocol.source import Damage, Ended

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cli.output.outputs import Outputs, SourceOutputs
    from cli.output.terminal import Display
    from cli.video.inputs import Input
    from cli.video.sampling import SamplingPlan
    from cli.video.timeouts import Timeouts
    from protocol.messages import SessionConfig
    from protocol.session import Engine, Session
    from protocol.source import Event, Source


async def caption_inputs(
    inputs: Sequence[Input],
    plan: SamplingPlan,
    engine: Engine,
    config: SessionConfig,
    outputs: Outputs,
    display: Display,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    *,
    skip_similar: float | None = None,
) -> Tally:
    """Captions each input in a session of its own; one that fails is reported and the rest go on.

    A server is asked whether it can answer before any input is opened. Frames as similar as `skip_similar`
    to the last one captioned are left out; None leaves out none.

    Raises:
        OutputError: captions can no longer be written.
        EngineError: the engine is gone.
        SessionError: the engine refuses such a session.
    """
    from cli.video.file_source import open_source

    tally = Tally()
    display.loading(f"waiting for the {engine.name} engine")
    await engine.check(config)
    for number, (given, stem) in enumerate(zip(inputs, unique_stems(inputs), strict=True), start=1):
        try:
            source = await open_source(given, plan, timeouts)
        except InputError as error:
            display.failed(str(error))
            tally.failed += 1
            continue
        try:
            display.loading(f"waiting for the {engine.name} engine")
            session = await engine.open(config)
            async with session:
                sinks = outputs.open_for(stem)
                display.begin(source, number)
                similar = None if skip_similar is None else SimilarityFilter(skip_similar)
                outcome = await caption_source(source, session, engine.name, sinks, display, similar)
        except InputError as error:
            display.failed(str(error))
            tally.failed += 1
        except EngineFailure as error:
            display.failed(f"{source.name}: {error}")
            tally.failed += 1
        else:
            tally.done += 1
            tally.incomplete += outcome.incomplete
        finally:
            await source.close()
    return tally


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a source that was read to its end went; `refused` counts frames that were not answered."""

    ended: Ended
    refused: int = 0

    @property
    def incomplete(self) -> bool:
        """Whether something is missing."""
        return bool(self.ended.damaged or self.ended.truncated or self.refused)


async def caption_source(
    source: Source,
    session: Session,
    engine_name: str,
    sinks: SourceOutputs,
    display: Display,
    similar: SimilarityFilter | None = None,
) -> Outcome:
    """Captions the frames of `source` that `similar` keeps, and gives how it went.

    Whatever ends it, the captions so far are written out and the outputs of this source are finished.

    Raises:
        InputError: the source cannot be read, or not any further, or no frame of it is asked for.
        EngineFailure: the engine failed, or no frame was answered.
        SessionError: the session is of no further use.
        EngineError: the engine is gone, or the session with a server is.
        OutputError: captions can no longer be written.
    """
    ended: Ended | None = None
    captions = _Captions(source, session, engine_name)
    try:
        async for event, skipped in _prepared(source, session, similar):
            display.skipped(skipped)
            if isinstance(event, Frame):
                record = await captions.of(event, skipped)
                if isinstance(record, CaptionRecord):
                    display.caption(record)
                    sinks.write(record)
                else:
                    display.refused(record)
                    sinks.refused(record)
            elif isinstance(event, Damage):
                display.damage(source.name, event)
            elif isinstance(event, Ended):
                ended = event
    finally:
        display.end(ended, sinks.files)
        sinks.finish(ended.end_s if ended else None)
    if ended is None:
        raise InputError(f"{source.name}: the source broke off")
    if not captions.answered:
        if captions.refused:
            raise EngineFailure("no frame was answered")
        raise InputError(
            f"{source.name}: no frame in the range asked for", hint=f"it ends at {clock(ended.end_s)}"
        )
    return Outcome(ended, captions.refused)


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
        answered: captions so far.
        refused: frames that were not answered.
    """

    def __init__(self, source: Source, session: Session, engine_name: str) -> None:
        self.answered = 0
        self.refused = 0
        self._source = source
        self._session = session
        self._engine_name = engine_name
        self._session_id = session.created.session_id  # of the last caption

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
            size=self._session.shown_size(frame),
            round_trip_s=round_trip_s,
        )
        self._session_id = created.session_id
        self.answered += 1
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
