"""Colours of every kind of SDR coding, against ffmpeg's own rendering of the same frame."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest

from cli.video.picture import PictureRenderer
from cli.video.reader import Reader

if TYPE_CHECKING:
    from protocol.frame import Pixels

WIDTH, HEIGHT = 320, 180
LIMIT = 3  # of 255, on average, a channel
_TAGS = {"bt601": "smpte170m", "bt709": "bt709", "limited": "tv", "full": "pc"}
EXACT = "flags=bicubic+accurate_rnd+full_chroma_int"

if shutil.which("ffmpeg") is None:
    pytest.skip("no ffmpeg to compare with", allow_module_level=True)


def scene(width: int, height: int) -> Pixels:
    """Waves of every colour, black, white, a grey ramp and pure colours, with some noise."""
    y, x = np.mgrid[0:height, 0:width] * (160 / width)
    waves = [np.sin(x / 17 + y / 31), np.sin(x / 23 - y / 13 + 1), np.cos(y / 19 + x / 41)]
    picture = 127 + 110 * np.stack(waves, axis=-1)
    band, patch = height // 6, width // 8
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0), (255, 255, 0)]
    for index, colour in enumerate(colours):
        picture[:band, index * patch : (index + 1) * patch] = colour
    picture[:band, 6 * patch :] = np.linspace(0, 255, width - 6 * patch)[:, None]
    picture[band:] += np.random.default_rng(0).normal(0, 2, (height - band, width, 1))
    return np.clip(picture, 0, 255).astype(np.uint8)


def ffmpeg(*arguments: str, given: bytes = b"") -> bytes:
    command = ["ffmpeg", "-v", "error", "-y", *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def encode(
    path: Path, encoder: str, pixel_format: str, *, matrix: str, spans: str, tags: bool = True
) -> None:
    """Encodes the scene as `pixel_format`, in `matrix` and range `spans`, which `tags` says to the reader."""
    height = HEIGHT if path.stem != "hd" else 720
    width = height * 16 // 9
    said = ["-colorspace", _TAGS[matrix], "-color_range", _TAGS[spans]] if tags else []
    ffmpeg(
        *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-i", "-"),
        *("-vf", f"scale=out_color_matrix={matrix}:out_range={spans}:{EXACT},format={pixel_format}"),
        *("-c:v", *encoder.split(), *said, "-pix_fmt", pixel_format, str(path)),
        given=scene(width, height).tobytes(),
    )


def difference(path: Path, reference: str) -> float:
    """How far our picture is from what ffmpeg's filters `reference` make: the mean of the worst channel."""
    reader = Reader(str(path))
    frame = next(reader.frames()).picture
    ours = PictureRenderer(reader.info.sample_aspect, reader.info.orientation).render(frame)
    reader.close()
    raw = ffmpeg("-i", str(path), "-frames:v", "1", "-vf", reference, "-f", "rawvideo", "-")
    theirs = np.frombuffer(raw, np.uint8).reshape(ours.shape)
    return float(np.abs(ours.astype(int) - theirs).mean(axis=(0, 1)).max())


X264, X265 = "libx264 -qp 0 -preset ultrafast", "libx265 -preset ultrafast -x265-params log-level=none:crf=4"
VP9 = "libvpx-vp9 -lossless 1 -cpu-used 8"
CODED = [
    (X264, "mp4", ["yuv420p", "yuv422p", "yuv444p", "nv12", "yuv420p10le", "yuv422p10le", "yuv444p10le"]),
    (X265, "mp4", ["yuv420p", "yuv420p10le", "yuv420p12le", "yuv422p12le", "yuv444p12le"]),
    (VP9, "webm", ["yuv420p", "yuv422p", "yuv440p", "yuv444p", "yuv420p10le", "yuv444p12le"]),
    ("ffv1", "mkv", ["yuv420p", "yuv411p", "yuv410p", "yuv422p", "yuv444p16le"]),
]


ALL_FOUR = [(matrix, spans) for matrix in ("bt601", "bt709") for spans in ("limited", "full")]


@pytest.mark.parametrize(
    ("encoder", "suffix", "pixel_format", "matrix", "spans"),
    [
        (encoder, suffix, pixel_format, matrix, spans)
        for encoder, suffix, pixel_formats in CODED
        for pixel_format in pixel_formats
        for matrix, spans in (ALL_FOUR if encoder == X264 else ALL_FOUR[1:3])
    ],
)
def test_luma_and_chroma(
    tmp_path: Path, encoder: str, suffix: str, pixel_format: str, matrix: str, spans: str
) -> None:
    path = tmp_path / f"clip.{suffix}"
    encode(path, encoder, pixel_format, matrix=matrix, spans=spans)
    filters = f"scale=in_color_matrix={matrix}:in_range={spans}:{EXACT},format=rgb24"
    assert difference(path, filters) <= LIMIT


@pytest.mark.parametrize(("name", "matrix"), [("sd", "bt601"), ("hd", "bt709")])
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv420p10le"])
def test_what_is_not_said_is_taken_as_players_take_it(
    tmp_path: Path, name: str, matrix: str, pixel_format: str
) -> None:
    path = tmp_path / f"{name}.mp4"
    encode(path, X264, pixel_format, matrix=matrix, spans="limited", tags=False)
    filters = f"scale=in_color_matrix={matrix}:in_range=limited:{EXACT},format=rgb24"
    assert difference(path, filters) <= LIMIT


@pytest.mark.parametrize(
    ("encoder", "suffix", "pixel_format"),
    [
        *[("ffv1", "mkv", name) for name in ("bgra", "gbrp16le", "gbrap", "rgb48le", "gray16le", "gray")],
        *[("png", "mkv", name) for name in ("pal8", "rgb24", "rgba", "gray", "ya8", "rgb48be", "monob")],
        *[
            ("rawvideo", "nut", name)
            for name in ("rgb565le", "bgr24", "rgb555le", "monow", "bgr8", "xyz12le")
        ],
        *[("qtrle", "mov", name) for name in ("rgb24", "argb", "rgb555be")],
        *[
            (f"{X265}:lossless=1", "mp4", name)
            for name in ("gbrp", "gbrp10le", "gbrp12le", "gray", "gray10le")
        ],
        ("libx264rgb -qp 0", "mp4", "rgb24"),
        ("gif", "gif", "pal8"),
    ],
)
def test_colours_without_a_matrix(tmp_path: Path, encoder: str, suffix: str, pixel_format: str) -> None:
    path = tmp_path / f"clip.{suffix}"
    encode(path, encoder, pixel_format, matrix="bt601", spans="full")
    assert difference(path, f"scale={EXACT},format=rgb24") <= LIMIT


@pytest.mark.parametrize("pixel_format", ["uyvy422", "yuyv422", "nv21", "p010le", "nv16", "p210le", "nv24"])
def test_packed_and_semi_planar_frames(tmp_path: Path, pixel_format: str) -> None:
    """As capture cards and hardware decoders give them; no codec above decodes to these."""
    frame = av.VideoFrame.from_ndarray(scene(WIDTH, HEIGHT), format="rgb24").reformat(
        format=pixel_format, dst_colorspace="ITU709", dst_color_range="MPEG", interpolation="BICUBIC"
    )
    assert frame.colorspace == 1
    ours = PictureRenderer(None).render(frame)
    assert np.abs(ours.astype(int) - scene(WIDTH, HEIGHT)).mean(axis=(0, 1)).max() <= LIMIT


@pytest.mark.parametrize("encoder", ["ffv1", VP9])
def test_transparent_parts_are_over_black(tmp_path: Path, encoder: str) -> None:
    pixel_format, suffix = ("yuva444p", "mkv") if encoder == "ffv1" else ("yuva420p", "webm")
    path = tmp_path / f"clip.{suffix}"
    alpha = np.linspace(0, 255, WIDTH).astype(np.uint8)[None, :, None].repeat(HEIGHT, axis=0)
    pixels = np.concatenate((scene(WIDTH, HEIGHT), alpha), axis=2)
    ffmpeg(
        *("-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{WIDTH}x{HEIGHT}", "-i", "-"),
        *("-vf", f"scale=out_color_matrix=bt601:out_range=limited:{EXACT},format={pixel_format}"),
        *("-c:v", *encoder.split(), "-colorspace", "smpte170m", "-color_range", "tv", str(path)),
        given=pixels.tobytes(),
    )
    reader = Reader(str(path))
    ours = PictureRenderer(None).render(next(reader.frames()).picture)
    reader.close()
    expected = scene(WIDTH, HEIGHT) * (alpha / 255)
    assert np.abs(ours - expected).mean(axis=(0, 1)).max() <= LIMIT


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv420p10le"])
def test_white_stays_white_when_a_picture_is_scaled(pixel_format: str) -> None:
    white = np.full((1400, 3600, 3), 255, np.uint8)
    frame = av.VideoFrame.from_ndarray(white, format="rgb24").reformat(
        format=pixel_format, dst_colorspace="ITU709", dst_color_range="MPEG"
    )
    ours = PictureRenderer(None).render(frame)
    assert ours.shape[1] < 3600
    assert ours.min() >= 254
