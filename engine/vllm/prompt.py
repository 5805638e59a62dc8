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

    Pictures go by their uuid: vLLM processes each once, and finds it in its caches from then on. The system
    prompt opens the first user's turn where the template has no place for it.
    """

    def __init__(self, renderer: Any) -> None:
        """`renderer`: that of vLLM's `AsyncLLM`."""
        from vllm.renderers.params import ChatParams

        self._renderer = renderer
        self._tokenizer = renderer.get_tokenizer()
        self._template = ChatParams(chat_template_kwargs={"add_generation_prompt": True})
        self._system_role = True

    async def probe(self) -> None:
        """Finds out whether the template takes a system's turn; called before anything else."""
        from vllm.exceptions import VLLMClientError

        user = Turn("user", (Text("x"),))
        alone = await self._tokens([user])
        try:
            self._system_role = await self._tokens([Turn("system", (Text("x"),)), user]) != alone
        except (VLLMClientError, ValueError):  # a template that says it knows no such role
            self._system_role = False

    async def prompt(self, turns: Sequence[Turn]) -> Any:
        """The prompt that has `turns` answered, for `AsyncLLM.generate`."""
        cache = self._renderer.mm_processor_cache
        messages = self._messages(turns, *([cache.is_cached_item] if cache else []))
        try:
            _, prompts = await self._renderer.render_chat_async([messages], self._template)
        except ValueError:  # another session's picture has pushed one of these out meanwhile
            _, prompts = await self._renderer.render_chat_async([self._messages(turns)], self._template)
        return prompts[0]

    async def picture(self, picture: Image) -> Processed:
        """Processes `picture`, which vLLM takes for sent to its engine from now on."""
        prompt = await self.prompt([Turn("user", (picture,))])
        return prompt["mm_hashes"]["image"][0], prompt["mm_kwargs"]["image"][0]

    async def length(self, turns: Sequence[Turn]) -> int:
        """Its length in tokens, those of the pictures included; nothing of it is kept."""
        return len(await self._tokens(turns))

    def count(self, text: str) -> int:
        """Tokens in `text` alone."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    async def _tokens(self, turns: Sequence[Turn]) -> list[int]:
        # Without the picture cache, which would take for sent to the engine what is only measured here.
        _, prompts = await self._renderer.render_chat_async(
            [self._messages(turns)], self._template, skip_mm_cache=True
        )
        tokens: list[int] = prompts[0]["prompt_token_ids"]
        return tokens

    def _messages(
        self, turns: Sequence[Turn], cached: Callable[[str], bool] = lambda _: False
    ) -> list[dict[str, Any]]:
        if not self._system_role and len(turns) > 1 and turns[0].role == "system":
            system, first, *others = turns
            turns = [Turn("user", (*system.parts, *first.parts)), *others]
        return [
            {"role": turn.role, "content": [_content(part, cached) for part in turn.parts]} for turn in turns
        ]


def _content(part: Part, cached: Callable[[str], bool]) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    from PIL.Image import fromarray

    # vLLM copies each picture it is given, so one that it has goes by its name alone.
    picture = None if cached(part.uuid) else fromarray(part.frame.pixels)
    return {"type": "image_pil", "image_pil": picture, "uuid": part.uuid}
