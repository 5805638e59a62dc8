"""Running the real `stream` command as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SAMPLE = str(ROOT / "samples" / "tour.mp4")
COMMAND = [sys.executable, "-m", "cli.main"]


def environment(**extra: str) -> dict[str, str]:
    """This process's environment, with nothing in it that changes what a terminal is shown."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}
    }
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


def stream(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs ``stream`` with `arguments` to its end."""
    options.setdefault("env", environment())
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=options.pop("timeout", 90),
        **options,
    )


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Starts ``stream`` with `arguments`, its stdout and stderr as pipes."""
    options.setdefault("env", environment())
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        **options,
    )
