"""Reading files in a process of its own, so that a crash, a hang or a flood of memory is seen."""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
WAYS = ("rate", "every", "keyframes", "middle", "loop")
LONGEST_S = 20.0
"""A file of nine frames that is not read within this hangs."""


class ReadingProcess:
    """A process that reads one file after another as `stream` does; begun anew after a crash or a hang."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, path: Path, way: str) -> dict[str, Any]:
        """What became of `path`: its ``outcome`` is ok, refused, raised, crashed or hung."""
        process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(path), way]).encode() + b"\n")
        process.stdin.flush()
        ready = select.select([process.stdout], [], [], LONGEST_S)[0]
        line = process.stdout.readline() if ready else b""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        code = process.returncode
        return {"outcome": "crashed" if ready else "hung", "detail": f"exit code {code}", "peak_mb": 0}

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _begin(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        return self._process


async def _read(path: str, way: str) -> str:
    """Opens and reads `path` whole; in words what it gave."""
    from cli.video.file_source import open_source
    from cli.video.sampling import SamplingPlan
    from cli.video.timeouts import Timeouts
    from protocol.frame import Frame
    from protocol.source import Ended

    plans = {
        "rate": SamplingPlan.of(fps=5),
        "every": SamplingPlan.of(every_frame=True),
        "keyframes": SamplingPlan.of(keyframes=True),
        "middle": SamplingPlan.of(fps=25, start="0.16"),
        "loop": SamplingPlan.of(fps=25, loop=True, max_frames=20),
    }
    source = await open_source(path, plans[way], Timeouts(10, 10))
    try:
        json.dumps(source.info.to_json())
        frames, last, ended = 0, -1.0, False
        async for event in source.events():
            if isinstance(event, Frame):
                assert event.pts_s is not None
                assert event.pts_s > last, "times run backwards"
                assert event.pixels.size <= 3 * 4_194_304
                last, frames = event.pts_s, frames + 1
            ended = isinstance(event, Ended)
        assert ended, "no end"
    finally:
        await source.close()
    return f"{frames} frames"


def _main() -> None:
    import asyncio

    from protocol.errors import InputError

    for line in sys.stdin:
        path, way = json.loads(line)
        try:
            outcome, detail = "ok", asyncio.run(_read(path, way))
        except InputError as error:
            outcome, detail = ("refused", str(error)) if "\n" not in str(error) else ("raised", repr(error))
        except BaseException as error:
            import traceback

            outcome, detail = "raised", "".join(traceback.format_exception(error))
        print(json.dumps({"outcome": outcome, "detail": detail, "peak_mb": _peak_mb()}), flush=True)


def _peak_mb() -> int:
    """Most memory this process has held; getrusage would begin with what the one that started it held."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    _main()
