from __future__ import annotations

import pytest

from protocol.errors import NotFound
from protocol.host import Refused, SessionHost
from protocol.messages import Closed, Created, FrameReply, SessionConfig
from protocol.server.engine_host import EngineHost
from protocol.server.named_host import NamedHost
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import picture


@pytest.fixture
async def host():
    behind = EngineHost(FakeEngine(), max_sessions=1)
    yield NamedHost(behind, "mine")
    await behind.shut_down()


@pytest.mark.parametrize("asked", [None, "mine"])
async def test_clients_know_the_model_by_that_name_alone(host, asked):
    assert isinstance(host, SessionHost)
    created = await host.open(SessionConfig(system_prompt="", model=asked), idle_timeout_s=9)
    assert isinstance(created, Created)
    assert created.model == "mine"
    assert isinstance(await host.frame(created.session_id, picture()), FrameReply)
    full = await host.open(SessionConfig(system_prompt=""), idle_timeout_s=9)
    assert isinstance(full, Refused)
    assert isinstance(await host.close(created.session_id), Closed)


async def test_its_own_name_is_not_known(host):
    refused = await host.open(SessionConfig(system_prompt="", model="fake-1"), idle_timeout_s=9)
    assert isinstance(refused, Refused)
    assert isinstance(refused.error, NotFound)
