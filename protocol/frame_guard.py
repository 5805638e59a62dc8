"""Who may hand a session a frame: one at a time, and nobody once the session is over."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from protocol.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol.errors import StreamError


class FrameGuard:
    """Stands before each frame of a session.

    Attributes:
        over: why no further frame is taken; None while frames are.
    """

    def __init__(self) -> None:
        """Lets the first frame in."""
        self.over: StreamError | None = None
        self._busy = False

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Around the work on one frame.

        Raises:
            StreamError: `over`, if it is set.
            Conflict: another frame is under way.
        """
        if self.over is not None:
            raise self.over
        if self._busy:
            raise Conflict("another frame of this session is under way")
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
