"""How many tokens turns take, guessed first and corrected by what the server counts."""

from __future__ import annotations

import math

from protocol.limits import MIN_SESSION_TOKENS

CHARACTERS_PER_TOKEN = 4
TURN_TOKENS = 4
"""What a template puts around a message: its role and two markers, as a rule."""
TILE = 28
"""Side of the square of pixels that a token stands for in the Qwen family of models."""
LOW_DETAIL_TOKENS = 85
"""A picture of low detail, in OpenAI's count."""
MOST_GUESSED = MIN_SESSION_TOKENS // 2
"""No frame is to be refused for a guess: a picture counts for no more until the server has counted one."""


class PromptSizes:
    """Sizes of one server's prompts; sessions share it, so that a later one begins with what is known.

    Text takes a token for every four characters. A picture takes one for each tile of 28 x 28 pixels, times
    a factor that is set by every count of the server's: what of its prompt is not text is pictures.
    """

    def __init__(self, *, low_detail: bool = False) -> None:
        """With `low_detail` all pictures are the same size."""
        self._low_detail = low_detail
        self._factor: float | None = None

    def text(self, text: str) -> int:
        """Tokens in `text`."""
        return math.ceil(len(text) / CHARACTERS_PER_TOKEN)

    def tiles(self, size: tuple[int, int]) -> int:
        """Tiles of a picture of that width and height."""
        if self._low_detail:
            return LOW_DETAIL_TOKENS
        width, height = size
        return math.ceil(width / TILE) * math.ceil(height / TILE)

    def picture(self, size: tuple[int, int]) -> int:
        """Tokens of a picture of that width and height."""
        tiles = self.tiles(size)
        if self._factor is None:
            return min(tiles, MOST_GUESSED)
        return max(1, round(tiles * self._factor))

    def learn(self, prompt_tokens: int, *, other_tokens: int, tiles: int) -> None:
        """The server counted `prompt_tokens` for a prompt of that much else and pictures of so many tiles."""
        if tiles:
            self._factor = max(0, prompt_tokens - other_tokens) / tiles
