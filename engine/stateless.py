"""One answer to a whole conversation, of which nothing is kept."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from protocol.context import Image

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from protocol.context import Context, Delta, Turn
    from protocol.messages import Sampling


async def complete_once(
    context: Context,
    turns: Sequence[Turn],
    sampling: Sampling,
    admit: Callable[[int, int], None] = lambda _tokens, _images: None,
) -> AsyncGenerator[Delta, None]:
    """The assistant's turn after `turns`, through an empty `context`, which is closed in the end.

    Args:
        admit: told how many tokens and pictures the prompt has before it is answered; raises if it cannot be.

    Raises:
        InvalidRequest: the model cannot take it.
        EngineFailure: generation failed.
        EngineError: the engine is gone.
    """
    try:
        tokens = sum([(await context.append(turn)).tokens for turn in turns])
        admit(tokens, sum(isinstance(part, Image) for turn in turns for part in turn.parts))
        async with aclosing(context.generate(sampling)) as deltas:
            async for delta in deltas:
                yield delta
    finally:
        await context.close()
