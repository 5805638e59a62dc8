"""Kills a live source in mid-run and starts it again: how soon captions go on, and whether any time is wrong.

Each picture shows when it was made, and the engine reads that: `captured_at` has to be right after it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from live_run import LiveRun, captured_s, clock_stream, late_s, spread

from tests.live.ffmpeg_server import tcp_server
from tests.live.rtsp_server import rtsp_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.live.server_process import ServerProcess

AWAY_S = (0.5, 1.5, 3.0, 6.0, 12.0)
FPS = 10


def measure(kind: str, make: Callable[..., ServerProcess], away_s: Sequence[float]) -> None:
    with make(life_s=sum(away_s) + 60 * (1 + len(away_s))) as source:
        command = [*clock_stream(0), "caption", source.url, "--fps", str(FPS), "-f", "jsonl"]
        with LiveRun(command) as run:
            run.caption(count=10)
            back_s = []
            for away in away_s:
                source.kill()
                time.sleep(away)
                source.start()
                listening = time.time()
                back = run.caption(since=listening)
                back_s.append(captured_s(back) - listening)
                run.caption(since=listening, count=10)
    gaps = sum(each["type"] == "gap" for each in run.records)
    captions = run.captions
    late = sorted(late_s(each) for each in captions)
    print(f"{kind}: {len(away_s)} kills, {gaps} gaps told, {len(captions)} captions")
    each_s = ", ".join(f"{away:g} s: {back:.2f}" for away, back in zip(away_s, back_s, strict=True))
    print(f"  listening again to the next picture, after {each_s}; {spread(back_s)}")
    print(f"  made to arrived from {late[0]:.3f} s to {late[-1]:.3f} s; wrong times {len(wrong(captions))}")


def wrong(captions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Captions whose time is not that of their picture, or whose two times are not the same.

    A picture cannot come before it is made, but for the hundredth of a second that its clock shows; and if it
    comes more than a second later, it is an old one.
    """
    offset_s = captured_s(captions[0]) - captions[0]["pts_s"]
    return [
        each
        for each, before in zip(captions, [None, *captions], strict=False)
        if not -0.02 <= late_s(each) <= 1
        or abs(captured_s(each) - each["pts_s"] - offset_s) > 0.05
        or (before is not None and each["pts_s"] <= before["pts_s"])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--away-s", type=float, nargs="+", default=AWAY_S, help="how long it is away, each")
    asked = parser.parse_args()
    measure("rtsp", rtsp_server, asked.away_s)
    measure("tcp", tcp_server, asked.away_s)


if __name__ == "__main__":
    main()
