"""From nothing to the first caption: process start to the first line on standard output.

The peer is what a short script takes to read the text of the same frame: OpenCV and RapidOCR as they come.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter

ROUNDS = 7
PEER = """
import sys
import cv2
from rapidocr import RapidOCR

ok, picture = cv2.VideoCapture(sys.argv[1]).read()
print(RapidOCR()(picture).txts, flush=True)
"""


def first_line_s(command: list[str]) -> tuple[float, str]:
    started = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        taken = perf_counter() - started
        process.stdout.read()
    return taken, line.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clip", help="a 1080p clip with text on screen")
    clip = parser.parse_args().clip
    stream = str(Path(sys.executable).parent / "stream")
    commands = {
        "RapidOCR on the first frame": [sys.executable, "-c", PEER, clip],
        "stream caption, first line": [stream, "caption", clip, "--max-frames", "1", "--format", "text"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    lines: dict[str, str] = {}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken, lines[name] = first_line_s(command)
            times[name].append(taken)
    print(f"{'command':<30}{'median':>9}{'worst':>9}  first line")
    for name, taken in times.items():
        print(f"{name:<30}{statistics.median(taken):>7.2f} s{max(taken):>7.2f} s  {lines[name]}")


if __name__ == "__main__":
    main()
