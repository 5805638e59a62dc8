"""Captions that say the same again are left out, and nothing that they told is lost."""

import pytest

from cli.output.changes import ChangesOnly
from tests.cli.output.records import record


def kept(changes: ChangesOnly, *texts: str) -> list[str]:
    """The captions of `texts` that are kept."""
    records = [record(float(k), text, frame_index=k) for k, text in enumerate(texts)]
    return [each.text for each in map(changes.of, records) if each is not None]


def test_the_first_caption_and_each_change_are_kept() -> None:
    said = ["clear", "clear", "hazard", "hazard", "hazard", "clear", "hazard"]
    assert kept(ChangesOnly(), *said) == ["clear", "hazard", "clear", "hazard"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a red sign", "a  red\nsign ", True),
        ("a red sign", "A red sign", False),
        ("a red sign", "a red sign.", False),
        ("a red sign", "a redsign", False),
        ("", " ", True),
    ],
)
def test_only_white_space_makes_no_change(one: str, other: str, same: bool) -> None:
    assert kept(ChangesOnly(), one, other) == ([one] if same else [one, other])


def test_an_empty_caption_is_kept_when_it_is_the_first() -> None:
    assert kept(ChangesOnly(), "", "") == [""]


def test_a_kept_record_says_how_many_were_left_out_before_it() -> None:
    changes = ChangesOnly()
    records = [changes.of(record(float(k), text)) for k, text in enumerate(["a", "b", "b", "b", "c", "c"])]
    assert [each.unchanged for each in records if each is not None] == [0, 0, 2]
    assert changes.unchanged == 1  # after the last


def test_what_left_out_records_told_is_told_by_the_next() -> None:
    changes = ChangesOnly()
    changes.of(record(0.0, "clear", skipped_similar=1, dropped_since_last=9))
    changes.of(record(1.0, "clear", skipped_similar=2, dropped_since_last=4))
    changes.of(record(2.0, "clear", skipped_similar=0, dropped_since_last=5, history_lost=True))
    told = changes.of(record(3.0, "hazard", skipped_similar=3, dropped_since_last=1))
    assert told is not None
    assert (told.skipped_similar, told.dropped_since_last, told.history_lost) == (5, 10, True)
    following = changes.of(record(4.0, "clear", skipped_similar=7, dropped_since_last=0))
    assert following is not None
    assert (following.skipped_similar, following.dropped_since_last) == (7, 0)
    assert not following.history_lost


def test_a_file_has_no_drops_to_add_up() -> None:
    changes = ChangesOnly()
    changes.of(record(0.0, "clear"))
    changes.of(record(1.0, "clear"))
    told = changes.of(record(2.0, "hazard"))
    assert told is not None
    assert told.dropped_since_last is None


def test_the_same_words_of_a_new_session_are_no_change() -> None:
    changes = ChangesOnly()
    changes.of(record(0.0, "clear", session_id="one"))
    assert changes.of(record(9.0, "clear", session_id="two", history_lost=True)) is None


def test_the_record_itself_is_passed_on() -> None:
    given = record(1.5, "two  words\nhere", frame_index=7, session_id="s")
    told = ChangesOnly().of(given)
    assert told is not None
    assert told.model_dump() == given.model_dump()
