"""What can be said of a picture's light and colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

Light = Literal["black", "dark", "normal", "bright"]

BLACK, BRIGHTEST_IN_BLACK = 12, 40
"""Brightness (0 to 255) of a black frame: its mean and its brightest pixel, which noise and titles raise."""
DARK, BRIGHT = 55, 185
"""Mean brightness below which a picture is dark, and above which it is bright."""
PLAIN_SPREAD = 10
"""Most that red, green and blue differ within one plain colour, in levels."""
PLAIN_REST, BACKDROP_REST = 0.005, 0.1
"""Most of a picture that may have other colours if it is plain, or plain behind a few lines of text."""
MAIN_SHARE, SECOND_SHARE = 0.4, 0.2
"""Share of the picture a colour must take to be named first, or beside another."""

# Upper ends of the hue circle's sectors, in degrees.
HUES = (
    *((18, "red"), (42, "orange"), (64, "yellow"), (165, "green"), (195, "cyan")),
    *((255, "blue"), (290, "purple"), (335, "pink"), (360, "red")),
)


@dataclass(frozen=True, slots=True)
class Palette:
    """Light and colours of one picture.

    Attributes:
        colours: up to two names, the commoner first; empty if none stands out.
        shade: red, green and blue of the commonest shade.
        rest: share of the picture that does not have its one commonest shade.
    """

    light: Light
    colours: tuple[str, ...]
    shade: tuple[int, int, int]
    rest: float

    @property
    def plain(self) -> bool:
        """Whether it is all one colour, `colours[0]`."""
        return bool(self.colours) and self.rest <= PLAIN_REST

    @property
    def backdrop(self) -> bool:
        """Whether it is all `colours[0]` but for a few lines of text or the like."""
        return bool(self.colours) and self.rest <= BACKDROP_REST


def palette(picture: Pixels) -> Palette:
    """Measures `picture` (H x W x 3, RGB)."""
    import cv2
    import numpy as np

    small = cv2.resize(picture, (64, 64), interpolation=cv2.INTER_AREA).astype(np.int16)
    middle = np.median(small.reshape(-1, 3), axis=0)
    rest = float((np.abs(small - middle).max(axis=2) > PLAIN_SPREAD).mean())
    names = _names(small.astype(np.uint8))
    shares = sorted(((float((names == name).mean()), str(name)) for name in np.unique(names)), reverse=True)
    colours = [name for share, name in shares[:1] if share >= MAIN_SHARE]
    colours += [name for share, name in shares[1:2] if colours and share >= SECOND_SHARE]
    shade = (int(middle[0]), int(middle[1]), int(middle[2]))
    return Palette(_light(picture, small), tuple(colours), shade, rest)


def _light(picture: Pixels, small: NDArray[np.int16]) -> Light:
    import numpy as np

    mean = float((small @ np.array([0.299, 0.587, 0.114])).mean())
    if mean <= BLACK and int(picture.max()) <= BRIGHTEST_IN_BLACK:
        return "black"
    return "dark" if mean < DARK else "bright" if mean > BRIGHT else "normal"


def _names(picture: Pixels) -> NDArray[np.str_]:
    """The name of each pixel's colour."""
    import cv2
    import numpy as np

    hsv = cv2.cvtColor(picture, cv2.COLOR_RGB2HSV).astype(np.int16)
    hue, saturation, value = hsv[:, :, 0] * 2, hsv[:, :, 1], hsv[:, :, 2]
    names = np.full(hue.shape, "red", dtype="<U6")
    start = 0
    for end, name in HUES:
        names[(hue >= start) & (hue < end)] = name
        start = end
    names[(names == "orange") & (value < 150)] = "brown"
    red = names == "red"
    names[red & (saturation < 70)] = "brown"
    names[red & (value > 150) & (saturation < np.where(value > 200, 110, 70))] = "pink"
    grey = saturation < 55
    names[grey] = "grey"
    names[grey & (value > 205)] = "white"
    names[(value < 45) | (grey & (value < 55))] = "black"
    return names
