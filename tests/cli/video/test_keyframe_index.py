from pathlib import Path

import pytest

from cli.video.container import OpenInput
from cli.video.keyframe_index import KeyframeIndex
from cli.video.track import Track
from tests.clips import make_clip, steady


def never() -> bool:
    return False


def track_of(path: Path) -> Track:
    return Track(OpenInput(str(path), never), never)


@pytest.mark.parametrize(("suffix", "by_dts"), [("mp4", True), ("mkv", False)])
def test_the_index_finds_keyframes_by_when_they_are_shown(tmp_path: Path, suffix: str, by_dts: bool) -> None:
    track = track_of(make_clip(tmp_path / f"clip.{suffix}", steady(60), keyframe_every=20))
    track.seek(0)  # a Matroska file's index is read then
    packets = [packet for packet in track.packets() if packet.size]
    index = KeyframeIndex.of(track)
    assert index is not None
    keyframes = [packet for packet in packets if packet.is_keyframe]
    stamps = [packet.dts if by_dts else packet.pts for packet in keyframes]
    assert all(index.has(packet, stamp) for packet, stamp in zip(keyframes, stamps, strict=True))
    assert not index.has(packets[5], packets[5].pts)
    assert not index.has(keyframes[1], stamps[0])
    second = keyframes[1].pts
    assert second is not None
    assert index.before(second) == stamps[1]
    assert index.before(second - 1) == stamps[0]
    assert index.earlier(stamps[1]) == stamps[0]
    assert index.earlier(stamps[0]) is None
    assert index.is_ahead(stamps[2], stamps[1], [second])
    assert not index.is_ahead(stamps[1], stamps[1], [second])
    track.close()


@pytest.mark.parametrize("suffix", ["ts", "avi", "webm"])
def test_other_containers_have_no_index_to_go_by(tmp_path: Path, suffix: str) -> None:
    codec = "libvpx" if suffix == "webm" else "libx264"
    track = track_of(make_clip(tmp_path / f"clip.{suffix}", steady(20), codec=codec))
    assert KeyframeIndex.of(track) is None  # or have not read it yet
    track.close()
