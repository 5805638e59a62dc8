"""How many tokens a turn takes of the prompt, with any model's chat template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.context import Image, Text, Turn, TurnSize

if TYPE_CHECKING:
    from engine.vllm.prompt import Prompter
    from protocol.context import Role

_PROBE = Text("x")


class TurnSizes:
    """Sizes of turns, measured on the template once and on each size of picture once.

    A template is taken to put the same tokens around every turn of a role; where it does not, the length of
    the real prompt tells, and the retention window is told.
    """

    def __init__(self, prompter: Prompter, around: dict[Role, int], asked: int) -> None:
        """Use `measure`."""
        self._prompter = prompter
        self._around = around
        self._asked = asked
        self._pictures: dict[tuple[int, int], int] = {}

    @classmethod
    async def measure(cls, prompter: Prompter) -> TurnSizes:
        """Measures the template."""
        system, user, assistant = (Turn(role, (_PROBE,)) for role in ("system", "user", "assistant"))
        probe = prompter.count(_PROBE.text)
        asked = await prompter.length([user])
        # A user's turn and its reply come and go together: a marker may be put to either of them.
        pair = await prompter.length([user, assistant, user]) - asked - 2 * probe
        opening = asked - pair - probe
        system_only = await prompter.length([system, user]) - asked - probe
        return cls(prompter, {"system": opening + system_only, "user": pair, "assistant": 0}, asked)

    async def of(self, turn: Turn) -> TurnSize:
        """What `turn` takes; the system's turn includes what opens and ends every prompt."""
        words = sum(self._prompter.count(part.text) for part in turn.parts if isinstance(part, Text))
        pictures = [await self._picture(part) for part in turn.parts if isinstance(part, Image)]
        return TurnSize(self._around[turn.role] + words + sum(pictures), words)

    async def _picture(self, picture: Image) -> int:
        size = picture.frame.size
        if size not in self._pictures:
            with_picture = await self._prompter.length([Turn("user", (picture, _PROBE))])
            self._pictures[size] = with_picture - self._asked
        return self._pictures[size]
