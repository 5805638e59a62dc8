"""What a server's prefix cache is worth: the share of a prompt that began the prompt before it too.

Sliding frame for frame, which is the default, against `--prefix-friendly`, in windows of 8 to 32 frames, over
a real HTTP server that counts 300 tokens a picture and four characters a token. "Computed" is what follows
the part that the last prompt began with.

With the base URL of a server that tells how many tokens it had cached, as vLLM and `stream serve` do, those
are counted instead.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import numpy as np

from engine.openai.engine import OpenAIEngine
from engine.openai.options import OpenAIOptions
from protocol.chat_server import Chunk, Usage
from protocol.client.address import ServerAddress
from protocol.client.chat_client import ChatClient
from protocol.client.connection import Connection
from protocol.client.settings import ClientSettings
from protocol.frame import Frame
from protocol.messages import Retention, SessionConfig
from tests.chat_server import chat_server, say

FRAMES = 240
PICTURE_TOKENS = 300
TURN_TOKENS = 4
REPLY = "A person in a red coat walks past the open door of a shop."


def tokens(message: dict[str, Any]) -> int:
    """What a message takes of the prompt, by the server's count."""
    content = message["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return TURN_TOKENS + sum(
        PICTURE_TOKENS if part["type"] == "image_url" else -(-len(part["text"]) // 4) for part in parts
    )


class Counting(ChatClient):
    """Writes down what the server counts."""

    def __init__(self, url: str) -> None:
        super().__init__(Connection(ClientSettings.choose(ServerAddress.parse(url))))
        self.usages: list[Usage] = []

    async def reply(self, body: bytes) -> AsyncGenerator[Chunk, None]:
        async with aclosing(super().reply(body)) as chunks:
            async for chunk in chunks:
                if chunk.usage is not None:
                    self.usages.append(chunk.usage)
                yield chunk


async def run(url: str, window: int, frames: int, *, prefix_friendly: bool, tokens: int) -> list[Usage]:
    """One session; what the server counted for each of its frames."""
    client = Counting(url)
    engine = OpenAIEngine(client, options=OpenAIOptions(prefix_friendly=prefix_friendly))
    retention = Retention(max_video_segments=window, max_session_tokens=tokens)
    config = SessionConfig(
        system_prompt=f"Say what happens in each frame ({uuid4()}).",  # nothing cached of another session
        retention=retention,
    )
    async with await engine.open(config) as session:
        for number in range(frames):
            pixels = np.full((36, 64, 3), number, np.uint8)
            pixels[: number // 4 + 1, 0] = 255 - number
            await session.caption(Frame(pixels=pixels))
    await engine.close()
    return client.usages


async def prompts(window: int, *, prefix_friendly: bool) -> list[list[dict[str, Any]]]:
    """The messages of every request of one session."""
    with chat_server([say(REPLY)]) as server:
        await run(server.url, window, FRAMES, prefix_friendly=prefix_friendly, tokens=32_000)
    return [json.loads(chat.body)["messages"] for chat in server.chats]


def measure_cached(url: str) -> None:
    """What a real server had cached."""
    print("window  way              cached  computed a frame")
    for window in (8, 16):
        for friendly in (False, True):
            usages = asyncio.run(run(url, window, 4 * window, prefix_friendly=friendly, tokens=7000))[window:]
            cached = sum(usage.cached_tokens or 0 for usage in usages)
            total = sum(usage.prompt_tokens or 0 for usage in usages)
            way = "prefix-friendly" if friendly else "frame for frame"
            print(f"{window:>6}  {way:<15}  {cached / total:>6.1%}  {(total - cached) / len(usages):>16,.0f}")


def measure(asked: list[list[dict[str, Any]]]) -> tuple[float, float, float]:
    """Share that was there before, tokens computed a frame, and frames in a prompt, once windows are full."""
    shared = total = pictures = 0
    steady = range(FRAMES // 4, FRAMES)
    for number in steady:
        before, now = asked[number - 1], asked[number]
        same = next(
            (at for at, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]),
            min(len(before), len(now)),
        )
        shared += sum(tokens(message) for message in now[:same])
        total += sum(tokens(message) for message in now)
        pictures += sum(message["role"] == "user" for message in now)
    return shared / total, (total - shared) / len(steady), pictures / len(steady)


def main() -> None:
    if len(sys.argv) > 1:
        measure_cached(sys.argv[1])
        return
    print("window  way              already there  computed a frame  frames shown")
    for window in (8, 16, 32):
        for friendly in (False, True):
            share, computed, shown = measure(asyncio.run(prompts(window, prefix_friendly=friendly)))
            way = "prefix-friendly" if friendly else "frame for frame"
            print(f"{window:>6}  {way:<15}  {share:>13.1%}  {computed:>16,.0f}  {shown:>12.1f}")


if __name__ == "__main__":
    main()
