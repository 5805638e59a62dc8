"""Reading text: RapidOCR, at a bounded size, with the networks that its package carries."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.lite.runtime import threads
from protocol.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pixels = NDArray[Any]  # H x W x 3, uint8, RGB
    Array = NDArray[Any]  # float32

DETECTION_SIDE = 800
"""Longer side, in pixels, at which text is looked for: at 1080p, letters of 28 pixels are read without fault.

960 reads letters of 22 pixels, but takes 1.4 times as long and 30 MB more.
"""
TEXT_BOX = 0.6
"""Mean probability from which a box is text."""
LONGEST_SHAPE = 30
"""Most times longer than wide (or the reverse) that a picture is read: of others too little would be left."""
MAX_LINES = 8
"""Most lines read in one picture, the largest ones."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text.

    Attributes:
        score: mean certainty of its characters, 0 to 1.
        digits: certainty of its least certain digit; 1 without digits.
        box: left, top, right, bottom, as shares of the picture's width and height.
    """

    text: str
    score: float
    box: tuple[float, float, float, float]
    digits: float = 1.0


class Reader:
    """Finds and reads the lines of text in a picture. Not for two threads at once."""

    def __init__(self, folder: Path | None = None) -> None:
        """Loads the networks in `folder`, by default those in RapidOCR's package; downloads nothing.

        Raises:
            EngineError: a network is missing or cannot be loaded.
        """
        logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)  # at INFO it tells every file it opens
        import rapidocr
        from rapidocr.utils.process_img import get_rotate_crop_image

        folder = folder or Path(rapidocr.__file__).parent / "models"
        # Given a path, RapidOCR does not look for a file to download.
        self._ocr: Any = rapidocr.RapidOCR(  # Any: its answer depends on what was asked
            params={
                "Global.log_level": "critical",
                "Det.model_path": str(_only(folder, "*_det_*.onnx")),
                "Det.limit_type": "max",
                "Det.limit_side_len": DETECTION_SIDE,
                "Det.box_thresh": TEXT_BOX,
                "Rec.model_path": str(_only(folder, "*_rec_*.onnx")),
                "EngineConfig.onnxruntime.intra_op_num_threads": threads(),
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )
        self._crop = get_rotate_crop_image
        self._load()

    def read(self, picture: Pixels) -> list[Line]:
        """The lines of `picture` (H x W x 3, RGB), from top to bottom."""
        height, width = picture.shape[:2]
        if max(height, width) > LONGEST_SHAPE * min(height, width):
            return []
        bgr = picture[:, :, ::-1]
        found = self._ocr(bgr, use_det=True, use_cls=False, use_rec=False)
        quads = [] if found.boxes is None else sorted(found.boxes, key=_area, reverse=True)[:MAX_LINES]
        lines = []
        for quad in sorted(quads, key=lambda quad: (float(quad[:, 1].min()), float(quad[:, 0].min()))):
            read = self._ocr(
                self._crop(bgr, quad.copy()),
                use_det=False,
                use_cls=False,
                use_rec=True,
                return_word_box=True,  # brings the scores of single characters
            )
            if not read.txts:
                continue
            (left, top), (right, bottom) = quad.min(axis=0), quad.max(axis=0)
            box = (left / width, top / height, right / width, bottom / height)
            text, score = read.txts[0], float(read.scores[0])
            lines.append(Line(text, score, _clipped(box), _least_digit(text, score, read.word_results)))
        return lines

    def _load(self) -> None:
        """Both networks load with the first picture they see: let that be now."""
        import numpy as np

        nothing = np.zeros((32, 32, 3), np.uint8)
        try:
            self._ocr(nothing, use_det=True, use_cls=False, use_rec=False)
            self._ocr(nothing, use_det=False, use_cls=False, use_rec=True)
        except Exception as error:
            raise EngineError(
                f"cannot load RapidOCR's networks: {str(error).splitlines()[0]}",
                hint="pip install 'rapidocr>=3.9'",
            ) from error


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if not found:
        raise EngineError(f"no network {pattern} in {folder}", hint="pip install 'rapidocr>=3.9'")
    return found[0]


def _least_digit(text: str, score: float, words: Any) -> float:
    """Certainty of the least certain digit of `text`; the line's `score` where characters have none."""
    scores = getattr(words[0], "confs", ()) if words else ()
    if len(scores) != len(text):
        scores = [score] * len(text)
    found = [float(one) for char, one in zip(text, scores, strict=True) if char.isdigit()]
    return min(found, default=1.0)


def _area(quad: Array) -> float:
    import cv2

    return float(cv2.contourArea(quad))


def _clipped(box: tuple[float, ...]) -> tuple[float, float, float, float]:
    left, top, right, bottom = (min(max(float(edge), 0.0), 1.0) for edge in box)
    return left, top, right, bottom
