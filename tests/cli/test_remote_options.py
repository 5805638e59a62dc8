"""From options and environment to a server, or to none."""

from typing import Any

import pytest

from cli.remote_options import RemoteOptions
from protocol.errors import UsageError

URL = "http://host:8000"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NIM_URL", "STREAM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_server_there_are_no_settings() -> None:
    for engine in ("auto", "lite", "vllm"):
        assert RemoteOptions().settings(engine) is None


def test_the_environment_names_a_server_unless_an_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIM_URL", URL)
    found = RemoteOptions().settings("auto")
    assert found is not None
    assert (found.address.url, found.backend, found.transport) == (URL, "nim", "websocket")
    assert RemoteOptions().settings("lite") is None
    monkeypatch.setenv("NIM_URL", "")
    assert RemoteOptions().settings("auto") is None


def test_the_option_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIM_URL", "http://other")
    monkeypatch.setenv("STREAM_API_KEY", "other")
    found = RemoteOptions(nim_url=URL, api_key="mine").settings("auto")
    assert found is not None
    assert (found.address.url, found.api_key) == (URL, "mine")


def test_a_key_in_the_environment_asks_for_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_API_KEY", "key")
    assert RemoteOptions().settings("auto") is None
    found = RemoteOptions(nim_url=URL).settings("auto")
    assert found is not None
    assert found.api_key == "key"


@pytest.mark.parametrize(
    "given",
    [
        {"backend": "nim"},
        {"transport": "rest"},
        {"frame_format": "base64"},
        {"frame_encoding": "png"},
        {"api_key": "k"},
        {"insecure": True},
        {"reconnect": True},
        {"frame_timeout_s": 5.0},
        {"connect_timeout_s": 5.0},
    ],
)
def test_an_option_about_a_server_needs_one(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="is for a server elsewhere"):
        RemoteOptions(**given).settings("auto")
    monkeypatch.setenv("NIM_URL", URL)
    assert RemoteOptions(**given).settings("auto") is not None
    with pytest.raises(UsageError, match="and --engine vllm exclude each other"):
        RemoteOptions(**given).settings("vllm")


def test_a_server_and_an_engine_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="--nim-url and --engine lite exclude each other"):
        RemoteOptions(nim_url=URL).settings("lite")


def test_what_only_an_engine_here_could_do_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    local = {"--dtype": None, "--seed": 7}
    with pytest.raises(UsageError, match="--seed is for vLLM in this process, and --nim-url has a server"):
        RemoteOptions(nim_url=URL).settings("auto", local_only=local)
    monkeypatch.setenv("NIM_URL", URL)
    with pytest.raises(UsageError, match=r"and NIM_URL has a server answer; --engine vllm runs it here"):
        RemoteOptions().settings("auto", local_only=local)
