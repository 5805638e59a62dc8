import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.video.file_source import open_source
from cli.video.reader import Decoded, Reader
from cli.video.sampling import SamplingPlan
from cli.video.timeouts import Pulse, Timeouts
from protocol.errors import InputError
from protocol.frame import Frame
from tests.clips import make_clip, steady


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock's time, to be set by the test."""
    moment = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    return moment


def test_the_first_sign_of_life_has_a_limit_of_its_own(now: list[float]) -> None:
    pulse = Pulse(Timeouts(open_s=20, read_s=60))
    now[0] = 119.9
    assert not pulse.silent_too_long(since=100)
    now[0] = 120
    assert pulse.silent_too_long(since=100)
    assert str(pulse.error("a.mp4")) == (
        "a.mp4: nothing came in within 20 s; --open-timeout waits longer, 0 without end"
    )
    pulse.beat()
    now[0] = 179
    assert not pulse.silent_too_long(since=100)
    now[0] = 180
    assert pulse.silent_too_long(since=100)
    assert str(pulse.error("a.mp4")) == (
        "a.mp4: nothing more came in for 60 s; --read-timeout waits longer, 0 without end"
    )


def test_silence_counts_from_when_something_was_wanted(now: list[float]) -> None:
    pulse = Pulse(Timeouts(open_s=20, read_s=60))
    pulse.beat()
    now[0] = 1000
    assert not pulse.silent_too_long(since=990)
    assert pulse.silent_too_long(since=940)


def test_zero_is_no_limit(now: list[float]) -> None:
    pulse = Pulse(Timeouts(open_s=0, read_s=0))
    now[0] = 1e9
    assert not pulse.silent_too_long(since=100)
    pulse.beat()
    now[0] = 2e9
    assert not pulse.silent_too_long(since=100)


async def test_a_pipe_nobody_writes_to_is_given_up(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(InputError, match=r"fifo: nothing came in within 0\.1 s"):
        await open_source(str(fifo), SamplingPlan(), Timeouts(0.1, 0.1))
    os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))  # lets the thread go


async def test_a_decoder_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()
    frames = Reader.frames

    def stuck(self: Reader) -> Iterator[object]:
        for number, event in enumerate(frames(self)):
            if number == 3:
                hold.wait(30)
            yield event

    monkeypatch.setattr(Reader, "frames", stuck)
    monkeypatch.setattr(Reader, "wanted_frames", lambda self, plan: stuck(self))
    path = make_clip(tmp_path / "clip.mp4", steady(20))
    source = await open_source(str(path), SamplingPlan("every"), Timeouts(30, 0.1))
    events = source.events()
    for _ in range(3):
        assert isinstance(await anext(events), Frame)
    with pytest.raises(InputError, match=r"clip\.mp4: nothing more came in for 0\.1 s"):
        await anext(events)
    hold.set()
    await source.close()


async def test_a_consumer_that_takes_its_time_is_no_silence(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", steady(12))
    source = await open_source(str(path), SamplingPlan("every"), Timeouts(30, 0.2))
    seen = 0
    async for event in source.events():
        if isinstance(event, Frame):
            seen += 1
            if seen == 1:
                await asyncio.sleep(0.5)  # the thread waits for room all the while
    assert seen == 12
    await source.close()


def test_a_reader_asks_after_every_packet(tmp_path: Path) -> None:
    asked = []
    reader = Reader(
        str(make_clip(tmp_path / "clip.mp4", steady(20))), stopped=lambda: bool(asked.append(None))
    )
    assert sum(isinstance(event, Decoded) for event in reader.frames()) == 20
    assert len(asked) >= 20
    reader.close()
