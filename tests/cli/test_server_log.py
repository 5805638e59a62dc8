from __future__ import annotations

import logging
import re

import pytest

from cli.server_log import OneLine, show_server_log


def line(message, *arguments, level=logging.INFO):
    return OneLine().format(logging.LogRecord("protocol.server", level, "", 0, message, arguments, None))


@pytest.mark.parametrize(
    ("quiet", "debug", "level"),
    [(False, False, logging.INFO), (True, False, logging.WARNING), (False, True, logging.DEBUG)],
)
def test_how_much_is_said(loggers, quiet, debug, level):
    logging.getLogger().handlers[:] = []
    show_server_log(quiet=quiet, debug=debug)
    assert logging.getLogger("protocol.server.access").getEffectiveLevel() == level
    assert logging.getLogger("uvicorn.error").getEffectiveLevel() >= logging.WARNING


def test_a_line_begins_with_its_time():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} GET /x 200", line("GET %s 200", "/x"))


@pytest.mark.parametrize(("level", "label"), [(logging.WARNING, "warning"), (logging.ERROR, "error")])
def test_a_warning_says_that_it_is_one(level, label):
    assert line("odd", level=level).endswith(f" {label}: odd")


def test_it_stays_one_line_without_controls_and_credentials():
    shown = line("from %s\n\x1b[31mred", "rtsp://me:s3cret@camera/1")
    assert shown.endswith(" from rtsp://***@camera/1 red")
