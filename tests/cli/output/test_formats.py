"""Formats go by suffix, as people type them."""

from pathlib import Path

import pytest

from cli.output.formats import WRITERS, format_of, suffix_of
from protocol.errors import UsageError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.SRT", "srt"),
        ("a.b.vtt", "vtt"),
        ("a.csv", "csv"),
        ("a.tsv", "tsv"),
        ("a.txt", "text"),
    ],
)
def test_the_suffix_names_the_format(name: str, kind: str) -> None:
    assert format_of(Path(name)) == kind


@pytest.mark.parametrize("name", ["a", "a.mp4", "a.json", "a.text", ".srt"])
def test_an_unknown_suffix_lists_the_known(name: str) -> None:
    with pytest.raises(UsageError, match=r"use one of \.txt, \.jsonl, \.srt, \.vtt, \.csv, \.tsv"):
        format_of(Path(name))


def test_every_format_has_a_suffix_that_names_it() -> None:
    assert {format_of(Path("x" + suffix_of(name))) for name in WRITERS} == set(WRITERS)
