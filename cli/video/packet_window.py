"""Packets read ahead of the decoder."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from av import Packet
    from av.video.stream import VideoStream

    from cli.video.track import Track

PACKETS_AHEAD = 48
"""Enough to know which frame follows which on screen, and mostly where the next group of pictures begins."""

BYTES_AHEAD = 32 << 20
"""Whichever is reached first; full, reading waits for the decoder."""


class Distrusted(Exception):
    """The file is not what its packets or its index say: it must be decoded as a whole."""


class PacketWindow:
    """The next packets of a track, all with times of their own, DTS ascending.

    Attributes:
        stopped: reading was stopped, not at its end.
        size: bytes in the window.
    """

    def __init__(self, track: Track) -> None:
        self.stopped = False
        self.size = 0
        self._track = track
        self._source = track.packets()
        self._packets: deque[Packet[VideoStream]] = deque()
        self._keyframes: deque[tuple[int, int]] = deque()  # which packet of all that went in, and its PTS
        self._count = 0  # of all that went in
        self._ended = False

    def __len__(self) -> int:
        return len(self._packets)

    @property
    def horizon(self) -> int | None:
        """DTS of the last packet: whatever was not read yet is shown after this. None if it is not told."""
        return self._packets[-1].dts

    def fill(self) -> Iterator[Packet[VideoStream]]:
        """Reads until the window is full; gives each packet as it goes in.

        Raises:
            Distrusted: a packet cannot be read, or has no sane time.
            InputError: reading broke off.
        """
        track = self._track
        while not self._ended and len(self._packets) < PACKETS_AHEAD and self.size < BYTES_AHEAD:
            before = track.last_dts
            packet = next(self._source, None)
            if track.damaged:
                raise Distrusted("packets that cannot be read")
            if packet is None or (packet.size == 0 and packet.dts is None):
                self._ended, self.stopped = True, packet is None
                return
            if packet.dts is not None and before is not None and packet.dts < before:
                raise Distrusted("packets out of order")
            yield self._put(packet)

    def take(self) -> Packet[VideoStream]:
        """The first packet, which leaves the window."""
        packet = self._packets.popleft()
        self.size -= packet.size
        return packet

    def before_keyframe(self, pts: int) -> int:
        """How many packets stand before the last keyframe that is shown at or before `pts`.

        0 if there is none, or one of them is shown after it.
        """
        first = self._count - len(self._packets)
        while self._keyframes and self._keyframes[0][0] < first:
            self._keyframes.popleft()
        for number, shown in reversed(self._keyframes):
            if shown <= pts:
                count = number - first
                return 0 if any((each.pts or 0) > shown for each in islice(self._packets, count)) else count
        return 0

    def skip(self, count: int) -> int:
        """Drops `count` packets; gives the PTS of the next."""
        for _ in range(count):
            self.take()
        pts = self._packets[0].pts
        assert pts is not None
        return pts

    def seek(self, stamp: int) -> Packet[VideoStream] | None:
        """Empties the window and seeks; gives the packet found there, which is in the window then.

        Raises:
            av.FFmpegError: the container cannot seek.
            Distrusted: what is found there cannot be read, or has no sane time.
        """
        self._packets.clear()
        self._keyframes.clear()
        self.size, self._ended = 0, False
        self._track.seek(stamp)
        self._source = self._track.packets()
        return next(self.fill(), None)

    def _put(self, packet: Packet[VideoStream]) -> Packet[VideoStream]:
        if packet.pts is None or (packet.dts is not None and packet.pts < packet.dts) or packet.is_corrupt:
            raise Distrusted("a packet without a time of its own")
        if packet.is_keyframe and not packet.is_discard:
            self._keyframes.append((self._count, packet.pts))
        self._packets.append(packet)
        self._count += 1
        self.size += packet.size
        return packet
