"""When the end of a prompt is known without rendering it, and when it is not."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.vllm.continuation import Continuation
from protocol.context import Image, Text, Turn
from protocol.frame import Frame


def turn(width: int = 4, *words: str) -> Turn:
    frame = Frame(pixels=np.zeros((2, width, 3), np.uint8))
    return Turn("user", (Image(frame, "a"), *(Text(each) for each in words)))


def end(*tokens: int, offset: int = 1) -> Any:
    return {
        "prompt_token_ids": [*tokens],
        "mm_placeholders": {"image": [SimpleNamespace(offset=offset, length=2)]},
        "mm_hashes": {"image": ["a"]},
        "mm_kwargs": {"image": ["pixels of a"]},
    }


def test_the_same_end_twice_is_expected_again() -> None:
    known = Continuation()
    assert known.picture_of(turn()) is None
    known.learn(turn(), end(9, 5, 5, 3))
    assert known.picture_of(turn()) is None
    known.learn(turn(), end(9, 5, 5, 3))
    picture = known.picture_of(turn())
    assert isinstance(picture, Image)
    assert known.end("b", "pixels of b") == {
        **known._end,
        "mm_hashes": {"image": ["b"]},
        "mm_kwargs": {"image": ["pixels of b"]},
    }


def test_a_template_that_counts_its_pictures_is_never_known() -> None:
    known = Continuation()
    for number in range(5):
        known.learn(turn(), end(9, number, 5, 3))
        assert known.picture_of(turn()) is None


def test_a_picture_elsewhere_in_the_same_tokens_is_another_end() -> None:
    known = Continuation()
    known.learn(turn(), end(5, 5, 5, 3, offset=0))
    known.learn(turn(), end(5, 5, 5, 3, offset=1))
    assert known.picture_of(turn()) is None


def test_another_size_or_words_are_not_known() -> None:
    known = Continuation()
    for _ in range(2):
        known.learn(turn(4), end(9, 5, 5, 3))
    assert known.picture_of(turn(6)) is None
    assert known.picture_of(turn(4, "What is that?")) is None
    known.learn(turn(4, "What is that?"), end(9, 5, 5, 7, 3))
    assert known.picture_of(turn(4)) is not None
    known.learn(turn(6), end(9, 5, 5, 5, 3))
    assert known.picture_of(turn(4)) is None
