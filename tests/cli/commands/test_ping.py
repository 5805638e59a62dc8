"""`stream ping`: real servers, and none."""

import json
import sys

import pytest

from cli.main import run
from tests.cli.commands.served import LiteServer
from tests.cli.commands.stream import environment, stream

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _no_server_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NIM_URL", "STREAM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_pipe_gets_json(server: LiteServer) -> None:
    done = stream("ping", f"{server.url}/")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    info = json.loads(line)
    assert (info["url"], info["ok"], info["backend"], info["model"]) == (server.url, True, "nim", "lite-1")
    assert info["profile"]
    assert info["retention"]["max_video_segments"] == 8
    assert info["sampling"]["max_tokens"] == 24
    assert info["limits"] == {"max_frame_bytes": 8388608, "max_frame_pixels": 4194304}
    assert info["round_trip_ms"] > 0
    assert server.open_sessions() == 0


def test_the_url_comes_from_the_environment_too(server: LiteServer) -> None:
    done = stream("ping", "--json", "--backend", "dynamo", env=environment(NIM_URL=server.url))
    assert json.loads(done.stdout)["backend"] == "dynamo"  # ours answers a Dynamo client as well


def test_a_terminal_gets_a_table(
    server: LiteServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(["ping", server.url]) == 0
    first, *rows = capsys.readouterr().out.splitlines()
    assert first == server.url
    table = {row[:14].strip(): row[14:] for row in rows}
    assert list(table) == ["kind", "model", "profile", "retention", "sampling", "limits", "answers in"]
    assert table["model"] == "lite-1"
    assert table["retention"].startswith("max_video_segments 8, ")
    assert table["sampling"].startswith("max_tokens 24, temperature 0.3, ")
    assert table["limits"] == "8 MiB and 4,194,304 pixels a frame"
    assert table["answers in"].endswith(" ms")


def test_no_server_is_one_line_and_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ping", "http://me:s3cret@127.0.0.1:1", "--json"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith(f"error: {NOWHERE}: nothing listens there")
    assert shown.err.count("\n") == 1
    told = json.loads(shown.out)
    assert (told["url"], told["ok"]) == (NOWHERE, False)
    assert told["error"].startswith(f"{NOWHERE}: nothing listens there")
    assert "s3cret" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no server to ask; stream ping URL, or set NIM_URL"),
        (["host:8000"], "URL host:8000: a URL begins with http:// or https://; write http://host:8000"),
        (["http://host", "--backend", "triton"], "--backend triton: choose from nim, dynamo"),
        (["https://host", "--insecure", "--ca-cert", "x"], "exclude each other"),
        (["https://host", "--ca-cert", "no-such-file"], "--ca-cert no-such-file: No such file"),
    ],
)
def test_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ping", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
