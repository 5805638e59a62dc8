"""What the near-duplicate filter (``--skip-similar``) takes a frame, against plain Pillow and NumPy."""

from __future__ import annotations

import argparse
import statistics
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from protocol.frame import Frame
from protocol.similarity import SimilarityFilter

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ROUNDS = 200


class PlainFilter:
    """The same as it is usually written."""

    def __init__(self) -> None:
        self._kept: NDArray[np.float32] | None = None

    def keeps(self, frame: Frame) -> bool:
        image = Image.fromarray(frame.pixels).resize((64, 64), Image.Resampling.BILINEAR)
        seen = np.asarray(image, np.float32)
        if self._kept is not None and 1 - float(np.mean((seen - self._kept) ** 2)) / 255**2 >= 0.95:
            return False
        self._kept = seen
        return True


def taken_ms(keeps: Callable[[Frame], bool], frame: Frame) -> tuple[float, float]:
    """Wall and processor time of one call."""
    started, used = perf_counter(), process_time()
    keeps(frame)
    return (perf_counter() - started) * 1000, (process_time() - used) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="1920x1080")
    width, height = map(int, parser.parse_args().size.split("x"))
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 256, (height, width, 3), dtype=np.uint8) for _ in range(4)]
    filters = {"stream": SimilarityFilter(0.95).keeps, "plain": PlainFilter().keeps}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in filters}
    for index in range(ROUNDS):
        frame = Frame(pixels=pictures[index % len(pictures)])
        for name, keeps in filters.items():  # in turn, so that a slow spell of the machine meets both
            taken[name].append(taken_ms(keeps, frame))
    print(f"{f'{width} x {height}':<14}{'median':>9}{'best':>9}{'processor':>12}")
    for name, times in taken.items():
        wall, used = zip(*times, strict=True)
        median, processor = statistics.median(wall), statistics.median(used)
        print(f"{name:<14}{median:>6.2f} ms{min(wall):>6.2f} ms{processor:>9.2f} ms")


if __name__ == "__main__":
    main()
