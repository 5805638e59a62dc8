"""Being told to stop while a thread is busy with what cannot be stopped."""

import asyncio
import os
import signal
import threading

import pytest

from cli.exit_codes import EXIT_TERMINATED
from cli.signals import run_until_signalled


@pytest.mark.parametrize(("told", "ends"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_a_thread_that_loads_is_not_waited_for(told: signal.Signals, ends: type[BaseException]) -> None:
    loaded = threading.Event()

    def load() -> None:
        os.kill(os.getpid(), told)
        loaded.wait()

    try:
        with pytest.raises(ends) as ended:  # or it would wait for ever
            run_until_signalled(asyncio.to_thread(load))
    finally:
        loaded.set()
    if told == signal.SIGTERM:
        assert ended.value.code == EXIT_TERMINATED  # type: ignore[attr-defined]
