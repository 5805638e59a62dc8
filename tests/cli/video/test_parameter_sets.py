import struct
from pathlib import Path

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.video.parameter_sets import h264_has_fields, has_start_code, hevc_temporal_layers
from tests.clips import make_clip, steady


def extradata(path: Path) -> bytes:
    with av.open(str(path)) as container:
        return bytes(container.streams.video[0].codec_context.extradata or b"")


@pytest.mark.parametrize("suffix", ["mp4", "ts"])
@pytest.mark.parametrize(
    ("parameters", "fields"), [("", False), ("tff=1", True), ("fake-interlaced=1", True)]
)
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le"])
def test_whether_h264_may_have_fields(
    tmp_path: Path, suffix: str, parameters: str, fields: bool, pixel_format: str
) -> None:
    options = {"preset": "ultrafast", "x264-params": parameters}
    path = make_clip(tmp_path / f"a.{suffix}", steady(20), options=options, pixel_format=pixel_format)
    told = extradata(path)
    assert has_start_code(told) == (suffix == "ts")
    assert h264_has_fields(told) is fields


def test_scaling_lists_are_passed_over(tmp_path: Path) -> None:
    for parameters, fields in (("cqm=jvt", False), ("cqm=jvt:tff=1", True)):
        path = make_clip(tmp_path / "a.mp4", steady(3), options={"x264-params": parameters})
        assert h264_has_fields(extradata(path)) is fields


def test_a_baseline_set_without_lists(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "a.mp4", steady(3), options={"profile": "baseline"})
    assert h264_has_fields(extradata(path)) is False


@pytest.mark.parametrize("suffix", ["mp4", "ts"])
@pytest.mark.parametrize(("layers", "told"), [("0", 1), ("3", 3)])
def test_temporal_layers_of_hevc(tmp_path: Path, suffix: str, layers: str, told: int) -> None:
    options = {"x265-params": f"temporal-layers={layers}:log-level=0"}
    path = make_clip(tmp_path / f"a.{suffix}", steady(9), codec="libx265", options=options)
    assert hevc_temporal_layers(extradata(path)) == told


def test_orders_of_pictures(tmp_path: Path) -> None:
    def bits(*numbers: int) -> str:
        """Exp-Golomb, unsigned."""
        return "".join(f"{number + 1:0{2 * (number + 1).bit_length() - 1}b}" for number in numbers)

    for order in (bits(0, 4), bits(1) + "1" + bits(3, 4, 2, 5, 6), bits(2)):
        for frames_only in (True, False):
            coded = bits(0, 4) + order + bits(1) + "0" + bits(7, 3) + str(int(frames_only)) + "1"
            body = bytes(int(coded[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(coded), 8))
            unit = bytes((0x67, 66, 0, 30)) + body + bytes(4)
            assert h264_has_fields(b"\0\0\1" + unit) is not frames_only
            avcc = bytes((1, 66, 0, 30, 0xFF, 0xE1)) + struct.pack(">H", len(unit)) + unit
            assert h264_has_fields(avcc) is not frames_only


def test_nothing_told_is_none() -> None:
    assert h264_has_fields(b"") is None
    assert hevc_temporal_layers(b"") is None
    assert h264_has_fields(b"\0\0\1\x67") is None
    assert h264_has_fields(b"\x01\x64\x00") is None
    assert hevc_temporal_layers(b"\x01\x02") is None


@given(
    st.binary(max_size=60),
    st.sampled_from([b"", b"\0\0\1\x67", b"\0\0\0\1\x42\x01", b"\1\x64\0\x1e\xff\xe1"]),
)
def test_noise_is_survived(noise: bytes, head: bytes) -> None:
    assert h264_has_fields(head + noise) in (True, False, None)
    layers = hevc_temporal_layers(head + noise)
    assert layers is None or 1 <= layers <= 8
