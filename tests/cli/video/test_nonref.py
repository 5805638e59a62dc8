from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from cli.video.nonref import nonref_test
from tests.clips import make_clip, steady


def packets_of(path: Path) -> tuple[Any, list[Any]]:
    """The decoder of a clip and its packets."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return stream.codec_context, [packet for packet in container.demux(stream) if packet.size]


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
@pytest.mark.parametrize(
    ("codec", "options"),
    [
        ("libx264", {"x264-params": "bframes=3:b-adapt=0:b-pyramid=normal"}),
        ("libx264", {"x264-params": "bframes=2:slices=4:aud=1"}),
        ("libx265", {"x265-params": "bframes=3:b-adapt=0:log-level=0"}),
        ("mpeg2video", {"bf": "2"}),
    ],
)
def test_packets_that_say_so_are_those_a_decoder_leaves_out(
    tmp_path: Path, suffix: str, codec: str, options: dict[str, str]
) -> None:
    base = Fraction(1, 25)
    path = make_clip(tmp_path / f"a.{suffix}", steady(40), codec=codec, options=options, time_base=base)
    decoder, packets = packets_of(path)
    is_nonref = nonref_test(decoder)
    assert is_nonref is not None
    left_out = {packet.pts for packet in packets if is_nonref(packet)}
    with av.open(str(path)) as container:
        container.streams.video[0].codec_context.skip_frame = "NONREF"
        kept = {frame.pts for frame in container.decode(video=0)}
    assert len(left_out) > 5
    assert left_out == {packet.pts for packet in packets} - kept


@pytest.mark.parametrize(
    ("codec", "options"),
    [
        ("libx264", {"x264-params": "tff=1"}),
        ("libx265", {"x265-params": "temporal-layers=3:bframes=7:log-level=0"}),
        ("libvpx-vp9", {}),
        ("mpeg4", {"bf": "2"}),
    ],
)
def test_where_it_is_not_safe_there_is_no_test(tmp_path: Path, codec: str, options: dict[str, str]) -> None:
    decoder, _ = packets_of(make_clip(tmp_path / "a.mkv", steady(9), codec=codec, options=options))
    assert nonref_test(decoder) is None


def test_a_packet_that_is_not_whole_is_left_to_the_decoder(tmp_path: Path) -> None:
    decoder, packets = packets_of(make_clip(tmp_path / "a.mp4", steady(40), options={"bf": "3"}))
    is_nonref = nonref_test(decoder)
    assert is_nonref is not None
    nonref = bytes(next(packet for packet in packets if is_nonref(packet)))
    assert is_nonref(av.Packet(nonref))
    for wrong in (
        nonref[:-1],
        nonref + bytes(4),
        nonref[:3],
        b"\xff" * len(nonref),
        b"\0\0\0\2\x67\0" + nonref,
    ):
        assert not is_nonref(av.Packet(wrong))
