"""Pictures that show the time they were made at, so that a test knows which one it got, and how late.

Bars across the top quarter (all of it in a small one) are the bits of a counter of hundredths of a second of
the system's clock, white for a one. They are in Gray code, of which one bar changes at a time: a picture made
while the counter moves shows one time or the next, never a third. Compression leaves them readable.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol.frame import Pixels

BITS = 20
PER_S = 100
WIDTH, HEIGHT = 320, 64
_CYCLE_S = (1 << BITS) / PER_S
"""When it shows the same again: nearly three hours."""

_NUMBER = f"mod(floor(time(0)*{PER_S}),{1 << BITS})"
_BIT = f"({BITS - 1}-X)"
_GRAY = f"mod(floor({_NUMBER}/pow(2,{_BIT}))+floor({_NUMBER}/pow(2,{_BIT}+1)),2)"
_BARS = f"nullsrc=s={BITS}x2:r={{fps}},format=yuv420p,geq=lum='16+219*{_GRAY}':cb=128:cr=128"


def clock_filter(width: int = WIDTH, height: int = HEIGHT, fps: int = 30) -> str:
    """FFmpeg's filter graph of such pictures; the larger ones are a test card beneath the bars.

    They show when they were made: whoever reads the graph has to take them at their own pace.
    """
    bars = f"{_BARS.format(fps=fps)},scale={width}:{{height}}:flags=neighbor,setsar=1"
    if height <= HEIGHT:
        return bars.format(height=height)
    return (
        f"{bars.format(height=height // 4)}[bars];"
        f"testsrc2=s={width}x{height}:r={fps},format=yuv420p[card];[card][bars]overlay"
    )


def shown_at(pixels: Pixels, *, near: float | None = None) -> float:
    """The time a picture shows, in seconds since 1970; the one nearest to `near`, or to now."""
    height, width = pixels.shape[:2]
    row = pixels[height // 8].mean(axis=1)
    number = bit = 0
    for position in range(BITS):
        bit ^= int(row[(2 * position + 1) * width // (2 * BITS)] > 127)
        number = number << 1 | bit
    near = time.time() if near is None else near
    since_cycle = number / PER_S
    return round((near - since_cycle) / _CYCLE_S) * _CYCLE_S + since_cycle
