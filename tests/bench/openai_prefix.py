"""What a server's prefix cache is worth: the share of a prompt that began the prompt before it too.

Sliding frame for frame, which is the default, against `--prefix-friendly`, in windows of 8 to 32 frames, over
a real HTTP server that counts 300 tokens a picture and four characters a token. "Computed" is what follows
the part that the last prompt began with.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np

from engine.openai.engine import OpenAIEngine
from engine.openai.options import OpenAIOptions
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


async def prompts(window: int, *, prefix_friendly: bool) -> list[list[dict[str, Any]]]:
    """The messages of every request of one session."""
    with chat_server([say(REPLY)]) as server:
        connection = Connection(ClientSettings.choose(ServerAddress.parse(server.url)))
        engine = OpenAIEngine(ChatClient(connection), options=OpenAIOptions(prefix_friendly=prefix_friendly))
        retention = Retention(max_video_segments=window, max_session_tokens=32_000)
        config = SessionConfig(system_prompt="Say what happens in each frame.", retention=retention)
        async with await engine.open(config) as session:
            for number in range(FRAMES):
                pixels = np.full((36, 64, 3), number, np.uint8)
                pixels[: number // 4 + 1, 0] = 255 - number
                await session.caption(Frame(pixels=pixels))
        await engine.close()
    return [json.loads(chat.body)["messages"] for chat in server.chats]


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
    print("window  way              already there  computed a frame  frames shown")
    for window in (8, 16, 32):
        for friendly in (False, True):
            share, computed, shown = measure(asyncio.run(prompts(window, prefix_friendly=friendly)))
            way = "prefix-friendly" if friendly else "frame for frame"
            print(f"{window:>6}  {way:<15}  {share:>13.1%}  {computed:>16,.0f}  {shown:>12.1f}")


if __name__ == "__main__":
    main()
