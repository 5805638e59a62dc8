"""What the server itself adds to a frame, beyond decoding the picture and a bare exchange of the same size.

The peer is a `websockets` server that decodes each picture as ours does and answers with a short text. Both
run in processes of their own and are asked in turn, frame by frame, as is one that does not decode. Our
engine answers at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from contextlib import AsyncExitStack
from time import perf_counter

from server_process import photo, server
from websockets.asyncio.client import connect

FRAMES, WARM_UP = 1000, 50
OPTIONS = {"compression": None, "max_size": None, "ping_interval": None, "proxy": None}


async def measure(frames: int, image: bytes, bare_port: int, stream_port: int) -> None:
    addresses = {
        "bare exchange": f"ws://127.0.0.1:{bare_port}/",
        "bare exchange and decoding": f"ws://127.0.0.1:{bare_port}/decoded",
        "stream serve": f"ws://127.0.0.1:{stream_port}/v1/streaming/ws",
    }
    taken_ms: dict[str, list[float]] = {name: [] for name in addresses}
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(connect(address, **OPTIONS))
            for name, address in addresses.items()
        }
        await clients["stream serve"].send(json.dumps({"op": "create", "system_prompt": "x"}))
        assert json.loads(await clients["stream serve"].recv())["op"] == "created"
        for _ in range(frames + WARM_UP):
            for name, client in clients.items():
                began = perf_counter()
                await client.send(image)
                await client.recv()
                taken_ms[name].append((perf_counter() - began) * 1000)
    taken_ms = {name: values[WARM_UP:] for name, values in taken_ms.items()}
    _, peer, stream = taken_ms.values()
    taken_ms["the server's own"] = [ours - theirs for ours, theirs in zip(stream, peer, strict=True)]
    print(f"a picture of {len(image) / 1000:.0f} kB, {frames} frames")
    for name, values in taken_ms.items():
        quartiles = statistics.quantiles(values, n=4)
        print(f"{name:<28}{quartiles[1]:8.3f} ms   (quartiles {quartiles[0]:.3f}, {quartiles[2]:.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES)
    frames = parser.parse_args().frames
    with server("bare") as bare, server("stream") as stream:
        asyncio.run(measure(frames, photo(200_000), bare.port, stream.port))


if __name__ == "__main__":
    main()
