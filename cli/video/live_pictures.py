"""The pictures of a live source, each with when it came."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import av

from cli.video.arrival_clock import ArrivalClock
from cli.video.backlog import Backlog
from cli.video.decoder import live_decoder_for
from cli.video.info import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

    from cli.video.pace import Pace
    from cli.video.picture import PictureRenderer

_MOST_IN_FLIGHT = 64  # packets whose pictures have not come out of the decoder


class LivePictures:
    """Decodes one opening of a live source.

    Attributes:
        failed: packets that could not be decoded so far, those before the first picture left out: without a
            keyframe nothing can be.
        stamp_s: of a paced source, the timestamp of the last picture given.
    """

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        *,
        pace: Pace | None = None,
        shown_s: float | None = None,
        again_s: float = 0.0,
    ) -> None:
        """Of `stream` of a container just opened.

        Args:
            pace: lets pictures through by their timestamps; without it they are given as they come.
            shown_s: the timestamp of the last picture before the source was lost; opened again, it may give
                up to `again_s` of what was shown before, which is left out.
        """
        self.failed = 0
        self.stamp_s = shown_s
        self._container = container
        self._stream = stream
        self._pace = pace
        self._shown_s = shown_s
        self._again_s = again_s
        self._decoder = live_decoder_for(stream)
        self._renderer: PictureRenderer | None = None

    @property
    def renderer(self) -> PictureRenderer:
        """What makes pictures of them, once there is one."""
        assert self._renderer is not None
        return self._renderer

    def of(self, packets: Iterable[Packet[VideoStream]]) -> Iterator[tuple[VideoFrame | None, float]]:
        """The pictures in `packets`, each with when it came, by the monotonic clock.

        Behind each packet comes None, with when the last picture came, new or not: for whoever waits for one.
        What was read before the source was listened to is old, and decoded only for what refers to it. Where
        there is nothing else, the newest of it is given.
        """
        clock, backlog = ArrivalClock(), Backlog()
        came: dict[int | None, float] = {}  # when each packet did, by its PTS
        old: VideoFrame | None = None
        heard_s = time.monotonic()
        for packet in backlog.through(packets):
            now_s = time.monotonic()
            if len(came) >= _MOST_IN_FLIGHT:
                came.clear()
            came[packet.pts] = clock.arrived_s(now_s, _packet_s(packet), waited=backlog.waited)
            for picture in self._decoded(packet):
                arrived_s = came.pop(picture.pts, now_s)
                if self._pace is not None:
                    paced_s = self._paced_s(picture, self._pace)
                    if paced_s is not None:
                        yield picture, paced_s
                elif now_s < backlog.over_s:
                    old = picture
                else:
                    old = None
                    yield picture, arrived_s
                heard_s = time.monotonic()
            yield None, heard_s
        if old is not None:
            yield old, time.monotonic()

    def _decoded(self, packet: Packet[VideoStream]) -> list[VideoFrame]:
        try:
            pictures = self._decoder.decode(packet)
        except av.FFmpegError:
            self.failed += self._renderer is not None
            return []
        if pictures and self._renderer is None:
            from cli.video.picture import PictureRenderer

            info = describe(self._container, self._stream, pictures[0])
            self._renderer = PictureRenderer(info.sample_aspect, info.orientation)
        return pictures

    def _paced_s(self, picture: VideoFrame, pace: Pace) -> float | None:
        """Waits until `picture` is due; when that is, or None if it was shown before."""
        stamp_s = _stamp_s(picture, self._stream)
        if self._shown_s is not None and stamp_s is not None and 0 <= self._shown_s - stamp_s < self._again_s:
            return None
        self._shown_s, self.stamp_s = None, stamp_s
        return pace.wait(stamp_s)


def _packet_s(packet: Packet[VideoStream]) -> float | None:
    stamp = packet.dts if packet.dts is not None else packet.pts
    return None if stamp is None else float(stamp * packet.time_base)


def _stamp_s(picture: VideoFrame, stream: VideoStream) -> float | None:
    base = picture.time_base or stream.time_base
    return None if picture.pts is None or base is None else float(picture.pts * base)
