"""The event loop that the server runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.server.server import new_event_loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """That loop for every test here."""
    return {"served": new_event_loop}
