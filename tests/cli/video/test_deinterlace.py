from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest

from cli.video.deinterlace import as_progressive, deinterlace, has_top_first, is_combed
from cli.video.picture import PictureRenderer
from cli.video.reader import Reader

if TYPE_CHECKING:
    from protocol.frame import Pixels

WIDTH, HEIGHT = 320, 240


def scene(shift: int, width: int = WIDTH, height: int = HEIGHT) -> Pixels:
    """A wall of bricks that does not move, and before it a disc `shift` pixels to the right."""
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[:] = (150, 90, 70)
    pixels[(y % 20 < 2) | ((x + (y // 20 % 2) * 20) % 40 < 2)] = (200, 195, 190)
    disc = (x - width // 3 - shift) ** 2 + (y - height // 2) ** 2 < (height // 4) ** 2
    pixels[disc] = (30, 60, 200)
    pixels[disc & ((x - shift) // 6 % 2 == 0)] = (220, 220, 40)
    return pixels


def woven(first: Pixels, second: Pixels, *, top_first: bool = True) -> Pixels:
    frame = first.copy()
    start = 1 if top_first else 0
    frame[start::2] = second[start::2]
    return frame


def grey(pixels: Pixels) -> Pixels:
    return (pixels @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)


def error(one: Pixels, other: Pixels) -> float:
    return float(np.abs(one.astype(int) - other).mean())


@pytest.mark.parametrize("top_first", [True, False])
@pytest.mark.parametrize("height", [HEIGHT, HEIGHT + 1])
def test_one_moment_is_left(top_first: bool, height: int) -> None:
    first, second = scene(0, height=height), scene(12, height=height)
    frame = woven(first, second, top_first=top_first)
    assert is_combed(grey(frame))
    whole = deinterlace(frame, grey(frame), top_first=top_first)
    assert error(whole, first) < error(frame, first) / 4
    assert error(whole, first) < error(whole, second) / 4
    assert not is_combed(grey(whole))
    kept = slice(0 if top_first else 1, None, 2)
    assert np.array_equal(whole[kept], first[kept])


def test_what_does_not_move_keeps_every_line() -> None:
    frame = woven(scene(0), scene(12))
    whole = deinterlace(frame, grey(frame), top_first=True)
    assert np.array_equal(whole[:, : WIDTH // 12], scene(0)[:, : WIDTH // 12])
    assert np.array_equal(whole[:, -WIDTH // 3 :], scene(0)[:, -WIDTH // 3 :])


def test_a_picture_of_one_moment_is_not_combed() -> None:
    assert not is_combed(grey(scene(0)))
    random = np.random.default_rng(0)
    noise = np.clip(scene(0) + random.normal(0, 12, (HEIGHT, WIDTH, 1)), 0, 255).astype(np.uint8)
    assert not is_combed(grey(noise))
    lines = scene(0)
    lines[100:140:10] = 255  # one line thick
    assert not is_combed(grey(lines))
    assert not is_combed(grey(scene(0))[:3])


def interlaced_clip(
    path: Path,
    *,
    moving: bool = True,
    order: str = "tff",
    pixel_format: str = "yuv420p",
    size: str = "320x240",
    count: int = 4,
) -> Path:
    """`scene` twice a frame, its two moments 4 pixels apart; or once, and only called interlaced."""
    width, height = map(int, size.split("x"))
    steps = [index * 4 if moving else index // 2 * 8 for index in range(2 * count)]
    weave = "interleave_top" if order == "tff" else "interleave_bottom"
    filters = f"format=yuv444p,tinterlace={weave},scale=interl=1,format={pixel_format},setfield={order}"
    subprocess.run(
        [
            *("ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", "50"),
            *("-i", "-", "-vf", filters, "-c:v", "libx264", "-qp", "4", "-flags", "+ildct+ilme"),
            *("-x264-params", f"{order}=1", path),
        ],
        input=b"".join(scene(step, width, height).tobytes() for step in steps),
        check=True,
    )
    return path


needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg to make a clip with")


def frames_of(path: Path) -> list[av.VideoFrame]:
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


@needs_ffmpeg
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv420p10le"])
@pytest.mark.parametrize("order", ["tff", "bff"])
def test_an_interlaced_clip_is_shown_one_moment_at_a_time(
    tmp_path: Path, order: str, pixel_format: str
) -> None:
    frames = frames_of(interlaced_clip(tmp_path / "clip.mkv", order=order, pixel_format=pixel_format))
    renderer = PictureRenderer(None)
    assert [has_top_first(frame) for frame in frames] == [order == "tff"] * 4
    for index, frame in enumerate(frames):
        assert frame.interlaced_frame
        pixels = renderer.render(frame)
        assert not is_combed(grey(pixels))
        assert error(pixels, scene(index * 8)) < 8  # most of it is chroma
        assert error(pixels, scene(index * 8)) < error(pixels, scene(index * 8 + 4))


@needs_ffmpeg
def test_no_worse_than_ffmpegs_deinterlacer(tmp_path: Path) -> None:
    """Which sees the neighbours in time too."""
    path = interlaced_clip(tmp_path / "clip.mkv")
    filters = "bwdif=mode=send_frame,format=yuv444p,format=rgb24"
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-vf", filters, "-f", "rawvideo", "-"],
        capture_output=True,
        check=True,
    ).stdout
    theirs = np.frombuffer(raw, np.uint8).reshape(-1, HEIGHT, WIDTH, 3)
    renderer = PictureRenderer(None)
    for index, frame in enumerate(frames_of(path)):
        truth = scene(index * 8)
        assert error(renderer.render(frame), truth) < 1.3 * error(theirs[index], truth)


@needs_ffmpeg
def test_progressive_pictures_called_interlaced_stay_as_they_are(tmp_path: Path) -> None:
    for index, frame in enumerate(frames_of(interlaced_clip(tmp_path / "clip.mkv", moving=False))):
        assert frame.interlaced_frame
        plain = as_progressive(frame)
        assert not plain.interlaced_frame
        assert frame.interlaced_frame  # the decoder's own is not changed
        pixels = PictureRenderer(None).render(frame)
        assert np.array_equal(pixels, PictureRenderer(None).render(plain))
        assert error(pixels, scene(index * 8)) < 6


@needs_ffmpeg
def test_fields_are_parted_before_a_picture_is_scaled(tmp_path: Path) -> None:
    path = interlaced_clip(tmp_path / "clip.mkv", size="2400x1800", count=1)
    reader = Reader(str(path))
    height, width = PictureRenderer(None).render(next(reader.frames()).picture).shape[:2]
    reader.close()
    assert (width, height) == reader.info.frame_size
    assert width < 2400


@needs_ffmpeg
def test_wide_pixels_of_an_interlaced_frame(tmp_path: Path) -> None:
    frame = frames_of(interlaced_clip(tmp_path / "clip.mkv"))[0]
    pixels = PictureRenderer(Fraction(16, 11)).render(frame)
    assert pixels.shape == (HEIGHT, 465, 3)
    assert not is_combed(grey(pixels))
