"""Reading a live source in a thread, and finding it again."""

from __future__ import annotations

import math
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import av

from cli.video.arrival_sampler import ArrivalSampler
from cli.video.container import video_stream
from cli.video.live_pictures import LivePictures
from cli.video.mailbox import Arrival
from cli.video.pace import Pace
from protocol.errors import InputError
from protocol.source import Away, Damage, Ended, Gap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

    from cli.video.live_input import LiveInput
    from cli.video.live_policy import LivePolicy
    from cli.video.mailbox import Mailbox
    from cli.video.picture import PictureRenderer
    from cli.video.sampling import SamplingPlan

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 0.5
"""Between two attempts to reach a source that is gone: it is to be back within two seconds of its return."""
_LATE_END_S = 0.5  # the frame that shows that the time is over may be so late
_OVERTIME_S = 2.0  # FFmpeg keeps its limits a little late
_BROKEN_READS_IN_A_ROW = 50
_SHOWN_AGAIN_S = 30.0  # so much of the past is in the playlist of a live stream


class LiveReader:
    """Opens a live source, reads it, loses it, looks for it and finds it again, in a thread that calls `run`.

    FFmpeg may block that thread for good, whatever limits it is given (a camera's driver does, and so does a
    name that is looked up): `hangs` tells, and `successor` goes on in its place.

    Attributes:
        stop: set it to end all reading.
    """

    def __init__(
        self, given: LiveInput, plan: SamplingPlan, policy: LivePolicy, open_s: float, mailbox: Mailbox
    ) -> None:
        """`open_s`: the longest that the first opening may take; the next ones have the stall's limit."""
        self.stop = threading.Event()
        self._given = given
        self._policy = policy
        self._open_s = open_s
        self._mailbox = mailbox
        self._plan = plan
        self._end_s = math.inf if plan.end is None else float(plan.end)
        self._patience_until_s = math.inf  # what blocks the thread now is to let go of it
        self._replaced = False
        self._sampler = ArrivalSampler(plan)
        self._zero_s: float | None = None  # when the first frame arrived, by the monotonic clock
        self._last_s = 0.0  # when the last one did, on the time line
        self._stamp_s: float | None = None  # of a paced source, the timestamp of the last frame
        self._away: str | None = None  # why the source is
        self._grew = False  # it had no end when it was opened last
        self._end_reached = False  # that of the plan
        self._decoded = 0
        self._damaged = 0

    def run(self) -> None:
        """The thread's life."""
        ended: BaseException | None = None
        try:
            self._read_on()
        except BaseException as error:
            ended = error  # given to the consumer, who is the one to handle it
        finally:
            if not self._replaced:
                self._mailbox.finish(ended)

    @property
    def hangs(self) -> bool:
        """Whether the thread is held for longer than the limits allow."""
        return time.monotonic() > self._patience_until_s

    def successor(self) -> LiveReader:
        """Another reader for another thread, from where this one hangs, which is not to be heard of any more.

        Raises:
            InputError: the source is none that is looked for, or has been for too long.
        """
        self.stop.set()
        self._replaced = True
        other = LiveReader(self._given, self._plan, self._policy, self._open_s, self._mailbox)
        other._sampler, other._zero_s, other._last_s = self._sampler, self._zero_s, self._last_s
        other._stamp_s, other._grew = self._stamp_s, self._grew
        other._away, other._decoded, other._damaged = self._away, self._decoded, self._damaged
        other._lost(f"no picture for {self._policy.stall_s:g} s")
        return other

    def ended(self, end_s: float | None = None) -> Ended:
        """The last event: at `end_s`, or with the last frame."""
        return Ended(
            end_s=self._last_s if end_s is None else end_s,
            frames_decoded=self._decoded,
            damaged=self._damaged,
        )

    @property
    def overdue(self) -> bool:
        """Whether the end of the plan has passed without a frame to show it: the source is silent or away."""
        return self._zero_s is not None and self._now_s() > self._end_s + _LATE_END_S

    def _read_on(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self.stop.is_set():
            before = self._decoded
            try:
                if self._read():
                    if not self.stop.is_set():
                        self._mailbox.put(self.ended(self._end_s if self._end_reached else None))
                    return
                reason = "the stream ended"
            except InputError as error:
                if self._zero_s is None:
                    raise
                reason = error.message.removeprefix(f"{self._given.name}: ")
            if self._decoded > before:
                pause_s = _FIRST_PAUSE_S
            self._lost(reason)
            self.stop.wait(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _lost(self, reason: str) -> None:
        """The source is gone, or still is.

        Raises:
            InputError: it has been for too long, or is none that comes back.
        """
        name, retry_s = self._given.name, self._policy.retry_s(network=self._given.network)
        if not retry_s:
            raise InputError(f"{name}: lost: {self._away or reason}")
        if self._now_s() - self._last_s > retry_s:
            raise InputError(
                f"{name}: lost ({self._away or reason}) and not back within {retry_s:g} s: {reason}",
                hint="--retry-for waits longer",
            )
        if self._away is None and not self.stop.is_set():
            self._away = reason
            self._mailbox.put(Away(self._last_s, reason))

    def _read(self) -> bool:
        """Reads until the source ends; whether that is the end of all, and not the loss of it.

        Raises:
            InputError: it cannot be opened, breaks off or is silent.
        """
        open_s = self._open_s if self._zero_s is None else self._policy.stall_s
        self._be_patient(2 * open_s)  # it is limited twice: for its beginning, and for finding out what it is
        container = self._given.open(open_s, self._policy.stall_s)
        with container:
            stream = video_stream(container, self._given.name)
            grows = self._given.endless or self._has_no_end(container)
            if self._grew and not grows:
                return True  # live HLS that has ended
            self._grew = grows
            return self._decode(container, stream) or not grows

    def _has_no_end(self, container: InputContainer) -> bool:
        """Whether it is live HLS that is looked for when it breaks off, which looks like its end."""
        network = self._given.network
        return network and container.duration is None and self._policy.retry_s(network=network) > 0

    def _decode(self, container: InputContainer, stream: VideoStream) -> bool:
        """Hands over what comes until the source ends; whether the plan has ended with it."""
        pictures = LivePictures(
            container,
            stream,
            pace=Pace(self.stop) if self._given.paced else None,
            shown_s=self._stamp_s,
            again_s=_SHOWN_AGAIN_S if self._grew else math.inf,
        )
        failed = 0
        for picture, arrived_s in pictures.of(self._packets(container, stream)):
            if picture is None:  # time goes by
                stall_s = self._policy.stall_s
                if stall_s and time.monotonic() - arrived_s > stall_s:
                    raise InputError(f"{self._given.name}: no picture for {stall_s:g} s")
            else:
                if pictures.failed > failed:
                    self._damage(pictures.failed - failed)
                    failed = pictures.failed
                self._stamp_s = pictures.stamp_s
                if not self._arrived(picture, arrived_s, pictures.renderer):
                    return True
            if self.stop.is_set():
                return True
        return False

    def _packets(self, container: InputContainer, stream: VideoStream) -> Iterator[Packet[VideoStream]]:
        """Packets as they come; the last is an empty one.

        Raises:
            InputError: reading broke off, or nothing came for too long.
        """
        given, stall_s = self._given, self._policy.stall_s
        broken = 0
        while broken < _BROKEN_READS_IN_A_ROW:
            try:
                self._be_patient(stall_s)
                asked_s = time.monotonic()
                for packet in container.demux(stream):
                    self._patience_until_s = math.inf
                    # Interrupted, FFmpeg first gives what it held when it began to wait.
                    if stall_s and time.monotonic() - asked_s >= stall_s:
                        raise InputError(f"{given.name}: no picture for {stall_s:g} s")
                    broken = 0
                    yield packet
                    self._be_patient(stall_s)
                    asked_s = time.monotonic()
            except IndexError:
                continue  # PyAV's, for a packet of a stream that was not there when it was opened
            except av.error.InvalidDataError:
                broken += 1
            except (av.FFmpegError, OSError) as error:
                raise given.error(error) from error
            else:
                return
            finally:
                self._patience_until_s = math.inf
        raise InputError(f"{given.name}: what comes is no video any more")

    def _be_patient(self, limit_s: float) -> None:
        """FFmpeg is given the thread, and has so long to give it back; 0 for ever."""
        self._patience_until_s = time.monotonic() + limit_s + _OVERTIME_S if limit_s else math.inf

    def _arrived(self, picture: VideoFrame, arrived_s: float, renderer: PictureRenderer) -> bool:
        """Hands a frame over; False if no more are wanted."""
        if self._zero_s is None:
            self._zero_s = arrived_s
        time_s = arrived_s - self._zero_s
        if time_s >= self._end_s:
            self._end_reached = True
            return False
        if self._away is not None:
            self._mailbox.put(Gap(self._last_s, time_s, self._away))
            self._away = None
        self._last_s = time_s
        self._decoded += 1
        captured_at = datetime.fromtimestamp(time.time() - (time.monotonic() - arrived_s), UTC)
        due = self._sampler.due(time_s, keyframe=picture.key_frame)
        return self._mailbox.offer(Arrival(picture, arrived_s, captured_at, time_s, renderer), due=due)

    def _damage(self, packets: int) -> None:
        self._damaged += packets
        what = "1 packet" if packets == 1 else f"{packets} packets"
        self._mailbox.put(Damage(f"{what} could not be decoded", self._last_s))

    def _now_s(self) -> float:
        return 0.0 if self._zero_s is None else time.monotonic() - self._zero_s
