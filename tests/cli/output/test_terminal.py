"""What a terminal shows fits it, and says whose it is."""

import re

import pytest
from rich.cells import cell_len

from cli.output.terminal import Display
from tests.cli.output.records import record
from tests.cli.output.screen import Screen, camera, clip

DOOR, YARD = "rtsp://me:secret@10.0.0.5/live/door", "rtsp://10.0.0.6/live/yard"
LONG = "A white van stops in front of the gate and its driver gets out to open it, looking to both sides."


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_the_bar_stays_on_one_line(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch, columns=columns)
    shown = Display(show_captions=False).begin(clip())
    for k in range(3):
        shown.caption(record(1000.0 * k, "A caption."))
    shown.end(None)
    bars = [line for line in screen.err if "left" in line]
    assert any("3 captions, 3597 left" in bar for bar in bars)
    assert all(len(bar) <= columns for bar in bars)


def test_files_one_after_the_other_have_headings_and_no_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    display = Display(show_captions=True, input_count=2)
    for number, name in enumerate(["a.mp4", "b.mp4"], 1):
        shown = display.begin(clip(name), number)
        shown.caption(record(0.5, f"Of {name}."))
        shown.end(None)
    assert screen.out == [
        "a.mp4  (1 of 2)",
        "00:00.500  Of a.mp4.",
        "b.mp4  (2 of 2)",
        "00:00.500  Of b.mp4.",
    ]


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_captions_of_sources_at_once_stand_in_columns(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch, columns=columns)
    names = [DOOR, YARD, "camera:0"]
    display = Display(show_captions=True, input_count=3, at_once=names)
    shown = [display.begin(camera(name), number) for number, name in enumerate(names, 1)]
    headings = len(screen.out)
    for k, each in enumerate(shown):
        each.caption(record(10.0 + k, LONG))
    lines = screen.out[headings:]
    assert [line.split()[:3] for line in lines if line[0] != " "] == [
        ["00:10.000", "door", "A"],
        ["00:11.000", "yard", "A"],
        ["00:12.000", "camera:0", "A"],
    ]
    assert all(cell_len(line) <= columns for line in lines)
    # Text begins in one column, on the lines that go on as well.
    assert {re.match(r"(\d\S+ +\S+)? +", line).end() for line in lines} == {21}  # type: ignore[union-attr]
    for each in shown:
        each.end(None)


def test_hours_of_one_source_move_the_captions_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    display = Display(show_captions=True, input_count=2, at_once=[DOOR, YARD])
    shown = [display.begin(camera(name), number) for number, name in enumerate([DOOR, YARD], 1)]
    shown[0].caption(record(3600.0, "Closed."))
    shown[1].caption(record(7.0, "Empty."))
    assert screen.out[-2:] == ["01:00:00.000  door  Closed.", "   00:07.000  yard  Empty."]
    for each in shown:
        each.end(None)


def test_a_label_keeps_its_colour_and_the_heading_tells_what_it_stands_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Screen(monkeypatch)
    display = Display(show_captions=True, input_count=2, at_once=[DOOR, YARD])
    shown = [
        display.begin(camera(name), number)
        for number, name in enumerate(["rtsp://***@10.0.0.5/live/door", YARD], 1)
    ]
    assert screen.out == [
        "door  rtsp://***@10.0.0.5/live/door  (1 of 2)",
        "yard  rtsp://10.0.0.6/live/yard  (2 of 2)",
    ]
    for each in (*shown, *shown):
        each.caption(record(1.0, "Nothing."))
    colours = re.findall(r"\x1b\[(\d+)m(door|yard)", screen.colours)
    assert len(colours) == 6
    assert len(set(colours)) == 2
    assert len({colour for colour, _ in colours}) == 2
    for each in shown:
        each.end(None)


def test_closed_in_the_middle_it_gives_the_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    display = Display(show_captions=False)
    display.loading("waiting for the engine")
    assert screen.hidden_cursor
    display.close()
    assert not screen.hidden_cursor
    shown = display.begin(camera(DOOR))
    assert screen.hidden_cursor
    display.close()
    assert not screen.hidden_cursor
    shown.caption(record(1.0, "Late."))
    shown.end(None)


def test_loading_one_source_leaves_the_lines_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    display = Display(show_captions=False, input_count=2, at_once=[DOOR, YARD])
    display.loading("waiting for the engine")
    door = display.begin(camera(DOOR), 1)
    display.loading("waiting for another")
    yard = display.begin(camera(YARD), 2)
    door.end(None)
    yard.end(None)
    assert any("waiting for the engine" in line for line in screen.err)
    assert not any("waiting for another" in line for line in screen.err)
    assert any(line.startswith("yard") for line in screen.err)


def test_quiet_shows_neither_progress_nor_summary_but_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    display = Display(show_captions=False, quiet=True)
    display.loading("waiting")
    shown = display.begin(camera(YARD))
    shown.caption(record(1.0, "Empty.", lag_s=0.1))
    shown.away("no picture for 10 s")
    shown.end(None)
    assert screen.err == [f"warning: {YARD}: no picture for 10 s; reconnecting"]
