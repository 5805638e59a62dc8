"""Interlaced pictures: two fields of different moments in one frame, made one moment again.

Only frames that are sampled get here, so their neighbours in time are not at hand: the lines of the second
field are interpolated from the first, where the two do not fit together, and kept everywhere else.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av.filter
import cv2
import numpy as np

if TYPE_CHECKING:
    from av import VideoFrame
    from numpy.typing import NDArray

    from protocol.frame import Pixels

    Plane = NDArray[np.uint8]

# A pixel that differs by this from the lines above and below, to the same side, may be a tooth of a comb.
_SURE_TOOTH = 9
_TOOTH = 4
# A frame is combed where this part of a block is teeth: detail and noise have fewer together.
_BLOCK = (16, 16)
_COMBED_PART = 48 / 256
_AROUND = np.ones((9, 9), np.uint8)


def is_combed(luma: Plane) -> bool:
    """Whether the fields of a picture (H x W, its grey) differ, as they do where something moved.

    False for progressive pictures that are only called interlaced, and where nothing moves.
    """
    if len(luma) < 4:
        return False
    parts = cv2.blur(_teeth(luma, _SURE_TOOTH, alike=2), _BLOCK)
    return bool(parts.max() > 255 * _COMBED_PART)


def deinterlace(pixels: Pixels, luma: Plane, *, top_first: bool) -> Pixels:
    """`pixels` (H x W x 3) with one moment in it, the first field's; `luma` is its grey, H x W."""
    first = 0 if top_first else 1
    moved = cv2.dilate(_teeth(luma, _TOOTH, alike=1), _AROUND)[1 - first :: 2]
    count = len(moved)
    # Line k of the second field lies between lines k and k + 1 of the first (k - 1 and k, bottom first).
    field: Any = cv2.copyMakeBorder(pixels[first::2], 1 + first, 3, 0, 0, cv2.BORDER_REPLICATE)
    near = cv2.add(field[1 : 1 + count], field[2 : 2 + count], dtype=cv2.CV_16S)
    far = cv2.add(field[:count], field[3 : 3 + count], dtype=cv2.CV_16S)
    between = cv2.addWeighted(near, 9 / 16, far, -1 / 16, 0, dtype=cv2.CV_8U)
    whole = pixels.copy()
    cv2.copyTo(between, moved, whole[1 - first :: 2])
    return whole


def has_top_first(picture: VideoFrame) -> bool:
    """Whether the top field is the earlier one, as the frame itself says.

    PyAV does not show that flag; a filter that gives the earlier field first does.
    """
    whole, earlier = _grey(picture), _grey(_run(picture, "separatefields")[0])
    return np.array_equal(earlier, whole[::2]) or not np.array_equal(earlier, whole[1::2])


def as_progressive(picture: VideoFrame) -> VideoFrame:
    """`picture`, called progressive, so that it is not converted field by field. No pixel is copied."""
    return _run(picture, "setfield", "prog")[0]


def _teeth(luma: Plane, height: int, *, alike: int) -> Plane:
    """255 for each tooth: a pixel brighter (or darker) than both lines beside it, unlike those of its field.

    What it differs from the nearer line of its own field, `alike` times, is taken off its height: that is
    little between the teeth of a comb, and as much as all else in noise and thin lines.
    """
    lines: Any = cv2.copyMakeBorder(luma, 2, 2, 0, 0, cv2.BORDER_REFLECT_101)
    before, above, line, below, after = (lines[start : start + len(luma)] for start in range(5))
    brighter = cv2.subtract(line, cv2.max(above, below))  # 0 where that is negative
    darker = cv2.subtract(cv2.min(above, below), line)
    teeth = cv2.max(brighter, darker)
    own_field = cv2.min(cv2.absdiff(line, before), cv2.absdiff(line, after))
    for _ in range(alike):
        teeth = cv2.subtract(teeth, own_field)
    return np.asarray(cv2.threshold(teeth, height, 255, cv2.THRESH_BINARY)[1], np.uint8)


def _run(picture: VideoFrame, name: str, arguments: str | None = None) -> list[VideoFrame]:
    """What FFmpeg's filter `name` makes of one frame."""
    graph = av.filter.Graph()
    source = graph.add_buffer(
        width=picture.width, height=picture.height, format=picture.format, time_base=Fraction(1, 25)
    )
    step, sink = graph.add(name, arguments), graph.add("buffersink")
    source.link_to(step)
    step.link_to(sink)
    graph.configure()
    graph.vpush(picture)
    graph.vpush(None)
    made = []
    while True:
        try:
            made.append(graph.vpull())
        except (av.BlockingIOError, av.EOFError):
            return made


def _grey(picture: VideoFrame) -> Plane:
    return picture.reformat(format="gray").to_ndarray()  # type: ignore[return-value]  # gray is uint8
