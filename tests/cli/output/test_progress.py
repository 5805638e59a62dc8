"""The progress area has a line for each source, with what matters of it."""

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cli.output.progress import ProgressArea, Standing
from tests.cli.output.screen import Screen, camera, clip

LONG_RUN = Standing("12345 captions", 40_000.0, 12.34, 123_456)


def last_of(screen: Screen, start: str) -> str:
    """The line that begins so, as it was drawn last, without what makes columns of it."""
    return " ".join([line for line in screen.err if line.startswith(start)][-1].split())


def test_live_sources_have_their_lag_and_drops_and_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    area = ProgressArea(Console(stderr=True), several=True)
    door = area.add(camera("camera:0"), Text("door"), Standing("0 captions"))
    yard = area.add(camera("camera:1"), Text("yard"), Standing("0 captions"))
    area.update(door, Standing("1 caption", 1.0, 0.04, 7))
    area.update(yard, Standing("2 captions", 1.0, 0.5, 7, away=True))
    area.add(clip("clip.mp4"), Text("clip"), Standing("0 captions, 9 left", 62.0))  # draws all of them
    assert last_of(screen, "door") == "door 00:00 1 caption lag 0.04 s 7 dropped"
    assert last_of(screen, "yard") == "yard 00:00 2 captions reconnecting… 7 dropped"
    assert last_of(screen, "clip") == "clip 01:02 0 captions, 9 left"
    area.stop()
    assert not any(word in line for line in screen.err for word in ("%", "real time", "━"))


@pytest.mark.parametrize("columns", [40, 50, 64, 80, 120])
@pytest.mark.parametrize("several", [False, True])
def test_a_live_source_takes_one_line(columns: int, several: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch, columns=columns)
    area = ProgressArea(Console(stderr=True), several=several)
    label = Text("longest-10") if several else None
    area.add(camera("camera:0"), label, LONG_RUN)
    area.stop()
    lines = screen.err
    assert lines
    assert all(cell_len(line) <= columns and "dropped" in line for line in lines)
    assert all("lag 12.3 s" in line for line in lines)


def test_the_area_goes_with_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch)
    area = ProgressArea(Console(stderr=True), several=True)
    first = area.add(camera("camera:0"), Text("first"), Standing("0 captions"))
    second = area.add(camera("camera:1"), Text("second"), Standing("0 captions"))
    area.remove(first)
    assert area.shown
    assert screen.hidden_cursor
    area.remove(second)
    assert not area.shown
    assert not screen.hidden_cursor
    area.update(second, LONG_RUN)  # late news is no news
    area.remove(second)
    again = area.add(camera("camera:1"), Text("again"), Standing("0 captions"))
    assert area.shown
    area.remove(again)
