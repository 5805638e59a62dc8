"""`stream caption --nim-url`: real processes at both ends, and small servers that fail as ours does not."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from cli.main import run
from cli.output.record import json_schema
from tests.cli.commands.served import LiteServer, certificate, lite_server
from tests.cli.commands.stream import COMMAND, SAMPLE, environment, start, stream
from tests.protocol.client.servers import RETENTION, create, reply, say, websocket_server

SHORT = ("--fps", "1", "--max-frames", "3")
NOWHERE = "http://127.0.0.1:1"


def records(jsonl: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in jsonl.splitlines()]
    for line in lines:
        jsonschema.validate(line, json_schema(), format_checker=jsonschema.FormatChecker())
    return lines


def test_captions_are_the_same_here_over_websocket_and_over_rest(server: LiteServer) -> None:
    sampling = ("--fps", "0.5", "--max-frames", "4")  # a pan and a cut are among them
    here = records(stream("caption", SAMPLE, *sampling).stdout)
    for ways in ((), ("--frame-format", "base64"), ("--transport", "rest"), ("--backend", "dynamo")):
        options = ("--nim-url", f"{server.url}/", "--frame-encoding", "png", *ways)
        done = stream("caption", SAMPLE, *sampling, *options)
        assert (done.returncode, done.stderr) == (0, "")
        there = records(done.stdout)
        for line, local in zip(there, here, strict=True):
            for key in ("text", "pts_s", "frame_index", "token_count", "model", "width", "height"):
                assert line[key] == local[key]
            assert line["engine"] == ("dynamo" if "dynamo" in ways else "nim")
            assert line["history_lost"] is False
            assert line["round_trip_s"] >= line["latency_s"]
    assert server.open_sessions() == 0


def test_the_environment_names_the_server_and_an_engine_wins_over_it(server: LiteServer) -> None:
    done = stream("caption", SAMPLE, "--max-frames", "1", env=environment(NIM_URL=server.url))
    assert {line["engine"] for line in records(done.stdout)} == {"nim"}
    done = stream(
        "caption", SAMPLE, "--max-frames", "1", "--engine", "lite", env=environment(NIM_URL=NOWHERE)
    )
    assert {line["engine"] for line in records(done.stdout)} == {"lite"}


@pytest.mark.parametrize("transport", ["websocket", "rest"])
def test_ctrl_c_leaves_no_session(transport: str, server: LiteServer) -> None:
    process = start("caption", SAMPLE, "--every-frame", "--nim-url", server.url, "--transport", transport)
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(2)]
    assert server.open_sessions() == 1
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "")
    assert len(records("".join(lines) + rest)) >= 2
    assert server.open_sessions() == 0


@pytest.mark.parametrize("transport", ["websocket", "rest"])
def test_a_server_that_dies_ends_the_run_with_what_was_said_safe(transport: str, tmp_path: Path) -> None:
    with lite_server() as doomed:
        path = tmp_path / "out.srt"
        options = ("--nim-url", doomed.url, "--transport", transport, "-o", str(path), "-o", "-")
        process = start("caption", SAMPLE, "--every-frame", *options, "--format", "jsonl")
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(3)]
        doomed.process.kill()
        rest, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.startswith(f"error: {doomed.url}: ")
    assert errors.count("\n") == 1
    assert [line["frame_index"] for line in records("".join(lines) + rest)][:3] == [0, 1, 2]
    assert path.read_text(encoding="utf-8").startswith("1\n00:00:00,000 --> ")


def test_reconnecting_through_a_restart() -> None:
    with lite_server() as first:
        options = ("--nim-url", first.url, "--reconnect")
        process = start("caption", SAMPLE, "--fps", "5", "--max-frames", "12", *options)
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(3)]
        first.process.kill()
        first.process.wait()
        with lite_server(port=first.port):
            rest, errors = process.communicate(timeout=90)
    assert process.returncode == 3
    said = records("".join(lines) + rest)
    lost = [place for place, line in enumerate(said) if line["type"] == "error"]
    assert len(lost) == 1
    before, failed, after = said[: lost[0]], said[lost[0]], said[lost[0] + 1 :]
    assert (failed["session_lost"], failed["session_id"]) == (True, before[0]["session_id"])
    assert [line["pts_s"] for line in said] == [k / 5 for k in range(12)]  # none twice, none missing
    assert [line["frame_index"] for line in before + after] == list(range(11))
    assert len({line["session_id"] for line in before}) == len({line["session_id"] for line in after}) == 1
    assert before[0]["session_id"] != after[0]["session_id"]
    assert [line["history_lost"] for line in after] == [True] + [False] * (len(after) - 1)
    assert "going on in a new session" in errors


def test_tls_and_a_key(tmp_path: Path) -> None:
    authority, own = certificate(tmp_path)
    with lite_server("--ssl-certfile", str(own), "--api-key", "s3cret") as secure:
        assert secure.url.startswith("https://")

        def caption(*options: str, **variables: str) -> tuple[int, int, str]:
            arguments = ("--max-frames", "1", "--nim-url", secure.url, *options)
            done = stream("caption", SAMPLE, *arguments, env=environment(**variables))
            return done.returncode, len(records(done.stdout)), done.stderr

        code, lines, errors = caption()
        assert (code, lines) == (1, 0)
        assert "its certificate is not trusted" in errors
        code, lines, errors = caption("--insecure")
        assert (code, lines) == (1, 0)
        assert errors.startswith(f"error: {secure.url}: refuses access (401: ")
        assert errors.endswith("; give a key with --api-key or STREAM_API_KEY\n")
        assert caption("--insecure", "--api-key", "s3cret") == (0, 1, "")
        trusting = ("--ca-cert", str(authority), "--debug", "--transport")
        for transport in ("websocket", "rest"):
            code, lines, errors = caption(*trusting, transport, STREAM_API_KEY="s3cret")
            assert (code, lines) == (0, 1)
            assert "s3cret" not in errors


def test_another_model_is_refused_before_the_video_is_touched(server: LiteServer) -> None:
    done = stream("caption", "no-such-video.mp4", "--nim-url", server.url, "--model", "cosmos")
    assert done.returncode == 1
    assert done.stderr == f"error: --model cosmos: {server.url} serves lite-1; leave --model out\n"


def test_what_the_server_does_not_admit_is_one_line(server: LiteServer) -> None:
    options = ("--guided-choice", "yes", "--guided-choice", "no")
    done = stream("caption", SAMPLE, "--nim-url", server.url, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {server.url}: ")
    assert done.stderr.count("\n") == 1
    assert server.open_sessions() == 0


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NIM_URL", "STREAM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nim-url", NOWHERE, "--transport", "rest", "--frame-format", "binary"], "--frame-format binary"),
        (["--nim-url", NOWHERE, "--backend", "dynamo", "--transport", "websocket"], "has no WebSocket"),
        (["--nim-url", NOWHERE, "--engine", "lite"], "--nim-url and --engine lite exclude each other"),
        (["--nim-url", NOWHERE, "--dtype", "float16"], "--dtype is for vLLM in this process"),
        (["--nim-url", "localhost:8000"], "write http://localhost:8000"),
        (["--nim-url", ""], "a URL begins with http"),
        (
            ["--nim-url", NOWHERE, "--loop"],
            "--loop has no end of its own; add --max-frames, --duration or --end",
        ),
        (["--transport", "rest"], "--transport is for a server elsewhere; name it with --nim-url or NIM_URL"),
        (["--reconnect", "--engine", "lite"], "--reconnect and --engine lite exclude each other"),
        (["--nim-url", NOWHERE, "--frame-timeout", "0"], "--frame-timeout"),
    ],
)
def test_usage_errors_come_before_anything_is_contacted(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["caption", SAMPLE, *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert message in shown.err


@pytest.mark.usefixtures("clean_environment")
def test_a_server_is_checked_before_the_video_is_touched(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["caption", "no-such-video.mp4", "--nim-url", "http://me:s3cret@127.0.0.1:1"]) == 1
    assert capsys.readouterr().err == (
        f"error: {NOWHERE}: nothing listens there (connection refused); "
        "start the server, or check host and port\n"
    )


ANSWERS = {
    "/v1/health/ready": {"status": "ready"},
    "/v1/metadata": {"model_type": "reasoner", "selectedModelProfileId": "p"},
    "/v1/streaming/config": {"model": "m", "retention": RETENTION, "sampling": {}},
}


def answer_checks(socket: ServerConnection, request: Request) -> Response | None:
    found = ANSWERS.get(request.path)
    if found is None:
        return None
    body = json.dumps(found).encode()
    headers = Headers(
        {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    )
    return Response(HTTPStatus.OK, "OK", headers, body)


@asynccontextmanager
async def captioned(
    *arguments: str, script: list[dict[str, Any]]
) -> AsyncIterator[tuple[int, str, str, Any]]:
    """Runs `stream caption` against a server that answers its frames by `script`; what came of it."""
    asked: dict[str, Any] = {}

    async def handler(socket: ServerConnection) -> None:
        asked.update(await create(socket))
        for message in script:
            await socket.recv()
            await say(socket, **message)
            if message.get("fatal"):
                await socket.close(1011)
                return
        assert json.loads(await socket.recv()) == {"op": "delete"}
        await say(socket, op="closed", session_id="sess-1", frames=1, closed=True)

    async with websocket_server(handler, process_request=answer_checks) as url:
        process = await asyncio.create_subprocess_exec(
            *COMMAND, "caption", SAMPLE, "--nim-url", url, *arguments,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment(),
        )  # fmt: skip
        out, errors = await process.communicate()
        assert process.returncode is not None
        yield process.returncode, out.decode(), errors.decode(), asked


async def test_an_error_that_is_not_fatal_is_recorded_and_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "out.srt"
    script = [
        {"op": "frame", **reply(0, "One.")},
        {"op": "error", "message": "not\nthis one", "code": 413, "fatal": False},
        {"op": "frame", **reply(1, "Three.")},
    ]
    outputs = ("-o", str(path), "-o", "-", "--format", "jsonl")
    async with captioned(*SHORT, *outputs, script=script) as (code, out, errors, asked):
        assert code == 3
        one, failed, three = records(out)
        assert (one["text"], three["text"], three["frame_index"]) == ("One.", "Three.", 1)
        assert (failed["type"], failed["pts_s"], failed["code"]) == ("error", 1.0, 413)
        assert (failed["message"], failed["session_lost"]) == ("not this one", False)
        assert errors == f"warning: {SAMPLE}: frame at 00:01.000 not answered (413): not this one; going on\n"
        assert path.read_text(encoding="utf-8").count("-->") == 2
        assert (asked["model"], asked["fps"], asked["sampling"]["max_tokens"]) == ("m", 1.0, 48)
        assert "retention" not in asked


async def test_a_fatal_error_ends_the_run() -> None:
    script = [
        {"op": "frame", **reply(0, "One.")},
        {"op": "error", "message": "the engine is gone", "code": 500, "fatal": True},
    ]
    async with captioned(*SHORT, script=script) as (code, out, errors, _):
        assert code == 1
        assert [line["text"] for line in records(out)] == ["One."]
        assert "the server ended the session (500): the engine is gone" in errors
        assert errors.count("\n") == 1


async def test_no_answer_at_all_is_a_failure() -> None:
    refusal = {"op": "error", "message": "no", "code": 413, "fatal": False}
    async with captioned(*SHORT, script=[refusal] * 3) as (code, out, errors, _):
        assert code == 1
        assert [line["type"] for line in records(out)] == ["error"] * 3
        assert errors.splitlines()[-1] == f"error: {SAMPLE}: no frame was answered"


async def test_a_retention_option_sends_a_retention_that_names_its_frames() -> None:
    script = [{"op": "frame", **reply(index)} for index in range(3)]
    options = ("--fps", "2", "--max-frames", "3", "--max-session-tokens", "4096", "--question", "Who?")
    async with captioned(*options, script=script) as (code, _, _, asked):
        assert code == 0
        assert asked["retention"]["max_video_segments"] == 8
        assert asked["retention"]["max_session_tokens"] == 4096
        assert (asked["fps"], asked["question"]) == (2.0, "Who?")
