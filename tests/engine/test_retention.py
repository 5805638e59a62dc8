"""What stays in a session's context: never over a budget, nothing pinned dropped, order kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.retention import EXACT, LOW_WATER, RetentionWindow
from protocol.errors import FrameTooLarge
from protocol.messages import Retention

PINNED = 20


def window(**limits: int) -> RetentionWindow:
    return RetentionWindow(Retention(**limits), pinned_tokens=PINNED)


def kept_counts(frames: int, image: int = 16, text: int = 2, reply: int = 12, **limits: int) -> list[int]:
    """How many turns are in the window as each of `frames` frames is answered."""
    kept = window(**limits)
    counts = []
    for _ in range(frames):
        kept.admit(image + text, text)
        counts.append(len(kept))
        kept.reply(reply)
    return counts


def test_frames_leave_in_blocks() -> None:
    assert kept_counts(14, max_video_segments=8) == [1, 2, 3, 4, 5, 6, 7, 8, 4, 5, 6, 7, 8, 4]


def test_there_is_a_frame_before_where_the_window_has_room_for_one() -> None:
    assert kept_counts(6, max_video_segments=1) == [1, 1, 1, 1, 1, 1]
    assert kept_counts(6, max_video_segments=2) == [1, 2, 2, 2, 2, 2]
    assert min(kept_counts(60, max_video_segments=100, image=400, max_session_tokens=1024)[1:]) == 2


@pytest.mark.parametrize("most", [1, 2, 3, 4, 8, 16, 32, 64])
def test_the_window_is_seven_tenths_full_on_average(most: int) -> None:
    counts = kept_counts(20 * most + 200, max_video_segments=most)[most:]
    assert max(counts) == most
    assert sum(counts) / len(counts) >= 0.7 * most - 0.05


def test_the_token_budget_evicts_too() -> None:
    kept = window(max_video_segments=100, max_session_tokens=1024)
    for _ in range(200):
        kept.admit(100, 4)
        assert kept.tokens <= 1024
        kept.reply(10)


def test_the_text_cap_drops_whole_turns_and_lets_the_newest_stand() -> None:
    kept = window(max_video_segments=100, max_text_tokens=50)
    for _ in range(4):
        assert kept.admit(16, 0) == 0
        kept.reply(12)
    kept.admit(16, 0)
    kept.reply(12)  # 60 tokens of text: seen when the next frame comes
    assert kept.admit(16, 0) == 4
    assert kept.text_tokens == 12
    assert kept.admit(200, 80) == 2  # alone over the cap, and there all the same
    assert len(kept) == 1


def test_a_frame_that_never_fits_is_refused_and_nothing_changes() -> None:
    kept = window(max_video_segments=4, max_session_tokens=1024)
    kept.admit(500, 0)
    with pytest.raises(
        FrameTooLarge, match="the frame takes 1005 tokens, and max_session_tokens leaves 1004"
    ):
        kept.admit(1005, 0)
    assert (len(kept), kept.tokens) == (1, PINNED + 500)
    assert kept.admit(1004, 0) == 1


def test_a_turn_that_was_not_answered_is_forgotten() -> None:
    kept = window(max_video_segments=4)
    kept.admit(10, 0)
    kept.reply(5)
    kept.admit(10, 0)
    kept.retract()
    assert (len(kept), kept.tokens) == (1, PINNED + 15)


@given(
    st.builds(
        Retention,
        max_video_segments=st.integers(1, 70),
        max_text_tokens=st.none() | st.integers(1, 1024),
        max_session_tokens=st.integers(1024, 8000),
    ),
    st.integers(0, 1023),
    st.lists(st.tuples(st.integers(0, 1200), st.integers(0, 60), st.integers(0, 200)), max_size=200),
    st.sampled_from([LOW_WATER, EXACT]) | st.floats(0.05, 1),
)
def test_never_over_a_budget_and_only_the_oldest_leave(
    retention: Retention, pinned: int, frames: list[tuple[int, int, int]], low_water: float
) -> None:
    kept = RetentionWindow(retention, pinned_tokens=pinned, low_water=low_water)
    shadow: list[tuple[int, int]] = []  # the same history, kept naively
    for image, text, reply in frames:
        before = list(shadow)
        try:
            leaving = kept.admit(image + text, text)
        except FrameTooLarge:
            assert pinned + image + text > retention.max_session_tokens
            assert len(kept) == len(shadow)
            continue
        assert 0 <= leaving <= len(before)
        shadow = [*before[leaving:], (image + text, text)]
        assert len(kept) == len(shadow) <= retention.max_video_segments
        assert kept.tokens == pinned + sum(tokens for tokens, _ in shadow) <= retention.max_session_tokens
        assert kept.text_tokens == sum(words for _, words in shadow)
        if retention.max_text_tokens is not None and len(shadow) > 1:
            assert kept.text_tokens <= retention.max_text_tokens
        if leaving:  # nothing leaves that could have stayed
            assert (
                len(before) + 1 > retention.max_video_segments
                or pinned + sum(t for t, _ in before) + image + text > retention.max_session_tokens
                or (
                    retention.max_text_tokens is not None
                    and sum(w for _, w in before) + text > retention.max_text_tokens
                )
            )
        kept.reply(reply)
        shadow[-1] = (shadow[-1][0] + reply, shadow[-1][1] + reply)


@given(
    st.builds(
        Retention,
        max_video_segments=st.integers(1, 70),
        max_text_tokens=st.none() | st.integers(1, 1024),
        max_session_tokens=st.integers(1024, 8000),
    ),
    st.lists(st.tuples(st.integers(0, 900), st.integers(0, 60), st.integers(0, 200)), max_size=200),
)
def test_sliding_exactly_keeps_every_turn_there_is_room_for(
    retention: Retention, frames: list[tuple[int, int, int]]
) -> None:
    kept = RetentionWindow(retention, pinned_tokens=PINNED, low_water=EXACT)
    shadow: list[tuple[int, int]] = []

    def fits(turns: list[tuple[int, int]]) -> bool:
        return (
            len(turns) <= retention.max_video_segments
            and PINNED + sum(tokens for tokens, _ in turns) <= retention.max_session_tokens
            and (retention.max_text_tokens is None or sum(w for _, w in turns) <= retention.max_text_tokens)
        )

    for image, text, reply in frames:
        leaving = kept.admit(image + text, text)
        newest = (image + text, text)
        stay = next((n for n in range(len(shadow)) if fits([*shadow[n:], newest])), len(shadow))
        assert leaving == stay
        shadow = [*shadow[leaving:], newest]
        kept.reply(reply)
        shadow[-1] = (newest[0] + reply, newest[1] + reply)


def test_sliding_exactly_drops_a_frame_for_a_frame() -> None:
    kept = RetentionWindow(Retention(max_video_segments=4), pinned_tokens=PINNED, low_water=EXACT)
    assert [kept.admit(16, 0) for _ in range(7)] == [0, 0, 0, 0, 1, 1, 1]
