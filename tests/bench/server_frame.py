"""What the server itself adds to a frame, beyond decoding the picture and a bare exchange of the same size.

The peer is a `websockets` server that decodes each picture as ours does and gives a short answer; another
does not decode. They run in processes of their own and are asked in turn, frame by frame. Our engine answers
at once. Processor time is told beside the time on the clock, which other work on the machine lengthens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from contextlib import AsyncExitStack
from time import perf_counter

from server_process import Server, photo, server
from websockets.asyncio.client import connect

FRAMES, WARM_UP = 1000, 50
OPTIONS = {"compression": None, "max_size": None, "ping_interval": None, "proxy": None}
PATHS = {
    "bare exchange": "/",
    "bare exchange and decoding": "/decoded",
    "stream serve": "/v1/streaming/ws",
}


async def measure(frames: int, image: bytes, servers: dict[str, Server]) -> None:
    taken_ms: dict[str, list[float]] = {name: [] for name in servers}
    decode_ms = []
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(
                connect(f"ws://127.0.0.1:{each.port}{PATHS[name]}", **OPTIONS)
            )
            for name, each in servers.items()
        }
        await clients["stream serve"].send(json.dumps({"op": "create", "system_prompt": "x"}))
        assert json.loads(await clients["stream serve"].recv())["op"] == "created"
        for number in range(frames + WARM_UP):
            if number == WARM_UP:
                before_s = {name: each.state()["cpu_s"] for name, each in servers.items()}
            for name, client in clients.items():
                began = perf_counter()
                await client.send(image)
                answer = await client.recv()
                taken_ms[name].append((perf_counter() - began) * 1000)
            decode_ms.append(json.loads(answer)["decode_ms"])
    cpu_ms = {
        name: (each.state()["cpu_s"] - before_s[name]) / frames * 1000 for name, each in servers.items()
    }
    bare, peer, stream = taken_ms.values()
    taken_ms["  of which decoding"] = decode_ms
    taken_ms["  beyond it and a bare one"] = [
        ours - decoding - theirs for ours, decoding, theirs in zip(stream, decode_ms, bare, strict=True)
    ]
    taken_ms["  beyond the peer that decodes"] = [
        ours - theirs for ours, theirs in zip(stream, peer, strict=True)
    ]
    print(f"a picture of {len(image) / 1000:.0f} kB, {frames} frames")
    print(f"{'':<32}{'median':>10}{'quartiles':>20}{'processor':>14}")
    for name, values in taken_ms.items():
        low, median, high = statistics.quantiles(values[WARM_UP:], n=4)
        processor = f"{cpu_ms[name]:>11.3f} ms" if name in cpu_ms else ""
        print(f"{name:<32}{median:>7.3f} ms{low:>10.3f}, {high:.3f} ms{processor}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES)
    frames = parser.parse_args().frames
    with server("bare") as bare, server("bare") as peer, server("stream") as stream:
        servers = dict(zip(PATHS, (bare, peer, stream), strict=True))
        asyncio.run(measure(frames, photo(200_000), servers))


if __name__ == "__main__":
    main()
