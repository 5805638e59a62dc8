"""The caption loop: frames from a source, through a session, to the outputs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from cli.clean import valid_unicode
from cli.output.journal import NO_PAST
from cli.output.record import CaptionRecord, ErrorRecord
from cli.output.text import clock
from cli.resumed_source import open_after
from cli.tally import Tally
from cli.video.timeouts import DEFAULT_TIMEOUTS
from protocol.errors import (
    Conflict,
    EngineFailure,
    FrameRefused,
    InputError,
    NotFound,
    SessionError,
    UsageError,
)
from protocol.frame import Frame
from protocol.similarity import SimilarityFilter
from protocol.source import Damage, Dropped, Ended, Gap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cli.output.journal import Past
    from cli.output.outputs import Outputs
    from cli.output.source_display import SourceDisplay
    from cli.output.source_outputs import SourceOutputs
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
        UsageError: another model answers than in the run that is gone on from.
    """
    tally = Tally()
    display.loading(f"waiting for the {engine.name} engine")
    await engine.check(config)
    for index, given in enumerate(inputs):
        past = outputs.past(index)
        if past.done:
            tally.done += 1
            tally.incomplete += past.incomplete
            continue
        similar = None if skip_similar is None else SimilarityFilter(skip_similar)
        try:
            source = await open_after(given, plan, timeouts, past, similar.keeps if similar else None)
        except InputError as error:
            display.failed(str(error))
            tally.failed += 1
            continue
        try:
            display.loading(f"waiting for the {engine.name} engine")
            session = await engine.open(config)
            async with session:
                _check_model(session.created.model, past)
                sinks = outputs.open_for(index)
                shown = display.begin(source, index + 1)
                if past.last_s is not None:
                    shown.resumed(past.captions, past.last_s)
                outcome = await caption_source(source, session, engine.name, sinks, shown, similar, past)
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


def _check_model(model: str, past: Past) -> None:
    if past.model not in (None, valid_unicode(model)):
        raise UsageError(
            f"--resume: the captions so far are by {past.model}, and {model} would go on",
            hint="--overwrite begins again",
        )


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


async def caption_source(
    source: Source,
    session: Session,
    engine_name: str,
    sinks: SourceOutputs,
    shown: SourceDisplay,
    similar: SimilarityFilter | None = None,
    past: Past = NO_PAST,
) -> Outcome:
    """Captions the frames of `source` that `similar` keeps, those after `past`, and gives how it all went.

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
        async for event, skipped in _prepared(source, session, similar):
            shown.skipped(skipped)
            if isinstance(event, Frame):
                record = await captions.of(event, skipped)
                if isinstance(record, CaptionRecord):
                    shown.caption(record)
                    sinks.write(record)
                else:
                    shown.refused(record)
                    sinks.refused(record)
            elif isinstance(event, Damage):
                shown.damage(event)
                sinks.damaged()
            elif isinstance(event, Dropped):
                shown.dropped(event.frames)
            elif isinstance(event, Gap):
                shown.gap(event)
            elif isinstance(event, Ended):
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
    """

    def __init__(self, source: Source, session: Session, engine_name: str, past: Past) -> None:
        """Counts on from `past`, of which `session` knows nothing."""
        self.answered = past.captions
        self.refused = past.refused
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
