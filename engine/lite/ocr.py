"""Reading text: PP-OCRv6's detection and recognition networks, which RapidOCR's package carries.

The two files are run directly: RapidOCR's own code takes over half a second to import, logs to the terminal
and downloads what it misses. What it does around the networks is little and stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.lite.runtime import Network
from protocol.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pixels = NDArray[Any]  # H x W x 3, uint8, RGB
    Array = NDArray[Any]  # float32

DETECTION_SIDE = 800
"""Longer side, in pixels, at which text is looked for: at 1080p, letters of 28 pixels are read without fault.

960 reads letters of 22 pixels, but takes 1.4 times as long and 30 MB more.
"""
TEXT_PIXEL = 0.3
"""Probability from which a pixel belongs to text."""
TEXT_BOX = 0.6
"""Mean probability from which a box is text."""
GROWTH = 1.6
"""How far a box grows beyond its text's core, times area over perimeter (the network marks the core only)."""
MAX_LINES = 8
"""Most lines read in one picture, the largest ones."""
LINE_HEIGHT = 48
MAX_LINE_WIDTH = 960
BATCH = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text.

    Attributes:
        score: mean certainty of its characters, 0 to 1.
        box: left, top, right, bottom, as shares of the picture's width and height.
    """

    text: str
    score: float
    box: tuple[float, float, float, float]


class Reader:
    """Finds and reads the lines of text in a picture."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or _models()
        self._detector = Network(_only(folder, "*_det_*.onnx"))
        self._recogniser = Network(_only(folder, "*_rec_*.onnx"))
        # Index 0 is "no character"; the space comes last and is not in the file.
        self._characters = ["", *self._recogniser.metadata["character"].splitlines(), " "]

    def read(self, picture: Pixels) -> list[Line]:
        """The lines of `picture` (H x W x 3, RGB), from top to bottom."""
        import numpy as np

        height, width = picture.shape[:2]
        corners = self._find(picture)
        sizes = [_size(quad)[0] * _size(quad)[1] for quad in corners]
        largest = sorted(range(len(corners)), key=lambda i: -sizes[i])[:MAX_LINES]
        corners = [corners[i] for i in sorted(largest)]
        strips = [_strip(picture, quad) for quad in corners]
        lines = []
        for (text, score), quad in zip(self._recognise(strips), corners, strict=True):
            (left, top), (right, bottom) = quad.min(axis=0), quad.max(axis=0)
            scaled = np.clip((left / width, top / height, right / width, bottom / height), 0, 1)
            lines.append(Line(text, score, tuple(float(edge) for edge in scaled)))  # type: ignore[arg-type]
        return lines

    def _find(self, picture: Pixels) -> list[Array]:
        """Corners of each box, clockwise from the top left, in pixels of `picture`."""
        import cv2
        import numpy as np

        height, width = picture.shape[:2]
        scale = min(1.0, DETECTION_SIDE / max(height, width))
        size = tuple(max(32, round(side * scale / 32) * 32) for side in (width, height))
        shrunk = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
        text = self._detector(_normalised(shrunk)[None])[0, 0]
        mask = cv2.dilate((text > TEXT_PIXEL).astype(np.uint8), np.ones((2, 2), np.uint8))
        outlines, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
        stretch = np.array([width / size[0], height / size[1]], np.float32)
        found = []
        for outline in outlines:
            centre, (across, down), angle = cv2.minAreaRect(outline)
            if min(across, down) < 3:
                continue
            core = cv2.boxPoints((centre, (across, down), angle))
            if _mean_inside(text, core) < TEXT_BOX:
                continue
            growth = across * down * GROWTH / (across + down)  # on both sides together
            box = cv2.boxPoints((centre, (across + growth, down + growth), angle))
            found.append(_clockwise(box) * stretch)
        return sorted(found, key=lambda quad: (float(quad[:, 1].min()), float(quad[:, 0].min())))

    def _recognise(self, strips: list[Pixels]) -> list[tuple[str, float]]:
        """Text and score of each strip, in their order."""
        import numpy as np

        read = [("", 0.0)] * len(strips)
        by_width = sorted(range(len(strips)), key=lambda i: strips[i].shape[1])  # like widths, little padding
        for start in range(0, len(by_width), BATCH):
            chosen = by_width[start : start + BATCH]
            widest = max(320, *(strips[i].shape[1] for i in chosen))
            batch = np.zeros((len(chosen), 3, LINE_HEIGHT, widest), np.float32)
            for row, i in zip(batch, chosen, strict=True):
                row[:, :, : strips[i].shape[1]] = _normalised(strips[i])
            for i, steps in zip(chosen, self._recogniser(batch), strict=True):
                read[i] = self._decode(steps)
        return read

    def _decode(self, steps: Array) -> tuple[str, float]:
        """Greedy CTC: repeated characters count once, and "no character" stands between true repeats."""
        best = steps.argmax(axis=1)
        kept = [t for t, char in enumerate(best) if char != 0 and (t == 0 or char != best[t - 1])]
        if not kept:
            return "", 0.0
        text = "".join(self._characters[best[t]] for t in kept)
        return text, float(steps[kept, best[kept]].mean())


def _models() -> Path:
    spec = find_spec("rapidocr")  # does not import it
    if spec is None or spec.origin is None:
        raise EngineError("text cannot be read without the rapidocr package", hint="pip install rapidocr")
    return Path(spec.origin).parent / "models"


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if not found:
        raise EngineError(f"no network {pattern} in {folder}", hint="pip install 'rapidocr>=3.9'")
    return found[0]


def _normalised(picture: Pixels) -> Array:
    """Planes of `picture` in the networks' order, blue first, from -1 to 1."""
    import numpy as np

    planes: Array = (picture[:, :, ::-1].transpose(2, 0, 1).astype(np.float32) / 255 - 0.5) / 0.5
    return planes


def _mean_inside(values: Array, quad: Array) -> float:
    import cv2
    import numpy as np

    height, width = values.shape
    left, top = np.clip(np.floor(quad.min(axis=0)).astype(int), 0, (width - 1, height - 1))
    right, bottom = np.clip(np.ceil(quad.max(axis=0)).astype(int), 0, (width - 1, height - 1))
    mask = np.zeros((bottom - top + 1, right - left + 1), np.uint8)
    cv2.fillPoly(mask, [(quad - (left, top)).astype(np.int32)], 1)
    return float(cv2.mean(values[top : bottom + 1, left : right + 1], mask)[0])


def _clockwise(quad: Array) -> Array:
    """Corners from the top left on: the two leftmost by height, then the two rightmost."""
    import numpy as np

    by_x = quad[np.argsort(quad[:, 0], kind="stable")]
    top_left, bottom_left = by_x[:2][np.argsort(by_x[:2, 1], kind="stable")]
    top_right, bottom_right = by_x[2:][np.argsort(by_x[2:, 1], kind="stable")]
    return np.stack([top_left, top_right, bottom_right, bottom_left])


def _size(quad: Array) -> tuple[float, float]:
    import numpy as np

    sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    return float(max(sides[0], sides[2])), float(max(sides[1], sides[3]))


def _strip(picture: Pixels, quad: Array) -> Pixels:
    """The box straightened to a line's height; text that runs upwards is laid down."""
    import cv2
    import numpy as np

    across, down = _size(quad)
    if down >= 1.5 * across:
        quad, across, down = np.roll(quad, -1, axis=0), down, across
    width = round(min(max(LINE_HEIGHT * across / max(down, 1), 8), MAX_LINE_WIDTH))
    target = np.array([(0, 0), (width, 0), (width, LINE_HEIGHT), (0, LINE_HEIGHT)], np.float32)
    transform = cv2.getPerspectiveTransform(quad.astype(np.float32), target)
    strip: Pixels = cv2.warpPerspective(
        picture, transform, (width, LINE_HEIGHT), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return strip
