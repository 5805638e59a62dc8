"""Where a run's captions go: standard output, named files, a folder with a file for each input."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

from cli.output.formats import WRITERS, format_of, make_writer, suffix_of
from cli.output.journal import NO_PAST, Journal
from cli.output.output_file import close_output, open_output
from cli.output.record import CaptionRecord
from cli.output.source_outputs import STDOUT_NAME, SourceOutputs
from cli.video.inputs import unique_stems
from protocol.errors import OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import TextIO

    from cli.output.journal import Past, Record
    from cli.output.writer import Writer


class Outputs:
    """Every place one run writes its captions to.

    The first named JSONL file, else the JSONL file of each input, is what a later run goes on from; the other
    files are then made anew from it, and standard output gets what is new.

    Args:
        stdout_format: format for standard output; None writes nothing there.
        files: named files, shared by all inputs; each has its format by its suffix.
        directory: a folder that gets a file for each input and each of `directory_formats`.
        overwrite: replace files that exist.
        inputs: what is captioned: subtitles hold only one, and none may be written over.
        period_s: the sampling period.
        options: what decides the captions (`run_options`), kept for a later run; None keeps nothing.
        resume: go on from what an earlier run with these `options` left, if it left anything.

    Raises:
        UsageError: two places are the same, a subtitle would have to hold several inputs, or there is nothing
            to go on from or other options were given.
        InputError: an input is not the one that the earlier run had.
        OutputError: a file exists and `overwrite` is off, its folder is missing, or it is not to be resumed.
    """

    def __init__(
        self,
        *,
        stdout_format: str | None = None,
        files: Sequence[Path] = (),
        directory: Path | None = None,
        directory_formats: Sequence[str] = (),
        overwrite: bool = False,
        inputs: Sequence[str] = ("",),
        period_s: float = 1.0,
        options: Mapping[str, Any] | None = None,
        resume: bool = False,
    ) -> None:
        self._several_inputs = len(inputs) > 1
        self._inputs = inputs
        self._period_s = period_s
        self._overwrite = overwrite
        self._directory = directory
        self._stems = unique_stems(inputs)
        self._directory_formats = directory_formats
        self._files = [(path, format_of(path)) for path in files]
        self._stdout_format = stdout_format
        self._streams = ExitStack()
        self._shared: list[Writer] | None = None
        formats = [name for _, name in self._files] + ([stdout_format] if stdout_format else [])
        for name in formats if self._several_inputs else ():
            if WRITERS[name].one_input:
                raise UsageError(
                    f"{name} holds one video's captions, and there are {len(inputs)} inputs",
                    hint=f"use --output-dir DIR --format {name}",
                )
        if len({path.resolve() for path in files}) < len(files):
            raise UsageError("the same file is named twice with -o")
        self._journal, self._journals = self._make_journals(options, resume=resume)
        for index in range(len(inputs)):
            for path, _ in self._own_files(index):
                self._check_free(path, self._journal_of(index))
        for path in files:
            self._check_free(path, self._journal)
            if not os.path.isdir(path.parent):
                raise OutputError(f"{path}: its folder does not exist", hint=f"mkdir -p {path.parent}")

    @property
    def done(self) -> bool:
        """Whether an earlier run has done it all."""
        journals = [self._journal] if self._journal else self._journals
        return bool(journals) and all(journal.resumed and journal.done for journal in journals)

    def past(self, index: int) -> Past:
        """What earlier runs left of the input of that number.

        Raises:
            OutputError: it cannot be gone on from.
        """
        journal = self._journal_of(index)
        return journal.past(self._place(index)) if journal and journal.resumed else NO_PAST

    def open_for(self, index: int = 0) -> SourceOutputs:
        """The writers for the input of that number; the first call opens the shared ones.

        Raises:
            OutputError: a file cannot be opened.
        """
        self.past(index)  # read before anything is written
        if self._shared is None:
            self._shared = self._open_shared()
        streams = ExitStack()
        try:
            own = self._open_own(index, streams)
            journal = self._journal_of(index)
            if journal is not None:
                journal.begin(self._place(index))
        except BaseException:
            streams.close()
            raise
        return SourceOutputs([*self._shared, *own], streams, journal, self._place(index))

    def restore(self) -> None:
        """Makes the files anew that are missing beside what an earlier run has done, from its JSONL.

        Raises:
            OutputError: one cannot be written.
        """
        for index in range(len(self._inputs)):
            past, journal = self.past(index), self._journal_of(index)
            missing = [file for file in self._own_files(index) if not os.path.exists(file[0])]
            if self.done and index == len(self._inputs) - 1:
                missing += [file for file in self._files if not os.path.exists(file[0])]
            if journal is None or not past.done or not missing:
                continue
            with ExitStack() as streams:
                for path, name in missing:
                    shared = (path, name) in self._files
                    writer = self._writer(name, self._opened(path, "new", streams), str(path))
                    _replay(journal.records(None if shared else self._place(index)), writer)
                    writer.finish(past.end_s)

    def close(self) -> None:
        """Closes the shared files."""
        self._streams.close()

    def _make_journals(
        self, options: Mapping[str, Any] | None, *, resume: bool
    ) -> tuple[Journal | None, list[Journal]]:
        """The journal that all inputs share, else one for each; neither where no JSONL is written."""

        def journal(path: Path, inputs: Sequence[str]) -> Journal:
            return Journal.resume(path, options or {}, inputs) if resume else Journal(path, options, inputs)

        named = next((path for path, name in self._files if name == "jsonl"), None)
        if named is not None:
            return journal(named, self._inputs), []
        if self._directory is not None and "jsonl" in self._directory_formats:
            return None, [
                journal(self._path(stem, "jsonl"), [given])
                for stem, given in zip(self._stems, self._inputs, strict=True)
            ]
        if resume:
            raise UsageError(
                "--resume goes on from a JSONL file", hint="add -o FILE.jsonl, or -f jsonl with --output-dir"
            )
        return None, []

    def _journal_of(self, index: int) -> Journal | None:
        return self._journals[index] if self._journals else self._journal

    def _place(self, index: int) -> int:
        """The number of an input in its journal."""
        return 0 if self._journals else index

    def _own_files(self, index: int) -> list[tuple[Path, str]]:
        """The files in the folder for the input of that number, JSONL first."""
        if self._directory is None:
            return []
        formats = sorted(dict.fromkeys(self._directory_formats), key=lambda name: name != "jsonl")
        return [(self._path(self._stems[index], name), name) for name in formats]

    def _path(self, stem: str, name: str) -> Path:
        assert self._directory is not None
        return self._directory / (stem + suffix_of(name))

    def _check_free(self, path: Path, journal: Journal | None) -> None:
        # os.path, since pathlib raises for a name too long or a folder that may not be searched.
        if os.path.isdir(path):
            raise OutputError(f"{path}: is a folder", hint="name a file, or use --output-dir")
        if not os.path.isfile(path):  # not there, or a FIFO or device, which is written to as it is
            return
        if any(os.path.isfile(given) and os.path.samefile(given, path) for given in self._inputs):
            raise UsageError(f"{path}: is an input, and would be written over")
        if not self._overwrite and not (journal and journal.resumed):
            raise OutputError(f"{path}: exists already", hint="use --overwrite to replace it")

    def _open_shared(self) -> list[Writer]:
        files = sorted(self._files, key=lambda file: self._journal is None or file[0] != self._journal.path)
        writers = [self._open(path, name, self._journal, None, self._streams) for path, name in files]
        if self._stdout_format:
            writers.append(self._writer(self._stdout_format, sys.stdout, STDOUT_NAME))
        return writers

    def _open_own(self, index: int, streams: ExitStack) -> list[Writer]:
        if self._directory is None:
            return []
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise OutputError(f"{self._directory}: is a file, not a folder") from None
        except OSError as error:
            raise OutputError(f"{self._directory}: {error.strerror}") from error
        journal, place = self._journal_of(index), self._place(index)
        return [self._open(path, name, journal, place, streams) for path, name in self._own_files(index)]

    def _open(
        self, path: Path, name: str, journal: Journal | None, place: int | None, streams: ExitStack
    ) -> Writer:
        """The writer of a file that has what its journal has, of the input at `place` or, if None, of all."""
        if journal is not None and path == journal.path:
            stream = journal.open(overwrite=self._overwrite)
            streams.callback(journal.close)
            return self._writer(name, stream, str(path))
        resumed = journal is not None and journal.resumed
        stream = self._opened(path, "replace" if self._overwrite or resumed else "new", streams)
        writer = self._writer(name, stream, str(path))
        if journal is not None and resumed:
            _replay(journal.records(place), writer)
        return writer

    def _opened(self, path: Path, purpose: Literal["new", "replace"], streams: ExitStack) -> TextIO:
        stream = open_output(path, purpose)
        streams.callback(close_output, stream)
        return stream

    def _writer(self, name: str, stream: TextIO, label: str) -> Writer:
        return make_writer(name, stream, label, several_inputs=self._several_inputs, period_s=self._period_s)


def _replay(records: Iterable[Record], writer: Writer) -> None:
    for record in records:
        if isinstance(record, CaptionRecord):
            writer.write(record)
        else:
            writer.event(record)
