"""What ``--debug`` shows beside tracebacks."""

from __future__ import annotations

import logging


def show_logs() -> None:
    """Log lines of everything on stderr, but those that quote whole URLs or headers, passwords and all."""
    logging.basicConfig(level=logging.DEBUG)
    for name in ("httpx", "httpcore", "websockets"):
        logging.getLogger(name).setLevel(logging.WARNING)
