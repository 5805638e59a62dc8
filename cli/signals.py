"""Ending cleanly when told to: Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from cli.exit_codes import EXIT_TERMINATED

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


def run_until_signalled(main: Coroutine[Any, Any, T]) -> T:
    """Runs `main` to its end. Ctrl-C and SIGTERM cancel it, so that its ``finally`` blocks close the outputs.

    Raises:
        KeyboardInterrupt: it was ended by Ctrl-C.
        SystemExit: it was ended by SIGTERM; the code is 143, as a shell would show it.
    """
    terminated = False

    async def guarded() -> T:
        task = asyncio.current_task()

        def terminate() -> None:
            nonlocal terminated
            terminated = True
            if task is not None:
                task.cancel()

        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
        try:
            return await main
        except asyncio.CancelledError:
            # A thread that loads or decodes cannot be told to stop: asyncio.run is not to wait for it.
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
            raise

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        if terminated:
            raise SystemExit(EXIT_TERMINATED) from None
        raise
