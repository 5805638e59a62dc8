"""One frame at a time, and none once a session is over."""

from __future__ import annotations

import pytest

from protocol.errors import Conflict, NotFound
from protocol.frame_guard import FrameGuard


def test_one_frame_at_a_time() -> None:
    guard = FrameGuard()
    with guard.frame(), pytest.raises(Conflict, match="under way"), guard.frame():
        pytest.fail("a second frame was let in")
    with guard.frame():
        pass


def test_a_frame_that_failed_makes_room_for_the_next() -> None:
    guard = FrameGuard()
    with pytest.raises(ZeroDivisionError), guard.frame():
        _ = 1 / 0
    with guard.frame():
        pass


def test_no_frame_once_it_is_over() -> None:
    guard = FrameGuard()
    guard.over = NotFound("the session is closed")
    with pytest.raises(NotFound, match="closed"), guard.frame():
        pytest.fail("a frame was let in")
