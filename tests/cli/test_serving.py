"""A `stream serve` run over the fake engine, in this process; a thread plays its clients."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from cli.exit_codes import EXIT_INTERRUPTED, EXIT_OK
from cli.serving import Serving
from protocol.errors import EngineError, StreamError, UsageError
from protocol.session import ServedModel
from tests.fake_engine import FakeEngine
from tests.protocol.server.running import PROMPT, picture

JPEG = {"Content-Type": "image/jpeg"}

pytestmark = pytest.mark.usefixtures("loggers")


class SlowEngine(FakeEngine):
    """Loads when it is told how that goes: a model, or what it raises."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.loaded: asyncio.Future[ServedModel] | None = None
        self.loading = threading.Event()

    async def load(self) -> ServedModel:
        self.loop = asyncio.get_running_loop()
        self.loaded = self.loop.create_future()
        self.loading.set()
        return await self.loaded

    def finish(self, outcome: ServedModel | Exception) -> None:
        assert self.loading.wait(30)
        assert self.loaded
        settle = self.loaded.set_exception if isinstance(outcome, Exception) else self.loaded.set_result
        self.loop.call_soon_threadsafe(settle, outcome)


class Choice:
    """Stands for the options that choose an engine."""

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine

    def make(self, report: object, warn: object) -> FakeEngine:
        return self.engine


def serving(engine: FakeEngine, **options: Any) -> Serving:
    asked: dict[str, Any] = {
        "served_model_name": None, "host": "127.0.0.1", "port": 0, "certfile": None, "keyfile": None,
        "drain_timeout_s": 30.0,
        "streaming": True, "quiet": True, "debug": False, "api_key": None, "allowed_origins": [],
        "allowed_hosts": [], "max_sessions": 4, "idle_timeout_s": 60.0, "rest_idle_timeout_s": 60.0,
        "frame_timeout_s": 30.0, "retention": {},
    }  # fmt: skip
    return Serving(engine=Choice(engine), **{**asked, **options})


@pytest.fixture
def url(monkeypatch):
    """Waits for the address the server says it listens at."""
    address: list[str] = []
    there = threading.Event()

    def say(message: str) -> None:
        if found := re.search(r"listening at (\S+),", message):
            address.append(found[1])
            there.set()

    monkeypatch.setattr("cli.serving._say", say)

    def wait() -> str:
        assert there.wait(30)
        return address[0]

    return wait


@contextmanager
def client(play, *arguments):
    """`play` in a thread beside the server; whatever becomes of it, the server is told to stop."""

    def played() -> Any:
        try:
            return play(*arguments)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(played)
        yield future
        future.result(timeout=30)


def get(address: str, path: str, **options: Any) -> httpx.Response:
    return httpx.get(address + path, trust_env=False, timeout=30, **options)


def post(address: str, path: str, **options: Any) -> httpx.Response:
    return httpx.post(address + path, trust_env=False, timeout=30, **options)


def test_it_answers_while_the_engine_loads(url):
    engine = SlowEngine()

    def play():
        address = url()
        assert get(address, "/v1/health/live").status_code == 200
        assert get(address, "/v1/health/ready").status_code == 503
        assert post(address, "/v1/streaming/sessions", json=PROMPT).status_code == 503
        engine.finish(ServedModel("fake-1"))
        while get(address, "/v1/health/ready").status_code == 503:
            pass
        assert post(address, "/v1/streaming/sessions", json=PROMPT).status_code == 201

    with client(play):
        assert serving(engine).run() == EXIT_OK
    assert engine.closed
    assert engine.sessions[0].closed


def test_the_model_may_have_another_name(url):
    def play():
        address = url()
        while get(address, "/v1/health/ready").status_code == 503:
            pass
        names = [get(address, "/v1/streaming/config").json()["model"]]
        names += [each["id"] for each in get(address, "/v1/models").json()["data"]]
        named = {**PROMPT, "model": "mine"}
        names.append(post(address, "/v1/streaming/sessions", json=named).json()["model"])
        assert names == ["mine"] * 3

    with client(play):
        assert serving(FakeEngine(), served_model_name="mine").run() == EXIT_OK


class BusyEngine(SlowEngine):
    """Loads in a thread that hears nothing of the world until `release` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()
        self.thread: threading.Thread | None = None

    async def load(self) -> ServedModel:
        await asyncio.to_thread(self.block)
        return ServedModel("fake-1")

    def block(self) -> None:
        self.thread = threading.current_thread()
        self.loading.set()
        self.release.wait(20)


@pytest.mark.parametrize("make", [SlowEngine, BusyEngine])
def test_it_can_be_stopped_while_the_engine_loads(url, monkeypatch, make):
    left = []
    monkeypatch.setattr("cli.serving.leave_at_once", left.append)
    engine = make()
    with client(lambda: engine.loading.wait(30)):
        assert serving(engine).run() == EXIT_OK
    if isinstance(engine, BusyEngine):
        assert not engine.release.is_set()
        assert engine.thread.is_alive()  # still loading
        engine.release.set()
    assert left == [EXIT_OK]
    assert engine.closed


@pytest.mark.parametrize("error", [EngineError("no such weights"), OSError("disk on fire")])
def test_an_engine_that_cannot_be_loaded_ends_it(url, error):
    engine = SlowEngine()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(engine.finish, error)
        with pytest.raises(type(error), match=str(error)):
            serving(engine).run()
    assert engine.closed


def test_an_engine_that_dies_ends_it(url):
    engine = FakeEngine(failures={0: EngineError("out of memory")})

    def play():
        address = url()
        session = post(address, "/v1/streaming/sessions", json=PROMPT).json()["session_id"]
        frame = f"/v1/streaming/sessions/{session}/frame"
        return post(address, frame, content=picture(), headers=JPEG).status_code

    with ThreadPoolExecutor(1) as thread:
        played = thread.submit(play)
        with pytest.raises(EngineError, match="out of memory"):
            serving(engine).run()
        assert played.result() == 500
    assert engine.closed


def test_frames_that_outlive_the_drain_timeout_are_given_up(url):
    engine = FakeEngine(gated=True)
    codes = []

    def play():
        address = url()
        session = post(address, "/v1/streaming/sessions", json=PROMPT).json()["session_id"]
        frame = f"/v1/streaming/sessions/{session}/frame"
        codes.append(post(address, frame, content=picture(), headers=JPEG).status_code)

    with ThreadPoolExecutor(2) as threads:
        played = threads.submit(play)
        threads.submit(stop_once_reached, engine)
        assert serving(engine, drain_timeout_s=0.05).run() == EXIT_OK
        played.result(timeout=30)
    assert codes == [503]
    assert engine.sessions[0].cancelled == 1


class Looped(FakeEngine):
    """Knows the event loop it is in."""

    async def load(self) -> ServedModel:
        self.loop = asyncio.get_running_loop()
        return await super().load()


CHAT = {"messages": [{"role": "user", "content": "Hello"}]}


@pytest.mark.parametrize(("patience_s", "code"), [(30, 200), (0.05, 503)])
def test_a_chat_is_answered_before_it_stops_unless_that_takes_too_long(url, patience_s, code):
    engine = Looped(gated=True)
    codes = []

    def play():
        codes.append(post(url(), "/v1/chat/completions", json=CHAT).status_code)

    def let_go():
        stop_once_reached(engine)
        if code == 200:
            while get(url(), "/v1/health/ready").status_code == 200:
                threading.Event().wait(0.01)
            engine.loop.call_soon_threadsafe(engine.gate.set)

    with ThreadPoolExecutor(2) as threads:
        played = threads.submit(play)
        stopped = threads.submit(let_go)
        assert serving(engine, drain_timeout_s=patience_s).run() == EXIT_OK
        played.result(timeout=30)
        stopped.result(timeout=30)
    assert codes == [code]
    assert engine.given_up == (0 if code == 200 else 1)


def test_an_engine_that_dies_in_a_chat_ends_it(url):
    engine = FakeEngine(failures={0: EngineError("out of memory")})

    with ThreadPoolExecutor(1) as thread:
        played = thread.submit(lambda: post(url(), "/v1/chat/completions", json=CHAT).status_code)
        with pytest.raises(EngineError, match="out of memory"):
            serving(engine).run()
        assert played.result() == 500
    assert engine.closed


def stop_once_reached(engine: FakeEngine) -> None:
    while not engine.reached.is_set():
        threading.Event().wait(0.01)
    os.kill(os.getpid(), signal.SIGTERM)


def test_told_twice_it_does_not_wait_for_frames(url):
    engine = FakeEngine(gated=True)

    async def play():
        address = url().replace("http", "ws") + "/v1/streaming/ws"
        async with connect(address, proxy=None) as socket:
            await socket.send(json.dumps(PROMPT))
            await socket.recv()
            await socket.send(picture())
            while not engine.reached.is_set():
                await asyncio.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            while get(url(), "/v1/health/ready").status_code == 200:
                await asyncio.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            await socket.wait_closed()

    with ThreadPoolExecutor(1) as thread:
        played = thread.submit(asyncio.run, play())
        assert serving(engine).run() == EXIT_INTERRUPTED
        played.result(timeout=30)
    assert engine.closed
    assert engine.sessions[0].cancelled == 1


@pytest.mark.parametrize(
    ("options", "warned"),
    [({"host": "0.0.0.0"}, True), ({"host": "0.0.0.0", "api_key": "k"}, False), ({}, False)],
)
def test_beyond_this_machine_without_a_key_is_worth_a_warning(url, capsys, options, warned):
    with client(url):
        assert serving(FakeEngine(), **options).run() == EXIT_OK
    line = capsys.readouterr().err
    assert ("warning: " in line and "--api-key" in line) is warned


def test_who_may_call_the_server_by_what_name():
    own = socket.gethostname()
    assert serving(FakeEngine(), host="box").settings().allowed_hosts == ("box", own)
    named = serving(FakeEngine(), allowed_hosts=["a.example"], api_key="k").settings()
    assert named.allowed_hosts == ("a.example", "127.0.0.1", own)
    assert serving(FakeEngine(), api_key="k").settings().allowed_hosts == ("*",)


def test_what_it_is_made_of_hides_the_key():
    asked = serving(FakeEngine(), api_key="s3cret")
    assert "s3cret" not in repr(asked)
    assert "s3cret" not in repr(asked.settings())


def test_the_retention_that_was_asked_for_goes_over_the_engines_own():
    usual = ServedModel("m").retention.model_copy(update={"max_session_tokens": 2000})
    assert serving(FakeEngine()).retention_over(usual) is None
    asked = serving(FakeEngine(), retention={"max_video_segments": 3, "max_text_tokens": None})
    retention = asked.retention_over(usual)
    assert (retention.max_video_segments, retention.max_session_tokens) == (3, 2000)
    with pytest.raises(UsageError, match="--max-video-segments"):
        serving(FakeEngine(), retention={"max_video_segments": 0}).run()


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_certificate_that_cannot_be_read(tmp_path, content):
    path = tmp_path / "certificate.pem"
    if content:
        path.write_text(content)
    with pytest.raises(StreamError, match=r"certificate\.pem"):
        serving(FakeEngine(), certfile=path).run()
