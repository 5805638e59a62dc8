"""Server-sent events, from bytes cut anywhere."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.client.event_stream import Event, EventStream

STREAM = (
    b"\xef\xbb\xbf: a comment\r\n"
    b"data: one\r\n\r\n"
    b"event: other\ndata:two\ndata: lines\nid: 7\nretry: 10\n\n"
    b"data\r\r"
    b"unknown: x\n\n"
    b'error: {"code": 500}\n\n'
    b"data: \xc3\xa9\xf0\x9f\x90\x88 \xff\r\n\r\n"
)
EVENTS = [
    Event("one"),
    Event("two\nlines", "other"),
    Event(""),
    Event('{"code": 500}', "error"),
    Event("é🐈 \N{REPLACEMENT CHARACTER}"),
]


def read(*pieces: bytes) -> list[Event]:
    stream = EventStream()
    return [event for piece in pieces for event in stream.feed(piece)] + stream.end()


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_the_events_are_the_same_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    assert read(*(STREAM[a:b] for a, b in pairwise(edges))) == EVENTS


def test_byte_by_byte_too() -> None:
    assert read(*(bytes([byte]) for byte in STREAM)) == EVENTS


@pytest.mark.parametrize("rest", [b"data: last", b"data: last\n", b"data: last\r", b"data: last\r\n"])
def test_an_event_without_its_empty_line_counts_at_the_end(rest: bytes) -> None:
    assert read(b"data: one\n\n" + rest) == [Event("one"), Event("last")]


def test_nothing_comes_of_nothing() -> None:
    assert read() == read(b"\n\n\n") == read(b": only\n\n") == []
