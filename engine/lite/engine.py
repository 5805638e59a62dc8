"""The embedded engine: a small describer that needs no model server, no GPU and no download."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from uuid import uuid4

from protocol.context import Delta, Image
from protocol.errors import EngineError, InvalidRequest, NotFound
from protocol.messages import SERVER_RETENTION, Created, SessionConfig
from protocol.session import Engine, ServedModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from concurrent.futures import Future

    from engine.lite.ocr import Reader
    from engine.lite.scene import Scene
    from engine.lite.session import LiteSession
    from protocol.context import Turn
    from protocol.messages import Sampling

MODEL = "lite-1"


class LiteEngine(Engine):
    """Says in one sentence what it measured: a known thing, legible text, motion, cuts, light and colours.

    The same frames always get the same captions. Prompts, sampling and temperature change nothing.

    Attributes:
        follows_instructions: it takes a system prompt and a question, and ignores them.
    """

    name = "lite"
    follows_instructions = False

    def __init__(self, *, reads_text: bool = True) -> None:
        """Returns at once; the networks load in the background. Text is left unread without `reads_text`."""
        # numpy's modules import each other, and two threads that begin at different ends meet half-made ones.
        import numpy  # noqa: F401

        # One frame is analysed at a time, whoever sent it: a frame keeps all cores busy.
        self._analysis = ThreadPoolExecutor(1, thread_name_prefix="lite")
        loading = ThreadPoolExecutor(2, thread_name_prefix="lite-load")
        self._scene: Future[Scene] = loading.submit(_load_scene)
        self._reader: Future[Reader] | None = loading.submit(_load_reader) if reads_text else None
        loading.shutdown(wait=False)
        self._closed = False

    async def load(self) -> ServedModel:
        """See `Engine.load`: waits until the networks are there."""
        await self._networks()
        return ServedModel(MODEL)

    async def open(self, config: SessionConfig) -> LiteSession:
        """Admits a session, once the networks are loaded.

        Raises:
            InvalidRequest: a `guided_*` field is set.
            NotFound: `config.model` is not this engine's.
            EngineError: the networks cannot be loaded, or the engine is closed.
        """
        from engine.lite.describer import Describer
        from engine.lite.session import LiteSession

        if self._closed:
            raise EngineError("the lite engine is closed")
        if config.model not in (None, MODEL):
            raise NotFound(f"no model {config.model!r} here", hint=f"the lite engine has {MODEL!r}")
        if config.sampling.guide:
            raise InvalidRequest(
                f"the lite engine cannot follow {config.sampling.guide}",
                hint="lite describes and cannot be guided; "
                "guided output needs a language-model engine (vllm, openai or a NIM)",
            )
        scene, reader = await self._networks()
        retention = config.retention or SERVER_RETENTION
        created = Created(session_id=uuid4().hex, model=MODEL, fps=config.fps, retention=retention)
        describer = Describer(scene, reader, frames=retention.max_video_segments)
        return LiteSession(created, describer, self._analysis, max_words=config.sampling.max_tokens)

    async def complete(self, turns: Sequence[Turn], sampling: Sampling) -> AsyncGenerator[Delta, None]:
        """Describes the last picture of `turns` by itself, in one delta; all words in them are ignored.

        Raises:
            InvalidRequest: there is no picture, it is damaged, or a `guided_*` field is set.
            EngineFailure: the analysis failed.
            EngineError: the networks cannot be loaded, or the engine is closed.
        """
        pictures = [part for turn in turns for part in turn.parts if isinstance(part, Image)]
        if not pictures:
            raise InvalidRequest(
                "there is no picture, and the lite engine describes one", hint="send an image in a message"
            )
        async with await self.open(SessionConfig(system_prompt="", sampling=sampling)) as session:
            reply = await session.caption(pictures[-1].frame)
        yield Delta(reply.text, reply.token_count, reply.finish_reason)

    async def _networks(self) -> tuple[Scene, Reader | None]:
        import asyncio

        scene = await asyncio.shield(asyncio.wrap_future(self._scene))
        if self._reader is None:
            return scene, None
        return scene, await asyncio.shield(asyncio.wrap_future(self._reader))

    async def close(self) -> None:
        """Ends sessions still open, after the frame under analysis; a second call does nothing."""
        self._closed = True
        self._analysis.shutdown(wait=False, cancel_futures=True)


def _load_scene() -> Scene:
    from engine.lite.scene import Scene

    return Scene()


def _load_reader() -> Reader:
    from engine.lite.ocr import Reader

    return Reader()
