from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.video import packet_window
from cli.video.container import OpenInput
from cli.video.packet_window import PACKETS_AHEAD, Distrusted, PacketWindow
from cli.video.track import Track
from tests.clips import make_clip, steady


@pytest.fixture
def track(tmp_path: Path) -> Iterator[Track]:
    path = make_clip(tmp_path / "clip.mp4", steady(120), keyframe_every=20)
    track = Track(OpenInput(str(path), lambda: False), lambda: False)
    yield track
    track.close()


def test_it_is_filled_up_again_as_packets_are_taken(track: Track) -> None:
    window = PacketWindow(track)
    read = [packet.pts for packet in window.fill()]
    assert len(read) == len(window) == PACKETS_AHEAD
    taken = [window.take().pts for _ in range(10)]
    assert taken == read[:10]
    assert len(list(window.fill())) == 10
    assert window.horizon == track.last_dts


def test_it_ends_with_the_file(track: Track) -> None:
    window = PacketWindow(track)
    count = 0
    while [*window.fill()] or len(window):
        window.take()
        count += 1
    assert count == 120
    assert window.size == 0
    assert not window.stopped


def test_large_packets_fill_it_sooner(track: Track, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_window, "BYTES_AHEAD", 1000)
    window = PacketWindow(track)
    sizes = [packet.size for packet in window.fill()]
    assert window.size == sum(sizes) >= 1000 > sum(sizes[:-1])
    assert 1 < len(window) < PACKETS_AHEAD


def test_keyframes_in_it_are_found(track: Track) -> None:
    window = PacketWindow(track)
    packets = list(window.fill())
    keyframes = {number: packet.pts for number, packet in enumerate(packets) if packet.is_keyframe}
    assert list(keyframes) == [0, 20, 40]
    later = keyframes[20]
    assert later is not None
    assert window.before_keyframe(later) == 20
    assert window.before_keyframe(later - 1) == 0
    assert window.before_keyframe(10 * later) == 40
    assert window.skip(20) == later
    assert (window.before_keyframe(later), window.before_keyframe(10 * later)) == (0, 20)


def test_seeking_begins_with_the_keyframe_there(track: Track) -> None:
    window = PacketWindow(track)
    packets = list(window.fill())
    forty = packets[40].pts
    assert forty is not None
    landed = window.seek(forty)
    assert landed is not None
    assert (landed.pts, len(window)) == (forty, 1)
    assert len(list(window.fill())) == PACKETS_AHEAD - 1


@pytest.mark.parametrize("wrong", ["no pts", "pts before dts", "dts falls"])
def test_packets_without_sane_times_are_not_trusted(
    track: Track, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = track.packets

    def changed() -> Iterator[object]:
        for number, packet in enumerate(read()):
            if number == 30 and wrong == "no pts":
                packet.pts = None
            elif number == 30 and wrong == "pts before dts":
                assert packet.dts is not None
                packet.pts = packet.dts - 1
            yield packet
            if number == 29 and wrong == "dts falls":
                track.last_dts = 10**9

    monkeypatch.setattr(track, "packets", changed)
    with pytest.raises(Distrusted):
        list(PacketWindow(track).fill())


def test_stopping_is_told(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", steady(9))
    track = Track(OpenInput(str(path), lambda: False), lambda: True)
    window = PacketWindow(track)
    assert list(window.fill()) == []
    assert window.stopped
    track.close()
