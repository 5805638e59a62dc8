import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from cli.video.coding import has_alpha
from cli.video.display import Orientation
from cli.video.picture import PictureRenderer
from cli.video.reader import Reader
from protocol.errors import InputError
from tests.clips import corners, make_clip

ONE, LAST = 1 << 16, 1 << 30
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def rendered(path: Path) -> np.ndarray:
    reader = Reader(str(path))
    renderer = PictureRenderer(reader.info.sample_aspect, reader.info.orientation)
    pixels = renderer.render(next(reader.frames()).picture)
    reader.close()
    return pixels


def corner_colours(pixels: np.ndarray) -> list[tuple[int, ...]]:
    """Top left, top right, bottom left, bottom right, each as the pure colour it is nearest to."""
    height, width = pixels.shape[:2]
    points = [(height // 4, width // 4), (height // 4, 3 * width // 4)]
    points += [(3 * height // 4, width // 4), (3 * height // 4, 3 * width // 4)]
    return [tuple(255 * (pixels[y, x] > 127)) for y, x in points]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ((ONE, 0, 0, ONE), [RED, GREEN, BLUE, WHITE]),
        ((0, ONE, -ONE, 0), [BLUE, RED, WHITE, GREEN]),
        ((-ONE, 0, 0, -ONE), [WHITE, BLUE, GREEN, RED]),
        ((0, -ONE, ONE, 0), [GREEN, WHITE, RED, BLUE]),
        ((-ONE, 0, 0, ONE), [GREEN, RED, WHITE, BLUE]),
        ((ONE, 0, 0, -ONE), [BLUE, WHITE, RED, GREEN]),
        ((0, ONE, ONE, 0), [RED, BLUE, GREEN, WHITE]),
        ((0, -ONE, -ONE, 0), [WHITE, GREEN, BLUE, RED]),
    ],
)
def test_pictures_are_turned_and_mirrored_as_shown(
    tmp_path: Path, terms: tuple[int, ...], expected: list[tuple[int, ...]]
) -> None:
    a, b, c, d = terms
    path = make_clip(tmp_path / "clip.mp4", [0], pictures=[corners()], matrix=(a, b, 0, c, d, 0, 0, 0, LAST))
    pixels = rendered(path)
    assert corner_colours(pixels) == expected
    assert pixels.shape == ((64, 96, 3) if a else (96, 64, 3))
    assert pixels.flags.c_contiguous


def test_a_rotation_that_is_no_right_angle_is_ignored(tmp_path: Path) -> None:
    skewed = (ONE, ONE, 0, -ONE, ONE, 0, 0, 0, LAST)
    path = make_clip(tmp_path / "clip.mp4", [0], pictures=[corners()], matrix=skewed)
    assert corner_colours(rendered(path)) == [RED, GREEN, BLUE, WHITE]


@pytest.mark.parametrize(("aspect", "width"), [(Fraction(2), 192), (Fraction(1, 2), 48), (None, 96)])
def test_pixels_are_made_square(tmp_path: Path, aspect: Fraction | None, width: int) -> None:
    path = make_clip(tmp_path / "clip.mp4", [0], pictures=[corners()], sample_aspect=aspect)
    assert rendered(path).shape == (64, width, 3)


def test_square_pixels_come_before_the_turn(tmp_path: Path) -> None:
    path = make_clip(
        tmp_path / "clip.mp4",
        [0],
        pictures=[corners()],
        sample_aspect=Fraction(2),
        matrix=(0, ONE, 0, -ONE, 0, 0, 0, 0, LAST),
    )
    pixels = rendered(path)
    assert pixels.shape == (192, 64, 3)
    assert corner_colours(pixels) == [BLUE, RED, WHITE, GREEN]


def test_the_pixel_limit_is_kept() -> None:
    frame = av.VideoFrame(4096, 2304, "yuv420p")
    pixels = PictureRenderer(None, Orientation(transpose=True)).render(frame)
    height, width = pixels.shape[:2]
    assert width * height <= 4_194_304
    assert height / width == pytest.approx(4096 / 2304, rel=0.001)


def frame_of(colour: tuple[int, int, int], pixel_format: str, height: int = 64, **tags: int) -> av.VideoFrame:
    """A frame of one YUV colour, its samples 8 bits wide whatever the format's are."""
    frame = av.VideoFrame(64, height, pixel_format)
    deep = frame.format.components[0].bits - 8
    for plane, value in zip(frame.planes, colour, strict=False):
        data = struct.pack("<H", value << deep) if deep else bytes([value])
        plane.update(data * (plane.buffer_size // len(data)))
    for tag, value in tags.items():
        setattr(frame, tag, value)
    return frame


# Pure green as each standard codes it (8 bits, limited or full range).
@pytest.mark.parametrize(
    ("colour", "height", "tags"),
    [
        ((145, 54, 34), 64, {}),
        ((173, 42, 26), 720, {}),
        ((173, 42, 26), 64, {"colorspace": 1}),
        ((145, 54, 34), 720, {"colorspace": 6}),
        ((145, 54, 34), 720, {"colorspace": 5}),
        ((182, 30, 12), 720, {"colorspace": 1, "color_range": 2}),
        ((150, 44, 21), 64, {"color_range": 2}),
        ((164, 47, 25), 720, {"colorspace": 9}),
    ],
)
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv444p", "yuv420p10le"])
def test_colours_use_the_matrix_and_range_of_the_source(
    colour: tuple[int, int, int], height: int, tags: dict[str, int], pixel_format: str
) -> None:
    pixels = PictureRenderer(None).render(frame_of(colour, pixel_format, height, **tags))
    assert np.abs(pixels[32, 32].astype(int) - (0, 255, 0)).max() <= 6


def test_the_renderer_follows_a_change_of_matrix() -> None:
    renderer = PictureRenderer(None)
    for tags, colour in [({"colorspace": 6}, (145, 54, 34)), ({"colorspace": 1}, (173, 42, 26))] * 2:
        pixels = renderer.render(frame_of(colour, "yuv420p", **tags))
        assert np.abs(pixels[32, 32].astype(int) - (0, 255, 0)).max() <= 6


@pytest.mark.parametrize("pixel_format", ["rgb24", "gbrp", "rgba", "bgr0", "gray"])
def test_colours_that_need_no_matrix_stay(pixel_format: str) -> None:
    source = corners() if pixel_format != "gray" else np.full((64, 96, 3), 200, np.uint8)
    frame = av.VideoFrame.from_ndarray(source, format="rgb24").reformat(
        format=pixel_format, dst_color_range="JPEG"
    )
    frame.color_range = 2
    assert np.abs(PictureRenderer(None).render(frame).astype(int) - source).max() <= 1


def test_transparent_parts_are_over_black() -> None:
    picture = np.full((8, 9, 4), 200, np.uint8)
    picture[:, :3, 3], picture[:, 3:6, 3], picture[:, 6:, 3] = 0, 128, 255
    frame = av.VideoFrame.from_ndarray(picture, format="rgba")
    assert has_alpha(frame)
    assert not has_alpha(av.VideoFrame(8, 8, "yuv420p"))
    assert [int(value) for value in PictureRenderer(None).render(frame)[4, [1, 4, 7], 0]] == [0, 100, 200]


def test_pixels_that_ffmpeg_cannot_convert_are_refused() -> None:
    with pytest.raises(InputError, match="FFmpeg cannot convert pixels in rgb4"):
        PictureRenderer(None).render(av.VideoFrame(64, 48, "rgb4"))
