"""The whole `stream` command with the fake engine in place of another: it starts fast, whatever is installed.

``python -m tests.cli.commands.fake_stream DELAY_S caption ...``; with FAKE_TEXTS in the environment it says
those words in turn.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from cli import main
from cli.engines import EngineChoice
from tests.fake_engine import FakeEngine

if __name__ == "__main__":
    delay_s = float(sys.argv.pop(1))

    def make(choice: EngineChoice, *report: Any) -> FakeEngine:
        return FakeEngine(delay_s=delay_s, texts=os.environ.get("FAKE_TEXTS", "").split())

    EngineChoice.make = make  # type: ignore[method-assign, assignment]
    main.main()
