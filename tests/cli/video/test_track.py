from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.video.container import OpenInput
from cli.video.track import Track
from protocol.errors import InputError
from tests.clips import make_clip, steady


def never() -> bool:
    return False


def track_of(path: Path) -> Track:
    return Track(OpenInput(str(path), never), never)


@pytest.fixture
def track(tmp_path: Path) -> Iterator[Track]:
    track = track_of(make_clip(tmp_path / "clip.mp4", steady(40), keyframe_every=10))
    yield track
    track.close()


def times(track: Track) -> list[int]:
    """PTS of all pictures from where the track stands."""
    found = []
    for packet in track.packets():
        track.decode(packet)
        found += [picture.pts for picture in track.ready()]
    return [pts for pts in found if pts is not None]


def test_all_pictures_come_out(track: Track) -> None:
    assert [pts * track.time_base * 25 for pts in times(track)] == list(range(40))
    assert (track.decoded, track.damaged) == (40, 0)
    assert not track.decode(None)  # there is no more, and asking does no harm


def test_what_was_given_to_the_decoder_last_is_known(track: Track) -> None:
    given = [
        packet.pts for packet in track.packets() if packet.size and track.decode(packet) in (True, False)
    ]
    assert list(track.in_flight) == given
    assert track.opening_pts == 0


def test_reading_goes_on_from_a_keyframe(track: Track) -> None:
    every = times(track)
    track.seek(every[25])
    assert times(track) == every[20:]
    assert track.opening_pts == every[20]


def test_the_last_of_the_index_is_known(tmp_path: Path, track: Track) -> None:
    times(track)
    assert track.last_dts == track.last_index_dts
    other = track_of(make_clip(tmp_path / "clip.mkv", steady(5)))
    assert other.last_index_dts is None
    other.close()


def test_stopping_ends_the_packets_without_the_empty_one(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", steady(5))
    track = Track(OpenInput(str(path), never), lambda: True)
    assert list(track.packets()) == []
    track.close()


def test_sound_alone_is_refused_and_closed(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mkv", steady(5), audio_s=1.0).read_bytes()
    path = tmp_path / "b.mkv"
    path.write_bytes(clip.replace(b"V_MPEG4/ISO/AVC", b"V_UNKNOWN/CODEC"))
    with pytest.raises(InputError):
        track_of(path)
