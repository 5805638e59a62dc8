"""The frames after a given one are those that an unbroken run takes."""

from pathlib import Path
from typing import Any

import pytest

from cli.output.journal import Past
from cli.resumed_source import open_after
from cli.video.file_source import open_source
from cli.video.reading import DEFAULT_READING
from cli.video.sampling import SamplingPlan
from protocol.errors import InputError
from protocol.frame import Frame
from protocol.source import Ended, Source
from tests.clips import make_clip, number_of, steady

UNEVEN = [0, 30, 200, 210, 220, 660, 700, 1000, 1400, 1440, 2000, 2001, 2040, 2500, 3000, 3100, 3333, 3666]
LATE = [500, 900, 1300, 1700, 2600]  # the first frame also serves the tick before it


async def read(source: Source) -> tuple[list[tuple[float, int]], Ended]:
    """Time and number of each frame, and how it ended."""
    frames = []
    ended = None
    async for event in source.events():
        if isinstance(event, Frame):
            assert event.pts_s is not None
            frames.append((event.pts_s, number_of(event.pixels)))
        elif isinstance(event, Ended):
            ended = event
    await source.close()
    assert ended
    return frames, ended


@pytest.mark.parametrize(
    "options",
    [
        {"fps": 3},
        {"fps": "1/2"},
        {"fps": 3, "start": "0.5", "end": "2.5"},
        {"fps": 7, "max_frames": 8},
        {"every_frame": True},
        {"every_frame": True, "max_frames": 5},
        {"keyframes": True},
        {"fps": 2, "loop": True, "max_frames": 17},
        {"every_frame": True, "loop": True, "end": "9"},
    ],
    ids=",".join,
)
@pytest.mark.parametrize("times", [UNEVEN, LATE, steady(75)], ids=["uneven", "late", "steady"])
async def test_from_any_frame_the_rest_is_the_same(
    times: list[int], options: dict[str, Any], tmp_path: Path
) -> None:
    clip = str(make_clip(tmp_path / "clip.mkv", times))
    plan = SamplingPlan.of(**options)
    frames, ended = await read(await open_source(clip, plan))
    assert frames
    for index in {0, 1, len(frames) // 2, len(frames) - 2, len(frames) - 1} & set(range(len(frames))):
        seen: list[int] = []
        source = await open_after(
            clip,
            plan,
            DEFAULT_READING,
            Past(captions=index, refused=1, last_s=round(frames[index][0], 6)),
            lambda frame, seen=seen: seen.append(number_of(frame.pixels)),  # type: ignore[misc]
        )
        rest, end = await read(source)
        assert rest == frames[index + 1 :]
        assert end.end_s == ended.end_s
        assert seen == [frames[index][1]]


async def test_only_what_is_needed_is_decoded(tmp_path: Path) -> None:
    clip = str(make_clip(tmp_path / "clip.mp4", steady(250)))
    plan = SamplingPlan.of(every_frame=True)
    past = Past(captions=240, last_s=round(239 / 25, 6))
    frames, ended = await read(await open_after(clip, plan, DEFAULT_READING, past, None))
    assert [number for _, number in frames] == list(range(240, 250))
    assert ended.frames_decoded < 50


async def test_without_a_past_it_is_the_whole_video(tmp_path: Path) -> None:
    clip = str(make_clip(tmp_path / "clip.mp4", steady(10)))
    plan = SamplingPlan.of(every_frame=True)
    frames, _ = await read(await open_after(clip, plan, DEFAULT_READING, Past(), None))
    assert len(frames) == 10


async def test_a_video_without_that_frame_is_another_one(tmp_path: Path) -> None:
    clip = str(make_clip(tmp_path / "clip.mp4", steady(10)))
    plan = SamplingPlan.of(every_frame=True)
    source = await open_after(clip, plan, DEFAULT_READING, Past(captions=3, last_s=0.05), None)
    with pytest.raises(InputError, match=r"clip\.mp4: has no frame at 0\.050000 s, where it was left"):
        await read(source)


async def test_what_is_expected_counts_what_is_left(tmp_path: Path) -> None:
    clip = str(make_clip(tmp_path / "clip.mp4", steady(50)))
    plan = SamplingPlan.of(fps=5)
    source = await open_after(clip, plan, DEFAULT_READING, Past(captions=4, last_s=0.6), None)
    assert source.expected_frames == 6
    assert not source.live
    frames, _ = await read(source)
    assert len(frames) == 6
