"""What is told of one source: while it is read, when it is lost, and in the end."""

import re

import pytest

from cli.output.source_display import SourceDisplay
from cli.output.terminal import Display
from protocol.source import Damage, Ended, Gap
from tests.cli.output.records import record
from tests.cli.output.screen import Screen, camera, clip

NAME = "rtsp://***@10.0.0.5/live"
GAP = Gap(4.0, 16.3, "no picture for 10 s")


def begun(source: object) -> SourceDisplay:
    return Display(show_captions=False, bar=False).begin(source)  # type: ignore[arg-type]


def test_a_loss_is_one_line_and_its_end_another(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    shown = begun(camera(NAME))
    shown.away("no picture for 10 s")
    shown.away("connection refused")
    shown.gap(GAP)
    shown.away("the stream ended")
    shown.gap(Gap(20.0, 21.0, "the stream ended"))
    shown.end(None)
    assert screen.err == [
        f"warning: {NAME}: no picture for 10 s; reconnecting",
        f"note: {NAME}: back after 12.3 s",
        f"warning: {NAME}: the stream ended; reconnecting",
        f"note: {NAME}: back after 1.0 s",
    ]


def test_a_gap_that_comes_without_a_loss_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    shown = begun(camera(NAME))
    shown.gap(GAP)
    assert screen.err == [f"note: {NAME}: back after 12.3 s (no picture for 10 s)"]


def test_what_a_source_says_cannot_move_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    begun(camera("cam\nera\x1b[2J")).away("gone\nfor good")
    assert screen.err == ["warning: cam era: gone for good; reconnecting"]


def test_the_summary_of_a_live_source(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    shown = begun(camera(NAME))
    for k in range(20):
        shown.dropped(2)
        shown.caption(record(1.0 * k, "Empty.", lag_s=0.5 if k < 18 else 3.0))
    shown.away("no picture for 10 s")
    shown.gap(GAP)
    shown.end(Ended(30.0, 600), ["out.jsonl"])
    summary = re.sub(r"in \d+\.\d s", "in N s", "".join(screen.err[2:]))
    assert summary == (
        f"20 captions from {NAME} in N s, lag 0.50 s median, 3.0 s p95, 40 dropped, 1 gap of 12.3 s; "
        "wrote out.jsonl"
    )


def test_the_summary_tells_that_it_was_broken_off_while_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch, columns=200)
    shown = begun(camera(NAME))
    shown.caption(record(1.0, "Empty.", lag_s=0.5))
    shown.unchanged(record(2.0, "Empty.", lag_s=0.5))
    shown.away("no picture for 10 s")
    shown.end(None)
    assert screen.err[-1].startswith(f"stopped after 1 caption from {NAME}, ")
    assert screen.err[-1].endswith(", 0 dropped, away in the end, 1 unchanged captions left out")


def test_the_summary_of_a_file_has_its_speed_and_nothing_of_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch, columns=200)
    shown = begun(clip())
    shown.caption(record(1.0, "Empty."))
    shown.skipped(3)
    shown.damage(Damage("a packet is damaged", 2.0))
    shown.damage(Damage("another is", 3.0))
    shown.end(Ended(3000.0, 90_000, damaged=2, truncated=True), ["out.srt"])
    assert screen.err[:3] == [
        "warning: clip.mp4: a packet is damaged at 00:02.000; going on after it",
        "warning: clip.mp4: ends early, at 3000.0 s of 3600.0 s declared",
        "warning: clip.mp4: 2 damaged packets were skipped",
    ]
    assert re.fullmatch(
        r"1 caption from clip\.mp4 in \d+\.\d s, [\d.]+ × real time, "
        r"3 similar frames left out; wrote out\.srt",
        screen.err[3],
    )


def test_every_second_caption_is_shown_of_each_source(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    display = Display(show_captions=True, every=2, input_count=2, at_once=["camera:0", "camera:1"], bar=False)
    shown = [display.begin(camera(f"camera:{k}"), k + 1) for k in range(2)]
    for k in range(4):
        for each in shown:
            each.caption(record(1.0 * k, "Empty."))
    assert [line.split()[:2] for line in screen.out[2:]] == [
        ["00:00.000", "camera:0"],
        ["00:00.000", "camera:1"],
        ["00:02.000", "camera:0"],
        ["00:02.000", "camera:1"],
    ]
