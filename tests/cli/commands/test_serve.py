"""The real `stream serve`, driven as the users of its API drive it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
import pytest
from PIL import Image
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from cli.main import run
from tests.cli.commands.stream import environment, start, stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROMPT = {"system_prompt": "Describe the frame."}


def photo(kind: str = "JPEG", size: tuple[int, int] = (640, 480)) -> bytes:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(buffer, kind)
    return buffer.getvalue()


@dataclass
class Served:
    """A running process, and what it wrote on stderr so far."""

    process: subprocess.Popen[str]
    url: str
    lines: list[str] = field(default_factory=list)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout=60)

    @property
    def stderr(self) -> str:
        return "".join(self.lines)


@contextlib.contextmanager
def serving(*options: str, **variables: str) -> Iterator[Served]:
    """`stream serve` on a free port, once its engine is loaded."""
    process = start("serve", "--port", "0", *options, env=environment(**variables))
    assert process.stderr
    served = Served(process, "")
    ready = threading.Event()

    def read() -> None:
        for line in process.stderr:
            served.lines.append(line)
            if found := re.match(r"ready at (\S+) with lite-1$", line):
                served.url = found[1]
                ready.set()
        ready.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert ready.wait(60)
        assert served.url, served.stderr
        yield served
    finally:
        process.kill()
        process.wait()
        reader.join()
        assert process.stdout
        process.stdout.close()
        process.stderr.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as served:
        yield served


def test_a_session_over_rest(server):
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as client:
        assert client.get("/v1/health/ready").status_code == 200
        assert client.get("/v1/streaming/config").json()["model"] == "lite-1"
        assert client.get("/v1/license").json()["content"].strip().startswith("Apache License")
        session = client.post("/v1/streaming/sessions", json=PROMPT).json()["session_id"]
        path = f"/v1/streaming/sessions/{session}"
        reply = client.post(f"{path}/frame", content=photo(), headers={"Content-Type": "image/jpeg"}).json()
        assert reply["text"].endswith(".")
        assert reply["latency_s"] > 0
        assert client.delete(path).json()["frames"] == 1


async def test_a_session_over_websocket_gives_the_same_captions_as_over_rest(server):
    image = photo("PNG")
    async with connect(server.url.replace("http", "ws") + "/v1/streaming/ws", proxy=None) as socket:
        await socket.send(json.dumps({"op": "create", **PROMPT}))
        assert json.loads(await socket.recv())["op"] == "created"
        await socket.send(image)
        reply = json.loads(await socket.recv())
        await socket.send('{"op": "delete"}')
        assert json.loads(await socket.recv())["frames"] == 1
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30) as client:
        session = (await client.post("/v1/streaming/sessions", json=PROMPT)).json()["session_id"]
        path = f"/v1/streaming/sessions/{session}/frame"
        same = (await client.post(path, content=image, headers={"Content-Type": "image/png"})).json()
    assert same["text"] == reply["text"]


# The way the API's own documents use it: JSON with base64, and a raw picture.
JSON_FRAMES = r"""
(
set -euo pipefail
created=$(curl -fsS "$NIM_URL/v1/streaming/sessions" \
-H 'Content-Type: application/json' \
-d '{"system_prompt":"Describe each frame.","question":"What is it?","fps":1,"sampling":{"max_tokens":48}}')
session_id=$(printf '%s' "$created" | python3 -c \
'import json,sys; print(json.load(sys.stdin)["session_id"])')
trap 'curl -fsS -X DELETE "$NIM_URL/v1/streaming/sessions/$session_id" || true' EXIT
printf '%s\n' "$created"
for frame in frame1.jpg frame2.jpg; do
python3 -c 'import base64,json,sys; from pathlib import Path; print(json.dumps({"image_b64":base64.b64encode(
Path(sys.argv[1]).read_bytes()).decode("ascii")}))' "$frame" \
| curl -fsS "$NIM_URL/v1/streaming/sessions/$session_id/frame" \
-H 'Content-Type: application/json' --data-binary @- \
| python3 -m json.tool --compact
done
)
"""
RAW_FRAME = r"""
(
  set -euo pipefail
  created=$(curl -fsS "$NIM_URL/v1/streaming/sessions" \
    -H 'Content-Type: application/json' \
    -d '{"system_prompt":"Describe each frame.","question":"What?","fps":1,"sampling":{"max_tokens":48}}')
  session_id=$(printf '%s' "$created" | python3 -c \
    'import json,sys; print(json.load(sys.stdin)["session_id"])')
  trap 'curl -fsS -X DELETE "$NIM_URL/v1/streaming/sessions/$session_id"' EXIT
  printf '%s\n' "$created"
  curl -fsS "$NIM_URL/v1/streaming/sessions/$session_id/frame" \
    -H 'Content-Type: image/jpeg' --data-binary '@frame1.jpg'
)
"""


@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="needs bash and curl")
@pytest.mark.parametrize(("script", "frames"), [(JSON_FRAMES, 2), (RAW_FRAME, 1)], ids=["json", "raw"])
def test_the_shell_examples_of_the_api(server, tmp_path, script, frames):
    # The largest picture there may be, among them: curl then asks before it sends the body.
    (tmp_path / "frame1.jpg").write_bytes(photo() + bytes(8 * 1024 * 1024 - len(photo())))
    (tmp_path / "frame2.jpg").write_bytes(photo())
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "NIM_URL": server.url, "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    objects = list(json_objects(done.stdout))
    assert objects[0]["model"] == "lite-1"
    assert [each["frame_index"] for each in objects[1:-1]] == list(range(frames))
    assert objects[-1] == {"session_id": objects[0]["session_id"], "frames": frames, "closed": True}


def json_objects(text):
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_frame_in_flight_is_answered_before_it_stops(how):
    with serving() as served:
        async with (
            httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=30) as client,
            connect(served.url.replace("http", "ws") + "/v1/streaming/ws", proxy=None) as idle,
        ):
            await idle.send(json.dumps(PROMPT))
            await idle.recv()
            session = (await client.post("/v1/streaming/sessions", json=PROMPT)).json()["session_id"]
            frame = asyncio.create_task(
                client.post(
                    f"/v1/streaming/sessions/{session}/frame",
                    content=photo(size=(2048, 2048)),
                    headers={"Content-Type": "image/jpeg"},
                )
            )
            while await received_bytes(client) < 10_000:
                await asyncio.sleep(0)
            served.process.send_signal(how)
            answer = await frame
            assert (answer.status_code, answer.json()["frame_index"]) == (200, 0)
            with pytest.raises(ConnectionClosed):
                await idle.recv()
            assert idle.close_code == 1001
        assert await asyncio.to_thread(served.process.wait, 30) == 0
        assert served.process.stdout.read() == ""
    assert "Traceback" not in served.stderr


async def received_bytes(client: httpx.AsyncClient) -> float:
    text = (await client.get("/v1/metrics")).text
    found = re.search(r'^stream_received_bytes_total\{transport="rest"\} (\S+)', text, re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("options", [[], ["--debug"]])
async def test_each_request_is_a_line_on_stderr_without_the_key(options):
    bearer = {"Authorization": "Bearer s3cret-k3y"}
    with serving(*options, STREAM_API_KEY="s3cret-k3y") as served:
        async with httpx.AsyncClient(base_url=served.url, trust_env=False) as client:
            assert (await client.get("/v1/models")).status_code == 401
            assert (await client.get("/v1/models?key=s3cret-k3y", headers=bearer)).status_code == 200
        address = served.url.replace("http", "ws") + "/v1/streaming/ws?key=s3cret-k3y"
        async with connect(address, proxy=None, additional_headers=bearer) as socket:
            await socket.send("{}")
            assert json.loads(await socket.recv())["code"] == 400
        assert await asyncio.to_thread(served.stop) == 0
    assert re.search(r'^\S+ 127\.0\.0\.1:\d+ "GET /v1/models" 401 ', served.stderr, re.MULTILINE)
    assert re.search(r'"WEBSOCKET /v1/streaming/ws" closed ', served.stderr)
    assert "s3cret" not in served.stderr


def test_quiet_leaves_the_lines_out_and_variables_stand_for_options():
    with serving("--quiet", "--max-sessions", "2", NIM_STREAMING_MAX_SESSIONS="1", NIM_HTTP_API_PORT="1",
                 NIM_STREAMING_MAX_VIDEO_SEGMENTS="5") as served:  # fmt: skip
        with httpx.Client(base_url=served.url, trust_env=False) as client:
            config = client.get("/v1/streaming/config").json()
            assert config["retention"]["max_video_segments"] == 5
            codes = [client.post("/v1/streaming/sessions", json=PROMPT).status_code for _ in range(3)]
            assert codes == [201, 201, 503]
        assert served.stop() == 0
    assert "GET" not in served.stderr


def test_streaming_can_be_switched_off():
    with serving(NIM_ENABLE_STREAMING="false") as served:
        assert httpx.get(f"{served.url}/v1/streaming/config", trust_env=False).status_code == 404
        assert httpx.get(f"{served.url}/v1/health/ready", trust_env=False).status_code == 200


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_a_certificate_makes_it_https(tmp_path):
    key, certificate = self_signed(tmp_path)
    with serving("--ssl-certfile", str(certificate), "--ssl-keyfile", str(key)) as served:
        assert served.url.startswith("https://")
        assert httpx.get(f"{served.url}/v1/models", verify=False, trust_env=False).status_code == 200


def self_signed(folder: Path) -> tuple[Path, Path]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return key, certificate


def test_a_port_in_use_is_one_line(server):
    port = server.url.rpartition(":")[2]
    done = stream("serve", "--port", port)
    assert done.returncode == 1
    assert re.fullmatch(rf"error: cannot listen at 127\.0\.0\.1 port {port}: .*in use; .*\n", done.stderr)


@pytest.mark.parametrize(
    ("options", "variables", "said"),
    [
        (["--ssl-keyfile", "key.pem"], {}, "--ssl-certfile"),
        (["--allow-origin", "example.com"], {}, "SCHEME://HOST"),
        (["--max-text-tokens", "8000"], {}, "max_session_tokens"),
        (["--model", "gpt", "--engine", "lite"], {}, "lite-1"),
        ([], {"STREAM_API_KEY": "s3 cret"}, "API key"),
        ([], {"NIM_HTTP_API_PORT": "http"}, "NIM_HTTP_API_PORT"),
        ([], {"NIM_ENABLE_STREAMING": "perhaps"}, "NIM_ENABLE_STREAMING"),
        ([], {"NIM_STREAMING_MAX_SESSIONS": "0"}, "NIM_STREAMING_MAX_SESSIONS"),
        ([], {"NIM_STREAMING_MAX_VIDEO_SEGMENTS": "all"}, "NIM_STREAMING_MAX_VIDEO_SEGMENTS"),
        ([], {"NIM_STREAMING_IDLE_TIMEOUT_S": "-1"}, "NIM_STREAMING_IDLE_TIMEOUT_S"),
        ([], {"NIM_STREAMING_REST_IDLE_TIMEOUT_S": "nan"}, "NIM_STREAMING_REST_IDLE_TIMEOUT_S"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(options, variables, said, monkeypatch, capsys):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert run(["serve", *options]) == 2
    line = capsys.readouterr().err
    assert said in line
    assert line.count("\n") == 1
    assert "s3 cret" not in line
