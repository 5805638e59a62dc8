"""A video from where an earlier run left it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from protocol.errors import InputError
from protocol.frame import Frame
from protocol.source import Damage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from cli.output.journal import Past
    from cli.video.inputs import Input
    from cli.video.reading import Reading
    from cli.video.sampling import SamplingPlan
    from protocol.source import Event, Source

_DIGITS = 6
"""Of a time in a record."""


async def open_after(
    given: Input, plan: SamplingPlan, reading: Reading, past: Past, seen: Callable[[Frame], object] | None
) -> Source:
    """The frames that `plan` takes of `given` after those of `past`: just those an unbroken run would take.

    `seen` is given the last frame of `past`, in a thread, before any other comes.

    Raises:
        InputError: see `Reading.open`.
    """
    if past.last_s is None:
        return await reading.open(given, plan)
    source = await reading.open(given, _from_last(plan, past))
    return ResumedSource(source, lambda: reading.open(given, plan), past.last_s, seen)


class ResumedSource:
    """See `protocol.source.Source`.

    Reading begins at the last frame of before, so that it can be seen that this is the place. Where it does
    not come first (its time was rounded across a tick, or the file finds another place when it is seeked),
    the video is read from its beginning, up to that frame.
    """

    def __init__(
        self,
        source: Source,
        from_beginning: Callable[[], Awaitable[Source]],
        last_s: float,
        seen: Callable[[Frame], object] | None,
    ) -> None:
        self.name = source.name
        self.live = source.live
        self.duration_s = source.duration_s
        self.expected_frames = None if source.expected_frames is None else max(0, source.expected_frames - 1)
        self._source = source
        self._from_beginning = from_beginning
        self._last_s = last_s
        self._seen = seen

    async def events(self) -> AsyncIterator[Event]:
        """See `Source.events`.

        Raises:
            InputError: also when the last frame of before is not in it.
        """
        found = False
        async for event in self._source.events():
            if found or isinstance(event, Damage):
                yield event
            elif isinstance(event, Frame) and await self._is_last(event):
                found = True
            else:
                break
        if found:
            return
        await self._source.close()
        self._source = await self._from_beginning()
        async for event in self._source.events():
            if found:
                yield event
            elif isinstance(event, Frame):
                found = await self._is_last(event)
        if not found:
            raise InputError(
                f"{self.name}: has no frame at {self._last_s:.6f} s, where it was left",
                hint="--overwrite begins again",
            )

    async def close(self) -> None:
        """See `Source.close`."""
        await self._source.close()

    async def _is_last(self, frame: Frame) -> bool:
        if frame.pts_s is None or round(frame.pts_s, _DIGITS) != self._last_s:
            return False
        if self._seen is not None:
            await asyncio.to_thread(self._seen, frame)
        return True


def _from_last(plan: SamplingPlan, past: Past) -> SamplingPlan:
    """`plan` for the last frame of `past` and those after it."""
    assert past.last_s is not None
    start = Fraction(repr(past.last_s)) - Fraction(1, 10**_DIGITS)
    left = None
    if plan.max_frames is not None:
        left = max(1, plan.max_frames - past.captions - past.refused - past.skipped + 1)
    return replace(plan, start=max(plan.start, start), max_frames=left)
