"""The JSONL file of a run as what a later run goes on from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from pydantic import Field, TypeAdapter

from cli.clean import valid_unicode
from cli.fingerprint import Fingerprint, readable_again, source_name
from cli.output.output_file import close_output, open_output, whole_lines
from cli.output.record import CaptionRecord, ErrorRecord
from cli.output.run_file import InputState, Part, RunFile, RunState
from cli.run_options import changed_option
from protocol.errors import InputError, OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cli.video.inputs import Input

Record = CaptionRecord | ErrorRecord
_RECORD: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="type")])
_BEGIN_AGAIN = "--overwrite begins again"


@dataclass(frozen=True, slots=True)
class Past:
    """What earlier runs left of one input.

    Attributes:
        done: it needs no more work.
        incomplete: it is done, with something missing.
        damaged: something of it could not be read.
        captions: how many of its frames were captioned.
        refused: how many were not answered.
        skipped: how many were left out before those.
        last_s: time of the last of them, in seconds; None if there is none.
        model: what answered last.
        end_s: where it ends, if it is done.
    """

    done: bool = False
    incomplete: bool = False
    damaged: bool = False
    captions: int = 0
    refused: int = 0
    skipped: int = 0
    last_s: float | None = None
    model: str | None = None
    end_s: float | None = None


NO_PAST = Past()


class Journal:
    """A JSONL file and the `RunFile` beside it.

    Attributes:
        resumed: it goes on from what an earlier run wrote.
    """

    def __init__(self, path: Path, options: Mapping[str, Any] | None, inputs: Sequence[Input]) -> None:
        """Of a run that begins; without `options` no later one can go on from it."""
        self.path = path
        self.resumed = False
        self._inputs = inputs
        self._run_file = RunFile(path)
        self._keeps_run = options is not None and (os.path.isfile(path) or not os.path.exists(path))
        self._size = 0
        self._stream: TextIO | None = None
        self._state = RunState(
            options=dict(options or {}),
            inputs=[InputState(source=valid_unicode(source_name(given))) for given in inputs],
        )

    @classmethod
    def resume(cls, path: Path, options: Mapping[str, Any], inputs: Sequence[Input]) -> Journal:
        """Of a run that goes on from `path`, or begins if that is not there or has no whole record.

        Raises:
            UsageError: other options or inputs were given then, or an input cannot be read twice.
            InputError: an input has changed since.
            OutputError: `path` is not such a file, or nothing says how it was made.
        """
        journal = cls(path, options, inputs)
        if not os.path.exists(path):
            return journal
        if not os.path.isfile(path):
            raise UsageError(f"--resume: {path} is not a file that could be read again")
        journal.resumed = True
        journal._size = whole_lines(path)
        if journal._size:
            journal._load(options)
        return journal

    @property
    def done(self) -> bool:
        """Whether every input is done."""
        return all(each.end_s is not None for each in self._state.inputs)

    def past(self, index: int = 0) -> Past:
        """What earlier runs left of the input of that number.

        Raises:
            OutputError: the file holds something else than the records of such a run.
        """
        return self._pasts[index]

    def open(self, *, overwrite: bool) -> TextIO:
        """The file, for writing at its end; what is behind its last whole line is cut off.

        Raises:
            OutputError: see `open_output`; or another run has written to it since it was looked at.
        """
        self._stream = open_output(self.path, "go on" if self.resumed else "replace" if overwrite else "new")
        if self.resumed and self._offset() != self._size:
            self.close()
            raise OutputError(f"{self.path}: another run has just written to it")
        return self._stream

    def close(self) -> None:
        """Closes the file."""
        if self._stream is not None:
            close_output(self._stream)

    def begin(self, index: int = 0) -> None:
        """From here on come the records of the input of that number.

        Raises:
            OutputError: that cannot be noted.
        """
        state = self._state.inputs[index]
        if state.fingerprint is None:
            state.fingerprint = Fingerprint.of(self._inputs[index])
        self._state.parts.append(Part(input=index, offset=self._offset()))
        self._save()

    def damaged(self, index: int = 0) -> None:
        """Something of the input of that number could not be read.

        Raises:
            OutputError: that cannot be noted.
        """
        if not self._state.inputs[index].damaged:
            self._state.inputs[index].damaged = True
            self._save()

    def finish(self, index: int, end_s: float, *, incomplete: bool) -> None:
        """The input of that number is done; it ends at `end_s`.

        Raises:
            OutputError: that cannot be noted.
        """
        state = self._state.inputs[index]
        state.incomplete, state.end_s, state.end_offset = incomplete, end_s, self._offset()
        self._save()

    def records(self, index: int | None = None) -> Iterator[Record]:
        """The records of earlier runs: of the input of that number, or all of them in their order.

        Raises:
            OutputError: a line is no record of that input.
        """
        ends = [*(part.offset for part in self._state.parts[1:]), self._size]
        with self.path.open("rb") as file:
            for part, end in zip(self._state.parts, ends, strict=True):
                if index in (None, part.input) and part.offset < self._size:
                    file.seek(part.offset)
                    while file.tell() < min(end, self._size):
                        yield self._record(file.readline(), self._state.inputs[part.input].source)

    @cached_property
    def _pasts(self) -> list[Past]:
        """Read before anything is written, since `records` then ends where earlier runs did."""
        return [
            self._past(number, state) if state.end_s is None else _done(state)
            for number, state in enumerate(self._state.inputs)
        ]

    def _past(self, index: int, state: InputState) -> Past:
        captions = refused = skipped = 0
        last: Record | None = None
        for last in self.records(index) if self._size else ():
            captions += isinstance(last, CaptionRecord)
            refused += isinstance(last, ErrorRecord)
            skipped += last.skipped_similar
        return Past(
            damaged=state.damaged,
            captions=captions,
            refused=refused,
            skipped=skipped,
            last_s=last.pts_s if last else None,
            model=last.model if last else None,
        )

    def _load(self, options: Mapping[str, Any]) -> None:
        state = self._run_file.load()
        if state is None:
            raise OutputError(
                f"{self.path}: cannot be resumed, {self._run_file.path} is missing or damaged",
                hint=_BEGIN_AGAIN,
            )
        if (changed := changed_option(state.options, options)) is not None:
            raise UsageError(f"--resume: {changed}; {self.path} was begun otherwise", hint=_BEGIN_AGAIN)
        names = [each.source for each in self._state.inputs]
        before = [each.source for each in state.inputs]
        if names != before:
            other = next((name for name in names if name not in before), None)
            missing = next((name for name in before if name not in names), None)
            told = f"{other} is new" if other else f"{missing} is missing" if missing else "their order"
            raise UsageError(
                f"--resume: other inputs than {self.path} was begun with: {told}", hint=_BEGIN_AGAIN
            )
        self._state = state
        self._forget_beyond()
        for given, each in zip(self._inputs, state.inputs, strict=True):
            self._check(given, each)

    def _forget_beyond(self) -> None:
        """A file that has been cut since is taken for what it is now."""
        self._state.parts = [part for part in self._state.parts if part.offset <= self._size]
        for each in self._state.inputs:
            if each.end_offset is not None and each.end_offset > self._size:
                each.end_s = each.end_offset = None
                each.incomplete = False

    def _check(self, given: Input, state: InputState) -> None:
        begun = any(self._state.inputs[part.input] is state for part in self._state.parts)
        if begun and state.end_s is None and not readable_again(given):
            raise UsageError(f"--resume: {given} cannot be read a second time", hint=_BEGIN_AGAIN)
        if state.fingerprint is not None and (changed := state.fingerprint.difference(given)) is not None:
            raise InputError(
                f"{given}: not the file that {self.path} was begun with: {changed}", hint=_BEGIN_AGAIN
            )

    def _record(self, line: bytes, source: str) -> Record:
        try:
            record = _RECORD.validate_json(line)
        except ValueError as error:
            raise OutputError(
                f"{self.path}: cannot be resumed, a line in it is no caption record", hint=_BEGIN_AGAIN
            ) from error
        if record.source != source:
            raise OutputError(
                f"{self.path}: cannot be resumed, a record in it is of {record.source}", hint=_BEGIN_AGAIN
            )
        return record

    def _offset(self) -> int:
        assert self._stream is not None
        return os.fstat(self._stream.fileno()).st_size if self._keeps_run else 0

    def _save(self) -> None:
        if not self._keeps_run:
            return
        try:
            self._run_file.save(self._state)
        except OutputError:
            # A folder that takes no new file is no reason not to caption. One that holds the record of
            # another run is: that would be taken for the record of this one.
            if self.resumed or len(self._state.parts) > 1 or self._run_file.exists():
                raise
            self._keeps_run = False


def _done(state: InputState) -> Past:
    return Past(done=True, incomplete=state.incomplete, damaged=state.damaged, end_s=state.end_s)
