"""Prompts by the model's own chat template, through vLLM's renderer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.context import Text, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from protocol.context import Image, Part


Processed = tuple[str, Any]
"""A picture's name in vLLM's caches, and what its processor made of it; None where vLLM has that already."""


class Prompter:
    """Turns of a conversation, as vLLM takes them.

    Pictures go by their uuid: vLLM processes each once, and finds it in its caches from then on.
    """

    def __init__(self, llm: Any) -> None:
        """`llm`: vLLM's `AsyncLLM`."""
        from vllm.renderers.params import ChatParams

        self._renderer = llm.renderer
        self._tokenizer = llm.renderer.get_tokenizer()
        self._template = ChatParams(chat_template_kwargs={"add_generation_prompt": True})

    async def prompt(self, turns: Sequence[Turn]) -> Any:
        """The prompt that has `turns` answered, for `AsyncLLM.generate`."""
        cache = self._renderer.mm_processor_cache
        messages = _messages(turns, cache.is_cached_item if cache else _never)
        try:
            _, prompts = await self._renderer.render_chat_async([messages], self._template)
        except ValueError:  # another session's picture has pushed one of these out meanwhile
            _, prompts = await self._renderer.render_chat_async([_messages(turns)], self._template)
        return prompts[0]

    async def picture(self, picture: Image) -> Processed:
        """Processes `picture`, which vLLM takes for sent to its engine from now on."""
        prompt = await self.prompt([Turn("user", (picture,))])
        return prompt["mm_hashes"]["image"][0], prompt["mm_kwargs"]["image"][0]

    async def length(self, turns: Sequence[Turn]) -> int:
        """Its length in tokens, those of the pictures included; nothing of it is kept."""
        # Without the picture cache, which would take for sent to the engine what is only measured here.
        _, prompts = await self._renderer.render_chat_async(
            [_messages(turns)], self._template, skip_mm_cache=True
        )
        return len(prompts[0]["prompt_token_ids"])

    def count(self, text: str) -> int:
        """Tokens in `text` alone."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))


def _never(_: str) -> bool:
    return False


def _messages(turns: Sequence[Turn], cached: Callable[[str], bool] = _never) -> list[dict[str, Any]]:
    return [{"role": turn.role, "content": [_content(part, cached) for part in turn.parts]} for turn in turns]


def _content(part: Part, cached: Callable[[str], bool]) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    from PIL.Image import fromarray

    # vLLM copies each picture it is given, so one that it has goes by its name alone.
    picture = None if cached(part.uuid) else fromarray(part.frame.pixels)
    return {"type": "image_pil", "image_pil": picture, "uuid": part.uuid}
