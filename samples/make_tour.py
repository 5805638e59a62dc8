"""Make tour.mp4: four photographs, filmed with a moving camera and hard cuts.

    pip install scikit-image av opencv-python-headless pillow
    python samples/make_tour.py samples/tour.mp4

The photographs, all CC0 or public domain, come with scikit-image, and the typeface (Aileron, CC0) comes with
Pillow, so nothing is downloaded. The same package versions write the same bytes. README.md beside this file
says where each photograph comes from.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
import cv2
import numpy as np
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc
from PIL import Image, ImageDraw, ImageFont
from skimage import data

WIDTH, HEIGHT, FPS = 640, 360, 25  # the photographs are 451 to 640 pixels wide: larger would be blurred
RECORDED = "2026-11-29T12:00:00Z"  # the clip's creation_time: when its first frame counts as taken

Picture = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True)
class View:
    """What the camera sees of a photograph: its top left corner and its width, in the photograph's pixels."""

    x: float
    y: float
    width: float

    def toward(self, other: "View", progress: float) -> "View":
        """The view part of the way to another, 0 here to 1 there."""
        return View(
            self.x + (other.x - self.x) * progress,
            self.y + (other.y - self.y) * progress,
            self.width + (other.width - self.width) * progress,
        )

    def of(self, photo: Picture) -> Picture:
        """Resample once, straight from the photograph and between its pixels; (HEIGHT, WIDTH, 3)."""
        scale = self.width / WIDTH
        shift = scale / 2 - 0.5  # pixel centres, not corners, lie on the grid
        matrix = np.array([[scale, 0, self.x + shift], [0, scale, self.y + shift]])
        flags = cv2.INTER_LANCZOS4 | cv2.WARP_INVERSE_MAP
        seen = cv2.warpAffine(photo, matrix, (WIDTH, HEIGHT), flags=flags, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(seen, np.uint8)


@dataclass(frozen=True)
class Shot:
    """One photograph between two hard cuts. Times in seconds."""

    start_s: float
    end_s: float
    photo: str  # the function in skimage.data
    first: View
    last: View
    move_s: float = 0  # how long the camera takes from first to last; it then rests
    fade_s: float = 0  # fade to black at the shot's end
    card: tuple[str, str] | None = None  # a headline and the line under it


TITLE = ("A SHORT TOUR", "In four pictures")
LAUNCH_SITE = ("LAUNCH COMPLEX 40", "Cape Canaveral, Florida")
SHOTS = [
    # 0:00 an espresso in a red cup; the camera pans right; a title
    Shot(0, 4, "coffee", View(0, 8, 460), View(140, 8, 460), 4, card=TITLE),
    # 0:04 a tabby cat; still
    Shot(4, 6, "chelsea", View(0, 20, 451), View(0, 20, 451)),
    # 0:06 a Falcon 9 at its launch site; the camera zooms in; a lower third
    Shot(6, 10, "rocket", View(0, 67, 640), View(96, 112, 448), 4, card=LAUNCH_SITE),
    # 0:10 an astronaut; the camera tilts up from helmet to face and rests at 13.5 s; a fade from 14.2 s
    Shot(10, 15, "astronaut", View(16, 226, 480), View(16, 4, 480), 3.5, fade_s=0.8),
]


def lower_third(headline: str, line: str) -> Image.Image:
    """A caption card with a transparent surround; (HEIGHT, WIDTH) RGBA."""
    card = Image.new("RGBA", (WIDTH, HEIGHT))
    draw = ImageDraw.Draw(card)
    large, small = ImageFont.load_default(24), ImageFont.load_default(16)
    right = 44 + max(draw.textlength(headline, large), draw.textlength(line, small)) + 14
    draw.rectangle((24, 272, right, 336), fill=(10, 14, 22, 205))
    draw.rectangle((24, 272, 29, 336), fill=(245, 166, 35, 255))
    draw.text((44, 303), headline, (255, 255, 255, 255), large, anchor="ls")
    draw.text((44, 326), line, (225, 229, 235, 255), small, anchor="ls")
    return card


def film(shot: Shot) -> Iterator[Picture]:
    """The shot's frames in order, RGB."""
    photo = np.asarray(getattr(data, shot.photo)(), np.uint8)
    card = lower_third(*shot.card) if shot.card else None
    count = round((shot.end_s - shot.start_s) * FPS)
    fading = round(shot.fade_s * FPS)
    for n in range(count):
        t = min(1.0, n / FPS / shot.move_s) if shot.move_s else 0.0
        eased = t * t * (3 - 2 * t)  # starts and stops gently
        picture = Image.fromarray(shot.first.toward(shot.last, eased).of(photo))
        if card:
            picture.paste(card, mask=card)
        light = min(1.0, (count - 1 - n) / fading) if fading else 1.0
        yield np.asarray(picture.point(lambda level, light=light: round(level * light)), np.uint8)


def main() -> None:
    """Encode the shots one after the other as H.264, BT.709, ready to stream."""
    parser = argparse.ArgumentParser(description="Make the sample clip.")
    parser.add_argument("output", help="where to write it, for example samples/tour.mp4")
    output: str = parser.parse_args().output
    flags = {"movflags": "+faststart", "fflags": "+bitexact"}
    with av.open(output, "w", format="mp4", options=flags) as container:
        container.metadata["creation_time"] = RECORDED
        container.metadata["title"] = "A short tour"
        stream = container.add_stream("libx264", FPS, {"crf": "20", "preset": "slow"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.gop_size = 2 * FPS
        stream.color_range = ColorRange.MPEG
        stream.color_primaries = ColorPrimaries.BT709
        stream.color_trc = ColorTrc.BT709
        stream.colorspace = Colorspace.ITU709
        pictures = (picture for shot in SHOTS for picture in film(shot))
        for n, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, "rgb24").reformat(
                format="yuv420p",
                dst_colorspace=Colorspace.ITU709,
                dst_color_range=ColorRange.MPEG,
                interpolation="BICUBIC",
            )
            frame.pts, frame.time_base = n, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


if __name__ == "__main__":
    main()
