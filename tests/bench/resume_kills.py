"""Kills a caption run at random moments and goes on with ``--resume``: no caption lost, none repeated."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from tests.cli.commands.kills import KilledRun

SAMPLE = Path(__file__).parents[2] / "samples" / "tour.mp4"  # 25 frames a second
FRAMES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fake", action="store_true", help="an engine that is there at once, for more kills")
    options = parser.parse_args()
    engine = ["-m", "tests.cli.commands.fake_stream", "0.01"] if options.fake else ["-m", "cli.main"]
    command = [sys.executable, *engine, "caption", str(SAMPLE), "--every-frame"]
    command += ["--loop", "--max-frames", str(FRAMES)]
    started = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = KilledRun(command, Path(folder), [k / 25 for k in range(FRAMES)], options.seed)
        kills = 0
        while kills < options.kills and run.kill():
            kills += 1
        done = run.finish()
        assert done.returncode == 0, done.stderr
        records = run.check_all()
    sessions = 1 + sum(each["history_lost"] for each in records)
    print(f"{kills} kills, {run.halves} of them with half a line left, {perf_counter() - started:.0f} s")
    print(f"{len(records)} captions of {FRAMES} frames, none lost, none repeated, from {sessions} sessions")


if __name__ == "__main__":
    main()
