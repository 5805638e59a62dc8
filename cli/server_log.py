"""What a running server writes on stderr about its requests."""

from __future__ import annotations

import logging

from cli.clean import one_line
from protocol.redaction import mask_credentials


class OneLine(logging.Formatter):
    """Time and message on one line, with no credentials in it and nothing that a terminal would act on."""

    def __init__(self) -> None:
        """The format; a warning or an error says that it is one."""
        super().__init__("%(asctime)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%S%z")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """The line; a traceback is put below it by the library."""
        label = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return one_line(f"{record.asctime} {label}{mask_credentials(record.message)}")


def show_server_log(*, quiet: bool, debug: bool) -> None:
    """A line for each request unless `quiet`; with `debug`, log lines of everything but of headers."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    ours = logging.getLogger("protocol.server")
    if debug:
        logging.basicConfig(level=logging.DEBUG, handlers=[handler])
        # In detail these write down what clients send, keys and pictures and all.
        for name in ("uvicorn.error", "websockets", "httpx", "httpcore", "PIL"):
            logging.getLogger(name).setLevel(logging.WARNING)
        return
    ours.handlers = [handler]
    ours.propagate = False
    ours.setLevel(logging.WARNING if quiet else logging.INFO)
    # What it says at length, tracebacks included, is in our own lines where it matters.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
