"""What it costs to make a decoded frame the picture a viewer sees: HDR, interlaced and plain frames.

Each is measured beside the same frame without what makes it special, and HDR beside numpy's own formulas. The
fastest of some rounds counts: the machine may be busy with other things.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

import av
import av.filter
import numpy as np

from cli.video.coding import HLG, PQ
from cli.video.picture import PictureRenderer
from cli.video.tone_map import ToneMap, to_sdr

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 15


def milliseconds(work: Callable[[], object]) -> float:
    """The fastest of some rounds, after one that fills tables."""
    work()
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return min(times)


def frame(width: int, height: int, pixel_format: str, *, shift: int = 0) -> av.VideoFrame:
    """Waves and noise; the lower field `shift` pixels further to the right."""
    y, x = np.mgrid[0:height, 0:width]
    x = x - shift * (y % 2)
    waves = np.stack([np.sin(x / 40), np.sin(x / 23 - y / 13), np.cos(y / 90)], axis=-1)
    pixels = (127 + 90 * waves + np.random.default_rng(0).normal(0, 2, waves.shape)).clip(0, 255)
    rgb = av.VideoFrame.from_ndarray(pixels.astype(np.uint8), format="rgb24")
    made = rgb.reformat(format=pixel_format, src_color_range="JPEG", dst_color_range="MPEG")
    made.pts, made.time_base = 0, Fraction(1, 25)
    return made


def called_interlaced(picture: av.VideoFrame) -> av.VideoFrame:
    graph = av.filter.Graph()
    source = graph.add_buffer(
        width=picture.width, height=picture.height, format=picture.format, time_base=Fraction(1, 25)
    )
    step, sink = graph.add("setfield", "tff"), graph.add("buffersink")
    source.link_to(step)
    step.link_to(sink)
    graph.configure()
    graph.vpush(picture)
    return graph.vpull()


def main() -> None:
    rows: list[tuple[str, float, str]] = []

    def measure(name: str, work: Callable[[], object], note: str = "") -> None:
        rows.append((name, milliseconds(work), note))

    for size, (width, height) in (("4K to 4 MP", (3840, 2160)), ("1080p", (1920, 1080))):
        for name, transfer in (("PQ", PQ), ("HLG", HLG)):
            hdr = frame(width, height, "yuv420p10le")
            hdr.color_trc, hdr.color_primaries, hdr.colorspace = transfer, 9, 9
            renderer = PictureRenderer(None)
            measure(f"{name}, {size}", lambda hdr=hdr, renderer=renderer: renderer.render(hdr))
        sdr, plain = frame(width, height, "yuv420p10le"), PictureRenderer(None)
        measure(f"10-bit SDR, {size}", lambda sdr=sdr, plain=plain: plain.render(sdr), "no tone map")
    signal = np.random.default_rng(0).random((270, 480, 3))
    measure("PQ by numpy, 1080p", lambda: [to_sdr(signal, PQ, 9, 1000.0) for _ in range(16)], "peer")
    measure("making the PQ table", lambda: ToneMap(PQ, 9, 1000.0)._configure(64, 64), "once a video")

    combed = called_interlaced(frame(1920, 1080, "yuv420p", shift=8))
    flat = called_interlaced(frame(1920, 1080, "yuv420p"))
    progressive = frame(1920, 1080, "yuv420p")
    renderer = PictureRenderer(None)
    measure("1080i, moving", lambda: renderer.render(combed))
    measure("1080i, still", lambda: renderer.render(flat), "only called interlaced")
    measure("1080p", lambda: renderer.render(progressive), "no deinterlacing")

    for name, cost, note in rows:
        print(f"{name:<22} {cost:>8.1f} ms  {note}")


if __name__ == "__main__":
    main()
