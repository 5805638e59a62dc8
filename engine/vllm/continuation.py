"""What one more picture adds to a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.context import Image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.context import Turn

_TIMES = 2
"""How often in a row the same tokens must be seen; a template that counts its pictures never gets there."""


class Continuation:
    """The end of a prompt, known beforehand: a frame after a reply adds the same tokens every time.

    Rendering a whole conversation to find that out takes longer the longer it is. So after the same was found
    twice in a row, for pictures of one size and turns without words, it is taken to go on like that.
    """

    def __init__(self) -> None:
        self._size: tuple[int, int] | None = None
        self._end: Any = None
        self._seen = 0

    def learn(self, turn: Turn, end: Any) -> None:
        """After the last reply, a prompt went on with `turn` as `end` (see `ResumableRequest.remainder`)."""
        picture = _only_picture(turn)
        if picture is None:
            return
        same = self._seen and picture.frame.size == self._size and _like(end, self._end)
        self._size, self._end, self._seen = picture.frame.size, end, self._seen + 1 if same else 1

    def picture_of(self, turn: Turn) -> Image | None:
        """The picture of `turn`, if that is all it holds and its end is known."""
        picture = _only_picture(turn)
        known = self._seen >= _TIMES and picture is not None and picture.frame.size == self._size
        return picture if known else None

    def end(self, name: str, item: Any) -> Any:
        """The end of the prompt with another picture: its name in vLLM's caches, and what is sent for it."""
        items = self._end["mm_kwargs"]
        return {**self._end, "mm_hashes": {"image": [name]}, "mm_kwargs": type(items)({"image": [item]})}


def _only_picture(turn: Turn) -> Image | None:
    return turn.parts[0] if len(turn.parts) == 1 and isinstance(turn.parts[0], Image) else None


def _like(one: Any, other: Any) -> bool:
    return bool(
        one["prompt_token_ids"] == other["prompt_token_ids"]
        and _places(one["mm_placeholders"]) == _places(other["mm_placeholders"])
    )


def _places(placeholders: Any) -> dict[str, Sequence[tuple[int, int]]]:
    return {kind: [(place.offset, place.length) for place in places] for kind, places in placeholders.items()}
