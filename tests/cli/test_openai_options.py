"""From options and environment to an OpenAI-compatible server, or to none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.engines import EngineChoice
from cli.openai_options import OpenAIGiven, OpenAIServer
from cli.remote_options import RemoteOptions
from cli.run_options import changed_option, run_options
from cli.video.sampling import SamplingPlan
from engine.openai.options import OpenAIOptions
from engine.vllm.options import VllmOptions
from protocol.errors import UsageError
from protocol.messages import SessionConfig

URL = "http://host:8000/v1"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "STREAM_API_KEY", "NIM_URL"):
        monkeypatch.delenv(name, raising=False)


def server(engine: str = "auto", remote: RemoteOptions | None = None, **given: Any) -> OpenAIServer:
    found = OpenAIGiven(**{"base_url": URL, **given}).server(engine, remote or RemoteOptions())
    assert found is not None
    return found


def test_the_url_implies_the_engine() -> None:
    assert server().connection.address.url == URL
    assert server("openai").connection.address.url == URL


def test_the_environment_changes_nothing_unless_the_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    for engine in ("auto", "lite", "vllm"):
        assert OpenAIGiven().server(engine, RemoteOptions()) is None
    found = server("openai", base_url=None)
    assert (found.connection.address.url, found.connection.api_key) == (URL, "key")
    assert server(base_url="http://other/v1").connection.address.url == "http://other/v1"
    monkeypatch.setenv("STREAM_API_KEY", "for another server")
    assert server("openai", RemoteOptions(api_key="mine")).connection.api_key == "mine"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert server().connection.api_key is None


@pytest.mark.parametrize("url", [f"{URL}/", f"{URL}/chat/completions", f"{URL}/models"])
def test_more_of_the_url_than_is_wanted(url: str) -> None:
    assert server(base_url=url).connection.address.url == URL


def test_everything_reaches_its_place(tmp_path: Path) -> None:
    remote = RemoteOptions(
        reconnect=True,
        frame_encoding="png",
        api_key="k",
        insecure=True,
        frame_timeout_s=3,
        connect_timeout_s=2,
    )
    found = server(remote=remote, image_detail="low", extra_body='{"top_k": 3}', prefix_friendly=True, seed=4)
    connection = found.connection
    assert (connection.frame_encoding, connection.api_key, connection.insecure) == ("png", "k", True)
    assert (connection.frame_timeout_s, connection.control_timeout_s) == (3, 2)
    assert found.options == OpenAIOptions(
        image_detail="low", extra_body={"top_k": 3}, prefix_friendly=True, seed=4, goes_on=True
    )


@pytest.mark.parametrize(
    ("engine", "given", "remote", "said"),
    [
        ("openai", {"base_url": None}, {}, "--engine openai needs a server; --base-url http"),
        ("lite", {}, {}, "--base-url and --engine lite exclude each other"),
        ("vllm", {}, {}, "--base-url and --engine vllm exclude each other"),
        ("auto", {"base_url": None, "image_detail": "low"}, {}, "--image-detail is for --engine openai"),
        ("lite", {"base_url": None, "prefix_friendly": True}, {}, "--prefix-friendly is for --engine openai"),
        ("auto", {"base_url": None, "extra_body": "{}"}, {}, "--extra-body is for --engine openai"),
        ("auto", {}, {"nim_url": "http://nim"}, "--nim-url does not go with --engine openai"),
        ("auto", {}, {"backend": "nim"}, "--backend does not go with"),
        ("auto", {}, {"transport": "rest"}, "--transport does not go with"),
        ("auto", {}, {"frame_format": "base64"}, "--frame-format does not go with"),
        ("auto", {}, {"frame_encoding": "gif"}, "--frame-encoding gif: choose from"),
        ("auto", {"base_url": "host:8000"}, {}, "--base-url host:8000: a URL begins with http://"),
        ("auto", {"base_url": f"{URL}?a=b"}, {}, "the base URL has no"),
        ("auto", {"extra_body": "{"}, {}, "--extra-body: not JSON"),
        ("auto", {"extra_body": "[1]"}, {}, "--extra-body: a JSON object is wanted"),
        ("auto", {"extra_body": '{"messages": []}'}, {}, "--extra-body: messages is not to be changed"),
    ],
)
def test_contradictions(engine: str, given: dict[str, Any], remote: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        OpenAIGiven(**{"base_url": URL, **given}).server(engine, RemoteOptions(**remote))
    assert said in str(caught.value)


def test_options_of_an_engine_here_do_not_fit() -> None:
    with pytest.raises(UsageError, match="--dtype does not go with --engine openai"):
        OpenAIGiven(base_url=URL).server("auto", RemoteOptions(), local_only={"--dtype": "float32"})


def test_a_password_in_the_url_is_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        server(base_url="ftp://me:secret@host/")
    assert "secret" not in str(caught.value)
    found = server(base_url="https://me:secret@host/v1")
    assert "secret" not in repr(found)
    assert str(found.connection.address) == "https://host/v1"


async def test_it_becomes_an_engine() -> None:
    choice = EngineChoice("auto", "m", VllmOptions(), openai=server())
    assert choice.kind == "openai"
    engine = choice.make(lambda _: None)
    assert (engine.name, engine.follows_instructions) == ("openai", True)
    await engine.close()


def test_what_decides_the_captions_is_kept() -> None:
    plan, config = SamplingPlan.of(fps=1), SessionConfig(system_prompt="Describe.", fps=1)

    def options(**given: Any) -> dict[str, Any]:
        choice = EngineChoice("auto", "m", VllmOptions(), openai=server(**given))
        return run_options(plan, config, choice, skip_similar=None)

    assert changed_option(options(), options(base_url="http://elsewhere/v1")) is None
    assert (
        changed_option(options(), options(image_detail="low")) == "--image-detail was not given, and is low"
    )
    secret = '{"key": "secret"}'
    assert changed_option(options(), options(extra_body=secret)) == "--extra-body has changed"
    assert "secret" not in str(options(extra_body=secret))
    assert changed_option(options(), options(prefix_friendly=True))
    assert replace(server(), key_option="--k") != server()
