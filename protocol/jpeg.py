"""The structure of a JPEG file, as far as it must be known before decoding (ITU-T T.81, annex B)."""

from __future__ import annotations

from protocol.errors import InvalidRequest
from protocol.exif import UPRIGHT, read_orientation

SIGNATURE = b"\xff\xd8\xff"

MAX_SEGMENTS = 1000
"""Segments before the first scan. Large colour profiles and depth maps take a few hundred."""
MAX_SCANS = 100
"""A progressive picture has about ten. Every one, if it is only 20 bytes, costs a pass over all pixels."""

_END, _SCAN = 0xD9, 0xDA
_NO_LENGTH = {0x00, 0x01, *range(0xD0, 0xD9)}
_SIZES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_BITS_PER_BLOCK = {0xC0: 2, 0xC1: 2, 0xC2: 1}  # the least that 8 x 8 pixels take, by the kind of coding
_EXIF = 0xE1
_METADATA = {
    0xFE,
    *range(0xE1, 0xEE),
    0xEF,
}  # comments and APPn, but JFIF's and Adobe's: those name the colours


class JpegFile:
    """A JPEG file whose header has been read.

    Attributes:
        width, height: as stored, before `orientation` is applied.
        orientation: EXIF's, 1 to 8.
    """

    name = "JPEG"

    def __init__(self, data: bytes) -> None:
        """Reads the segments before the first scan.

        Raises:
            InvalidRequest: they are damaged, or end before there is a scan.
        """
        self.width = self.height = 0
        self.orientation = UPRIGHT
        self._data = data
        self._kept: list[tuple[int, int]] = []
        self._least_bytes = 0
        self._scan_start = self._read_header()

    def bare(self) -> bytes:
        """The file without its metadata, so that nothing in there can get in the way of decoding.

        A scan that stops half-way is not found out, if the file ends properly behind it: decoders fill it up,
        and say nothing.

        Raises:
            InvalidRequest: it has more scans than any picture needs, or less data than its size needs.
        """
        if len(self._data) - self._scan_start < self._least_bytes:
            raise InvalidRequest(
                f"truncated JPEG picture: {self.width} x {self.height} pixels take more than what follows"
            )
        if self._data.count(b"\xff\xda", self._scan_start) > MAX_SCANS:
            raise InvalidRequest(f"damaged JPEG picture: over {MAX_SCANS} scans")
        data = memoryview(self._data)
        kept = [data[start:end] for start, end in self._kept]
        return b"".join([b"\xff\xd8", *kept, data[self._scan_start :]])

    def _read_header(self) -> int:
        data, at = self._data, 2
        for _ in range(MAX_SEGMENTS):
            at = data.find(b"\xff", at)  # decoders skip what stands between segments too
            if at < 0 or at + 4 > len(data):
                raise InvalidRequest("truncated JPEG picture: it ends within its header")
            marker = data[at + 1]
            if marker == 0xFF:  # padding
                at += 1
            elif marker in _NO_LENGTH:
                at += 2
            elif marker == _END:
                raise InvalidRequest("damaged JPEG picture: there is no image in it")
            elif marker == _SCAN:
                if not self.width:
                    raise InvalidRequest("damaged JPEG picture: its size is missing")
                return at
            else:
                end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
                self._read_segment(marker, at, end)
                at = end
        raise InvalidRequest(f"damaged JPEG picture: over {MAX_SEGMENTS} segments in its header")

    def _read_segment(self, marker: int, start: int, end: int) -> None:
        body = self._data[start + 4 : end]
        if marker in _SIZES:
            height, width = int.from_bytes(body[1:3], "big"), int.from_bytes(body[3:5], "big")
            if self.width or not width or not height:
                raise InvalidRequest(f"damaged JPEG picture: a size of {width} x {height}")
            self.width, self.height = width, height
            blocks = -(-width // 8) * -(-height // 8)
            self._least_bytes = blocks * _BITS_PER_BLOCK.get(marker, 0) // 8
        if marker == _EXIF and self.orientation == UPRIGHT and body.startswith(b"Exif\0"):
            self.orientation = read_orientation(body[6:])
        if marker not in _METADATA:
            self._kept.append((start, end))
