from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.context import Delta
from protocol.server.stop_texts import StopTexts


def said(pieces: list[str], stops: list[str]) -> tuple[list[str], bool]:
    """What is said of an answer that comes in these pieces, and whether it was stopped."""
    cutter = StopTexts(stops)
    out = []
    for index, piece in enumerate(pieces):
        last = index == len(pieces) - 1
        delta = cutter.cut(Delta(piece, index + 1, "length" if last else None))
        out.append(delta.text)
        if cutter.found:
            assert delta.finish_reason == "stop"
            break
        assert delta.finish_reason == ("length" if last else None)
    return out, cutter.found


@pytest.mark.parametrize(
    ("pieces", "stops", "expected"),
    [
        (["a cup", ". A table", "."], ["."], ["a cup", ""]),
        (["a cup\n", "\na table"], ["\n\n"], ["a cup", ""]),
        (["a cup\n", "a table"], ["\n\n"], ["a cup", "\na table"]),
        (["a cup\n"], ["\n\n"], ["a cup\n"]),
        (["xEN", "D", "y"], ["END", "y"], ["x", ""]),
        (["one two three"], ["three", "two"], ["one "]),
        (["ab", "c"], [], ["ab", "c"]),
        (["stop"], ["stop"], [""]),
    ],
)
def test_an_answer_ends_before_the_first_stop(pieces, stops, expected):
    assert said(pieces, stops)[0] == expected


@given(
    st.lists(st.text("ab", max_size=4), min_size=1, max_size=6),
    st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_however_it_comes_it_is_cut_where_the_whole_would_be(pieces, stops):
    out, found = said(pieces, stops)
    whole = "".join(pieces)
    ends = [
        # In pieces, the one whose end comes first is met first.
        min(
            (at for stop in stops if (at := whole[:end].find(stop)) >= 0),
            default=None,
        )
        for end in range(len(whole) + 1)
    ]
    assert found == any(stop in whole for stop in stops)
    if not found:
        assert "".join(out) == whole
    else:
        assert "".join(out) in {whole[:end] for end in ends if end is not None}
        assert not any(stop in "".join(out) for stop in stops)
