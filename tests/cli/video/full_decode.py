"""What a sampling plan takes of a video that is decoded as a whole: the definition, and the slow way."""

from __future__ import annotations

import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from cli.video.reader import Reader
from cli.video.sampled import sampled
from cli.video.sampling import SamplingPlan
from cli.video.timeline import Decoded
from protocol.source import Damage, Ended

PLANS = {
    "one in ten seconds": SamplingPlan(fps=Fraction(1, 10)),
    "one in two seconds": SamplingPlan(fps=Fraction(1, 2)),
    "one a second": SamplingPlan(fps=Fraction(1)),
    "two a second": SamplingPlan(fps=Fraction(2)),
    "ten a second": SamplingPlan(fps=Fraction(10)),
    "a range": SamplingPlan(fps=Fraction(2), start=Fraction(13, 10), end=Fraction(33, 10)),
    "an end off the ticks": SamplingPlan(fps=Fraction(7, 3), end=Fraction(2)),
    "two at most": SamplingPlan(fps=Fraction(1), max_frames=2),
    "keyframes": SamplingPlan("keyframes"),
    "keyframes of a range": SamplingPlan("keyframes", start=Fraction(1), end=Fraction(3)),
    "two keyframes": SamplingPlan("keyframes", start=Fraction(1, 2), max_frames=2),
    "every frame of a range": SamplingPlan("every", start=Fraction(1), end=Fraction(3, 2)),
}
LOOPS = {
    "a loop": SamplingPlan(fps=Fraction(3, 4), max_frames=9, loop=True),
    "a loop of keyframes": SamplingPlan("keyframes", end=Fraction(9), loop=True),
}

Taken = tuple[list[tuple[Fraction, int]], Ended]


def digest(picture: Any) -> int:
    """A checksum of the pixels that are shown, without the padding of each line."""
    size = (picture.format.components[0].bits + 7) // 8
    checksum = 0
    for plane in picture.planes:
        lines = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height]
        checksum = zlib.crc32(np.ascontiguousarray(lines[:, : plane.width * size]), checksum)
    return checksum


class FullDecode:
    """All frames of a video, decoded once, from which any plan takes its own."""

    def __init__(self, path: Path) -> None:
        reader = Reader(str(path))
        self.frames = [
            (event.pts, event.keyframe, digest(event.picture))
            for event in reader.frames()
            if isinstance(event, Decoded)
        ]
        self.count = reader.frames_decoded
        self.damaged = reader.damaged
        self.truncated = reader.truncated()
        self.end = reader.end
        reader.close()

    def taken(self, plan: SamplingPlan) -> list[tuple[Fraction, int]]:
        """What `plan` takes, which does not loop: time and checksum of each frame."""
        sampler = plan.sampler()
        samples = []
        for pts, keyframe, checksum in self.frames:
            if not sampler.done:
                samples.append(sampler.push((pts, checksum), pts, keyframe=keyframe))
        samples.append(sampler.finish(self.end))
        return [sample for sample in samples if sample is not None]


def taken_in_full(path: Path, plan: SamplingPlan, *, pixels: bool = True) -> Taken:
    """What `plan` takes of a video of which nothing is left out, and how that ends."""

    def frames(reader: Reader) -> Any:
        return reader.frames()

    return _taken(path, plan, frames, pixels=pixels)


def taken_sparsely(path: Path, plan: SamplingPlan, *, pixels: bool = True) -> Taken:
    """What `plan` takes as sources do."""
    return _taken(path, plan, None, pixels=pixels)


def _taken(path: Path, plan: SamplingPlan, frames: Any, *, pixels: bool) -> Taken:
    reader = Reader(str(path))
    if frames is not None:
        reader.wanted_frames = lambda _: frames(reader)  # type: ignore[method-assign]
    samples, ended = [], None
    for event in sampled(reader, plan):
        if isinstance(event, Ended):
            ended = event
        elif not isinstance(event, Damage):
            samples.append((event.pts, digest(event.picture) if pixels else 0))
    reader.close()
    assert ended is not None
    return samples, ended
