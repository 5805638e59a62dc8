"""Servers as processes of their own, for the benchmarks: ours over a fake engine, and a bare peer."""

from __future__ import annotations

import argparse
import asyncio
import gc
import io
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

REPLY = '{"op":"frame","frame_index":0,"text":"A cup of coffee.","finish_reason":"stop","token_count":4}'


def resident_mib() -> float:
    """This process's resident memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def photo(size_bytes: int) -> bytes:
    """A JPEG of about that size, with the detail of a photograph."""
    import numpy as np
    from PIL import Image

    width = int((size_bytes * 4) ** 0.5 * 1.33)  # 2 bits a pixel
    noise = np.random.default_rng(1).normal(0, 12, (width * 3 // 4, width, 3))
    slope = np.linspace(0, 255, width)[None, :, None]
    image = Image.fromarray(np.clip(slope + noise, 0, 255).astype(np.uint8))
    best = b""
    for quality in range(30, 96, 5):
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        best = buffer.getvalue()
        if len(best) >= size_bytes:
            break
    return best


class Server:
    """One of them, from the outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.port = int(self._line()["port"])

    def state(self) -> dict[str, Any]:
        """Processor time so far; of ours also resident memory, tasks, sessions and frames in flight now."""
        assert self._process.stdin
        self._process.stdin.write("state\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout
        line: dict[str, Any] = json.loads(self._process.stdout.readline())
        return line


@contextmanager
def server(kind: str, *options: str) -> Iterator[Server]:
    """A `bare` or `stream` server."""
    command = [sys.executable, __file__, kind, *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Server(process)
    finally:
        process.kill()
        process.communicate()


async def bare() -> None:
    """A picture up, a short reply down, by `websockets` alone; at /decoded with decoding in between."""
    from websockets.asyncio.server import serve

    from protocol.picture import decode_picture

    async def answer(client: Any) -> None:
        decodes = client.request.path == "/decoded"
        async for image in client:
            if decodes:
                decode_picture(image)
            await client.send(REPLY)

    async with serve(answer, "127.0.0.1", 0, compression=None, max_size=None) as listening:
        print(json.dumps({"port": listening.sockets[0].getsockname()[1]}), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps({"cpu_s": time.process_time()}), flush=True)


async def stream(delay_s: float, max_sessions: int, rest_idle_s: float) -> None:
    """Our server over an engine that answers after `delay_s`."""
    from protocol.messages import SERVER_RETENTION, Closed, Created, FrameReply
    from protocol.server.app import create_app
    from protocol.server.engine_host import EngineHost
    from protocol.server.metrics import Metrics
    from protocol.server.readiness import Readiness
    from protocol.server.server import Server as HttpServer
    from protocol.server.server import listen
    from protocol.server.settings import ServerSettings
    from protocol.server.websocket import WebSocketEndpoint
    from protocol.session import Engine, ServedModel, Session

    class FakeSession(Session):
        def __init__(self, created: Created) -> None:
            self.created = created
            self._answered = 0

        async def caption(self, frame: Any) -> FrameReply:
            if delay_s:
                await asyncio.sleep(delay_s)
            self._answered += 1
            return FrameReply(frame_index=self._answered - 1, text="A cup of coffee.", token_count=4)

        async def close(self) -> Closed:
            return Closed(session_id=self.created.session_id, frames=self._answered)

    class FakeEngine(Engine):
        name = "fake"

        async def open(self, config: Any) -> FakeSession:
            created = Created(session_id="", model="fake", fps=config.fps, retention=SERVER_RETENTION)
            return FakeSession(created)

        async def close(self) -> None:
            pass

    metrics, readiness = Metrics(), Readiness(ServedModel("fake"))
    settings = ServerSettings(rest_idle_timeout_s=rest_idle_s)
    host = EngineHost(FakeEngine(), max_sessions=max_sessions, observer=metrics)
    metrics.watch_sessions(lambda: host.open_sessions)
    endpoint = WebSocketEndpoint(host, readiness, metrics, settings)
    sockets = listen("127.0.0.1", 0)
    serving = asyncio.create_task(
        HttpServer(create_app(host, readiness, settings, metrics, endpoint)).serve(sockets)
    )
    print(json.dumps({"port": sockets[0].getsockname()[1]}), flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        gc.collect()
        state = {
            "rss_mib": resident_mib(),
            "cpu_s": time.process_time(),
            "tasks": len(asyncio.all_tasks()),
            "sessions": host.open_sessions,
            "frames": host.frames_in_flight,
            "connections": len(endpoint.connections),
        }
        print(json.dumps(state), flush=True)
    serving.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["bare", "stream"])
    parser.add_argument("--delay-s", type=float, default=0.0)
    parser.add_argument("--max-sessions", type=int, default=1024)
    parser.add_argument("--rest-idle-s", type=float, default=120.0)
    asked = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from cli.memory import keep_freed_memory

    keep_freed_memory()
    if asked.kind == "bare":
        asyncio.run(bare())
    else:
        from protocol.server.server import new_event_loop

        asyncio.Runner(loop_factory=new_event_loop).run(
            stream(asked.delay_s, asked.max_sessions, asked.rest_idle_s)
        )


if __name__ == "__main__":
    main()
