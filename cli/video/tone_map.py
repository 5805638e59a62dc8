"""HDR as a natural SDR picture: PQ and HLG of BT.2100, mapped into BT.709 as BT.2390 says.

Light is computed in numpy once, for a grid of 33 x 33 x 33 colours; FFmpeg then looks each pixel up in it
(within 0.4 of 255 on average of what the formulas give, at a hundredth of their time).
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av.filter
import numpy as np
from av.video.format import VideoFormat

from cli.video.coding import PQ, PQ_MAX_NITS
from protocol.errors import InputError

if TYPE_CHECKING:
    from av import VideoFrame
    from numpy.typing import NDArray

    from protocol.frame import Pixels

    Light = NDArray[np.float64]

WHITE_NITS = 203.0
"""HDR reference white (BT.2408): becomes the white of the SDR picture, as far as the tone curve lets it."""
DEFAULT_PEAK_NITS = 1000.0
"""What PQ video that tells no peak is taken to be graded for; HLG is shown as on a display of this peak."""
_SDR_GAMMA = 2.4  # of the display that shows it (BT.1886)

TONE_MAP_FORMAT = "gbrp16le"
"""Pixel format that `ToneMap.map` takes."""
_GRID = 33

_BT2020_LUMA = np.array([0.2627, 0.6780, 0.0593])
_BT709_LUMA = np.array([0.2126, 0.7152, 0.0722])
# Linear light to BT.709's primaries, from BT.2020 (BT.2087) and Display P3; all three have the same white.
_FROM_BT2020 = np.array(
    [
        [1.660491, -0.587641, -0.072850],
        [-0.124550, 1.132900, -0.008349],
        [-0.018151, -0.100579, 1.118730],
    ]
)
_FROM_P3 = np.array(
    [
        [1.224940, -0.224940, 0.0],
        [-0.042057, 1.042057, 0.0],
        [-0.019638, -0.078636, 1.098274],
    ]
)
_TO_BT709 = {1: np.eye(3), 12: _FROM_P3}  # AVColorPrimaries; BT.2020 is what HDR has else


class ToneMap:
    """Maps frames of one transfer and peak. Keeps FFmpeg's filter between frames of one size."""

    def __init__(self, transfer: int, primaries: int, peak_nits: float) -> None:
        """`transfer`: `PQ` or `HLG`; `primaries`: AVColorPrimaries."""
        signal = np.linspace(0.0, 1.0, _GRID)
        blue, green, red = np.meshgrid(signal, signal, signal, indexing="ij")  # red runs fastest
        self._table = to_sdr(np.stack((red, green, blue), axis=-1), transfer, primaries, peak_nits)
        self._size: tuple[int, int] | None = None
        self._graph: Any = None

    def map(self, picture: VideoFrame) -> Pixels:
        """H x W x 3 uint8 RGB in BT.709 from full-range `picture` in `TONE_MAP_FORMAT`, which is used up."""
        if self._size != (picture.width, picture.height):
            self._configure(picture.width, picture.height)
        self._graph.vpush(picture)
        mapped = self._graph.vpull()
        pixels: Pixels = np.empty((mapped.height, mapped.width, 3), np.uint8)
        for plane, channel in zip(mapped.planes, (1, 2, 0), strict=True):
            rows = np.frombuffer(plane, np.uint8).reshape(mapped.height, plane.line_size)
            pixels[:, :, channel] = rows[:, 1 : 2 * mapped.width : 2]  # the upper byte of each sample
        return pixels

    def _configure(self, width: int, height: int) -> None:
        """Gives FFmpeg the table, as a file of Adobe's .cube format: it takes one in no other way."""
        # The upper byte of a sample, which is what is used, is then the value rounded.
        values = np.minimum(self._table * (255 * 256 / 65535) + 128 / 65535, 1.0)
        lines = "%.6f %.6f %.6f\n" * (_GRID**3) % tuple(values.ravel().tolist())
        graph = av.filter.Graph()
        source = graph.add_buffer(
            width=width, height=height, format=VideoFormat(TONE_MAP_FORMAT), time_base=Fraction(1, 1)
        )
        sink = graph.add("buffersink")
        try:
            with tempfile.TemporaryDirectory(prefix="stream-") as folder:
                path = Path(folder) / "hdr.cube"
                path.write_text(f"LUT_3D_SIZE {_GRID}\n{lines}", encoding="ascii")
                look_up = graph.add("lut3d", file=str(path), interp="tetrahedral")
                source.link_to(look_up)
                look_up.link_to(sink)
                graph.configure()
        except OSError as error:  # FFmpeg's own errors are OSErrors too
            raise InputError(
                f"HDR: its table cannot be kept in {tempfile.gettempdir()}: {error.strerror or error}",
                hint="free some space or point TMPDIR elsewhere",
            ) from error
        self._graph, self._size = graph, (width, height)


def to_sdr(signal: Light, transfer: int, primaries: int, peak_nits: float) -> Light:
    """What an SDR display is sent for `signal` (... x 3, RGB, 0 to 1, as coded): BT.709, 0 to 1."""
    light = pq_to_nits(signal) if transfer == PQ else hlg_to_nits(signal)
    light = light @ _TO_BT709.get(primaries, _FROM_BT2020).T
    # Colours that BT.709 has not: towards the grey of the same luminance, until they are at its border.
    luma = np.maximum(light @ _BT709_LUMA, 0.0)[..., None]
    least = light.min(axis=-1, keepdims=True)
    outside = least < 0
    share = np.divide(luma, luma - least, out=np.ones_like(luma), where=outside & (luma - least > 0))
    light = np.maximum(luma + (light - luma) * share, 0.0)
    # The largest of the three sets the scale, so that hues stay.
    largest = light.max(axis=-1, keepdims=True)
    wanted = tone_curve(largest, peak_nits)
    scale = np.divide(wanted, largest, out=np.zeros_like(largest), where=largest > 0)
    sdr: Light = np.clip(light * scale, 0.0, 1.0) ** (1 / _SDR_GAMMA)
    return sdr


def tone_curve(nits: Light, peak_nits: float) -> Light:
    """Light of an SDR display, 1 for its white, for light of an HDR display (BT.2390's EETF).

    Light up to about half of reference white stays as it is; from there to `peak_nits` it is rolled off.
    """
    peak = nits_to_pq(np.array(peak_nits))
    white = nits_to_pq(np.array(WHITE_NITS)) / peak
    if white >= 1:
        return np.minimum(nits / WHITE_NITS, 1.0)
    value = np.minimum(nits_to_pq(nits) / peak, 1.0)
    knee = 1.5 * white - 0.5
    part = np.maximum(value - knee, 0.0) / (1 - knee)
    rolled = (
        (2 * part**3 - 3 * part**2 + 1) * knee
        + (part**3 - 2 * part**2 + part) * (1 - knee)
        + (3 * part**2 - 2 * part**3) * white
    )
    mapped = np.where(value < knee, value, rolled)
    return np.minimum(pq_to_nits(mapped * peak) / WHITE_NITS, 1.0)


def pq_to_nits(signal: Light) -> Light:
    """The EOTF of SMPTE ST 2084: absolute light for a signal from 0 to 1."""
    root = np.clip(signal, 0.0, 1.0) ** (1 / 78.84375)
    fraction = np.maximum(root - 0.8359375, 0.0) / (18.8515625 - 18.6875 * root)
    nits: Light = PQ_MAX_NITS * fraction ** (1 / 0.1593017578125)
    return nits


def nits_to_pq(nits: Light) -> Light:
    """The inverse of `pq_to_nits`."""
    power = np.clip(nits / PQ_MAX_NITS, 0.0, 1.0) ** 0.1593017578125
    signal: Light = ((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power)) ** 78.84375
    return signal


def hlg_to_nits(signal: Light) -> Light:
    """HLG's EOTF (BT.2100) on a display of 1000 nits: inverse OETF, then the OOTF of system gamma 1.2."""
    low = signal**2 / 3
    high = (np.exp((np.maximum(signal, 0.5) - 0.55991073) / 0.17883277) + 0.28466892) / 12
    scene = np.where(signal <= 0.5, low, high)
    luma = (scene @ _BT2020_LUMA)[..., None]
    nits: Light = DEFAULT_PEAK_NITS * scene * luma**0.2
    return nits
