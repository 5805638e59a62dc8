"""Where a run's captions go: standard output, named files, a folder with a file for each input."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, TextIO, cast

from cli.output.formats import WRITERS, format_of, make_writer, suffix_of
from cli.video.inputs import unique_stems
from protocol.errors import OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cli.output.record import CaptionRecord, ErrorRecord
    from cli.output.writer import Writer

STDOUT_NAME = "standard output"


class Outputs:
    """Every place one run writes its captions to.

    Args:
        stdout_format: format for standard output; None writes nothing there.
        files: named files, shared by all inputs; each has its format by its suffix.
        directory: a folder that gets a file for each input and each of `directory_formats`.
        overwrite: replace files that exist.
        inputs: what is captioned: subtitles hold only one, and none may be written over.
        period_s: the sampling period.

    Raises:
        UsageError: two places are the same, or a subtitle would have to hold several inputs.
        OutputError: a file exists and `overwrite` is off, or its folder is missing.
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
    ) -> None:
        self._several_inputs = len(inputs) > 1
        self._inputs = inputs
        self._period_s = period_s
        self._overwrite = overwrite
        self._directory = directory
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
        if directory is not None:
            for stem in unique_stems(inputs):
                for name in directory_formats:
                    self._check_free(self._path(stem, name))
        for path in files:
            self._check_free(path)
            if not os.path.isdir(path.parent):
                raise OutputError(f"{path}: its folder does not exist", hint=f"mkdir -p {path.parent}")

    def open_for(self, stem: str) -> SourceOutputs:
        """The writers for one input, whose own files are named `stem`; the first call opens the shared ones.

        Raises:
            OutputError: a file cannot be opened.
        """
        if self._shared is None:
            shared = [self._open(path, name, self._streams) for path, name in self._files]
            if self._stdout_format:
                shared.append(self._writer(self._stdout_format, sys.stdout, STDOUT_NAME))
            self._shared = shared
        streams = ExitStack()
        own: list[Writer] = []
        if self._directory is not None:
            try:
                self._directory.mkdir(parents=True, exist_ok=True)
            except FileExistsError:
                raise OutputError(f"{self._directory}: is a file, not a folder") from None
            except OSError as error:
                raise OutputError(f"{self._directory}: {error.strerror}") from error
            own = [self._open(self._path(stem, name), name, streams) for name in self._directory_formats]
        return SourceOutputs([*self._shared, *own], streams)

    def close(self) -> None:
        """Closes the shared files."""
        self._streams.close()

    def _path(self, stem: str, name: str) -> Path:
        assert self._directory is not None
        return self._directory / (stem + suffix_of(name))

    def _check_free(self, path: Path) -> None:
        # os.path, since pathlib raises for a name too long or a folder that may not be searched.
        if os.path.isdir(path):
            raise OutputError(f"{path}: is a folder", hint="name a file, or use --output-dir")
        if not os.path.isfile(path):  # not there, or a FIFO or device, which is written to as it is
            return
        if any(os.path.isfile(given) and os.path.samefile(given, path) for given in self._inputs):
            raise UsageError(f"{path}: is an input, and would be written over")
        if not self._overwrite:
            raise OutputError(f"{path}: exists already", hint="use --overwrite to replace it")

    def _open(self, path: Path, name: str, streams: ExitStack) -> Writer:
        # "x": another run may have made the file since it was looked for.
        mode = "w" if self._overwrite or (os.path.exists(path) and not os.path.isfile(path)) else "x"
        try:
            stream = cast(
                "TextIO",
                open(path, mode, encoding="utf-8", newline="\n", opener=_open_at_once),  # noqa: SIM115
            )
        except FileExistsError:
            raise OutputError(f"{path}: exists already", hint="use --overwrite to replace it") from None
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise OutputError(f"{path}: nobody reads this pipe", hint="start its reader first") from None
            raise OutputError(f"{path}: {error.strerror}") from error
        streams.callback(_close, stream)
        return self._writer(name, stream, str(path))

    def _writer(self, name: str, stream: TextIO, label: str) -> Writer:
        return make_writer(name, stream, label, several_inputs=self._several_inputs, period_s=self._period_s)


class SourceOutputs:
    """The writers of one input, used as one."""

    def __init__(self, writers: Sequence[Writer], streams: ExitStack) -> None:
        self._writers = writers
        self._streams = streams

    @property
    def files(self) -> list[str]:
        """Names of the files written to, standard output left out."""
        return [writer.name for writer in self._writers if writer.name != STDOUT_NAME]

    def write(self, record: CaptionRecord) -> None:
        """Writes `record` everywhere; one place that fails does not keep it from the others."""
        self._each(lambda writer: writer.write(record))

    def refused(self, record: ErrorRecord) -> None:
        """Notes a frame that was not answered, where the format has a place for it."""
        self._each(lambda writer: writer.refused(record))

    def finish(self, end_s: float | None) -> None:
        """Ends this input's captions everywhere and closes the files that are its own."""
        try:
            self._each(lambda writer: writer.finish(end_s))
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


def _open_at_once(path: str, flags: int) -> int:
    """Opens a FIFO without waiting for a reader, which nothing could interrupt."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if hasattr(os, "set_blocking"):
        os.set_blocking(descriptor, True)
    return descriptor


def _close(stream: TextIO) -> None:
    """Closes `stream`; what failed to be written has been reported when it was written."""
    with contextlib.suppress(OSError):
        stream.close()
