"""Why a live input does not open or go on, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.errors import InputError

if TYPE_CHECKING:
    from cli.video.live_input import LiveInput


def failure_of(given: LiveInput, error: Exception) -> InputError:
    """`error`, which FFmpeg had while opening or reading `given`, as one line."""
    reason = (getattr(error, "strerror", None) or str(error)).strip()
    return InputError(f"{given.name}: {reason[:1].lower()}{reason[1:]}")
