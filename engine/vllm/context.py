"""A conversation held for vLLM."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from engine.vllm.resumable import ResumableRequest
from protocol.context import Delta
from protocol.errors import EngineError, EngineFailure

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from engine.vllm.prompt import Prompter
    from engine.vllm.sizes import TurnSizes
    from protocol.context import Turn, TurnSize
    from protocol.messages import Sampling

_ATTEMPTS = 2
"""vLLM keeps pictures in two processes and asks for a second try, pictures included, when those disagree."""


class VllmContext:
    """See `protocol.context.Context`.

    The whole conversation is rendered as one prompt each time. Where a prompt goes on from the one before it,
    the request that answered that one is extended; where turns have left, vLLM's prefix cache holds what is
    still the same. Its picture cache holds what has been processed, so that each picture goes in once.
    """

    def __init__(
        self,
        llm: Any,
        prompter: Prompter,
        sizes: TurnSizes,
        *,
        seed: int | None = None,
        resumable: bool = False,
        last_words: Callable[[], str] = str,
    ) -> None:
        """Starts empty.

        Args:
            llm: vLLM's `AsyncLLM`, shared with other contexts.
            resumable: keep a request open between replies; it takes one of vLLM's places for requests.
            last_words: what the engine's process said last, should it die.
        """
        self._llm = llm
        self._prompter = prompter
        self._sizes = sizes
        self._seed = seed
        self._resumable = resumable
        self._last_words = last_words
        self._turns: list[Turn] = []
        self._open: ResumableRequest | None = None
        self._running_id: str | None = None

    async def append(self, turn: Turn) -> TurnSize:
        """See `Context.append`."""
        size = await self._sizes.of(turn)
        self._turns.append(turn)
        return size

    async def generate(self, sampling: Sampling) -> AsyncGenerator[Delta, None]:
        """See `Context.generate`."""
        from vllm.v1.engine.exceptions import EngineDeadError

        parameters = self._parameters(sampling)
        # vLLM does not start a guide afresh when a request is extended.
        extend = self._resumable and sampling.guide is None
        tokens = 0
        try:
            for attempt in range(_ATTEMPTS):
                prompt = await self._prompter.prompt(self._turns)
                outputs = self._extended(prompt, parameters) if extend else self._whole(prompt, parameters)
                async with aclosing(outputs):
                    async for output, cached_tokens in outputs:
                        said = output.outputs[0]
                        if said.finish_reason == "error":
                            break
                        tokens += len(said.token_ids)
                        yield Delta(
                            said.text,
                            tokens,
                            said.finish_reason,
                            prompt_tokens=len(prompt["prompt_token_ids"]),
                            cached_tokens=cached_tokens,
                        )
                    else:
                        return
                if tokens or attempt == _ATTEMPTS - 1:
                    raise EngineFailure("vLLM failed to answer")
        except EngineDeadError as error:
            raise engine_died(self._last_words()) from error
        except (ValueError, RuntimeError, TypeError) as error:
            raise EngineFailure(f"vLLM failed: {error}") from error

    async def _whole(self, prompt: Any, parameters: Any) -> AsyncGenerator[tuple[Any, int], None]:
        """Outputs for a request of its own, and how many tokens of its prompt needed no computing."""
        self._running_id = uuid4().hex
        try:
            async with aclosing(self._llm.generate(prompt, parameters, self._running_id)) as outputs:
                async for output in outputs:
                    yield output, output.num_cached_tokens
        finally:
            self._running_id = None

    async def _extended(self, prompt: Any, parameters: Any) -> AsyncGenerator[tuple[Any, int], None]:
        """The same, going on in the request that answered the last prompt if that is possible."""
        request = self._open
        remainder = request.remainder(prompt) if request else None
        if request is None or remainder is None:
            await self._end_request()
            self._open = request = ResumableRequest(self._llm, parameters)
            remainder = prompt
        held = request.held_tokens
        self._running_id = request.request_id
        try:
            async with aclosing(request.extend(remainder, parameters)) as outputs:
                async for output in outputs:
                    yield output, held or output.num_cached_tokens
        finally:
            self._running_id = None
            if request.over:
                self._open = None

    async def _end_request(self) -> None:
        request, self._open = self._open, None
        if request is not None:
            await request.close()

    def drop(self, start: int, stop: int | None) -> None:
        """See `Context.drop`."""
        del self._turns[start:stop]

    async def cancel(self) -> None:
        """See `Context.cancel`."""
        if self._running_id is not None:
            await self._llm.abort(self._running_id)

    async def close(self) -> None:
        """See `Context.close`."""
        await self.cancel()
        await self._end_request()
        self._turns.clear()
        self._llm = None

    def _parameters(self, sampling: Sampling) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        guide = None
        if sampling.guide is not None:
            # vLLM compiles a guide once and keeps it, so that every frame after the first finds it ready.
            field = sampling.guide.removeprefix("guided_")
            guide = StructuredOutputsParams(**{field: getattr(sampling, sampling.guide)})
        return SamplingParams(
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            repetition_penalty=sampling.repetition_penalty,
            frequency_penalty=sampling.frequency_penalty,
            seed=self._seed,
            structured_outputs=guide,
            output_kind=RequestOutputKind.DELTA,
        )


def engine_died(last_words: str) -> EngineError:
    """The one error for an engine whose process is gone."""
    if last_words:
        return EngineError(f"the vLLM engine died: {last_words}", hint="--debug shows all it says")
    return EngineError(
        "the vLLM engine died without a word",
        hint="the system may have killed it for want of memory; --debug shows all it says",
    )
