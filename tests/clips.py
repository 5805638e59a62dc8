"""Video for tests: small clips made here, whose frames show their own number, and the real ones."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.frame import Pixels

BITS = 8
TIME_BASE = Fraction(1, 1000)


def numbered(number: int, width: int = 128, height: int = 64) -> Pixels:
    """A picture that shows `number` as eight bars, most significant first, white for a one."""
    pixels = np.full((height, width, 3), 16, np.uint8)
    for bit in range(BITS):
        if number >> (BITS - 1 - bit) & 1:
            pixels[:, bit * width // BITS : (bit + 1) * width // BITS] = 235
    return pixels


def number_of(pixels: Pixels) -> int:
    """The number a picture of `numbered` shows, whatever became of its size and colours."""
    height, width = pixels.shape[:2]
    row = pixels[height // 2].mean(axis=1)
    bits = (row[(2 * bit + 1) * width // (2 * BITS)] > 127 for bit in range(BITS))
    return sum(int(bit) << (BITS - 1 - position) for position, bit in enumerate(bits))


def corners(width: int = 96, height: int = 64) -> Pixels:
    """Red top left, green top right, blue bottom left, white bottom right: shows every turn and mirror."""
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[: height // 2, : width // 2] = (255, 0, 0)
    pixels[: height // 2, width // 2 :] = (0, 255, 0)
    pixels[height // 2 :, : width // 2] = (0, 0, 255)
    pixels[height // 2 :, width // 2 :] = (255, 255, 255)
    return pixels


def make_clip(
    path: Path,
    times_ms: Sequence[int],
    *,
    pictures: Sequence[Pixels] | None = None,
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    sample_aspect: Fraction | None = None,
    matrix: Sequence[int] | None = None,
    keyframe_every: int = 12,
    time_base: Fraction = TIME_BASE,
    options: dict[str, str] | None = None,
    metadata: dict[str, str] | None = None,
    container: dict[str, str] | None = None,
    audio_s: float = 0.0,
) -> Path:
    """Writes a clip whose frame number i is shown from `times_ms[i]` on.

    `matrix` is its display matrix; `options` go to the encoder, `container` to the muxer.
    """
    pictures = pictures or [numbered(index) for index in range(len(times_ms))]
    height, width = pictures[0].shape[:2]
    with av.open(str(path), "w", options=container or {}) as output:
        output.metadata.update(metadata or {})
        if options is None and codec == "libx264":
            options = {"x264-params": "scenecut=0"}  # keyframes where they are asked for, nowhere else
        stream = output.add_stream(codec, rate=25, options=options or {})
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        stream.time_base = stream.codec_context.time_base = time_base
        stream.codec_context.gop_size = keyframe_every
        if sample_aspect is not None:
            stream.codec_context.sample_aspect_ratio = sample_aspect
        if matrix is not None:
            stream.set_display_matrix(matrix)
        sound = output.add_stream("aac", rate=48000) if audio_s else None
        for time_ms, pixels in zip(times_ms, pictures, strict=True):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24").reformat(
                format=pixel_format, src_color_range="JPEG", dst_color_range="MPEG"
            )
            frame.pts, frame.time_base = round(time_ms * TIME_BASE / time_base), time_base
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
        if sound is not None:
            _add_silence(output, sound, audio_s)
    return path


def _add_silence(container: Any, stream: Any, seconds: float) -> None:
    for start in range(0, int(seconds * 48000), 1024):
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48000, start, Fraction(1, 48000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode())


def steady(count: int, fps: int = 25) -> list[int]:
    """Times in ms of `count` frames at `fps`, which divides 1000."""
    return [index * 1000 // fps for index in range(count)]


def real_clips() -> Path:
    """The folder of real clips; the test that asks is skipped where there is none."""
    folder = os.environ.get("STREAM_TEST_CLIPS")
    if not folder:
        pytest.skip("STREAM_TEST_CLIPS names no folder of real clips")
    return Path(folder)


def real_facts() -> dict[str, dict[str, Any]]:
    """What an independent decoder says of each real clip, by file name; empty where there are none."""
    folder = os.environ.get("STREAM_TEST_CLIPS")
    if not folder or not (facts := Path(folder) / "facts.json").exists():
        return {}
    return json.loads(facts.read_text(encoding="utf-8"))
