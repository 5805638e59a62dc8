from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cli.video.container import OpenInput
from cli.video.packet_window import Distrusted
from cli.video.timeline import Timeline
from cli.video.track import Track
from tests.clips import make_clip, steady


@pytest.fixture
def track(tmp_path: Path) -> Iterator[Track]:
    path = make_clip(tmp_path / "clip.mkv", [time + 2000 for time in steady(9)])
    track = Track(OpenInput(str(path), lambda: False), lambda: False)
    yield track
    track.close()


def pictures(track: Track) -> list[Any]:
    found: list[Any] = []
    for packet in track.packets():
        track.decode(packet)
        found += track.ready()
    return found


def test_times_count_from_the_containers_start_and_the_shift(track: Track) -> None:
    timeline = Timeline(track, Fraction(10))
    assert timeline.end == 10
    placed = [timeline.place_told(picture) for picture in pictures(track)]
    assert [float(each.pts) for each in placed] == pytest.approx([10 + number / 25 for number in range(9)])
    assert [each.keyframe for each in placed] == [True] + [False] * 8
    assert {each.shift for each in placed} == {10}
    assert timeline.anchored
    assert float(timeline.end) == pytest.approx(10.36)


def test_frames_that_are_passed_over_have_their_times_too(track: Track) -> None:
    timeline = Timeline(track, Fraction(0))
    first, second, third, *_ = pictures(track)
    timeline.place_told(first)
    assert timeline.pass_over(second.pts) == Fraction(1, 25)
    assert timeline.end > Fraction(1, 25)
    assert timeline.place_told(third).pts == Fraction(2, 25)


def test_a_time_that_is_put_right_is_no_ground_to_tell_frames_by(track: Track) -> None:
    timeline = Timeline(track, Fraction(0))
    first, second, *_ = pictures(track)
    timeline.place_told(second)
    with pytest.raises(Distrusted):
        timeline.place_told(first)
    with pytest.raises(Distrusted):
        timeline.pass_over(second.pts + 10**15)


def test_whether_frames_tell_how_long_they_are_shown(tmp_path: Path, track: Track) -> None:
    assert not Timeline(track, Fraction(0)).needs_gaps
    path = make_clip(tmp_path / "clip.avi", steady(3))  # its rate is its time base: 1000
    other = Track(OpenInput(str(path), lambda: False), lambda: False)
    assert Timeline(other, Fraction(0)).needs_gaps
    other.close()
