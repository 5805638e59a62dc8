"""Decoding only what can be wanted of a video.

Frames that are not wanted and that nothing refers to are not decoded, and where the next tick lies beyond a
keyframe to come, reading goes on there. All of it rests on what packets and the container's index say; each
picture that comes out is held against that, and what does not agree ends in `Distrusted`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

import av

from cli.video.decoder import is_intra_only
from cli.video.nonref import nonref_test
from cli.video.packet_window import Distrusted, PacketWindow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from av import Packet, VideoFrame
    from av.video.stream import VideoStream

    from cli.video.keyframe_index import KeyframeIndex
    from cli.video.track import Track
    from cli.video.wanted import Wanted

_LEAST_SAVED = 4
"""Packets that must be saved for the decoder to be emptied and begin anew."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Frames that follow each other and were not decoded: PTS of the first and of the last known of them."""

    first: int
    last: int


class SparseDecoding:
    """The pictures of one track from where it stands, without most of those that are not wanted."""

    def __init__(self, track: Track, wanted: Wanted, *, last: int, index: KeyframeIndex | None) -> None:
        """`last`: PTS of the last picture taken from the track. `index`: None if nothing is to be jumped."""
        self._track = track
        self._wanted = wanted
        self._index = index
        self._jumps = wanted.has_ticks
        self._drops_all = is_intra_only(track.decoder)
        self._is_nonref = nonref_test(track.decoder)
        self._has_no_fields = self._is_nonref is not None and track.decoder.codec.name == "h264"
        self._window = PacketWindow(track)
        # PTS in ascending order of all that was read and is not on screen yet, and of those the decoder had
        # its turn with, whether the picture is wanted, and so must come; None if it is should it come.
        self._known: list[int] = []
        self._given: dict[int, bool | None] = {}
        self._last = last  # of what came or was left out
        self._passing = False  # something was left out since the last picture
        self._overlap: int | None = None  # pictures up to here came before a jump that led back
        self._landed: int | None = None  # where the last jump led: what is shown before is lost
        self._landing: int | None = None  # the same until its picture came
        self._earliest: int | None = None  # of all that is shown
        self._tick = wanted.tick_from(last) if wanted.has_ticks else 0
        self._may_jump = self._jumps  # something changed since it was last looked for where to jump
        self._aimed: int | None = None
        self._note_earliest(last)
        for pts in track.in_flight:
            if pts is not None and pts > last and pts not in self._given:
                insort(self._known, pts)
                self._given[pts] = None if self._is_leading(pts) else True
                self._note_earliest(pts)

    def pictures(self) -> Iterator[VideoFrame | LeftOut]:
        """Pictures in the order of their times; what is left out between two is told before the second.

        Raises:
            Distrusted: what was left out may have been wanted, or other pictures may suffer from it.
            InputError: reading broke off.
        """
        yield from self._take()
        while True:
            for packet in self._window.fill():
                self._note(packet)
            if not self._window:
                break
            if self._may_jump:
                stamp = self._next_unserved()
                self._may_jump = stamp is None
                if stamp is not None and (target := self._index_target(stamp)) is not None:
                    yield from self._jump(target, stamp)
                    continue
                if stamp is not None and not self._drops_all:
                    yield from self._skip_to(stamp)
            if self._give(self._window.take()):
                yield from self._take()
        if not self._window.stopped:
            yield from self._drain()

    def _note(self, packet: Packet[VideoStream]) -> None:
        pts = packet.pts
        assert pts is not None
        if packet.is_discard or (self._landed is not None and pts < self._landed):
            return
        if pts <= self._last and (self._overlap is None or pts > self._overlap):
            raise Distrusted("a frame that comes too late")
        at = bisect_left(self._known, pts)
        if at < len(self._known) and self._known[at] == pts:
            raise Distrusted("two frames at one time")
        self._known.insert(at, pts)
        self._note_earliest(pts)
        if packet.is_keyframe:
            self._may_jump = self._jumps

    def _note_earliest(self, pts: int) -> None:
        if pts >= self._wanted.first_shown and (self._earliest is None or pts < self._earliest):
            self._earliest = pts

    def _give(self, packet: Packet[VideoStream]) -> bool:
        """Gives the packet to the decoder, unless nobody needs it; whether there are pictures then."""
        pts = packet.pts
        assert pts is not None
        wanted: bool | None = None
        if self._landed is not None and pts < self._landed:
            wanted = False
        elif not packet.is_discard:
            wanted = self._is_wanted(pts, keyframe=packet.is_keyframe)
            if self._is_leading(pts):
                wanted = None
            self._given[pts] = wanted
        if wanted is False and (self._drops_all or (self._is_nonref is not None and self._is_nonref(packet))):
            return False
        if wanted:
            self._may_jump = self._jumps
        return self._decode(packet)

    def _is_wanted(self, pts: int, *, keyframe: bool) -> bool:
        following = bisect_right(self._known, pts)
        if following == len(self._known):
            return True  # for all that is known it stays on screen
        first = self._earliest is None or pts <= self._earliest
        return self._wanted.frame(pts, self._known[following], first=first, keyframe=keyframe)

    def _decode(self, packet: Packet[VideoStream] | None) -> bool:
        try:
            return self._track.decode(packet)
        except av.FFmpegError as error:
            raise Distrusted("packets that cannot be decoded") from error

    def _take(self) -> Iterator[VideoFrame | LeftOut]:
        """What the decoder has ready, held against what was expected."""
        for picture in self._track.ready():
            yield from self._accept(picture)
            del picture  # before the next one is made

    def _accept(self, picture: VideoFrame) -> Iterator[VideoFrame | LeftOut]:
        pts = picture.pts
        if pts is None or picture.is_corrupt:
            raise Distrusted("a damaged frame")
        if self._landed is not None and pts < self._landed:
            return  # it refers to what was jumped over
        if self._landing is not None:
            if pts > self._landing or not self._track.is_keyframe(picture):
                raise Distrusted("no keyframe where the index has one")
            self._landing = None
        if self._has_no_fields and picture.interlaced_frame:
            raise Distrusted("fields")
        wanted = self._given.get(pts, ...)
        if wanted is ...:
            raise Distrusted("a frame without a packet")
        if pts <= self._last:
            if self._overlap is None or pts > self._overlap:
                raise Distrusted("frames out of order")
            self._forget(pts)
        elif wanted is False:
            if not self._passing:
                yield from self._pass_until(pts + 1)
        else:
            yield from self._pass_until(pts)
            self._forget(pts)
            self._last, self._passing = pts, False
            yield picture

    def _forget(self, pts: int) -> None:
        del self._given[pts]
        del self._known[bisect_left(self._known, pts)]

    def _pass_until(self, pts: int | None) -> Iterator[LeftOut]:
        """Tells of what is left out before `pts`, of all that is known if that is None."""
        count = len(self._known) if pts is None else bisect_left(self._known, pts)
        left_out = []
        for each in self._known[:count]:
            if each not in self._given:
                raise Distrusted("frames out of order")
            wanted = self._given.pop(each)
            if wanted:
                raise Distrusted("a packet without a frame")
            if wanted is False and each > self._last:
                left_out.append(each)
        del self._known[:count]
        if left_out:
            self._last, self._passing = left_out[-1], True
            yield LeftOut(left_out[0], left_out[-1])

    def _drain(self, until: int | None = None) -> Iterator[VideoFrame | LeftOut]:
        self._decode(None)
        yield from self._take()
        if self._track.damaged:
            raise Distrusted("packets that cannot be decoded")
        if self._landing is not None:
            raise Distrusted("no keyframe where the index has one")
        yield from self._pass_until(until)

    def _is_leading(self, pts: int) -> bool:
        return self._track.opening_pts is None or pts < self._track.opening_pts

    def _next_unserved(self) -> int | None:
        """The stamp of the first tick whose frame was not given to the decoder, as far as that is known.

        None where the plan has ended, or packets do not tell.
        """
        horizon = self._window.horizon
        if horizon is None:
            return None
        while (stamp := self._wanted.stamp_of(self._tick)) is not None and stamp < horizon:
            at = bisect_right(self._known, stamp)
            if at == len(self._known):
                return None
            if at and self._known[at - 1] not in self._given:
                break
            self._tick = max(self._tick + 1, self._wanted.tick_from(min(self._known[at], horizon)))
        return stamp

    def _index_target(self, stamp: int) -> int | None:
        """The last keyframe shown at or before `stamp`, by the index, if it lies beyond the window."""
        horizon = self._window.horizon
        if self._index is None or horizon is None or stamp <= horizon:
            return None
        target = self._index.before(stamp)
        if target is None or (self._aimed is not None and target <= self._aimed):
            return None
        return target if self._index.is_ahead(target, horizon, self._known) else None

    def _skip_to(self, stamp: int) -> Iterator[VideoFrame | LeftOut]:
        """Goes on from the last keyframe in the window that is shown at or before `stamp`, if that pays."""
        count = self._window.before_keyframe(stamp)
        if count >= _LEAST_SAVED:
            landed = self._window.skip(count)
            yield from self._empty(until=landed)
            self._track.begin_anew(landed)
            self._land_at(landed)

    def _empty(self, until: int | None = None) -> Iterator[VideoFrame | LeftOut]:
        """Takes the last of what was given to the decoder; what is shown before `until` will not be given."""
        for pts in self._known[: None if until is None else bisect_left(self._known, until)]:
            self._given.setdefault(pts, False)
        yield from self._drain(until)

    def _jump(self, target: int, latest: int) -> Iterator[VideoFrame | LeftOut]:
        """Goes on from the keyframe that the index has at `target`, or from one before if it is too late."""
        assert self._index is not None
        yield from self._empty()
        self._known.clear()
        self._given.clear()
        self._aimed = target
        landed = self._land(target)
        while (pts := landed.pts) is None or pts > latest:
            earlier = self._index.earlier(target)
            if earlier is None:
                raise Distrusted("no keyframe where the index has one")
            target = earlier
            landed = self._land(target)
        self._land_at(pts)
        self._note(landed)

    def _land(self, target: int) -> Packet[VideoStream]:
        """Seeks to the keyframe that the index has at `target`, or one before; gives its packet."""
        assert self._index is not None
        for stamp in self._index.ways_to(target):
            try:
                landed = self._window.seek(stamp)
            except av.FFmpegError as error:
                raise Distrusted("seeking fails") from error
            if landed is not None and self._index.has(landed, target):
                return landed
        raise Distrusted("no keyframe where the index has one")

    def _land_at(self, pts: int) -> None:
        self._landed = self._landing = pts
        self._overlap = self._last if pts <= self._last else None
