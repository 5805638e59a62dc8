"""A source of 30 frames a second before an engine of one second a frame: how old a caption's picture is.

The engine stands behind a real `stream serve` and answers with the time that the picture shows, so that
pictures which wait unseen, in FFmpeg or in a socket, are found too. The peer is the loop that everybody
writes first: OpenCV reads a frame, a second passes, and so on.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from live_run import STREAM, LiveRun, clock_stream, late_s, spread

from tests.live.ffmpeg_server import tcp_server
from tests.live.picture import shown_at

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGINE_S = 1.0
WARM_SHARE = 0.1


@contextmanager
def caption_server() -> Iterator[str]:
    """Gives the address of `stream serve`."""
    command = [*clock_stream(ENGINE_S), "serve", "--port", "0", "--engine", "lite"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            ready = (re.match(r"ready at (\S+)", line) for line in process.stderr)
            yield next(found[1] for found in ready if found)
        finally:
            process.kill()


def peer(width: int, height: int, seconds: float) -> list[float]:
    """How old each picture is when the plain loop has its answer."""
    import cv2

    with tcp_server(width, height, 30, life_s=seconds + 60) as source:
        capture = cv2.VideoCapture(source.url)
        ages_s = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            there, pixels = capture.read()
            if not there:
                break
            time.sleep(ENGINE_S)
            ages_s.append(time.time() - shown_at(pixels))
        capture.release()
    return ages_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument(
        "--peer-s", type=float, default=30, help="seconds for the plain loop; 0 leaves it out"
    )
    asked = parser.parse_args()
    width, height = (int(each) for each in asked.size.split("x"))
    seconds = asked.minutes * 60
    if asked.peer_s:
        ages_s = peer(width, height, asked.peer_s)
        print(f"plain loop, {asked.peer_s:g} s: made to answered {spread(ages_s)}, last {ages_s[-1]:.3f} s")
    with caption_server() as nim, tcp_server(width, height, 30, life_s=seconds + 60) as source:
        options = ("--nim-url", nim, "--fps", "30", "--duration", f"{seconds:g}", "-f", "jsonl")
        with LiveRun([*STREAM, "caption", source.url, *options]) as run:
            code = run.wait()
    captions = run.captions
    print(f"exit code {code}, {len(captions)} captions in {seconds:g} s", *run.errors[-3:], sep="\n")
    print(f"lag_s               {spread([each['lag_s'] for each in captions])}")
    print(f"made to arrived     {spread([late_s(each) for each in captions])}")
    print(f"made to answered    {spread([each['received'] - float(each['text']) for each in captions])}")
    dropped = sum(each["dropped_since_last"] for each in captions)
    span_s = captions[-1]["pts_s"] - captions[0]["pts_s"]
    print(f"captioned and dropped together {len(captions) + dropped}, of {span_s * 30 + 1:.0f} ticks")
    warm = [megabytes for at, megabytes in run.memory if at > max(20, seconds * WARM_SHARE)]
    part = max(1, len(warm) // 10)
    before, after = (sum(each) / part for each in (warm[:part], warm[-part:]))
    print(f"memory {before:.1f} MB warm, {after:.1f} MB at the end: {after / before - 1:+.2%}")


if __name__ == "__main__":
    main()
