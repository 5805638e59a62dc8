"""Where one input's captions go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import ExitStack

    from cli.output.journal import Journal
    from cli.output.record import CaptionRecord, ErrorRecord, GapRecord
    from cli.output.writer import Writer

STDOUT_NAME = "standard output"


class SourceOutputs:
    """The writers of one input, used as one."""

    def __init__(
        self, writers: Sequence[Writer], streams: ExitStack, journal: Journal | None, place: int
    ) -> None:
        """Of the input that `journal` has at `place`."""
        self._writers = writers
        self._streams = streams
        self._journal = journal
        self._place = place

    @property
    def files(self) -> list[str]:
        """Names of the files written to, standard output left out."""
        return [writer.name for writer in self._writers if writer.name != STDOUT_NAME]

    def write(self, record: CaptionRecord) -> None:
        """Writes `record` everywhere; one place that fails does not keep it from the others."""
        self._each(lambda writer: writer.write(record))

    def event(self, record: ErrorRecord | GapRecord) -> None:
        """Notes what is no caption, where the format has a place for it."""
        self._each(lambda writer: writer.event(record))

    def damaged(self) -> None:
        """Notes that something of the input could not be read, for a later run to know."""
        if self._journal is not None:
            self._journal.damaged(self._place)

    def finish(self, end_s: float | None, *, done: bool = False, incomplete: bool = False) -> None:
        """Ends this input's captions everywhere and closes the files that are its own.

        Args:
            end_s: where the input ends; None if it was broken off.
            done: a later run has nothing more to do for it.
            incomplete: it is done, with something missing.
        """
        try:
            self._each(lambda writer: writer.finish(end_s))
            if done and end_s is not None and self._journal is not None:
                self._journal.finish(self._place, end_s, incomplete=incomplete)
        finally:
            self._streams.close()

    def _each(self, act: Callable[[Writer], None]) -> None:
        failure: OutputError | None = None
        for writer in self._writers:
            try:
                act(writer)
            except OutputError as error:
                failure = failure or error
        if failure is not None:
            raise failure
