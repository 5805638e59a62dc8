"""Live sources as they are: servers killed, held and started again, and pictures that show their time."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from cli.video.live_input import LiveOptions, live_input
from cli.video.live_policy import DEFAULT_POLICY, LivePolicy
from cli.video.live_source import LiveSource, open_live
from cli.video.sampling import SamplingPlan
from protocol.errors import InputError
from protocol.frame import Frame
from protocol.source import Away, Damage, Dropped, Ended, Event, Gap
from tests.live.ffmpeg_server import HlsServer, mjpeg_server, tcp_server, udp_sender
from tests.live.picture import shown_at
from tests.live.rtsp_server import rtsp_server
from tests.live.server_process import ServerProcess
from tests.live.tcp_parts import Part, PartsServer, SilentServer

ALL = LivePolicy(keep="all")
EVERY = SamplingPlan("every")
OLD_S = 2.5
"""A picture that comes so long after it was made has waited somewhere, however slow the machine is."""


@contextlib.asynccontextmanager
async def live(
    url: str, plan: SamplingPlan | float = 10, policy: LivePolicy = DEFAULT_POLICY, **options: Any
) -> AsyncIterator[tuple[LiveSource, AsyncIterator[Event]]]:
    """The open source at `url`, sampled by `plan`, so many frames a second; and its events."""
    plan = plan if isinstance(plan, SamplingPlan) else SamplingPlan.of(fps=plan)
    given = live_input(url, LiveOptions(**options))
    assert given is not None
    source = await open_live(given, plan, policy, open_s=60)
    try:
        yield source, source.events()
    finally:
        await source.close()


async def frames(events: AsyncIterator[Event], count: int) -> list[Frame]:
    """The next so many frames, whatever comes between."""
    found: list[Frame] = []
    while len(found) < count:
        event = await anext(events)
        if isinstance(event, Frame):
            found.append(event)
    return found


async def until(events: AsyncIterator[Event], kind: type[Event]) -> list[Event]:
    """What comes up to the first event of `kind`, that one last."""
    found: list[Event] = []
    while not found or not isinstance(found[-1], kind):
        found.append(await anext(events))
    return found


def late_s(frame: Frame) -> float:
    """How long after it was made the picture came."""
    assert frame.captured_at
    return frame.captured_at.timestamp() - shown_at(frame.pixels)


def check_times(found: list[Frame]) -> None:
    """Each frame is stamped with when it came, on both clocks, and none is old."""
    starts = []
    for frame in found:
        assert frame.captured_at
        assert frame.pts_s is not None
        assert frame.arrived_s is not None
        assert -0.05 < late_s(frame) < OLD_S
        starts.append((frame.captured_at.timestamp() - frame.pts_s, frame.arrived_s - frame.pts_s))
    for start in starts:
        assert start == pytest.approx(starts[0], abs=0.05)  # but for what the clock is set by meanwhile
    times = [frame.pts_s for frame in found]
    assert times == sorted(set(times))


@pytest.mark.parametrize("make", [rtsp_server, tcp_server, udp_sender, mjpeg_server])
async def test_frames_come_with_the_time_of_their_arrival(make: Callable[[], ServerProcess]) -> None:
    with make() as server:
        async with live(server.url) as (source, events):
            assert (source.live, source.name) == (True, server.url)
            found = await frames(events, 6)
    check_times(found)
    assert {frame.size for frame in found} == {(320, 64)}
    assert found[0].pts_s == pytest.approx(0, abs=OLD_S)


async def test_rtsp_over_udp() -> None:
    with rtsp_server() as server:
        async with live(server.url, rtsp_transport="udp") as (_, events):
            check_times(await frames(events, 3))


async def test_hls_comes_in_bursts_and_is_given_at_its_own_pace(tmp_path: Path) -> None:
    with HlsServer(tmp_path) as server:
        while server.segments() < 2:
            await asyncio.sleep(0.05)
        async with live(server.url, EVERY, ALL) as (_, events):
            found = await frames(events, 30)
    pairs = list(itertools.pairwise(found))
    made = [shown_at(after.pixels) - shown_at(before.pixels) for before, after in pairs]
    came = [after.arrived_s - before.arrived_s for before, after in pairs]  # type: ignore[operator]
    assert sum(came) == pytest.approx(sum(made), abs=0.5)
    assert max(came) < 1


async def test_hls_that_breaks_off_is_found_again_and_nothing_shown_twice(tmp_path: Path) -> None:
    with HlsServer(tmp_path) as server:
        while server.segments() < 2:
            await asyncio.sleep(0.05)
        async with live(server.url) as (_, events):
            before = await frames(events, 3)
            server.web.kill()
            await until(events, Away)
            server.web.start()
            await until(events, Gap)
            after = await frames(events, 3)
    made = [shown_at(frame.pixels) for frame in before + after]
    assert made == sorted(set(made))


async def test_the_end_of_hls(tmp_path: Path) -> None:
    with HlsServer(tmp_path, life_s=2) as server:
        while not server.segments():
            await asyncio.sleep(0.05)
        async with live(server.url, SamplingPlan.of(fps=10, end="100")) as (_, events):
            found = [event async for event in events]
    assert isinstance(found[-1], Ended)
    assert found[-1].end_s < 50
    made = [shown_at(event.pixels) for event in found if isinstance(event, Frame)]
    assert made == sorted(set(made))
    assert len(made) > 5


async def test_a_user_and_a_password() -> None:
    with rtsp_server(user="anna", password="s3cret") as server:
        async with live(server.url) as (source, events):
            assert "s3cret" not in source.name
            assert "anna" not in source.name
            await frames(events, 1)
        with pytest.raises(InputError, match="401") as refused:
            async with live(server.url.replace("s3cret", "s3kret")):
                pass
    assert "s3kret" not in f"{refused.value!r} {refused.value}"
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("make", [rtsp_server, tcp_server])
async def test_a_server_that_was_killed_is_found_again(make: Callable[[], ServerProcess]) -> None:
    with make() as server:
        async with live(server.url) as (_, events):
            before = await frames(events, 3)
            server.kill()
            away = (await until(events, Away))[-1]
            server.start()
            gap = await anext(events)  # told once, however many attempts it took
            after = await frames(events, 3)
    assert isinstance(away, Away)
    assert isinstance(gap, Gap)
    assert (away.start_s, away.reason) == (gap.start_s, gap.reason)
    assert before[-1].pts_s <= gap.start_s < gap.end_s <= after[0].pts_s  # type: ignore[operator]
    check_times(before + after)


async def test_a_source_that_is_open_and_silent_is_lost_and_found() -> None:
    with rtsp_server() as server:
        async with live(server.url, policy=LivePolicy(stall_s=1)) as (_, events):
            found = await frames(events, 2)
            server.hold()
            away = (await until(events, Away))[-1]
            server.resume()
            gap = (await until(events, Gap))[-1]
            assert isinstance(away, Away)
            assert isinstance(gap, Gap)
            assert away.reason == gap.reason
            assert gap.end_s - gap.start_s >= 1
            found += await frames(events, 2)
    check_times(found)


async def test_one_that_does_not_come_back() -> None:
    with tcp_server() as server:
        async with live(server.url, policy=LivePolicy(retry_for_s=0.5)) as (source, events):
            await frames(events, 1)
            server.kill()
            with pytest.raises(InputError, match=r"not back within 0\.5 s") as lost:
                await until(events, Ended)
    assert str(lost.value).startswith(f"{source.name}: lost (")
    assert "\n" not in str(lost.value)


async def test_one_that_is_not_looked_for() -> None:
    with tcp_server() as server:
        async with live(server.url, policy=LivePolicy(retry_for_s=0)) as (source, events):
            await frames(events, 1)
            server.kill()
            with pytest.raises(InputError, match=f"{source.name}: lost: "):
                await until(events, Ended)


async def test_the_size_changes_in_mid_stream() -> None:
    with PartsServer([Part(2, 320, 64), Part(60, 640, 128), Part(60, 320, 64)]) as server:
        async with live(server.url) as (_, events):
            found = await frames(events, 1)
            while found[-1].size != (640, 128):
                event = await anext(events)
                assert not isinstance(event, (Away, Gap))
                if isinstance(event, Frame):
                    found.append(event)
            found += await frames(events, 3)
        assert server.connections == 1
    assert [size for size, _ in itertools.groupby(found, lambda frame: frame.size)] == [(320, 64), (640, 128)]
    check_times(found)


async def test_a_rate_that_cannot_be_is_measured() -> None:
    """FFmpeg may read four seconds of such a stream before it gives any: none is shown as if new."""
    usual = {"fpsprobesize": "20", "analyzeduration": "5000000"}
    with tcp_server(claimed_fps=180_000) as server:
        async with live(server.url, 5, input_options=usual) as (_, events):
            found = await frames(events, 6)
    check_times(found)
    assert found[-1].pts_s - found[0].pts_s >= 0.75  # type: ignore[operator]


async def test_the_newest_frame_wins_and_what_went_by_is_counted() -> None:
    with tcp_server() as server:
        async with live(server.url, 10) as (_, events):
            found = await frames(events, 1)
            dropped = 0
            while len(found) < 4:
                await asyncio.sleep(0.6)  # an engine thinks
                event = await anext(events)
                assert isinstance(event, Dropped)
                dropped += event.frames
                found += await frames(events, 1)
    check_times(found)
    times = [frame.pts_s or 0.0 for frame in found]
    assert times[-1] - times[0] > 1  # one after the other, they would be a tenth of a second apart
    assert len(found) + dropped == pytest.approx((times[-1] - times[0]) * 10 + 1, abs=2)


async def test_nothing_is_dropped_where_all_are_wanted_and_what_waited_keeps_its_time() -> None:
    with tcp_server() as server:
        async with live(server.url, 10, ALL) as (_, events):
            found: list[Frame] = []
            while len(found) < 25:
                event = await anext(events)
                assert not isinstance(event, (Dropped, Damage))
                if isinstance(event, Frame):
                    found.append(event)
                if len(found) < 5:
                    await asyncio.sleep(0.6)  # an engine thinks, and falls behind
    check_times(found)
    made = [shown_at(frame.pixels) for frame in found]
    assert made == sorted(made)
    assert len(made) == pytest.approx((made[-1] - made[0]) * 10 + 1, abs=4)


async def test_its_time_is_over_while_it_is_away() -> None:
    with tcp_server() as server:
        async with live(server.url, SamplingPlan.of(fps=10, end="1")) as (_, events):
            await frames(events, 1)
            server.kill()
            *_, ended = [event async for event in events]
    assert isinstance(ended, Ended)
    assert ended.end_s == 1


async def test_a_source_that_never_says_a_word() -> None:
    given = live_input((server := SilentServer()).url, LiveOptions())
    assert given is not None
    with server, pytest.raises(InputError) as silent:
        await open_live(given, EVERY, open_s=0.5)
    assert str(silent.value).startswith(f"{server.url}: ")
    assert "\n" not in str(silent.value)


async def test_nobody_there() -> None:
    with SilentServer() as server:
        url = server.url
    with pytest.raises(InputError, match=f"{url}: connection refused"):
        async with live(url):
            pass


async def test_opening_can_be_given_up() -> None:
    given = live_input((server := SilentServer()).url, LiveOptions())
    assert given is not None
    with server:
        opening = asyncio.create_task(open_live(given, EVERY, open_s=100))
        with await asyncio.to_thread(server.accept):
            opening.cancel()
            began = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await opening
            assert time.monotonic() - began < 10


@pytest.mark.parametrize("moment", ["silent", "away"])
async def test_closing(moment: str) -> None:
    with tcp_server() as server:
        async with live(server.url, policy=LivePolicy(stall_s=100)) as (source, events):
            await frames(events, 1)
            if moment == "silent":
                server.hold()
            else:
                server.kill()
                await until(events, Away)
            waiting = asyncio.create_task(until(events, Ended))
            await asyncio.sleep(0)
            began = time.monotonic()
            await source.close()
            await source.close()
            with pytest.raises(StopAsyncIteration):
                await waiting
            assert time.monotonic() - began < 10
