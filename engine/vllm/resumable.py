"""A vLLM request that stays open from one frame to the next."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class ResumableRequest:
    """A prompt that only grows, extended where it stands: vLLM computes what is new and nothing else.

    vLLM's prefix cache alone finds whole blocks only, so that up to a block is computed again for each frame.
    The price is that the request keeps its keys and values, and one of the engine's places for running
    requests, while it waits. When turns leave, the prompt is another one and takes another request.

    Attributes:
        request_id: its name in vLLM.
        over: nothing more can be sent.
        stopped: the last reply came to its own end.
    """

    def __init__(self, llm: Any, parameters: Any) -> None:
        """Sends nothing yet. `parameters`: vLLM's `SamplingParams`, with deltas as the kind of output."""
        self.request_id = uuid4().hex
        self.over = False
        self.stopped = False
        self._held: list[int] = []
        # One part at a time is under way, so that this holds one item at most.
        self._parts: asyncio.Queue[Any] = asyncio.Queue()
        self._outputs = llm.generate(self._feed(), parameters, self.request_id)

    def remainder(self, prompt: Any) -> Any | None:
        """What `prompt` (a rendered one) adds to what vLLM holds; None if it does not go on from there."""
        tokens = prompt["prompt_token_ids"]
        start = len(self._held)
        if len(tokens) <= start or tokens[:start] != self._held:
            return None
        pictures = [place for places in prompt.get("mm_placeholders", {}).values() for place in places]
        if any(place.offset < start < place.offset + place.length for place in pictures):
            return None
        return _from(prompt, start)

    async def extend(self, remainder: Any, parameters: Any) -> AsyncGenerator[Any, None]:
        """Sends `remainder` and gives vLLM's outputs for it. Left early, or failed, the request is over."""
        from vllm.engine.protocol import StreamingInput

        said: list[int] = []
        complete = False
        self._parts.put_nowait(StreamingInput(remainder, parameters))
        try:
            async for output in self._outputs:
                said.extend(output.outputs[0].token_ids)
                finish_reason = output.outputs[0].finish_reason
                complete = finish_reason not in (None, "abort", "error")
                self.stopped = finish_reason == "stop"
                yield output
                if finish_reason is not None:
                    break
        finally:
            if not complete:
                await self.close()
        # vLLM does not keep the last token it sampled, which nothing has been computed from.
        self._held += remainder["prompt_token_ids"] + said[:-1]

    @property
    def held_tokens(self) -> int:
        """Tokens whose keys and values vLLM holds."""
        return len(self._held)

    async def close(self) -> None:
        """Ends the request in vLLM, also while it generates."""
        self.over = True
        await self._outputs.aclose()

    async def _feed(self) -> AsyncGenerator[Any, None]:
        while True:
            yield await self._parts.get()


def _from(prompt: Any, start: int) -> Any:
    """`prompt` from token `start` on, with the pictures that lie there."""
    rest = {**prompt, "prompt_token_ids": prompt["prompt_token_ids"][start:]}
    rest.pop("prompt", None)
    if "mm_placeholders" not in prompt:
        return rest
    places = prompt["mm_placeholders"]
    first = {kind: sum(place.offset < start for place in places[kind]) for kind in places}
    rest["mm_placeholders"] = {
        kind: [replace(place, offset=place.offset - start) for place in places[kind][first[kind] :]]
        for kind in places
    }
    rest["mm_hashes"] = {kind: prompt["mm_hashes"][kind][first[kind] :] for kind in places}
    items = prompt["mm_kwargs"]
    rest["mm_kwargs"] = type(items)({kind: items[kind][first[kind] :] for kind in places})
    return rest
