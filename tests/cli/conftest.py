"""What tests of commands share."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture
def loggers():
    """Loggers as a new process has them, and put back as they were."""
    names = [None, "protocol.server", "uvicorn.error", "websockets", "httpx", "httpcore", "PIL"]
    kept = {name: logging.getLogger(name) for name in names}
    before = {name: (each.level, each.handlers[:], each.propagate) for name, each in kept.items()}
    for each in kept.values():
        each.setLevel(logging.NOTSET)
    yield
    for name, each in kept.items():
        each.setLevel(before[name][0])
        each.handlers[:] = before[name][1]
        each.propagate = before[name][2]
