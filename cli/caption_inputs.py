"""Inputs, each through a session of its own: one after the other, or all at once where some are live."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cli.captioning import Ways, caption_source
from cli.clean import valid_unicode
from cli.output.changes import ChangesOnly
from cli.renewable_session import RenewableSession
from cli.resumed_source import open_after
from cli.tally import Tally
from cli.video.reading import DEFAULT_READING
from protocol.errors import EngineFailure, InputError, UsageError
from protocol.similarity import SimilarityFilter

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from cli.output.command_queue import CommandQueue
    from cli.output.journal import Past
    from cli.output.outputs import Outputs
    from cli.output.terminal import Display
    from cli.video.inputs import Input
    from cli.video.reading import Reading
    from cli.video.sampling import SamplingPlan
    from protocol.messages import SessionConfig
    from protocol.session import Engine, Session
    from protocol.source import Source


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be done with every input.

    Attributes:
        skip_similar: frames as similar as that to the last one captioned are left out; None leaves out none.
        changes_only: captions that say what the last one written says are left out.
        on_gap: what becomes of a session's history when its live source was away.
    """

    plan: SamplingPlan
    config: SessionConfig
    reading: Reading = DEFAULT_READING
    skip_similar: float | None = None
    changes_only: bool = False
    on_gap: Literal["keep", "new-session"] = "keep"


async def caption_inputs(
    inputs: Sequence[Input],
    asked: Asked,
    engine: Engine,
    outputs: Outputs,
    display: Display,
    commands: CommandQueue | None = None,
) -> Tally:
    """Captions each input in a session of its own; one that fails is reported and the rest go on.

    A server is asked whether it can answer before any input is opened. `commands` gets every caption that is
    written.

    Raises:
        OutputError: captions can no longer be written.
        EngineError: the engine is gone.
        SessionError: the engine refuses such a session.
        UsageError: another model answers than in the run that is gone on from.
    """
    run = _Run(asked, engine, outputs, display, commands)
    display.loading(f"waiting for the {engine.name} engine")
    await engine.check(asked.config)
    if any(asked.reading.live(given) for given in inputs):
        await _all_at_once([run.caption(index, given) for index, given in enumerate(inputs)])
    else:
        for index, given in enumerate(inputs):
            await run.caption(index, given)
    return run.tally


class _Run:
    """What all inputs of a run share."""

    def __init__(
        self,
        asked: Asked,
        engine: Engine,
        outputs: Outputs,
        display: Display,
        commands: CommandQueue | None,
    ) -> None:
        self.tally = Tally()
        self._asked = asked
        self._engine = engine
        self._outputs = outputs
        self._display = display
        self._commands = commands

    async def caption(self, index: int, given: Input) -> None:
        """Captions the input of that number, and counts how it went."""
        asked, tally, past = self._asked, self.tally, self._outputs.past(index)
        if past.done:
            tally.done += 1
            tally.incomplete += past.incomplete
            return
        similar = None if asked.skip_similar is None else SimilarityFilter(asked.skip_similar)
        try:
            seen = similar.keeps if similar else None
            source = await open_after(given, asked.plan, asked.reading, past, seen)
        except InputError as error:
            self._display.failed(str(error))
            tally.failed += 1
            return
        try:
            incomplete = await self._caption(index, source, similar, past)
        except InputError as error:
            self._display.failed(str(error))
            tally.failed += 1
        except EngineFailure as error:
            self._display.failed(f"{source.name}: {error}")
            tally.failed += 1
        else:
            tally.done += 1
            tally.incomplete += incomplete
        finally:
            await source.close()

    async def _caption(
        self, index: int, source: Source, similar: SimilarityFilter | None, past: Past
    ) -> bool:
        """Captions a source that is open; whether something is missing."""
        asked = self._asked
        self._display.loading(f"waiting for the {self._engine.name} engine")
        session: Session = await self._engine.open(asked.config)
        on_gap = None
        if source.live:
            session = renewable = RenewableSession(
                session,
                lambda: self._engine.open(asked.config),
                lambda reason: self._display.note(f"{source.name}: {reason}"),
            )
            on_gap = renewable.renew if asked.on_gap == "new-session" else None
        async with session:
            _check_model(session.created.model, past)
            sinks = self._outputs.open_for(index)
            shown = self._display.begin(source, index + 1)
            if past.last_s is not None:
                shown.resumed(past.captions, past.last_s)
            changes = ChangesOnly() if asked.changes_only else None
            ways = Ways(similar, changes, on_gap, self._commands)
            outcome = await caption_source(source, session, self._engine.name, sinks, shown, ways, past)
        return outcome.incomplete


async def _all_at_once(works: Sequence[Coroutine[None, None, None]]) -> None:
    """Does all of `works`; the first that fails ends the others, and its error comes out as it is."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check_model(model: str, past: Past) -> None:
    if past.model not in (None, valid_unicode(model)):
        raise UsageError(
            f"--resume: the captions so far are by {past.model}, and {model} would go on",
            hint="--overwrite begins again",
        )
