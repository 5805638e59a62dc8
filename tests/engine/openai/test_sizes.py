"""Sizes of turns: guessed first, and then as the server counts."""

from hypothesis import given
from hypothesis import strategies as st

from engine.openai.sizes import LOW_DETAIL_TOKENS, MOST_GUESSED, PromptSizes


def test_guesses() -> None:
    sizes = PromptSizes()
    assert sizes.text("") == 0
    assert sizes.text("four") == 1
    assert sizes.text("fours") == 2
    assert sizes.picture((280, 141)) == 10 * 6
    assert sizes.picture((4000, 1000)) == MOST_GUESSED
    assert PromptSizes(low_detail=True).picture((4000, 1000)) == LOW_DETAIL_TOKENS


def test_what_the_server_counts_corrects_them() -> None:
    sizes = PromptSizes()
    tiles = sizes.tiles((1920, 1080))
    sizes.learn(50 + 2 * 800, other_tokens=50, tiles=2 * tiles)
    assert sizes.picture((1920, 1080)) == 800
    assert abs(sizes.picture((960, 540)) - 200) < 10
    sizes.learn(1000, other_tokens=900, tiles=0)  # a prompt without a picture teaches nothing
    assert sizes.picture((1920, 1080)) == 800


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**5))
def test_a_picture_always_takes_something(prompt: int, other: int, tiles: int) -> None:
    sizes = PromptSizes()
    sizes.learn(prompt, other_tokens=other, tiles=tiles)
    assert sizes.picture((640, 360)) >= 1
