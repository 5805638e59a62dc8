import asyncio
import os
import threading
import time
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from cli.video import file_source
from cli.video.file_source import LOOKAHEAD_FRAMES, open_source
from cli.video.picture import PictureRenderer
from cli.video.reader import Reader
from cli.video.sampling import SamplingPlan
from protocol.errors import InputError
from protocol.frame import Frame
from protocol.source import Ended, Event, Source
from tests.clips import make_clip, number_of, steady


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return make_clip(tmp_path / "clip.mp4", steady(100))


async def events_of(path: Path, plan: SamplingPlan) -> list[Event]:
    source = await open_source(str(path), plan)
    try:
        return [event async for event in source.events()]
    finally:
        await source.close()


def shown(events: list[Event]) -> list[tuple[float | None, int]]:
    return [(event.pts_s, number_of(event.pixels)) for event in events if isinstance(event, Frame)]


async def test_a_source_knows_itself_before_its_first_frame(clip: Path) -> None:
    source = await open_source(str(clip), SamplingPlan(fps=Fraction(5), start=Fraction(1)))
    assert isinstance(source, Source)
    assert source.name == str(clip)
    assert source.live is False
    assert source.duration_s == 3
    assert source.expected_frames == 15
    assert source.info.frame_size == (128, 64)
    await source.close()


async def test_one_frame_a_second(clip: Path) -> None:
    events = await events_of(clip, SamplingPlan())
    assert shown(events) == [(0.0, 0), (1.0, 25), (2.0, 50), (3.0, 75)]
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert ended == Ended(end_s=4.0, frames_decoded=ended.frames_decoded)
    assert 4 <= ended.frames_decoded < 60  # most of the others are jumped over, or nothing refers to them


async def test_the_frame_on_screen_is_the_one_that_began_last(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", [0, 900, 1100, 3500, 3540])
    assert shown(await events_of(path, SamplingPlan())) == [(0.0, 0), (0.9, 1), (1.1, 2)]
    assert shown(await events_of(path, SamplingPlan(fps=Fraction(2)))) == [
        (0.0, 0),
        (0.9, 1),
        (1.1, 2),
        (3.5, 3),
    ]


async def test_ticks_before_a_late_first_frame_are_its_own(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", [1500, 2500], audio_s=1.0)
    assert shown(await events_of(path, SamplingPlan())) == [(1.5, 0)]
    events = await events_of(path, SamplingPlan(end=Fraction(1)))
    assert shown(events) == [(1.5, 0)]
    assert isinstance(events[-1], Ended)
    assert events[-1].end_s == 1


@pytest.mark.parametrize(
    ("plan", "numbers", "end_s"),
    [
        (SamplingPlan(start=Fraction(3, 2)), [50, 75], 4),
        (SamplingPlan(start=Fraction(1), end=Fraction(3)), [25, 50], 3),
        (SamplingPlan(fps=Fraction(25), start=Fraction(2), end=Fraction(201, 100)), [50], 2.01),
        (SamplingPlan(max_frames=2), [0, 25], 2),
        (SamplingPlan(max_frames=9), [0, 25, 50, 75], 4),
        (SamplingPlan("every", start=Fraction(39, 10)), [98, 99], 4),
        (SamplingPlan("every", end=Fraction(1, 10)), [0, 1, 2], 0.1),
        (SamplingPlan("keyframes", max_frames=3), [0, 12, 24], 1),
        (SamplingPlan("keyframes", start=Fraction(1), end=Fraction(3, 2)), [36], 1.5),
        (SamplingPlan(start=Fraction(9)), [], 4),
        (SamplingPlan(start=Fraction(1, 5), end=Fraction(4, 5)), [], 0.8),
    ],
)
async def test_ranges(clip: Path, plan: SamplingPlan, numbers: list[int], end_s: float) -> None:
    events = await events_of(clip, plan)
    assert [number for _, number in shown(events)] == numbers
    assert isinstance(events[-1], Ended)
    assert events[-1].end_s == pytest.approx(end_s)


@pytest.mark.parametrize(
    ("plan", "expected", "end_s"),
    [
        (SamplingPlan(max_frames=6, loop=True), [(0, 0), (1, 25), (2, 50), (3, 75), (4, 0), (5, 25)], 6),
        (SamplingPlan(end=Fraction(6), loop=True), [(0, 0), (1, 25), (2, 50), (3, 75), (4, 0), (5, 25)], 6),
        # Ticks do not begin anew with each pass, and a range lies on the repeated video's time line.
        (SamplingPlan(fps=Fraction(1, 3), max_frames=4, loop=True), [(0, 0), (3, 75), (6, 50), (9, 25)], 12),
        (SamplingPlan(start=Fraction(7), max_frames=2, loop=True), [(7, 75), (8, 0)], 9),
        (
            SamplingPlan("keyframes", start=Fraction(38, 10), max_frames=2, loop=True),
            [(3.84, 96), (4, 0)],
            4.04,
        ),
        (SamplingPlan(max_frames=2, loop=True), [(0, 0), (1, 25)], 2),
    ],
)
async def test_a_loop_goes_on_until_its_limit(
    clip: Path, plan: SamplingPlan, expected: list[tuple[float, int]], end_s: float
) -> None:
    events = await events_of(clip, plan)
    assert shown(events) == expected
    assert isinstance(events[-1], Ended)
    assert events[-1].end_s == pytest.approx(end_s)


async def test_a_video_of_no_length_is_not_looped_for_ever(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.ivf", steady(9), codec="libvpx")
    data = path.read_bytes()
    path.write_bytes(data[:18] + b"\xff\xff" + data[20:])  # billions of frames a second
    assert len(shown(await events_of(path, SamplingPlan(max_frames=20, loop=True)))) < 20


async def test_a_looped_picture_was_taken_when_it_was(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "a.mkv", steady(50), metadata={"creation_time": "2024-05-06T07:08:09Z"})
    events = await events_of(path, SamplingPlan(max_frames=3, loop=True))
    begun = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    taken = [event.captured_at for event in events if isinstance(event, Frame)]
    assert taken == [begun, begun + timedelta(seconds=1), begun]


async def test_a_looped_pipe_is_read_from_its_copy(clip: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(clip.read_bytes()))
    writer.start()
    assert len(shown(await events_of(fifo, SamplingPlan(max_frames=9, loop=True)))) == 9
    writer.join()


async def test_the_time_of_recording_is_given(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "a.mkv", steady(50), metadata={"creation_time": "2024-05-06T07:08:09Z"})
    frames = [event for event in await events_of(path, SamplingPlan()) if isinstance(event, Frame)]
    begun = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert [frame.captured_at for frame in frames] == [begun, begun + timedelta(seconds=1)]


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59Z", "2101-01-01T00:00:00Z", "0001-01-01T00:00:00+09:00"]
)
async def test_an_absurd_time_of_recording_is_none(tmp_path: Path, time: str) -> None:
    path = make_clip(tmp_path / "a.mkv", steady(50), metadata={"creation_time": time})
    frames = [event for event in await events_of(path, SamplingPlan()) if isinstance(event, Frame)]
    assert [frame.captured_at for frame in frames] == [None, None]


async def test_the_frame_that_closes_the_sample_is_no_part_of_it(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", [0, 1000, 2000, 3000])
    for plan in (SamplingPlan(fps=Fraction(60), max_frames=1), SamplingPlan(max_frames=1)):
        ended = (await events_of(path, plan))[-1]
        assert isinstance(ended, Ended)
        assert ended.end_s == 1


async def test_what_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        await open_source(str(tmp_path / "none.mp4"), SamplingPlan())


async def test_an_error_while_reading_comes_out_of_events(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Reader, plan: SamplingPlan) -> None:
        raise InputError("clip.mp4: reading broke off")

    monkeypatch.setattr(Reader, "wanted_frames", broken)
    source = await open_source(str(clip), SamplingPlan())
    with pytest.raises(InputError, match="broke off"):
        await anext(source.events())
    await source.close()


async def test_reading_runs_a_few_frames_ahead_and_no_further(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = []
    render = PictureRenderer.render
    monkeypatch.setattr(PictureRenderer, "render", lambda *given: rendered.append(1) or render(*given))
    source = await open_source(str(clip), SamplingPlan("every"))
    await asyncio.sleep(0.3)
    assert len(rendered) == LOOKAHEAD_FRAMES + 1  # one is waiting to be put
    await source.close()


async def test_close_ends_the_thread_and_the_consumer_and_can_be_repeated(clip: Path) -> None:
    source = await open_source(str(clip), SamplingPlan("every"))
    events = source.events()
    await anext(events)
    await source.close()
    await source.close()
    assert [event async for event in events] == []
    source._thread.join(1)
    assert not source._thread.is_alive()


async def test_a_pipe_nobody_writes_to_can_be_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_source, "_CLOSE_TIMEOUT_S", 0.1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    opening = asyncio.create_task(open_source(str(fifo), SamplingPlan()))
    await asyncio.sleep(0.05)
    before = time.perf_counter()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert time.perf_counter() - before < 1
    os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))  # lets the thread go


async def test_a_waiting_consumer_is_cancelled_at_once(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()

    def stuck(self: Reader, plan: SamplingPlan) -> list[object]:
        hold.wait(5)
        return []

    monkeypatch.setattr(Reader, "wanted_frames", stuck)
    source = await open_source(str(clip), SamplingPlan())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await anext(source.events())
    hold.set()
    await source.close()
