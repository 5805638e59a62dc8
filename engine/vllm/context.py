"""A conversation held for vLLM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from protocol.context import Delta
from protocol.errors import EngineError, EngineFailure

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from engine.vllm.prompt import Prompter
    from engine.vllm.sizes import TurnSizes
    from protocol.context import Turn, TurnSize
    from protocol.messages import Sampling

_ATTEMPTS = 2
"""vLLM keeps pictures in two processes and asks for a second try, pictures included, when those disagree."""


class VllmContext:
    """See `protocol.context.Context`.

    The whole conversation is one prompt each time. vLLM's prefix cache holds what has been computed of it,
    and its picture cache what has been processed, so that only the newest turn costs anything.
    """

    def __init__(self, llm: Any, prompter: Prompter, sizes: TurnSizes, *, seed: int | None = None) -> None:
        """`llm`: vLLM's `AsyncLLM`, shared with other contexts."""
        self._llm = llm
        self._prompter = prompter
        self._sizes = sizes
        self._seed = seed
        self._turns: list[Turn] = []
        self._request_id: str | None = None

    async def append(self, turn: Turn) -> TurnSize:
        """See `Context.append`."""
        size = await self._sizes.of(turn)
        self._turns.append(turn)
        return size

    async def generate(self, sampling: Sampling) -> AsyncGenerator[Delta, None]:
        """See `Context.generate`."""
        from vllm.v1.engine.exceptions import EngineDeadError

        parameters = self._parameters(sampling)
        tokens = 0
        try:
            for attempt in range(_ATTEMPTS):
                self._request_id = request_id = uuid4().hex
                prompt = await self._prompter.prompt(self._turns)
                async for output in self._llm.generate(prompt, parameters, request_id):
                    said = output.outputs[0]
                    if said.finish_reason == "error":
                        break
                    tokens += len(said.token_ids)
                    yield Delta(
                        said.text,
                        tokens,
                        said.finish_reason,
                        prompt_tokens=len(output.prompt_token_ids),
                        cached_tokens=output.num_cached_tokens,
                    )
                else:
                    return
                if tokens or attempt == _ATTEMPTS - 1:
                    raise EngineFailure("vLLM failed to answer")
        except EngineDeadError as error:
            raise EngineError("the vLLM engine died", hint="--debug shows its last words") from error
        except (ValueError, RuntimeError, TypeError) as error:
            raise EngineFailure(f"vLLM failed: {error}") from error
        finally:
            self._request_id = None

    def drop(self, start: int, stop: int | None) -> None:
        """See `Context.drop`."""
        del self._turns[start:stop]

    async def cancel(self) -> None:
        """See `Context.cancel`."""
        if self._request_id is not None:
            await self._llm.abort(self._request_id)

    async def close(self) -> None:
        """See `Context.close`."""
        await self.cancel()
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
