"""The caption loop: frames from a source, through a session, to the outputs."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from cli.output.record import CaptionRecord
from cli.output.text import clock
from cli.tally import Tally
from cli.video.inputs import unique_stems
from protocol.errors import EngineFailure, InputError
from protocol.frame import Frame
from protocol.source import Damage, Ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.output.outputs import Outputs, SourceOutputs
    from cli.output.terminal import Display
    from cli.video.inputs import Input
    from cli.video.sampling import SamplingPlan
    from protocol.messages import SessionConfig
    from protocol.session import Engine, Session
    from protocol.source import Source


async def caption_inputs(
    inputs: Sequence[Input],
    plan: SamplingPlan,
    engine: Engine,
    config: SessionConfig,
    outputs: Outputs,
    display: Display,
) -> Tally:
    """Captions each input in a session of its own; one that fails is reported and the rest go on.

    Raises:
        OutputError: captions can no longer be written.
        EngineError: the engine is gone.
        SessionError: the engine refuses such a session.
    """
    from cli.video.file_source import open_source

    tally = Tally()
    for number, (given, stem) in enumerate(zip(inputs, unique_stems(inputs), strict=True), start=1):
        try:
            source = await open_source(given, plan)
        except InputError as error:
            display.failed(str(error))
            tally.failed += 1
            continue
        try:
            display.loading(f"loading the {engine.name} engine")
            session = await engine.open(config)
            async with session:
                sinks = outputs.open_for(stem)
                display.begin(source, number)
                ended = await caption_source(source, session, engine.name, sinks, display)
        except InputError as error:
            display.failed(str(error))
            tally.failed += 1
        except EngineFailure as error:
            display.failed(f"{source.name}: {error}")
            tally.failed += 1
        else:
            tally.done += 1
            tally.incomplete += bool(ended.damaged or ended.truncated)
        finally:
            await source.close()
    return tally


async def caption_source(
    source: Source, session: Session, engine_name: str, sinks: SourceOutputs, display: Display
) -> Ended:
    """Captions every frame of `source` and gives how it ended.

    Whatever ends it, the captions so far are written out and the outputs of this source are finished.

    Raises:
        InputError: the source cannot be read, or not any further, or no frame of it is asked for.
        SessionError: the session is of no further use.
        OutputError: captions can no longer be written.
    """
    ended: Ended | None = None
    answered = 0
    try:
        async for event in source.events():
            if isinstance(event, Frame):
                record = await _caption_frame(event, source, session, engine_name)
                answered += 1
                display.caption(record)
                sinks.write(record)
            elif isinstance(event, Damage):
                display.damage(source.name, event)
            elif isinstance(event, Ended):
                ended = event
    finally:
        display.end(ended, sinks.files)
        sinks.finish(ended.end_s if ended else None)
    if ended is None:
        raise InputError(f"{source.name}: the source broke off")
    if not answered:
        raise InputError(
            f"{source.name}: no frame in the range asked for", hint=f"it ends at {clock(ended.end_s)}"
        )
    return ended


async def _caption_frame(frame: Frame, source: Source, session: Session, engine_name: str) -> CaptionRecord:
    submitted = perf_counter()
    reply = await session.caption(frame)
    return CaptionRecord.of(
        frame,
        reply,
        source=source.name,
        engine=engine_name,
        model=session.created.model,
        session_id=session.created.session_id,
        round_trip_s=perf_counter() - submitted,
    )
