"""Sessions opened and abandoned in every way there is: what stays behind in the server.

After 2,000 sessions its memory has settled; after 10,000 it may not be much more, and no session, connection,
frame or task may be left.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
from typing import TYPE_CHECKING

import httpx
from server_process import Server, photo, server
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FIRST, ALL, AT_ONCE = 2_000, 10_000, 16
OPTIONS = {"compression": None, "max_size": None, "ping_interval": None, "proxy": None}
CREATE = json.dumps({"op": "create", "system_prompt": "x"})
IMAGE = photo(4_000)


class Visitor:
    """Opens sessions and leaves them in one way after the other."""

    def __init__(self, port: int, http: httpx.AsyncClient) -> None:
        self._port = port
        self._http = http
        self.ways: list[Callable[[], Awaitable[None]]] = [
            self.deletes, self.closes, self.vanishes, self.vanishes_in_a_frame, self.says_nothing,
            self.makes_a_fatal_mistake, self.sends_ahead_and_vanishes, self.rest_deletes, self.rest_forgets,
            self.rest_drops_a_frame, self.rest_drops_a_body,
        ]  # fmt: skip

    async def deletes(self) -> None:
        async with self._connect() as client:
            await self._frame(client)
            await client.send('{"op":"delete"}')
            await client.recv()

    async def closes(self) -> None:
        async with self._connect() as client:
            await self._frame(client)

    async def vanishes(self) -> None:
        async with self._connect() as client:
            await self._frame(client)
            client.transport.abort()

    async def vanishes_in_a_frame(self) -> None:
        async with self._connect() as client:
            await client.send(CREATE)
            await client.recv()
            await client.send(IMAGE)
            await asyncio.sleep(0.002)
            client.transport.abort()

    async def says_nothing(self) -> None:
        async with self._connect() as client:
            client.transport.abort()

    async def makes_a_fatal_mistake(self) -> None:
        async with self._connect() as client:
            await client.send("{}")
            await client.recv()

    async def sends_ahead_and_vanishes(self) -> None:
        async with self._connect() as client:
            for message in (CREATE, IMAGE, IMAGE, "?", IMAGE):
                await client.send(message)
            client.transport.abort()

    async def rest_deletes(self) -> None:
        path = await self._create()
        await self._http.post(f"{path}/frame", content=IMAGE, headers={"Content-Type": "image/jpeg"})
        await self._http.delete(path)

    async def rest_forgets(self) -> None:
        await self._create()

    async def rest_drops_a_frame(self) -> None:
        await self._drop(await self._create(), IMAGE)

    async def rest_drops_a_body(self) -> None:
        await self._drop(await self._create(), IMAGE[:100])

    def _connect(self) -> connect:
        return connect(f"ws://127.0.0.1:{self._port}/v1/streaming/ws", **OPTIONS)

    async def _frame(self, client: object) -> None:
        for message in (CREATE, IMAGE):
            await client.send(message)  # type: ignore[attr-defined]
            await client.recv()  # type: ignore[attr-defined]

    async def _create(self) -> str:
        created = await self._http.post("/v1/streaming/sessions", json={"system_prompt": "x"})
        return f"/v1/streaming/sessions/{created.json()['session_id']}"

    async def _drop(self, path: str, body: bytes) -> None:
        head = f"POST {path}/frame HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n"
        _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"{head}Content-Length: {len(IMAGE)}\r\n\r\n".encode() + body)
        await writer.drain()
        await asyncio.sleep(0.002)
        writer.transport.abort()


async def visit(stream: Server, number: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{stream.port}", trust_env=False) as http:
        visitor = Visitor(stream.port, http)
        ways = itertools.islice(itertools.cycle(visitor.ways), number)

        async def keep_visiting() -> None:
            for way in ways:
                with contextlib.suppress(ConnectionClosed):
                    await way()

        await asyncio.gather(*(keep_visiting() for _ in range(AT_ONCE)))


def settled(stream: Server) -> dict[str, float]:
    """The state once nothing is going on any more, or that after a minute of waiting."""
    for _ in range(300):
        state = stream.state()
        if not state["sessions"] and not state["connections"] and not state["frames"]:
            break
        asyncio.run(asyncio.sleep(0.2))
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=FIRST)
    parser.add_argument("--all", type=int, default=ALL)
    asked = parser.parse_args()
    with server("stream", "--delay-s", "0.004", "--rest-idle-s", "0.5") as stream:
        states = {0: settled(stream)}
        for number, more in ((asked.first, asked.first), (asked.all, asked.all - asked.first)):
            asyncio.run(visit(stream, more))
            states[number] = settled(stream)
    print(f"{'after':>8}{'memory':>12}{'sessions':>10}{'connections':>13}{'frames':>8}{'tasks':>7}")
    for number, state in states.items():
        print(
            f"{number:>8,}{state['rss_mib']:>8.1f} MiB{state['sessions']:>10}{state['connections']:>13}"
            f"{state['frames']:>8}{state['tasks']:>7}"
        )
    grown = states[asked.all]["rss_mib"] / states[asked.first]["rss_mib"] - 1
    print(f"memory grew by {grown:.1%} from {asked.first:,} to {asked.all:,} sessions")


if __name__ == "__main__":
    main()
