"""Where the keyframes of a video are, as its container has them in an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from av import Packet
    from av.video.stream import VideoStream

    from cli.video.track import Track

_BY_DTS = "mov"
_BY_PTS = "matroska"


class KeyframeIndex:
    """The index of one track. Its entries are named by their own stamps: DTS in MP4, PTS in Matroska."""

    def __init__(self, track: Track) -> None:
        self._entries = track.stream.index_entries
        self._by_dts = _BY_DTS in track.container.format.name
        self._reorder = track.opening_delay if self._by_dts else 0
        """How much later a keyframe is shown than its entry says."""

    @classmethod
    def of(cls, track: Track) -> KeyframeIndex | None:
        """The index of `track`, None if there is none worth the name."""
        name = track.container.format.name
        if not (_BY_DTS in name or _BY_PTS in name) or len(track.stream.index_entries) < 2:
            return None
        return cls(track)

    def before(self, pts: int) -> int | None:
        """The entry of the last keyframe that is shown at or before `pts`, as far as can be told."""
        at = self._entries.search_timestamp(pts - self._reorder)
        return self._entries[at].timestamp if at >= 0 else None

    def earlier(self, stamp: int) -> int | None:
        """The entry of the keyframe before the one at `stamp`."""
        return self.before(stamp - 1 + self._reorder)

    def ways_to(self, stamp: int) -> tuple[int, ...]:
        """What to seek to for the keyframe at `stamp`: demuxers take it for a PTS, or for a DTS."""
        return (stamp + self._reorder, stamp) if self._reorder else (stamp,)

    def is_ahead(self, stamp: int, horizon: int, known: list[int]) -> bool:
        """Whether the keyframe at `stamp` was not read yet, if DTS up to `horizon` and `known` PTS were."""
        return stamp > (horizon if self._by_dts else max(horizon, known[-1] if known else horizon))

    def has(self, packet: Packet[VideoStream], stamp: int) -> bool:
        """Whether `packet`, read after a seek to `stamp`, is the keyframe there, or one before it."""
        own = packet.dts if self._by_dts else packet.pts
        if own is None or packet.pts is None or not packet.is_keyframe or own > stamp:
            return False
        self._reorder = max(self._reorder, packet.pts - own)
        at = self._entries.search_timestamp(own)
        return at >= 0 and self._entries[at].timestamp == own
