"""What a video says of itself, and what its first picture shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from cli.video.clock import BELIEVABLE_FPS
from cli.video.coding import (
    HDR_TRANSFERS,
    has_alpha,
    is_known_matrix,
    matrix_of,
    orientation_of,
    peak_nits_of,
    range_of,
)
from cli.video.display import UPRIGHT, Orientation, believable_aspect, square_size
from protocol.frame import fit_pixels

if TYPE_CHECKING:
    from av import VideoFrame
    from av.container import InputContainer
    from av.stream import Stream
    from av.video.stream import VideoStream

MICROSECONDS = 1_000_000
_LATEST_RECORDING = 2100
_EARLIEST_RECORDING = 1990  # clocks that were never set say 1904 or 1970
_TRANSFERS = {
    1: "bt709", 4: "gamma22", 5: "gamma28", 6: "smpte170m", 7: "smpte240m", 8: "linear", 13: "srgb",
    14: "bt2020-10", 15: "bt2020-12", 16: "smpte2084", 18: "arib-std-b67",
}  # fmt: skip
_MATRIX_NAMES = {1: "bt709", 4: "fcc", 5: "bt601", 7: "smpte240m", 9: "bt2020"}
_UNSPECIFIED = 2


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """Facts about one video. Durations, rates and counts are what the file claims: hints.

    Attributes:
        size: width and height as coded.
        display_size: as shown, turned and with square pixels, before the pixel limit.
        frame_size: as frames are given: `display_size` within the pixel limit.
        orientation: how the coded picture is turned and mirrored to be shown.
        sample_aspect: width of a pixel over its height.
        rate: frames a second.
        start_s: the container's own time of what is shown at zero.
        duration_s: seconds from zero to the end of the video stream. None: not declared.
        duration_covers_all: the duration is of the whole file, so that another stream may be the longest.
        frame_count: frames the container says it has.
        matrix, full_range: how colours are converted; `matrix_assumed` when the file does not say.
        hdr: ``PQ`` or ``HLG``; `peak_nits`: the brightest it is graded for, where the file tells that.
        recorded_at: when the recording began (UTC), where the file has a plausible time.
        streams: kind and codec of each stream.
        oddities: what is out of the ordinary, in words.
    """

    container: str
    codec: str
    pixel_format: str
    size: tuple[int, int]
    display_size: tuple[int, int]
    frame_size: tuple[int, int]
    orientation: Orientation
    sample_aspect: Fraction
    rate: Fraction | None
    start_s: Fraction
    duration_s: Fraction | None
    duration_covers_all: bool
    frame_count: int | None
    matrix: str
    matrix_assumed: bool
    full_range: bool
    transfer: str | None
    hdr: str | None
    peak_nits: float | None
    recorded_at: datetime | None
    streams: tuple[str, ...]
    oddities: tuple[str, ...]

    @property
    def believed_rate(self) -> Fraction | None:
        """`rate`, unless nothing records so many frames a second."""
        return self.rate if self.rate and self.rate <= BELIEVABLE_FPS else None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; seconds and rates are numbers, aspects are ``w:h``."""
        plain = asdict(self)
        del plain["duration_covers_all"], plain["orientation"]
        plain["rotation"], plain["mirrored"] = self.orientation.rotation, self.orientation.mirrored
        plain["sample_aspect"] = f"{self.sample_aspect.numerator}:{self.sample_aspect.denominator}"
        plain["recorded_at"] = self.recorded_at.isoformat() if self.recorded_at else None
        for key, value in plain.items():
            if isinstance(value, Fraction):
                plain[key] = round(float(value), 6)
        return plain


def describe(container: InputContainer, stream: VideoStream, picture: VideoFrame) -> VideoInfo:
    """The facts of `stream`, whose first decoded frame is `picture`."""
    orientation = orientation_of(picture)
    aspect = stream.sample_aspect_ratio
    size = (picture.width, picture.height)
    square = square_size(*size, aspect)
    display = square if orientation is None else orientation.shown(*square)
    start = time_zero(container, stream)
    duration, covers_all = _duration(container, stream, start)
    info = VideoInfo(
        container=container.format.name,
        codec=stream.codec_context.codec.canonical_name,
        pixel_format=picture.format.name,
        size=size,
        display_size=display,
        frame_size=fit_pixels(*display),
        orientation=orientation or UPRIGHT,
        sample_aspect=believable_aspect(aspect) or Fraction(1),
        rate=stream.average_rate or stream.guessed_rate,
        start_s=start,
        duration_s=duration,
        duration_covers_all=covers_all,
        frame_count=stream.frames or None,
        matrix=_MATRIX_NAMES[int(matrix_of(picture))],
        matrix_assumed=picture.colorspace == _UNSPECIFIED,
        full_range=range_of(picture) == 2,
        transfer=_TRANSFERS.get(picture.color_trc),
        hdr=HDR_TRANSFERS.get(picture.color_trc),
        peak_nits=peak_nits_of(picture),
        recorded_at=_recorded_at(container, stream),
        streams=tuple(_stream_words(each) for each in container.streams),
        oddities=(),
    )
    return _with_oddities(info, stream, picture, turned_oddly=orientation is None)


def time_zero(container: InputContainer, stream: VideoStream) -> Fraction:
    """The timestamp shown at zero: the container's start, exact where the video stream is what starts it."""
    begin = stream.start_time
    stream_start = None if begin is None or stream.time_base is None else begin * stream.time_base
    if container.start_time is None:
        return stream_start or Fraction(0)
    start = Fraction(container.start_time, MICROSECONDS)  # rounded to microseconds by FFmpeg
    if stream_start is not None and abs(stream_start - start) <= Fraction(1, MICROSECONDS):
        return stream_start
    return start


def _duration(container: InputContainer, stream: VideoStream, zero: Fraction) -> tuple[Fraction | None, bool]:
    if stream.duration and stream.duration > 0 and stream.time_base is not None:
        late = (stream.start_time or 0) * stream.time_base - zero if stream.start_time is not None else 0
        return max(Fraction(0), late) + stream.duration * stream.time_base, False
    if container.duration and container.duration > 0:
        return Fraction(container.duration, MICROSECONDS), True
    return None, False


def _recorded_at(container: InputContainer, stream: VideoStream) -> datetime | None:
    for metadata in (container.metadata, stream.metadata):
        text = metadata.get("creation_time")
        if not text:
            continue
        try:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
        if _EARLIEST_RECORDING <= moment.year <= _LATEST_RECORDING:
            return moment
    return None


def _stream_words(stream: Stream) -> str:
    codec = stream.codec_context.name if stream.codec_context is not None else "unknown"
    return f"{stream.type} {codec}"


def _with_oddities(
    info: VideoInfo, stream: VideoStream, picture: VideoFrame, *, turned_oddly: bool
) -> VideoInfo:
    words = []
    if info.orientation.rotation:
        words.append(f"turned by {info.orientation.rotation} degrees clockwise")
    if info.orientation.mirrored:
        words.append("mirrored")
    if turned_oddly:
        words.append("claims a rotation that is no right angle: ignored")
    if info.sample_aspect != 1:
        words.append(f"pixels {info.sample_aspect.numerator}:{info.sample_aspect.denominator}, made square")
    elif stream.sample_aspect_ratio and stream.sample_aspect_ratio != 1:
        words.append(f"claims pixels {stream.sample_aspect_ratio}: ignored")
    if info.frame_size != info.display_size:
        words.append("over the pixel limit, scaled down")
    if info.rate and info.believed_rate is None:
        words.append(f"claims {float(info.rate):g} frames a second: not believed")
    if info.duration_s is None:
        words.append("declares no duration")
    if info.hdr:
        words.append(f"HDR ({info.hdr}), tone-mapped to SDR")
    if not is_known_matrix(picture):
        words.append(f"colours coded in a way that is not known here: taken for {info.matrix}")
    if any(component.bits > 8 for component in picture.format.components):
        words.append(f"{max(component.bits for component in picture.format.components)} bits a colour")
    if has_alpha(picture) and not picture.format.has_palette:
        words.append("transparent, shown over black")
    if picture.interlaced_frame:
        words.append("interlaced, one moment of each frame is shown")
    videos = sum(each.startswith("video ") for each in info.streams)
    if videos > 1:
        words.append(f"{videos} video streams, the first is read")
    if info.start_s:
        words.append(f"its own clock starts at {float(info.start_s):g} s, shown as 0")
    return replace(info, oddities=tuple(words))
