"""The structure of a PNG file, as far as it must be known before decoding (W3C PNG, third edition)."""

from __future__ import annotations

import zlib

from protocol.errors import InvalidRequest
from protocol.exif import UPRIGHT, read_orientation

SIGNATURE = b"\x89PNG\r\n\x1a\n"

MAX_CHUNKS = 20_000
"""Encoders make chunks of 8 KiB or more: 1,024 in the largest file we take."""

_OVERHEAD = 12  # length, type and checksum around a chunk's data
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # in a pixel, by colour type
_PASSES = (  # Adam7: first column and row of each pass, and its steps
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
)  # fmt: skip


class PngFile:
    """A PNG file whose header has been read.

    Attributes:
        width, height: as stored, before `orientation` is applied.
        orientation: EXIF's, 1 to 8, once `bare` was called: it may stand behind the picture.
    """

    name = "PNG"

    def __init__(self, data: bytes) -> None:
        """Reads the first chunk.

        Raises:
            InvalidRequest: it is damaged.
        """
        if len(data) < len(SIGNATURE) + _OVERHEAD + 13:
            raise InvalidRequest("truncated PNG picture: it ends within its header")
        if data[8:16] != b"\0\0\0\x0dIHDR":
            raise InvalidRequest("damaged PNG picture: it does not begin with its header")
        self.width = int.from_bytes(data[16:20], "big")
        self.height = int.from_bytes(data[20:24], "big")
        self.orientation = UPRIGHT
        self._depth, self._colour, _, _, self._interlace = data[24:29]
        self._data = data
        if not self.width or not self.height:
            raise InvalidRequest(f"damaged PNG picture: a size of {self.width} x {self.height}")
        if self._colour not in _SAMPLES or self._depth not in (1, 2, 4, 8, 16) or self._interlace > 1:
            raise InvalidRequest("damaged PNG picture: its header names no kind of picture")

    def bare(self) -> bytes:
        """The file with nothing but its picture (of an animation: the one shown where it is not played).

        The picture is inflated here, to no more than its header says: decoders take one of too few lines for
        whole. They get it stored. That adds about 10 ms to the decoding of a megapixel.

        Raises:
            InvalidRequest: a checksum is wrong, the file ends too early, or the picture is not of its size.
        """
        data, at = memoryview(self._data), len(SIGNATURE)
        before: list[bytes | memoryview] = []
        image: list[memoryview] = []
        for _ in range(MAX_CHUNKS):
            length = int.from_bytes(data[at : at + 4], "big")
            end = at + _OVERHEAD + length
            if end > len(data):
                raise InvalidRequest("truncated PNG picture: it ends within a chunk")
            kind, body = bytes(data[at + 4 : at + 8]), data[at + 8 : end - 4]
            if kind in (b"IHDR", b"PLTE", b"IDAT"):
                if zlib.crc32(data[at + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big"):
                    raise InvalidRequest(f"damaged PNG picture: a checksum is wrong ({kind.decode()})")
                if kind == b"IDAT":
                    image.append(body)
                else:
                    before.append(data[at:end])
            elif kind == b"tRNS" and self._depth <= 8:  # Pillow compares 16-bit values with 8-bit pixels
                before.append(data[at:end])
            elif kind == b"eXIf":
                self.orientation = read_orientation(bytes(body))
            elif kind == b"IEND":
                lines = _chunk(b"IDAT", zlib.compress(self._inflate(b"".join(image)), 0))
                return b"".join([SIGNATURE, *before, lines, data[at:end]])
            at = end
        raise InvalidRequest(f"damaged PNG picture: over {MAX_CHUNKS} chunks")

    def _inflate(self, image: bytes) -> bytes:
        size = self._inflated_size()
        inflator = zlib.decompressobj()
        try:
            lines = inflator.decompress(image, size + 1)
        except zlib.error as error:
            raise InvalidRequest(f"damaged PNG picture: {error}") from error
        if len(lines) != size or not inflator.eof:
            raise InvalidRequest(
                f"truncated or damaged PNG picture: not the {self.width} x {self.height} pixels it claims"
            )
        return lines

    def _inflated_size(self) -> int:
        """Bytes of all lines, each with the byte that names its filter."""
        bits = _SAMPLES[self._colour] * self._depth
        if not self._interlace:
            return self.height * (1 + (self.width * bits + 7) // 8)
        size = 0
        for left, top, step_x, step_y in _PASSES:
            columns = max(0, self.width - left + step_x - 1) // step_x
            lines = max(0, self.height - top + step_y - 1) // step_y
            if columns:
                size += lines * (1 + (columns * bits + 7) // 8)
        return size


def _chunk(kind: bytes, body: bytes) -> bytes:
    checksum = zlib.crc32(body, zlib.crc32(kind))
    return b"".join([len(body).to_bytes(4, "big"), kind, body, checksum.to_bytes(4, "big")])
