from pathlib import Path

import av
import pytest

from cli.video.decoder import decoder_for, is_intra_only, tells_keyframes
from cli.video.reader import Reader
from cli.video.timeline import Decoded
from tests.clips import make_clip, steady


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format", "alone"),
    [
        ("a.mov", "prores_ks", "yuv422p10le", True),
        ("a.mkv", "mjpeg", "yuvj420p", True),
        ("a.avi", "rawvideo", "bgr24", False),  # a palette may come with an earlier packet
        ("a.mkv", "ffv1", "yuv420p", False),
        ("a.mp4", "libx264", "yuv420p", False),
    ],
)
def test_packets_that_stand_for_themselves(
    tmp_path: Path, name: str, codec: str, pixel_format: str, alone: bool
) -> None:
    path = make_clip(tmp_path / name, steady(3), codec=codec, pixel_format=pixel_format)
    with av.open(str(path)) as container:
        decoder = decoder_for(container.streams.video[0])
        assert is_intra_only(decoder) is alone
        assert tells_keyframes(decoder)
        assert decoder.thread_count > 1


def test_keyframes_of_transparent_video_are_found(tmp_path: Path) -> None:
    path = make_clip(
        tmp_path / "a.webm", steady(30), codec="libvpx-vp9", pixel_format="yuva420p", keyframe_every=10
    )
    with av.open(str(path)) as container:
        assert not tells_keyframes(decoder_for(container.streams.video[0]))
    reader = Reader(str(path))
    events = [event for event in reader.frames() if isinstance(event, Decoded)]
    assert [number for number, event in enumerate(events) if event.keyframe] == [0, 10, 20]
    reader.close()
