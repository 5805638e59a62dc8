"""What a server in between costs: `caption --nim-url` to a lite server on this machine, against in process.

Loading is left out on both sides: timed is from a run's first caption to its end. The same frames are
analysed, so what is more is encoding, the wire, decoding and the work of two processes.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter

STREAM = str(Path(sys.executable).parent / "stream")
ROUNDS = 5


def run_s(*options: str) -> tuple[float, int]:
    """Seconds from the first caption to the end of the process, and the number of captions."""
    command = [STREAM, "caption", *options, "--format", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        started = perf_counter()
        captions = 1 + sum(1 for _ in process.stdout)
        process.wait()
        taken_s = perf_counter() - started
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return taken_s, captions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clip", help="a video, samples/tour.mp4 for one")
    parser.add_argument("--fps", default="5")
    parser.add_argument("--max-frames", default="40")
    given = parser.parse_args()
    sampling = (given.clip, "--fps", given.fps, "--max-frames", given.max_frames)
    serve = [STREAM, "serve", "--port", "0", "--engine", "lite", "--quiet"]
    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        url = next(line.split()[2] for line in server.stderr if line.startswith("ready at "))
        remote = (*sampling, "--nim-url", url)
        runs = {
            "in process": (*sampling, "--engine", "lite"),
            "websocket, jpeg": remote,
            "websocket, png": (*remote, "--frame-encoding", "png"),
            "rest, jpeg": (*remote, "--transport", "rest"),
        }
        times: dict[str, list[float]] = {name: [] for name in runs}
        captions = 0
        try:
            for _ in range(ROUNDS):  # in turn, so that a slow spell of the machine meets all of them
                for name, options in runs.items():
                    taken_s, captions = run_s(*options)
                    times[name].append(taken_s)
        finally:
            server.terminate()
    print(f"{captions} frames of {given.clip}")
    print(f"{'way':<20}{'best':>10}{'ratio':>8}{'median':>10}{'ratio':>8}{'best a frame':>15}")
    best_peer_s, median_peer_s = (pick(times["in process"]) for pick in (min, statistics.median))
    for name, taken in times.items():
        best_s, median_s = min(taken), statistics.median(taken)
        print(
            f"{name:<20}{best_s:>8.2f} s{best_s / best_peer_s:>8.2f}{median_s:>8.2f} s"
            f"{median_s / median_peer_s:>8.2f}{best_s * 1000 / captions:>12.1f} ms"
        )


if __name__ == "__main__":
    main()
