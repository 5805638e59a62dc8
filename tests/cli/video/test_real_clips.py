"""The real clips: every one against what an independent decoder says of it, and against ffmpeg's pictures."""

import re
import shutil
import subprocess
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from cli.video.file_source import open_source
from cli.video.picture import PictureRenderer
from cli.video.reader import Decoded, Reader
from cli.video.sampling import SamplingPlan
from protocol.errors import InputError
from protocol.frame import Frame
from protocol.source import Ended
from tests.clips import real_clips, real_facts

FACTS = real_facts()
READABLE = sorted(name for name, fact in FACTS.items() if "error" not in fact)
REFUSED = sorted(name for name, fact in FACTS.items() if "error" in fact)
SHORT = [name for name in READABLE if FACTS[name]["frames_decoded"] < 1000]
# Of these, the facts list only the frames that carry a time; the rest is derived.
PARTLY_TIMED = {"am_sample-with-large-length.avi", "da_cfr.mpeg"}
DAMAGED = {"am_sample_with_invalid_nalu.mp4", "de_corrupted.mp4", "mz_no_timescale.mp4"}
TRUNCATED = {"mb_annex-b.mp4"}
# SDR, and decoded alike by any FFmpeg: what damage is concealed with differs.
COMPARABLE = [
    name
    for name in SHORT
    if FACTS[name]["transfer"] not in ("smpte2084", "arib-std-b67") and name not in DAMAGED
]

if not FACTS:
    pytest.skip("STREAM_TEST_CLIPS names no folder of real clips", allow_module_level=True)


def read(name: str) -> tuple[Reader, list[Decoded]]:
    reader = Reader(str(real_clips() / name))
    return reader, [event for event in reader.frames() if isinstance(event, Decoded)]


@pytest.mark.parametrize("name", READABLE)
def test_frames_times_and_sizes_are_those_of_the_facts(name: str) -> None:
    fact: dict[str, Any] = FACTS[name]
    reader = Reader(str(real_clips() / name))
    times = [float(event.pts) for event in reader.frames() if isinstance(event, Decoded)]
    reader.close()
    assert reader.frames_decoded == fact["frames_decoded"]
    assert list(reader.info.display_size) == fact["display_size"]
    assert list(reader.info.size) == fact["coded_size"]
    assert reader.info.codec in (fact["codec"], f"lib{fact['codec']}")
    assert reader.info.transfer == fact["transfer"]
    assert reader.info.orientation.rotation == -fact["rotation"] % 360
    assert str(reader.info.sample_aspect) == str(Fraction(fact["sar"].replace(":", "/")))
    assert reader.info.rate == Fraction(fact["avg_frame_rate"])
    assert reader.info.frame_count == (int(fact["container_frame_count"] or 0) or None)
    assert (reader.info.duration_s is None) == (fact["declared_duration_s"] is None)
    assert (reader.damaged > 0) == (name in DAMAGED) == (fact["decode_errors"] > 0 and name not in TRUNCATED)
    assert reader.truncated() == (name in TRUNCATED)
    assert all(a < b for a, b in pairwise(times))
    assert times[0] >= 0
    start = float(reader.info.start_s)
    assert times[0] == pytest.approx(max(0.0, fact["first_pts_s"] - start), abs=2e-4)
    if name not in PARTLY_TIMED:
        assert times[-1] == pytest.approx(fact["last_pts_s"] - start, abs=2e-4)
    known = [pts - start for pts in fact.get("pts_s") or [] if pts - start > -1e-4]
    if known and name not in PARTLY_TIMED:
        assert times == pytest.approx(known, abs=2e-4)
    for pts in known:
        assert min(abs(time - pts) for time in times) < 2e-4


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_no_video_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"{re.escape(name)}: (no video stream|not a video)"):
        await open_source(str(real_clips() / name), SamplingPlan())


@pytest.mark.parametrize("name", SHORT)
async def test_one_frame_a_second_is_what_is_on_screen(name: str) -> None:
    reader, frames = read(name)
    reader.close()
    times = [frame.pts for frame in frames]
    expected = []
    for tick in range(int(reader.end) + 1):
        if tick < reader.end:
            shown = max((time for time in times if time <= tick), default=times[0])
            if shown not in expected:
                expected.append(shown)
    source = await open_source(str(real_clips() / name), SamplingPlan())
    events = [event async for event in source.events()]
    await source.close()
    sampled = [event for event in events if isinstance(event, Frame)]
    assert [frame.pts_s for frame in sampled] == [float(time) for time in expected]
    assert {frame.size for frame in sampled} == {reader.info.frame_size}
    assert isinstance(events[-1], Ended)
    assert events[-1].end_s == float(reader.end)


@pytest.mark.parametrize("name", SHORT)
def test_reading_from_the_middle_gives_the_same_pictures(name: str) -> None:
    reader, whole = read(name)
    start = whole[-1].pts * Fraction(2, 3)
    renderer = PictureRenderer(reader.info.sample_aspect, reader.info.orientation)
    other = Reader(str(real_clips() / name))
    part = [event for event in other.frames(start) if isinstance(event, Decoded)]
    assert part[0].pts <= start
    wanted = [frame for frame in whole if frame.pts >= start]
    again = [frame for frame in part if frame.pts >= start]
    assert [frame.pts for frame in again] == [frame.pts for frame in wanted]
    if name not in DAMAGED:  # what a decoder conceals damage with depends on where it began
        for one, two in list(zip(wanted, again, strict=True))[:: max(1, len(wanted) // 3)]:
            assert np.array_equal(renderer.render(one.picture), renderer.render(two.picture))
    reader.close()
    other.close()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg to compare with")
@pytest.mark.parametrize("name", COMPARABLE)
def test_pictures_are_those_of_ffmpeg(name: str, tmp_path: Path) -> None:
    fact = FACTS[name]
    reader, frames = read(name)
    height = reader.info.size[1]
    renderer = PictureRenderer(reader.info.sample_aspect, reader.info.orientation)
    picked = sorted({0, len(frames) // 2, len(frames) - 1})
    first_shown = reader.frames_decoded - len(frames)
    selected = "+".join(f"eq(n,{index + first_shown})" for index in picked)
    matrix = reader.info.matrix
    width, height = reader.info.orientation.shown(*reader.info.frame_size)  # turned back
    # H.264 and its like have chroma at the left unless they say otherwise; ffmpeg's filter takes the centre.
    exact = "flags=bicubic+accurate_rnd+full_chroma_int:in_h_chr_pos=0:in_v_chr_pos=128"
    scale = f"scale={width}:{height}:in_color_matrix={matrix}:{exact}"
    decoder = ["-c:v", "libvpx-vp9"] if name == "mp_transparent.webm" else []
    command = ["ffmpeg", "-v", "quiet", "-noautorotate", *decoder, "-i", str(real_clips() / name)]
    filters = f"select='{selected}',{scale}:in_range={'full' if reader.info.full_range else 'limited'}"
    if "transparent, shown over black" in reader.info.oddities:
        filters += ",format=rgba,premultiply=inplace=1"
    output = ["-fps_mode", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-"]
    command += ["-map", "0:v:0", "-vf", filters, *output]
    done = subprocess.run(command, capture_output=True, check=True)
    theirs = np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)
    assert len(theirs) == len(picked), fact
    for index, reference in zip(picked, theirs, strict=True):
        expected: Any = reference
        orientation = reader.info.orientation
        expected = cv2.transpose(expected) if orientation.transpose else expected
        expected = expected[:, ::-1] if orientation.flip_x else expected
        expected = expected[::-1] if orientation.flip_y else expected
        ours = renderer.render(frames[index].picture)
        assert ours.shape == expected.shape
        difference = np.abs(ours.astype(int) - expected).mean(axis=(0, 1))
        assert (difference <= 3).all(), (index, difference)
    reader.close()
