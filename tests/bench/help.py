"""How long `stream --help` takes, against the smallest Typer app there is."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROUNDS = 15
SMALLEST_APP = """
import typer

app = typer.Typer()


@app.command()
def first(number: int = 1) -> None:
    "Does one thing."


@app.command()
def second(number: int = 1) -> None:
    "Does another."


app()
"""


def elapsed_s(command: list[str]) -> float:
    started = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - started


def main() -> None:
    stream = str(Path(sys.executable).parent / "stream")
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "app.py"
        app.write_text(SMALLEST_APP)
        commands = {
            "smallest Typer app --help": [sys.executable, str(app), "--help"],
            "stream --help": [stream, "--help"],
            "stream caption --help": [stream, "caption", "--help"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):  # in turn, so that a slow spell of the machine meets all of them
            for name, command in commands.items():
                times[name].append(elapsed_s(command))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    peer = medians["smallest Typer app --help"]
    print(f"{'command':<28}{'median':>10}{'ratio':>8}")
    for name, median in medians.items():
        print(f"{name:<28}{median * 1000:>7.0f} ms{median / peer:>8.2f}")


if __name__ == "__main__":
    main()
