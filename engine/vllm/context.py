"""A conversation held for vLLM."""

from __future__ import annotations

from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from engine.vllm.continuation import Continuation
from engine.vllm.resumable import ResumableRequest
from protocol.context import Delta, Image, Text, Turn
from protocol.errors import EngineError, EngineFailure, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from engine.vllm.prompt import Processed, Prompter
    from engine.vllm.sizes import TurnSizes
    from protocol.context import TurnSize
    from protocol.messages import Sampling

_ATTEMPTS = 2
"""vLLM keeps pictures in two processes and asks for a second try, pictures included, when those disagree."""

_FAILURES = (ValueError, RuntimeError, TypeError)
"""What vLLM and the processors of its models raise beside vLLM's own errors."""

_PREPARED = 2
"""Prepared pictures that are kept: the one whose turn has come and the next."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """One of vLLM's outputs, and how many tokens of the prompt needed no computing."""

    output: Any
    prompt_tokens: int
    cached_tokens: int


class VllmContext:
    """See `protocol.context.Context`.

    A conversation that goes on is one vLLM request that stays open, and is sent what is new. When turns have
    left, it is rendered and sent as a whole: the prefix cache then holds what is still the same, and the
    picture cache what has been processed, so that each picture goes in once.
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
        self._processed: dict[str, Processed] = {}  # pictures prepared and not sent yet, by their uuids
        self._open: ResumableRequest | None = None
        self._answered: list[Turn] = []  # the turns the open request holds, its own reply the last
        self._continuation = Continuation()
        self._running_id: str | None = None

    async def prepare(self, image: Image) -> None:
        """See `Context.prepare`: processes the picture."""
        from vllm.exceptions import VLLMError

        # What goes wrong here goes wrong again with the whole prompt.
        with suppress(VLLMError, *_FAILURES):
            processed = await self._prompter.picture(image)
            while len(self._processed) >= _PREPARED:  # prepared for a turn that never came
                self._processed.pop(next(iter(self._processed)))
            self._processed[image.uuid] = processed

    async def append(self, turn: Turn) -> TurnSize:
        """See `Context.append`."""
        from vllm.exceptions import VLLMError

        try:
            size = await self._sizes.of(turn)
        except (VLLMError, *_FAILURES) as error:
            raise InvalidRequest(f"the model does not take this: {one_line(error)}") from error
        self._turns.append(turn)
        return size

    async def generate(self, sampling: Sampling) -> AsyncGenerator[Delta, None]:
        """See `Context.generate`."""
        from vllm.exceptions import VLLMError
        from vllm.v1.engine.exceptions import EngineDeadError

        parameters = self._parameters(sampling)
        # vLLM does not start a guide afresh when a request is extended.
        outputs = self._extended if self._resumable and sampling.guide is None else self._whole
        tokens = 0
        try:
            for attempt in range(_ATTEMPTS):
                async with aclosing(outputs(parameters)) as answers:
                    async for answer in answers:
                        said = answer.output.outputs[0]
                        if said.finish_reason == "error":
                            break
                        tokens += len(said.token_ids)
                        yield Delta(
                            said.text,
                            tokens,
                            said.finish_reason,
                            prompt_tokens=answer.prompt_tokens,
                            cached_tokens=answer.cached_tokens,
                        )
                    else:
                        return
                if tokens or attempt == _ATTEMPTS - 1:
                    raise EngineFailure("vLLM failed to answer")
        except EngineDeadError as error:
            raise engine_died(self._last_words()) from error
        except (VLLMError, *_FAILURES) as error:
            raise EngineFailure(f"vLLM failed: {one_line(error)}") from error

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
        self._answered.clear()
        self._processed.clear()
        self._llm = None

    async def _whole(self, parameters: Any) -> AsyncGenerator[_Answer, None]:
        """Answers the conversation in a request of its own."""
        prompt = await self._rendered()
        self._running_id = uuid4().hex
        try:
            async with aclosing(self._llm.generate(prompt, parameters, self._running_id)) as outputs:
                async for output in outputs:
                    yield _Answer(output, len(prompt["prompt_token_ids"]), output.num_cached_tokens)
        finally:
            self._running_id = None

    async def _extended(self, parameters: Any) -> AsyncGenerator[_Answer, None]:
        """Answers the conversation in the request that is open, if it goes on from there, or in a new one."""
        request, addition = await self._going_on(parameters)
        held = request.held_tokens
        self._running_id = request.request_id
        turns, text = [*self._turns], ""
        try:
            async with aclosing(request.extend(addition, parameters)) as outputs:
                async for output in outputs:
                    text += output.outputs[0].text
                    cached = held or output.num_cached_tokens
                    yield _Answer(output, held + len(addition["prompt_token_ids"]), cached)
        finally:
            self._running_id = None
            if request.over:
                self._open = None
        self._answered = [*turns, Turn("assistant", (Text(text.strip()),))]

    async def _going_on(self, parameters: Any) -> tuple[ResumableRequest, Any]:
        """The request that answers the conversation, and what to send it: all, or what is new in it."""
        request = self._open
        newest = self._turns[-1]
        if request is not None and request.stopped and self._turns[:-1] == self._answered:
            picture = self._continuation.picture_of(newest)
            if picture is not None:
                return request, self._continuation.end(*await self._processed_picture(picture))
        prompt = await self._rendered()
        addition = request.remainder(prompt) if request is not None else None
        if request is None or addition is None:
            await self._end_request()
            self._open = request = ResumableRequest(self._llm, parameters)
            return request, prompt
        if request.stopped:
            self._continuation.learn(newest, addition)
        return request, addition

    async def _rendered(self) -> Any:
        """The whole prompt, with what vLLM leaves out of it because it was prepared."""
        prompt = await self._prompter.prompt(self._turns)
        for part in self._turns[-1].parts:
            if isinstance(part, Image) and part.uuid in self._processed:
                name, item = self._processed.pop(part.uuid)
                index = prompt["mm_hashes"]["image"].index(name)
                prompt["mm_kwargs"]["image"][index] = prompt["mm_kwargs"]["image"][index] or item
        return prompt

    async def _processed_picture(self, picture: Image) -> Processed:
        return self._processed.pop(picture.uuid, None) or await self._prompter.picture(picture)

    async def _end_request(self) -> None:
        request, self._open = self._open, None
        if request is not None:
            await request.close()

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


def one_line(error: BaseException) -> str:
    """What `error` says, in one line."""
    return " ".join(str(error).split()) or repr(error)


def engine_died(last_words: str) -> EngineError:
    """The one error for an engine whose process is gone."""
    if last_words:
        return EngineError(f"the vLLM engine died: {last_words}", hint="--debug shows all it says")
    return EngineError(
        "the vLLM engine died without a word",
        hint="the system may have killed it for want of memory; --debug shows all it says",
    )
