from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest

from cli.video.coding import HLG, PQ, peak_nits_of, read_peak
from cli.video.picture import PictureRenderer
from cli.video.reader import Reader
from cli.video.tone_map import (
    TONE_MAP_FORMAT,
    ToneMap,
    hlg_to_nits,
    nits_to_pq,
    pq_to_nits,
    to_sdr,
    tone_curve,
)
from protocol.errors import InputError
from tests.clips import real_clips

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from protocol.frame import Pixels

BT2020 = 9
NO_ZSCALE = shutil.which("ffmpeg") is None or b" zscale " not in subprocess.run(
    ["ffmpeg", "-hide_banner", "-filters"], capture_output=True, check=False
).stdout  # fmt: skip
FROM_BT709 = np.array([[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]])
"""Linear light to BT.2020's primaries (BT.2087)."""


def pq(nits: NDArray[np.float64]) -> NDArray[np.float64]:
    """SMPTE ST 2084 as the standard writes it."""
    c2, c3, m1, m2 = 2413 / 4096 * 32, 2392 / 4096 * 32, 2610 / 16384, 2523 / 4096 * 128
    y = (nits / 10_000) ** m1
    return ((c3 - c2 + 1 + c2 * y) / (1 + c3 * y)) ** m2


def hlg(nits: NDArray[np.float64]) -> NDArray[np.float64]:
    """BT.2100's HLG as a camera writes it for a display of 1000 nits: inverse OOTF, then OETF."""
    display = nits / 1000
    luma = (display @ np.array([0.2627, 0.6780, 0.0593]))[..., None]
    scene = display * np.maximum(luma, 1e-9) ** (1 / 1.2 - 1)
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    return np.where(scene <= 1 / 12, np.sqrt(3 * scene), a * np.log(np.maximum(12 * scene - b, 1e-9)) + c)


CODED = {PQ: pq, HLG: hlg}


def frame_of(signal: NDArray[np.float64], transfer: int) -> av.VideoFrame:
    """A frame of `signal` (H x W x 3, R'G'B' in BT.2020) as 10-bit video has it."""
    sixteen = np.ascontiguousarray(np.clip(signal, 0, 1) * 65535 + 0.5).astype(np.uint16)
    frame = av.VideoFrame.from_ndarray(sixteen, format="rgb48le").reformat(
        format="yuv444p10le", dst_colorspace="BT2020", src_color_range="JPEG", dst_color_range="MPEG"
    )
    frame.color_trc, frame.color_primaries = transfer, BT2020
    return frame


def patches(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """A row of patches, 8 x 8 each, of `colours` (N x 3)."""
    return np.repeat(np.repeat(colours[None], 8, axis=0), 8, axis=1)


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_light_that_sdr_can_show_stays_as_it_is(transfer: int) -> None:
    """Half of reference white and less, in BT.709's gamut: what a BT.1886 display makes the same light of."""
    random = np.random.default_rng(3)
    light = np.concatenate((np.full((4, 3), [[0.45], [0.25], [0.1], [0.02]]), random.random((28, 3)) * 0.45))
    pixels = PictureRenderer(None).render(
        frame_of(patches(CODED[transfer](light * 203 @ FROM_BT709.T)), transfer)
    )
    expected = light ** (1 / 2.4) * 255
    difference = np.abs(pixels[4, 4::8].astype(int) - expected)
    assert difference.mean() < 1
    assert difference.max() < 6


def test_the_tone_curve_is_that_of_bt2390() -> None:
    nits = np.concatenate((np.linspace(0, 1000, 500), [2000.0, 10_000.0]))
    light = tone_curve(nits, 1000)
    assert (np.diff(light) >= 0).all()
    assert light[0] == pytest.approx(0, abs=1e-9)
    assert light[-3:] == pytest.approx([1, 1, 1], abs=1e-9)
    below = nits < 85
    assert light[below] == pytest.approx(nits[below] / 203, rel=1e-6, abs=1e-9)
    assert tone_curve(np.array([203.0]), 1000)[0] == pytest.approx(0.78, abs=0.01)
    assert tone_curve(np.array([50.0, 203.0]), 150) == pytest.approx([50 / 203, 1])  # it all fits


def test_transfers_at_points_the_standards_give() -> None:
    assert pq_to_nits(np.array([0.0, 0.58069, 0.75183, 1.0])) == pytest.approx(
        [0, 203, 1000, 10_000], rel=1e-3
    )
    assert nits_to_pq(np.array([0.005, 203.0, 4000.0])) == pytest.approx(pq(np.array([0.005, 203.0, 4000.0])))
    grey = np.array([0.0, 0.5, 0.75, 1.0])[:, None].repeat(3, axis=1)
    assert hlg_to_nits(grey)[:, 0] == pytest.approx([0, 50.7, 203, 1000], rel=0.01)


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_looking_up_is_as_good_as_computing(transfer: int) -> None:
    signal = np.random.default_rng(4).random((64, 64, 3))
    frame = av.VideoFrame.from_ndarray((signal * 65535).astype(np.uint16), format="rgb48le").reformat(
        format=TONE_MAP_FORMAT, src_color_range="JPEG", dst_color_range="JPEG"
    )
    difference = np.abs(
        ToneMap(transfer, BT2020, 1000.0).map(frame) - to_sdr(signal, transfer, BT2020, 1000.0) * 255
    )
    assert difference.mean() < 0.8


def test_colours_beyond_bt709_keep_their_hue() -> None:
    pure = np.eye(3) * 100.0
    red, green, blue = to_sdr(pq(pure), PQ, BT2020, 1000.0)
    assert red.argmax() == 0
    assert green.argmax() == 1
    assert blue.argmax() == 2
    assert min(red.max() - red.min(), green.max() - green.min(), blue.max() - blue.min()) > 0.5


def test_display_p3_is_no_bt2020() -> None:
    signal = pq(np.array([[100.0, 20.0, 20.0]]))
    assert to_sdr(signal, PQ, 12, 1000.0)[0, 1] > to_sdr(signal, PQ, BT2020, 1000.0)[0, 1]
    assert to_sdr(signal, PQ, 1, 1000.0)[0] == pytest.approx(
        (np.array([100, 20, 20]) / 203) ** (1 / 2.4), abs=0.03
    )


def mastering(nits: int, *, has_light: int = 1, denominator: int = 10_000) -> bytes:
    """AVMasteringDisplayMetadata: ten rationals of primaries, least and most light, two flags."""
    rationals = [0, 1] * 8 + [1, 10_000, nits * denominator, denominator]
    return struct.pack("=20i2i", *rationals, 0, has_light)


@pytest.mark.parametrize(
    ("display", "content", "peak"),
    [
        (mastering(1000), struct.pack("=II", 600, 200), 600),
        (mastering(1000), struct.pack("=II", 4000, 200), 1000),
        (mastering(1000), struct.pack("=II", 0, 0), 1000),
        (mastering(4000), None, 4000),
        (None, struct.pack("=II", 500, 100), 500),
        (mastering(50), None, None),
        (mastering(0), struct.pack("=II", 65_535, 0), None),
        (mastering(1000, has_light=0), None, None),
        (mastering(1000, denominator=0), None, None),
        (b"short", b"", None),
        (None, None, None),
    ],
)
def test_the_peak_is_what_is_told_where_that_is_sane(
    display: bytes | None, content: bytes | None, peak: float | None
) -> None:
    assert read_peak(display, content) == peak


def test_a_brighter_grade_is_rolled_off_more() -> None:
    white = pq(np.full((1, 3), 203.0))
    assert to_sdr(white, PQ, BT2020, 4000.0)[0, 0] < to_sdr(white, PQ, BT2020, 500.0)[0, 0]


def test_the_size_may_change(tmp_path: Path) -> None:
    renderer = PictureRenderer(None)
    for width in (64, 128, 64):
        signal = pq(np.full((48, width, 3), 20.0))
        assert renderer.render(frame_of(signal, PQ)).shape == (48, width, 3)


def test_a_large_picture_is_scaled_first() -> None:
    frame = av.VideoFrame(3840, 2160, "yuv420p10le")
    frame.color_trc = PQ
    height, width = PictureRenderer(None).render(frame).shape[:2]
    assert width * height <= 4_194_304


def test_no_room_for_the_table_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/none")
    with pytest.raises(InputError, match="HDR: its table cannot be kept in /none"):
        PictureRenderer(None).render(frame_of(np.full((16, 16, 3), 0.5), PQ))


def hdr_scene(width: int = 320, height: int = 180) -> NDArray[np.float64]:
    """Linear light in nits, BT.709: a scene mostly below 203 nits with a bright sky and a lamp of 900."""
    y, x = np.mgrid[0:height, 0:width]
    base = np.stack(
        (0.5 + 0.4 * np.sin(x / 40), 0.5 + 0.4 * np.sin(y / 30 + 1), 0.5 + 0.4 * np.cos(x / 60)), -1
    )
    nits = 120 * base**2
    nits[: height // 3] = np.array([250.0, 330.0, 480.0]) * np.linspace(1.3, 0.7, height // 3)[:, None, None]
    nits[(y - height / 2) ** 2 + (x - width / 2) ** 2 < 200] = 900
    return nits


def reference(path: Path, curve: str) -> Pixels:
    """ffmpeg's own tone mapping of the first frame."""
    chain = (
        "zscale=t=linear:npl=203,format=gbrpf32le,zscale=p=bt709,"
        f"tonemap={curve}:desat=0:peak=5,zscale=t=bt709:m=gbr:r=full,format=gbrp,format=rgb24"
    )
    raw = subprocess.run(
        [
            "ffmpeg",
            "-v",
            "error",
            "-noautorotate",
            "-i",
            path,
            "-frames:v",
            "1",
            "-vf",
            chain,
            "-f",
            "rawvideo",
            "-",
        ],
        capture_output=True,
        check=True,
    ).stdout
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return np.frombuffer(raw, np.uint8).reshape(stream.height, stream.width, 3)


def brightness(pixels: Pixels) -> float:
    return float((pixels @ np.array([0.2126, 0.7152, 0.0722])).mean())


def saturation(pixels: Pixels) -> float:
    """Mean chroma: largest less smallest channel."""
    return float((pixels.max(axis=2).astype(int) - pixels.min(axis=2)).mean())


def assert_natural(path: Path) -> None:
    """Between two well-known curves in brightness, and as colourful."""
    reader = Reader(str(path))
    renderer = PictureRenderer(None)
    ours = renderer.render(next(reader.frames()).picture)
    reader.close()
    darker, brighter = reference(path, "hable"), reference(path, "clip")
    assert brightness(darker) * 0.95 <= brightness(ours) <= brightness(brighter) * 1.05
    near = reference(path, "mobius")
    assert brightness(ours) == pytest.approx(brightness(near), rel=0.1)
    assert saturation(ours) == pytest.approx(saturation(near), rel=0.2)


@pytest.mark.skipif(NO_ZSCALE, reason="no ffmpeg with zscale to compare with")
@pytest.mark.parametrize(("transfer", "name"), [(PQ, "smpte2084"), (HLG, "arib-std-b67")])
def test_a_scene_looks_as_ffmpegs_own_tone_mapping_makes_it(tmp_path: Path, transfer: int, name: str) -> None:
    signal = CODED[transfer](np.maximum(hdr_scene() @ FROM_BT709.T, 0))
    path = tmp_path / "hdr.mp4"
    subprocess.run(
        [
            *("ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb48le", "-s", "320x180", "-i", "-"),
            *("-vf", "scale=out_color_matrix=bt2020:out_range=limited,format=yuv420p10le", "-c:v", "libx265"),
            *("-color_primaries", "bt2020", "-color_trc", name, "-colorspace", "bt2020nc"),
            *("-x265-params", "log-level=none:crf=6"),
            path,
        ],
        input=(np.clip(signal, 0, 1) * 65535).astype("<u2").tobytes(),
        capture_output=True,
        check=True,
    )
    assert_natural(path)


@pytest.mark.skipif(NO_ZSCALE, reason="no ffmpeg with zscale to compare with")
@pytest.mark.parametrize("name", ["am_hdr10-av1.mp4", "am_sample_edit_list_no_sync_frame_before_edit.mp4"])
def test_real_hdr_looks_as_ffmpegs_own_tone_mapping_makes_it(name: str) -> None:
    assert_natural(real_clips() / name)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg to make a clip with")
def test_the_peak_of_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "hdr.mp4"
    display = "G(8500,39850)B(6550,2300)R(35400,14600)WP(15635,16450)L(40000000,50)"
    options = f"log-level=none:hdr10=1:master-display={display}:max-cll=800,100"
    subprocess.run(
        [
            *("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=gray:s=64x64:d=0.1", "-c:v", "libx265"),
            *("-pix_fmt", "yuv420p10le", "-color_trc", "smpte2084", "-x265-params", options, path),
        ],
        check=True,
    )
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
    assert peak_nits_of(frame) == 800
    frame.color_trc = HLG  # which is relative to the display
    assert peak_nits_of(frame) is None
