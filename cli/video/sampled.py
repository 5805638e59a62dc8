"""Carrying a sampling plan out on one video."""

from __future__ import annotations

import logging
from fractions import Fraction
from typing import TYPE_CHECKING

from cli.video.packet_window import Distrusted
from cli.video.timeline import Passed
from protocol.source import Damage, Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.video.reader import Reader
    from cli.video.sampling import SamplingPlan
    from cli.video.timeline import Decoded

log = logging.getLogger(__name__)

_SHORTEST_PASS_S = Fraction(1, 500)
"""A shorter video would be read over and over again, up to millions of times, to fill the time asked for."""


def sampled(reader: Reader, plan: SamplingPlan) -> Iterator[Decoded | Damage | Ended]:
    """The frames that `plan` takes of the video, with its damage and its end.

    Only what can be wanted is decoded. A video that turns out not to be what its packets and its index say
    is read again from the beginning, all of it, and goes on after the frames already given.

    Raises:
        InputError: reading broke off.
    """
    given = 0
    try:
        for event in _carry_out(plan, reader, sparse=True):
            yield event
            given += not isinstance(event, (Damage, Ended))
        return
    except Distrusted as reason:
        log.info("%s: decoding all of it: %s", reader.name, reason)
        reader.reread()
    for event in _carry_out(plan, reader, sparse=False):
        if given and not isinstance(event, (Damage, Ended)):
            given -= 1
        else:
            yield event


def _passes(plan: SamplingPlan, reader: Reader, *, sparse: bool) -> Iterator[Decoded | Passed | Damage]:
    """What `reader` reads; with `plan.loop` again and again, unless a pass takes next to no time."""
    yield from reader.wanted_frames(plan) if sparse else reader.frames()
    ended = -_SHORTEST_PASS_S
    while plan.loop and reader.end - ended >= _SHORTEST_PASS_S:
        ended = reader.end
        reader.rewind()
        yield from reader.wanted_frames(plan) if sparse else reader.frames()


def _carry_out(plan: SamplingPlan, reader: Reader, *, sparse: bool) -> Iterator[Decoded | Damage | Ended]:
    sampler = plan.sampler()
    events = iter(()) if sampler.done else _passes(plan, reader, sparse=sparse)
    closed_at: Fraction | None = None
    for event in events:
        if isinstance(event, Damage):
            yield event
            continue
        sample = sampler.push(event, event.pts, keyframe=event.keyframe)
        if sample is not None:
            yield _there(sample)
        if sampler.done:
            closed_at = None if sample is event else event.pts
            break
    whole = not sampler.done
    end = reader.end
    if closed_at is not None:  # by a frame that is no part of the sample
        end = min(end, closed_at)
    sample = sampler.finish(reader.end)
    if sample is not None:
        yield _there(sample)
    if not whole and sampler.next_s is not None:  # the last frame stands for the time up to the next tick
        length = None if plan.loop else reader.info.duration_s
        end = max(end, min(sampler.next_s, length or sampler.next_s))
    if plan.end is not None:
        end = min(end, plan.end)
    yield Ended(
        end_s=float(end),
        frames_decoded=reader.frames_decoded,
        damaged=reader.damaged,
        truncated=whole and reader.truncated(),
    )


def _there(sample: Decoded | Passed) -> Decoded:
    if isinstance(sample, Passed):
        raise Distrusted("a frame is wanted that was left out")
    return sample
