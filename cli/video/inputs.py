"""From the command line's arguments to the list of inputs: paths, folders, globs, URLs and ``-``."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit

from cli.clean import valid_unicode
from protocol.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

Input: TypeAlias = str
"""One input as the person gave it: a path, a URL, or ``-``; credentials in it are not masked."""

STDIN = "-"

VIDEO_SUFFIXES = frozenset(
    f".{suffix}"
    for suffix in (
        *("264", "265", "3g2", "3gp", "asf", "avi", "divx", "dv", "f4v", "flv", "h264", "h265", "hevc"),
        *("insv", "ivf", "m1v", "m2ts", "m2v", "m4v", "mjpeg", "mjpg", "mkv", "mov", "mp4", "mpe", "mpeg"),
        *("mpg", "mts", "mxf", "nut", "obu", "ogm", "ogv", "qt", "rm", "rmvb", "ts", "vob", "webm", "wmv"),
        "y4m",
    )
)
"""What counts as a video in a folder; a file named by itself is tried whatever its name."""

_LONGEST_STEM = 200
"""Bytes of a stem; file systems take 255 a name, and a number, a time and a suffix follow."""

LIVE_PREFIXES = ("camera:", "lavfi:")
"""What begins so is no path."""

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def expand_inputs(arguments: Sequence[str]) -> list[Input]:
    """The inputs that `arguments` name, in their order.

    A folder stands for the video files in it (not in its subfolders), a glob for what matches it, both in
    natural order. A path that is not there stays as it is, and fails on opening, so that others go on.

    Raises:
        InputError: a folder has no video in it, or a glob matches nothing.
    """
    inputs: list[Input] = []
    for argument in arguments:
        if argument == STDIN or is_url(argument) or argument.startswith(LIVE_PREFIXES):
            inputs.append(argument)
        elif os.path.isdir(argument):  # Path.is_dir raises where this is False
            inputs += _videos_in(argument)
        elif glob.has_magic(argument) and not os.path.lexists(argument):
            inputs += _matches(argument)
        else:
            inputs.append(argument)
    return inputs


def is_url(text: str) -> bool:
    """Whether `text` has a scheme, ``http://`` for one (a Windows drive is none)."""
    return _URL.match(text) is not None


def stem_of(name: str) -> str:
    """A name for files made of this input: its own without folders and suffix."""
    if name == STDIN:
        return "stdin"
    try:
        path = PurePosixPath(unquote(urlsplit(name).path)) if is_url(name) else Path(name)
    except ValueError:  # "http://[" for one: it fails on opening
        return "video"
    return path.stem or "video"


def unique_stems(inputs: Sequence[str]) -> list[str]:
    """A stem for the files of each input: its own, numbered where it is taken, no folder in it."""
    stems: list[str] = []
    taken = set()
    for given in inputs:
        own = valid_unicode(stem_of(given)).replace("/", "_")
        own = own.encode()[:_LONGEST_STEM].decode(errors="ignore")
        stem, number = own, 1
        while stem.casefold() in taken:  # some file systems take Clip and clip for one name
            number += 1
            stem = f"{own}_{number}"
        taken.add(stem.casefold())
        stems.append(stem)
    return stems


def natural_key(name: str) -> tuple[list[str | int], str]:
    """Sorts ``clip2`` before ``clip10``, and upper case beside lower."""
    parts = re.split(r"(\d+)", name)  # words and numbers by turns, so that like meets like
    return [int(part) if index % 2 else part.casefold() for index, part in enumerate(parts)], name


def _videos_in(folder: str) -> list[str]:
    try:
        entries = list(Path(folder).iterdir())
    except OSError as error:
        raise InputError(f"{folder}: {(error.strerror or 'cannot be listed').lower()}") from error
    found = [
        entry
        for entry in entries
        if entry.suffix.lower() in VIDEO_SUFFIXES
        and not entry.name.startswith(".")
        and not os.path.isdir(entry)
    ]
    if not found:
        raise InputError(f"{folder}: no video file in this folder", hint="name the files, or a glob")
    return [str(path) for path in sorted(found, key=lambda path: natural_key(path.name))]


def _matches(pattern: str) -> list[str]:
    found = [path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path)]  # noqa: PTH207
    if not found:
        raise InputError(f"{pattern}: no file matches")
    return sorted(found, key=natural_key)
