"""Server-sent events, read from bytes as they come.

Source: the HTML standard's "Server-sent events", section "Parsing an event stream".
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type, ``message`` unless it has another, and its data, lines joined by newlines."""

    data: str
    type: str = "message"


class EventStream:
    """A state machine without I/O: bytes in, events out.

    Comments, ``id`` and ``retry`` are passed over; lines end with CR, LF or both. Beyond the standard, a
    field named ``error`` counts as data of an event of that type: older llama.cpp servers send errors so.
    """

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""  # of a line whose end has not come yet
        self._after_cr = False
        self._data: list[str] = []
        self._type = ""

    def feed(self, received: bytes) -> list[Event]:
        """The events that `received` completes."""
        text = self._decoder.decode(received)
        if self._after_cr and text:  # a CR ended the last line: an LF now belongs to it
            text = text.removeprefix("\n")
            self._after_cr = False
        if text.endswith("\r"):
            self._after_cr = True
        *lines, self._rest = (self._rest + text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return [event for line in lines if (event := self._line(line)) is not None]

    def end(self) -> list[Event]:
        """What is complete but for the empty line after it. The standard drops it; some servers end so."""
        events = self.feed(b"\n\n")
        self._rest = ""
        return events

    def _line(self, line: str) -> Event | None:
        if not line:
            event = Event("\n".join(self._data), self._type or "message") if self._data else None
            self._data, self._type = [], ""
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "data":
                self._data.append(value)
            case "event":
                self._type = value
            case "error":
                self._type = "error"
                self._data.append(value)
        return None
