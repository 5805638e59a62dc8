"""The whole `stream` command with the fake engine in place of another: it starts fast, whatever is installed.

``python -m tests.cli.commands.fake_stream DELAY_S caption ...``
"""

from __future__ import annotations

import sys
from typing import Any

from cli import main
from cli.engines import EngineChoice
from tests.fake_engine import FakeEngine

if __name__ == "__main__":
    delay_s = float(sys.argv.pop(1))

    def make(choice: EngineChoice, *report: Any) -> FakeEngine:
        return FakeEngine(delay_s=delay_s)

    EngineChoice.make = make  # type: ignore[method-assign, assignment]
    main.main()
