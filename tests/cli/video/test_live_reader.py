"""Live sources that hold the thread that reads them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import av
import pytest

from cli.video import live_reader
from cli.video.live_input import LiveOptions, live_input
from cli.video.live_policy import LivePolicy
from cli.video.live_source import open_live
from cli.video.sampling import SamplingPlan
from protocol.errors import InputError
from protocol.frame import Frame
from protocol.source import Away, Event, Gap
from tests.clips import make_clip, steady

if TYPE_CHECKING:
    from pathlib import Path

    from av.container import InputContainer


@dataclass
class Holding:
    """A short video as a source that is opened again and again, and that holds its thread the second time."""

    path: Path
    network: bool = True
    name: str = "camera:0"
    paced: bool = False
    endless: bool = True
    opened: int = 0
    release: threading.Event = field(default_factory=threading.Event)

    def open(self, open_s: float, read_s: float) -> InputContainer:
        self.opened += 1
        if self.opened == 2:
            self.release.wait(60)
            raise InputError(f"{self.name}: it let go too late")
        return av.open(str(self.path))

    def error(self, error: Exception) -> InputError:
        return InputError(f"{self.name}: {error}")


@pytest.fixture
def holding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holding:
    monkeypatch.setattr(live_reader, "_OVERTIME_S", 0.1)
    return Holding(make_clip(tmp_path / "a.mp4", steady(3)))


async def test_another_thread_goes_on(holding: Holding) -> None:
    source = await open_live(holding, SamplingPlan("every"), LivePolicy("all", stall_s=0.1))  # type: ignore[arg-type]
    found: list[Event] = []
    async for event in source.events():
        found.append(event)
        if sum(isinstance(each, Frame) for each in found) == 2:
            break
    holding.release.set()
    await source.close()
    # All of it is there at once, and of that a live source gives the newest picture.
    assert [type(event) for event in found] == [Frame, Away, Gap, Frame]
    first, _, gap, second = found
    assert isinstance(first, Frame)
    assert isinstance(second, Frame)
    assert gap == Gap(first.pts_s or 0.0, second.pts_s or 0.0, "the stream ended")
    assert holding.opened == 3


async def test_one_that_is_not_looked_for_is_lost(holding: Holding) -> None:
    policy = LivePolicy("all", stall_s=0.1, retry_for_s=0.2)
    source = await open_live(holding, SamplingPlan("every"), policy)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="camera:0: lost"):
        async for _ in source.events():
            pass
    holding.release.set()
    await source.close()


async def test_a_film_of_long_pictures_played_live_is_not_silent(tmp_path: Path) -> None:
    clip = str(make_clip(tmp_path / "a.mp4", [0, 600, 1200]))
    given = live_input(clip, LiveOptions(), realtime=True)
    assert given is not None
    source = await open_live(given, SamplingPlan("every"), LivePolicy("all", stall_s=0.3))
    found = [event.pts_s async for event in source.events() if isinstance(event, Frame)]
    await source.close()
    assert found == pytest.approx([0.0, 0.6, 1.2], abs=0.05)
