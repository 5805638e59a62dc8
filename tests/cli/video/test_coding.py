"""What a decoded frame says of its colours and of how it is to be shown."""

import av
from av.video.reformatter import ColorRange, Colorspace

from cli.video.coding import is_known_matrix, matrix_of, orientation_of, range_of
from cli.video.display import Orientation


def test_matrix_and_range_of_a_frame() -> None:
    assert matrix_of(av.VideoFrame(64, 719, "yuv420p")) == Colorspace.ITU601
    assert matrix_of(av.VideoFrame(64, 720, "yuv420p")) == Colorspace.ITU709
    hdr = av.VideoFrame(64, 64, "yuv420p10le")
    hdr.color_trc = 16
    assert matrix_of(hdr) == Colorspace.BT2020
    assert range_of(av.VideoFrame(64, 64, "yuv420p")) == ColorRange.MPEG
    assert range_of(av.VideoFrame(64, 64, "yuvj420p")) == ColorRange.JPEG
    assert range_of(av.VideoFrame(64, 64, "rgb24")) == ColorRange.JPEG


def test_a_frame_without_a_display_matrix_is_upright() -> None:
    assert orientation_of(av.VideoFrame(8, 8, "yuv420p")) == Orientation()


def test_a_matrix_that_is_not_known_is_told() -> None:
    frame = av.VideoFrame(64, 48, "yuv420p")
    assert is_known_matrix(frame)
    frame.colorspace = 15  # IPT-C2, of Dolby Vision
    assert not is_known_matrix(frame)
    frame.colorspace = 9
    assert is_known_matrix(frame)
