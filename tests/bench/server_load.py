"""Many sessions at once: each sends its next frame when it has its reply, and none may starve.

The engine answers every frame after 50 ms, as many at a time as there are.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from time import perf_counter

from server_process import photo, server
from websockets.asyncio.client import connect

SESSIONS, FRAMES = 256, 12
OPTIONS = {"compression": None, "max_size": None, "open_timeout": 60, "proxy": None}


async def one_session(port: int, image: bytes, frames: int, start: asyncio.Barrier) -> list[float]:
    async with connect(f"ws://127.0.0.1:{port}/v1/streaming/ws", **OPTIONS) as client:
        await client.send(json.dumps({"op": "create", "system_prompt": "x"}))
        assert json.loads(await client.recv())["op"] == "created"
        await start.wait()
        taken_s = []
        for number in range(frames):
            began = perf_counter()
            await client.send(image)
            assert json.loads(await client.recv())["frame_index"] == number
            taken_s.append(perf_counter() - began)
        return taken_s


async def measure(sessions: int, frames: int, image: bytes, port: int) -> None:
    start = asyncio.Barrier(sessions)
    began = perf_counter()
    each = await asyncio.gather(*(one_session(port, image, frames, start) for _ in range(sessions)))
    wall_s = perf_counter() - began
    taken_s = sorted(seconds for session in each for seconds in session)
    p50, p99 = statistics.median(taken_s), taken_s[int(len(taken_s) * 0.99)]
    print(f"{sessions} sessions of {frames} frames of {len(image) / 1000:.0f} kB, in {wall_s:.1f} s")
    print(f"served {len(taken_s)} of {sessions * frames}, {len(taken_s) / wall_s:.0f} frames a second")
    print(f"p50 {p50:.3f} s, p99 {p99:.3f} s, worst {taken_s[-1]:.3f} s; p99 is {p99 / p50:.2f} x p50")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--frames", type=int, default=FRAMES)
    asked = parser.parse_args()
    with server("stream", "--delay-s", "0.05") as stream:
        asyncio.run(measure(asked.sessions, asked.frames, photo(100_000), stream.port))
        state = stream.state()
    print(f"afterwards: {state['sessions']} sessions, {state['connections']} connections open")


if __name__ == "__main__":
    main()
