"""What can be said of a picture's light and colours."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Box = tuple[float, float, float, float]

Light = Literal["black", "dark", "normal", "bright"]

BLACK, BRIGHTEST_IN_BLACK = 12, 40
"""Brightness (0 to 255) of a black frame: its mean and its brightest pixel, which noise and titles raise."""
DARK, BRIGHT = 55, 185
"""Mean brightness below which a picture is dark, and above which it is bright."""
PLAIN_SPREAD = 10
"""Most that red, green and blue differ within one plain colour, in levels."""
PLAIN_REST, SPOT_REST, BACKDROP_REST = 0.005, 0.02, 0.1
"""Most of a picture that may have other colours: if it is plain, but for one thing, behind a little text."""
STANDS_OUT = 30
"""Least difference, in levels, of what is seen on a plain ground."""
MAIN_SHARE, BOTH_SHARE, SECOND_SHARE = 0.5, 0.65, 0.2
"""Least share of a picture that is mostly of one colour; of two, together and the second of them."""
SOME, MUCH = 0.03, 0.2
"""Share of strong shades of a colour from which there is some of it; of all its shades from which a lot."""
MANY, MANY_SHARE = 4, 0.06
"""Strong colours from which there are many, and the least share of each."""

# Measured in CIELAB: lightness of 0 to 100, chroma of 0 to some 130.
GREY_CHROMA, STRONG_CHROMA = 11, 28
"""Chroma below which a shade is a grey, and from which its colour catches the eye."""
BLACK_LIGHTNESS, DARK_LIGHTNESS, WHITE_LIGHTNESS = 14, 18, 80
"""Lightness below which every shade is black, below which a grey is, and above which a grey is white."""
NEUTRAL = frozenset({"black", "grey", "white", "brown", "beige"})

# Upper ends of the hue circle's sectors, in degrees.
HUES = (
    *((11, "red"), (42, "orange"), (66, "yellow"), (165, "green"), (195, "cyan")),
    *((255, "blue"), (290, "purple"), (338, "pink"), (360, "red")),
)


@dataclass(frozen=True, slots=True)
class Spot:
    """What stands out from a plain ground.

    Attributes:
        box: left, top, right, bottom, as shares of the picture's width and height: all of it is inside.
        colour: its name if it is a strong one, else "bright" or "dark".
    """

    box: Box
    colour: str


@dataclass(frozen=True, slots=True)
class Palette:
    """Light and colours of one picture.

    Attributes:
        colours: up to two names of what most of it is, the commoner first; empty if none is common enough.
        shade: red, green and blue of the commonest shade.
        rest: share of the picture that does not have its one commonest shade.
        accent: another colour, a strong one that there is some of.
        much: there is a lot of `accent`.
        many: there are many strong colours.
        spot: what stands out, where the picture has one shade but for a few lines of text or the like.
    """

    light: Light
    colours: tuple[str, ...]
    shade: tuple[int, int, int]
    rest: float
    accent: str | None = None
    much: bool = False
    many: bool = False
    spot: Spot | None = None

    @property
    def even(self) -> bool:
        """Whether it is all one colour, `colours[0]`, but for a speck."""
        return bool(self.colours) and self.rest <= PLAIN_REST

    @property
    def plain(self) -> bool:
        """Whether it is all one colour, `colours[0]`, and nothing stands out."""
        return self.even and self.spot is None

    @property
    def spotted(self) -> bool:
        """Whether it is all one colour, `colours[0]`, but for something small."""
        return bool(self.colours) and self.rest <= SPOT_REST and self.spot is not None

    @property
    def backdrop(self) -> bool:
        """Whether it is all `colours[0]` but for a few lines of text or the like."""
        return bool(self.colours) and self.rest <= BACKDROP_REST


def palette(picture: Pixels) -> Palette:
    """Measures `picture` (H x W x 3, RGB)."""
    import cv2
    import numpy as np

    small: Pixels = cv2.resize(picture, (64, 64), interpolation=cv2.INTER_AREA).astype(np.uint8)
    middle = np.median(small.reshape(-1, 3), axis=0)
    rest = float((np.abs(small - middle).max(axis=2) > PLAIN_SPREAD).mean())
    shade = (int(middle[0]), int(middle[1]), int(middle[2]))
    light = _light(picture, small)
    if rest <= BACKDROP_REST:
        name, _ = _name(middle)
        return Palette(light, (name,), shade, rest, spot=_spot(picture, middle))
    names, chroma = _names(small)
    shares = _shares(names)
    strong = _shares(np.where(chroma >= STRONG_CHROMA, names, ""))
    many = sum(share >= MANY_SHARE for share, name in strong if name not in NEUTRAL) >= MANY
    colours = () if many else _main(shares)
    accents = [(share, name) for share, name in strong if name not in {*NEUTRAL, *colours, ""}]
    share, accent = accents[0] if accents and not many else (0.0, "")
    if share < SOME:
        return Palette(light, colours, shade, rest, many=many)
    return Palette(light, colours, shade, rest, accent, much=float((names == accent).mean()) >= MUCH)


def _shares(names: NDArray[np.str_]) -> list[tuple[float, str]]:
    """Each name and its share, the commonest first."""
    import numpy as np

    found, counts = np.unique(names, return_counts=True)
    return sorted(
        ((float(count) / names.size, str(name)) for name, count in zip(found, counts, strict=True)),
        reverse=True,
    )


def _main(shares: list[tuple[float, str]]) -> tuple[str, ...]:
    (first, name), (second, other) = (*shares, (0.0, ""))[:2]
    if second >= SECOND_SHARE and first + second >= BOTH_SHARE:
        return name, other
    return (name,) if first >= MAIN_SHARE else ()


def _spot(picture: Pixels, ground: NDArray[np.float64]) -> Spot | None:
    """What stands out from a plain `ground`, if anything."""
    import cv2
    import numpy as np

    levels = [int(level) for level in ground.round()]
    # What is apart in any channel; numpy takes ten times as long to find the largest of three.
    bands = (
        cv2.absdiff(band, np.full_like(band, level))
        for band, level in zip(cv2.split(cv2.blur(picture, (3, 3))), levels, strict=True)
    )
    apart = functools.reduce(cv2.max, bands) > STANDS_OUT
    ys, xs = np.nonzero(apart)
    if len(ys) == 0:
        return None
    height, width = apart.shape
    box = (xs.min() / width, ys.min() / height, (xs.max() + 1) / width, (ys.max() + 1) / height)
    inside = picture[apart]
    typical = np.median(inside, axis=0)
    name, chroma = _name(typical)
    brighter = float(typical.mean()) > float(ground.mean())
    colour = name if chroma >= STRONG_CHROMA and name not in NEUTRAL else ("dark", "bright")[brighter]
    left, top, right, bottom = (float(edge) for edge in box)
    return Spot((left, top, right, bottom), colour)


def _light(picture: Pixels, small: Pixels) -> Light:
    import numpy as np

    mean = float((small @ np.array([0.299, 0.587, 0.114])).mean())
    if mean <= BLACK and int(picture.max()) <= BRIGHTEST_IN_BLACK:
        return "black"
    return "dark" if mean < DARK else "bright" if mean > BRIGHT else "normal"


def _name(shade: NDArray[np.float64]) -> tuple[str, float]:
    """The name of one colour, and its chroma."""
    import numpy as np

    names, chroma = _names(shade.round().astype(np.uint8).reshape(1, 1, 3))
    return str(names[0, 0]), float(chroma[0, 0])


def _names(picture: Pixels) -> tuple[NDArray[np.str_], NDArray[np.float32]]:
    """The name of each pixel's colour, and its chroma."""
    import cv2
    import numpy as np

    hsv = cv2.cvtColor(picture, cv2.COLOR_RGB2HSV).astype(np.int16)
    lab = cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    hue, saturation, value = hsv[:, :, 0] * 2, hsv[:, :, 1], hsv[:, :, 2]
    lightness, chroma = lab[:, :, 0], np.hypot(lab[:, :, 1], lab[:, :, 2])
    names = np.full(hue.shape, "red", dtype="<U6")
    start = 0
    for end, name in HUES:
        names[(hue >= start) & (hue < end)] = name
        start = end
    yellow = names == "yellow"
    names[yellow & (value < 200) & (hue >= 50)] = "green"  # grass in the sun
    names[yellow & (value < 150) & (hue < 50)] = "brown"
    names[((names == "yellow") | (names == "orange")) & (value >= 150) & (saturation < 110)] = "beige"
    names[(names == "orange") & (value < 165)] = "brown"
    red = names == "red"
    names[red & (saturation < 120)] = "brown"
    names[red & (value > 170) & (saturation < np.where(value > 200, 130, 110))] = "pink"
    grey = chroma < GREY_CHROMA
    names[grey] = "grey"
    names[grey & (lightness > WHITE_LIGHTNESS)] = "white"
    dark = lightness < np.where(grey, DARK_LIGHTNESS, BLACK_LIGHTNESS)
    names[dark & (chroma < STRONG_CHROMA)] = "black"
    return names, chroma
