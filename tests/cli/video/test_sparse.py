import asyncio
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cli.video import reader, sparse
from cli.video.file_source import open_source
from cli.video.keyframe_index import KeyframeIndex
from cli.video.packet_window import Distrusted
from cli.video.picture import PictureRenderer
from cli.video.reader import Reader
from cli.video.sampled import sampled
from cli.video.sampling import SamplingPlan
from cli.video.track import Track
from protocol.frame import Frame
from tests.cli.video.full_decode import PLANS, FullDecode, taken_sparsely
from tests.clips import make_clip, number_of, steady


def numbers(path: Path, plan: SamplingPlan) -> list[int]:
    """The numbers that the frames taken show."""

    async def shown() -> list[int]:
        source = await open_source(str(path), plan)
        numbers = [number_of(event.pixels) async for event in source.events() if isinstance(event, Frame)]
        await source.close()
        return numbers

    return asyncio.run(shown())


class Jumps:
    """Where reading went on, in frames from the beginning."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_index: list[int] = []
        self.in_window: list[int] = []
        jump, skip = sparse.SparseDecoding._jump, sparse.SparseDecoding._skip_to

        def jumped(decoding: Any, target: int, latest: int) -> Iterator[Any]:
            yield from jump(decoding, target, latest)
            self.by_index.append(self._landed(decoding))

        def skipped(decoding: Any, stamp: int) -> Iterator[Any]:
            before = decoding._landed
            yield from skip(decoding, stamp)
            if decoding._landed != before:
                self.in_window.append(self._landed(decoding))

        monkeypatch.setattr(sparse.SparseDecoding, "_jump", jumped)
        monkeypatch.setattr(sparse.SparseDecoding, "_skip_to", skipped)

    def _landed(self, decoding: Any) -> int:
        track = decoding._track
        return round((decoding._landed * track.time_base - track.zero) * 25)


def test_the_next_tick_is_reached_by_its_keyframe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_clip(tmp_path / "a.mp4", steady(250), keyframe_every=10)
    jumps = Jumps(monkeypatch)
    assert numbers(path, SamplingPlan(fps=Fraction(1, 3))) == [0, 75, 150, 225]
    assert jumps.by_index == [70, 150, 220]
    assert jumps.in_window == [240]  # the last group, to see where the video ends


def test_a_keyframe_among_the_packets_read_needs_no_seeking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_clip(tmp_path / "a.ts", steady(120), keyframe_every=10)
    jumps = Jumps(monkeypatch)
    assert numbers(path, SamplingPlan()) == [0, 25, 50, 75, 100]
    assert jumps.by_index == []
    assert jumps.in_window == [20, 50, 70, 100, 110]


def test_a_keyframe_shown_later_than_the_index_lets_expect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the one before it is right, even where that leads back to what was read already."""
    path = make_clip(tmp_path / "a.mp4", steady(250), keyframe_every=60)
    expected = FullDecode(path)
    target = sparse.SparseDecoding._index_target

    def too_late(decoding: Any, stamp: int) -> int | None:
        found = target(decoding, stamp)
        if found is None:
            return None
        return int(decoding._index.before(stamp + 61 * 512))  # the one after it

    monkeypatch.setattr(sparse.SparseDecoding, "_index_target", too_late)
    monkeypatch.setattr(KeyframeIndex, "is_ahead", lambda *_: True)
    for words in ("one in ten seconds", "one in two seconds", "one a second"):
        taken, _ = taken_sparsely(path, PLANS[words])
        assert taken == expected.taken(PLANS[words]), words


def test_seeking_that_fails_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import av

    def broken(track: Track, stamp: int) -> None:
        raise av.error.PermissionError(1, "no")

    path = make_clip(tmp_path / "a.mp4", steady(250), keyframe_every=10)
    plan = SamplingPlan(fps=Fraction(1, 3))
    monkeypatch.setattr(Track, "seek", broken)
    opened = Reader(str(path))
    with pytest.raises(Distrusted, match="seeking fails"):
        list(opened.wanted_frames(plan))
    opened.close()
    assert numbers(path, plan) == [0, 75, 150, 225]


class Picture:
    """Stands for a decoded picture and counts how many there are."""

    alive = 0
    most = 0

    def __init__(self, picture: Any) -> None:
        self.picture = picture
        Picture.alive += 1
        Picture.most = max(Picture.most, Picture.alive)

    def __del__(self) -> None:
        Picture.alive -= 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.picture, name)


@pytest.mark.parametrize("fps", [Fraction(1, 3), Fraction(2), Fraction(10), Fraction(100)])
def test_three_frames_are_held_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fps: Fraction
) -> None:
    """Of those in full size, as the decoder gives them: an 8K one takes 50 MB."""
    path = make_clip(tmp_path / "a.mp4", steady(150), keyframe_every=30, options={"bf": "4"})
    ready, render, describe = Track.ready, PictureRenderer.render, reader.describe
    monkeypatch.setattr(Track, "ready", lambda track: map(Picture, ready(track)))
    monkeypatch.setattr(PictureRenderer, "render", lambda self, given: render(self, given.picture))
    monkeypatch.setattr(reader, "describe", lambda *given: describe(*given[:-1], given[-1].picture))
    Picture.most = Picture.alive
    numbers(path, SamplingPlan(fps=fps))
    assert 2 <= Picture.most <= 3


def test_stopping_is_no_sign_of_a_bad_file(tmp_path: Path) -> None:
    stop = threading.Event()
    opened = Reader(str(make_clip(tmp_path / "a.mp4", steady(250))), stopped=stop.is_set)
    events = sampled(opened, SamplingPlan(fps=Fraction(5)))
    next(events)
    stop.set()
    assert len(list(events)) < 20
    opened.close()
