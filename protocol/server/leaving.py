"""Clients that leave before they are answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from starlette.types import Receive

_T = TypeVar("_T")


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, _T]) -> _T:
    """What `work` gives; it is cancelled if the client leaves first. The request's body has been read.

    Raises:
        ClientDisconnect: the client left.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(receive))
    both: set[asyncio.Task[Any]] = {working, leaving}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in both:
            task.cancel()
        await asyncio.wait(both)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
