"""Naming what a picture shows, where that is certain enough to be said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.lite.runtime import Network

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

WEIGHTS = Path(__file__).parent / "weights"
SIDE = 224
MEAN, SPREAD = 127.0, 128.0  # as the network was trained

# Chosen on some 250 frames of 32 unrelated clips and 30 photographs, of which the network knows few: no wrong
# name passes. BEST_CLASS is for nouns of many classes: a horse's silhouette spreads 0.6 over 118 breeds of
# dog with none above 0.2.
SAY = 0.6
"""Probability at which a noun is said: that of the whole picture or of its middle, whichever is smaller."""
KEEP = 0.45
"""Probability down to which a noun just said is said again, so that it does not come and go."""
BEST_CLASS = 0.25
"""Least probability of the noun's likeliest single class."""
MIDDLE = 0.85
"""Side of the middle square, as a share of the picture's shorter side."""


class Scene:
    """EfficientNet-Lite0 with its 1000 ImageNet classes gathered into plain nouns.

    Attributes:
        nouns: what can be said, with its article: "a cat".
    """

    def __init__(self, folder: Path = WEIGHTS) -> None:
        import numpy as np

        self._network = Network(folder / "efficientnet-lite0.onnx")
        classes = read_classes(folder / "classes.tsv")
        self.nouns: tuple[str, ...] = tuple(sorted({noun for _, noun in classes if noun}))
        column = {noun: index for index, noun in enumerate(self.nouns)}
        # The class with index i speaks for noun _noun_of[i]; the last column takes those never said.
        self._noun_of = np.array([column.get(noun, len(self.nouns)) for _, noun in classes])

    def name(self, picture: Pixels, *, said: str | None = None) -> str | None:
        """The noun for `picture` (H x W x 3, RGB), or None if none is certain; `said` is the one before."""
        import numpy as np

        height, width = picture.shape[:2]
        side = max(1, round(min(height, width) * MIDDLE))
        top, left = (height - side) // 2, (width - side) // 2
        views = [picture, picture[top : top + side, left : left + side]]
        classes = self._network(np.stack([_input(view) for view in views]))
        gathered = np.zeros((len(views), len(self.nouns) + 1), np.float32)
        for row, probabilities in zip(gathered, classes, strict=True):
            np.add.at(row, self._noun_of, probabilities)
        agreed = gathered[:, :-1].min(axis=0)
        best = int(agreed.argmax())
        noun = self.nouns[best]
        if agreed[best] < (KEEP if noun == said else SAY):
            return None
        best_class = classes[:, self._noun_of == best].mean(axis=0).max()
        return noun if best_class >= BEST_CLASS else None


def read_classes(path: Path) -> list[tuple[str, str]]:
    """Each class's own name and the noun said for it ("" if none is), in the network's order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(name, noun) for name, _, noun in (line.partition("\t") for line in lines)]


def _input(view: Pixels) -> NDArray[np.float32]:
    import cv2
    import numpy as np

    shrunk = cv2.resize(view, (SIDE, SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    planes: NDArray[np.float32] = ((shrunk - MEAN) / SPREAD).transpose(2, 0, 1)
    return planes
