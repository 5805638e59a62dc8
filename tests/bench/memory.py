"""Resident memory of a whole caption run: its peak, and how it grows after the first minute (Linux)."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from time import perf_counter, sleep

WARM_S = 60


def resident_mb(pid: int, field: str) -> float | None:
    """`VmRSS` (now) or `VmHWM` (peak) of a running process, in MB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith(field)]
    return int(lines[0].split()[1]) / 1000 if lines else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clip", help="a long clip: the run should take some minutes")
    parser.add_argument("--fps", default="30")
    parser.add_argument("--times", type=int, default=2, help="caption the clip this many times in one run")
    options = parser.parse_args()
    stream = str(Path(sys.executable).parent / "stream")
    command = [stream, "caption", *[options.clip] * options.times, "--fps", options.fps]
    started = perf_counter()
    samples: list[tuple[float, float]] = []
    peak = 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            now = resident_mb(process.pid, "VmRSS")
            if now is not None:
                samples.append((perf_counter() - started, now))
                peak = max(peak, resident_mb(process.pid, "VmHWM") or 0.0)
            sleep(0.5)
    taken = perf_counter() - started
    warm = [resident for at, resident in samples if WARM_S <= at < WARM_S + 15]
    last = [resident for at, resident in samples if at >= taken - 15]
    print(f"exit code {process.returncode}, {taken:.0f} s, peak {peak:.0f} MB")
    if warm and taken > WARM_S + 30:
        before, after = sum(warm) / len(warm), sum(last) / len(last)
        print(f"after the first minute {before:.0f} MB, at the end {after:.0f} MB: {after / before - 1:+.1%}")
    else:
        print(f"too short to measure growth: it needs more than {WARM_S + 30} s (raise --fps or --times)")


if __name__ == "__main__":
    main()
