"""Bad files for tests: small clips of every common container, and what accidents and lies make of them."""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import TYPE_CHECKING

from tests.clips import make_clip, numbered, steady

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

_TURNED = (0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)
_RECORDED = {"creation_time": "2024-05-06T07:08:09Z"}
_CLIPS: dict[str, dict[str, object]] = {
    "h264.mp4": {"audio_s": 0.3, "matrix": _TURNED, "metadata": _RECORDED},
    "fragments.mp4": {"container": {"movflags": "frag_keyframe+empty_moov"}},
    "mpeg4.mov": {"codec": "mpeg4", "sample_aspect": Fraction(3, 2), "metadata": _RECORDED},
    "hevc.mp4": {"codec": "libx265", "options": {"x265-params": "log-level=none:pools=none"}},
    "h264.mkv": {"metadata": _RECORDED},
    "ffv1.mkv": {"codec": "ffv1", "pixel_format": "yuv420p10le"},
    "vp9.webm": {"codec": "libvpx-vp9", "options": {"cpu-used": "8", "deadline": "realtime"}},
    "mpeg2.ts": {"codec": "mpeg2video", "audio_s": 0.3, "time_base": Fraction(1, 25)},
    "h264.ts": {},
    "mpeg4.avi": {"codec": "mpeg4"},
    "mjpeg.avi": {"codec": "mjpeg", "pixel_format": "yuvj420p"},
    "h263.flv": {"codec": "flv"},
    "h264.flv": {"audio_s": 0.3},
    "vp8.ogg": {"codec": "libvpx", "options": {"cpu-used": "8", "deadline": "realtime"}},
    "frames.gif": {"codec": "gif", "pixel_format": "rgb8"},
    "wmv2.asf": {"codec": "wmv2"},
    "mpeg2.mpeg": {"codec": "mpeg2video", "time_base": Fraction(1, 25)},
    "vp8.ivf": {"codec": "libvpx", "options": {"cpu-used": "8", "deadline": "realtime"}},
}
KINDS = tuple(_CLIPS)

_EXTREMES = (0, 1, 2, 255, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
# Where containers keep what can be lied about: sizes, counts, durations, timescales, times.
_HEADERS = {
    "mp4": [
        *(b"mvhd", b"tkhd", b"mdhd", b"elst", b"stts", b"ctts", b"stsz", b"stsc", b"stco", b"stss", b"stsd"),
        *(b"avc1", b"avcC", b"hvc1", b"hvcC", b"mp4v", b"esds", b"pasp", b"trun", b"tfhd", b"tfdt", b"trex"),
        *(b"moov", b"trak", b"mdia", b"stbl", b"mdat"),
    ],
    "mkv": [
        *(b"\x44\x89", b"\x2a\xd7\xb1", b"\xb0\x81", b"\xb0\x82", b"\xba\x81", b"\xe7", b"\x23\xe3\x83"),
        *(b"\x16\x54\xae\x6b", b"\x1f\x43\xb6\x75", b"\x1c\x53\xbb\x6b", b"\x63\xa2", b"\xa3", b"\xa0"),
    ],
    "avi": [b"avih", b"strh", b"strf", b"idx1", b"movi", b"LIST", b"00dc", b"RIFF"],
    "ts": [b"\x47", b"\x00\x00\x01\xe0", b"\x00\x00\x01\xb3", b"\x00\x00\x01\xb5"],
    "mpeg": [b"\x00\x00\x01\xba", b"\x00\x00\x01\xe0", b"\x00\x00\x01\xb3", b"\x00\x00\x01\x00"],
    "flv": [b"FLV", b"duration", b"width", b"height", b"\x00\x00\x00\x00\x09", b"\x09\x00"],
    "ogg": [b"OggS", b"OVP80"],
    "gif": [b"GIF8", b"\x21\xf9", b"\x2c\x00"],
    "asf": [b"\xa1\xdc\xab\x8c", b"\x91\x07\xdc\xb7", b"\x36\x26\xb2\x75"],
    "ivf": [b"DKIF", b"VP80", b"\x9d\x01\x2a"],
}
_ALIKE = {"mov": "mp4", "webm": "mkv"}


def make_whole(folder: Path, kind: str) -> bytes:
    """A clip of nine small frames, undamaged."""
    path = folder / kind
    pictures = [numbered(index, 64, 48) for index in range(9)]
    given: dict[str, object] = {"options": None, **_CLIPS[kind]}
    make_clip(path, steady(9), pictures=pictures, keyframe_every=4, **given)  # type: ignore[arg-type]
    return path.read_bytes()


def break_(data: bytes, kind: str, random: Random) -> tuple[bytes, str]:
    """`data` with one to three things wrong, and what they are."""
    ways = random.sample([*_WAYS, _lie, _lie, _lie], random.choice((1, 1, 2, 3)))
    words = []
    for way in ways:
        data, said = way(data, kind, random)
        words.append(said)
    return data, ", ".join(words)


def _truncate(data: bytes, kind: str, random: Random) -> tuple[bytes, str]:
    size = random.randrange(len(data) or 1)
    return data[:size], f"cut off at {size}"


def _flip(data: bytes, kind: str, random: Random) -> tuple[bytes, str]:
    changed = bytearray(data)
    count = random.choice((1, 3, 10, 40))
    for _ in range(count if data else 0):
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed), f"{count} bits flipped"


def _overwrite(data: bytes, kind: str, random: Random) -> tuple[bytes, str]:
    start, size = random.randrange(len(data) or 1), random.choice((4, 64, 500))
    filling = random.choice((bytes(size), b"\xff" * size, random.randbytes(size)))
    return data[:start] + filling[: len(data) - start] + data[
        start + size :
    ], f"{size} overwritten at {start}"


def _drop(data: bytes, kind: str, random: Random) -> tuple[bytes, str]:
    """As a lost packet or a lost block of a disk."""
    start, size = random.randrange(len(data) or 1), random.choice((1, 16, 188, 512))
    return data[:start] + data[start + size :], f"{size} missing at {start}"


def _repeat(data: bytes, kind: str, random: Random) -> tuple[bytes, str]:
    start, size = random.randrange(len(data) or 1), random.choice((16, 188, 512))
    return data[: start + size] + data[start:], f"{size} twice at {start}"


def _swap(data: bytes, kind: str, random: Random) -> tuple[bytes, str]:
    one, two, three = sorted(random.randrange(len(data) or 1) for _ in range(3))
    return data[:one] + data[two:three] + data[one:two] + data[three:], f"parts changed places at {one}"


def _lie(data: bytes, kind: str, random: Random) -> tuple[bytes, str]:
    """Writes an extreme number into a field of a header."""
    suffix = kind.rpartition(".")[2]
    marks = _HEADERS[_ALIKE.get(suffix, suffix)]
    places = [at for mark in marks for at in _found(data, mark)]
    if not places:
        return _overwrite(data, kind, random)
    offset = random.choice((4, 8, 12, 16, 20, 24, 28, 32)) if suffix in ("mp4", "mov", "avi") else 0
    at = random.choice(places) + offset + random.randrange(8)
    width, value = random.choice("BHI"), random.choice(_EXTREMES)
    order = random.choice("<>")
    field = struct.pack(order + width, value & ((1 << 8 * struct.calcsize(width)) - 1))
    return data[:at] + field + data[at + len(field) :], f"{value:#x} said at {at}"


def _found(data: bytes, mark: bytes) -> list[int]:
    places, at = [], data.find(mark)
    while at >= 0 and len(places) < 20:
        places.append(at + len(mark))
        at = data.find(mark, at + 1)
    return places


_WAYS: list[Callable[[bytes, str, Random], tuple[bytes, str]]] = [
    *(_truncate, _flip, _overwrite, _drop, _repeat, _swap)
]
