"""What a terminal shows fits it."""

import io
import re
from types import SimpleNamespace

import pytest

from cli.output.terminal import Display
from tests.cli.output.records import record


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_the_bar_stays_on_one_line(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SimpleNamespace(name="clip.mp4", live=False, duration_s=3600.0, expected_frames=3600)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")
    err = io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    shown = Display(show_captions=False).begin(source)
    for k in range(3):
        shown.caption(record(1000.0 * k, "A caption."))
    shown.end(None)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err.getvalue()).replace("\r", "\n").splitlines()
    bars = [line for line in lines if "left" in line]
    assert any("3 captions, 3597 left" in bar for bar in bars)
    assert all(len(bar) <= columns for bar in bars)
