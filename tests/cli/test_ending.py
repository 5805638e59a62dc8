from __future__ import annotations

import asyncio
import os
import signal

import pytest

from cli.ending import Ending
from protocol.errors import EngineError, StreamError


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_and_a_second_one_cancels(how):
    ending = Ending()

    async def told_twice():
        with ending.hearing_signals():
            os.kill(os.getpid(), how)
            await ending.wait()
            os.kill(os.getpid(), how)
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(told_twice())
    assert ending.error is None


async def test_the_first_error_is_why():
    ending = Ending()
    ending.engine_lost("out of memory")
    ending.fail(OSError("and then this"))
    await ending.wait()
    assert isinstance(ending.error, EngineError)
    assert "out of memory" in str(ending.error)


@pytest.mark.parametrize(
    ("raised", "kind"), [(None, type(None)), (OSError("no"), OSError), (SystemExit(3), StreamError)]
)
async def test_a_server_that_ends_by_itself_ends_it(raised, kind):
    ending = Ending()
    serving = asyncio.get_running_loop().create_future()
    if raised is None:
        serving.set_result(None)
    else:
        serving.set_exception(raised)
    ending.server_ended(serving)
    await ending.wait()
    assert isinstance(ending.error, kind)
