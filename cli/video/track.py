"""The video stream of an open container: its packets in the order of decoding, and their decoder."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import av

from cli.video.container import OpenInput, video_stream
from cli.video.decoder import decoder_for, tells_keyframes
from cli.video.info import time_zero
from protocol.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

    from av import Packet, VideoFrame
    from av.video.stream import VideoStream

_BROKEN_READS_IN_A_ROW = 50
_SKIPS_ALL = frozenset(("h264", "hevc"))
"""Decoders that pass over a packet at skip_frame ALL."""
_IN_FLIGHT = 64  # more than reordering and threads of any decoder hold back


class Track:
    """One reading of a video stream.

    Attributes:
        zero: the timestamp, in seconds, of what is shown at zero.
        only_dts: presentation times are guesses, decoding times are right.
        damaged: reads and packets that failed so far.
        decoded: pictures taken from the decoder so far.
        last_dts, last_index_dts: of the packets read since the last `seek`, and of a complete index.
        opening_pts: of the first keyframe read since the beginning or the last `seek`. What is shown before
            it may refer to what was not read.
        opening_delay: by how much that keyframe's DTS is before its PTS.
        in_flight: PTS of the packets last given to the decoder whose pictures are shown, in their order.
    """

    def __init__(self, given: OpenInput, stopped: Callable[[], bool]) -> None:
        """Opens `given`. `stopped`: asked between packets, ends all reading.

        Raises:
            InputError: it cannot be opened, or has no video.
        """
        self._input = given
        self._stopped = stopped
        self.container = given.open()
        try:
            self.stream = video_stream(self.container, given.name)
        except InputError:
            self.container.close()
            raise
        assert self.stream.time_base is not None
        self.time_base: Fraction = self.stream.time_base
        self.decoder = decoder_for(self.stream)
        self.zero = time_zero(self.container, self.stream)
        self.only_dts = self.container.format.name == "avi"  # its PTS are wrong with B-frames
        self.damaged = 0
        self.decoded = 0
        self.opening_pts: int | None = None
        self.opening_delay = 0
        self.in_flight: deque[int | None] = deque(maxlen=_IN_FLIGHT)
        self.last_dts: int | None = None
        self.last_index_dts: int | None = None
        self._tells_keyframes = tells_keyframes(self.decoder)
        self._keyframes: deque[int | None] = deque(maxlen=_IN_FLIGHT)
        self._ready: deque[VideoFrame] = deque()
        self._drained = False
        self._last_calls: deque[Packet[VideoStream] | None] = deque()
        self._spare: Packet[VideoStream] | None = None  # one that was decoded before
        index = self.stream.index_entries
        if "mov" in self.container.format.name and len(index):
            self.last_index_dts = index[-1].timestamp

    def packets(self) -> Iterator[Packet[VideoStream]]:
        """Packets from where reading stands; the last is an empty one, unless reading was stopped.

        Raises:
            InputError: reading broke off.
        """
        broken = 0
        while broken < _BROKEN_READS_IN_A_ROW:
            try:
                for packet in self.container.demux(self.stream):
                    if self._stopped():
                        return
                    broken = 0
                    if packet.dts is not None:
                        self.last_dts = max(packet.dts, self.last_dts or packet.dts)
                    if self.opening_pts is None and packet.is_keyframe:
                        self.opening_pts = packet.pts
                        self.opening_delay = (packet.pts or 0) - (packet.dts or 0)
                    yield packet
            except IndexError:
                continue  # PyAV's, for a packet of a stream that was not there when the file was opened
            except av.error.InvalidDataError:
                broken += 1
                self.damaged += 1
            except (av.FFmpegError, OSError) as error:
                reason = str(self._input.error(error)).removeprefix(f"{self._input.name}: ")
                raise InputError(f"{self._input.name}: reading broke off: {reason}") from error
            else:
                return

    def decode(self, packet: Packet[VideoStream] | None) -> bool:
        """Gives the decoder a packet, the empty one or None at the end; whether `ready` may have pictures.

        Raises:
            av.FFmpegError: a packet cannot be decoded, which need not be this one.
        """
        if packet is not None and (packet.size or packet.dts is not None):
            if not packet.is_discard:
                self.in_flight.append(packet.pts)
            if packet.is_keyframe:
                self._spare = packet if self._spare is None else self._spare
                if not self._tells_keyframes:
                    self._keyframes.append(packet.pts)
            self._ready.extend(self.decoder.decode(packet))
        elif not self._drained:
            self._drained = True
            spares = self.decoder.thread_count - 1 if self.decoder.codec.name in _SKIPS_ALL else 0
            self._last_calls.extend([self._spare] * spares if self._spare is not None else [])
            self._last_calls.append(None)
        return bool(self._ready or self._last_calls)

    def ready(self) -> Iterator[VideoFrame]:
        """Takes the pictures that are decoded and not yet taken.

        At the end these are all that the decoder holds back, and packets that fail are counted as they come
        up. At the first of them PyAV gives up on what comes after, so the decoder's threads are emptied one
        by one, each by a packet of which nothing is decoded.
        """
        while self._ready or self._last_calls:
            if self._ready:
                self.decoded += 1
                yield self._ready.popleft()
                continue
            packet = self._last_calls.popleft()
            self.decoder.skip_frame = "ALL" if self._last_calls else "DEFAULT"
            try:
                self._ready.extend(self.decoder.decode(packet))
            except av.FFmpegError:
                self.damaged += 1

    def is_keyframe(self, picture: VideoFrame) -> bool:
        """Whether `picture` is one, by what the decoder says or else its packet."""
        return picture.key_frame or picture.pts in self._keyframes

    def seek(self, stamp: int) -> None:
        """Goes to the keyframe before `stamp`, in units of the time base.

        Raises:
            av.FFmpegError: the container cannot.
        """
        self.container.seek(stamp, stream=self.stream)
        self.last_dts = None
        self.begin_anew(None)

    def begin_anew(self, opening_pts: int | None) -> None:
        """Has the decoder forget all it was given; a keyframe comes next, shown at `opening_pts` if known."""
        self._ready.clear()
        self._last_calls.clear()
        self.in_flight.clear()
        self.opening_pts = opening_pts
        self._drained = False
        self.decoder.flush_buffers()

    def close(self) -> None:
        """Lets go of the container, not of the input."""
        self._ready.clear()
        self._last_calls.clear()
        self.container.close()
