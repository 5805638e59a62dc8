"""What the command's exit status says."""

from __future__ import annotations

from typing import Final

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_INCOMPLETE: Final = 3
"""Finished, with inputs skipped or damaged, or frames not answered."""
EXIT_INTERRUPTED: Final = 130
"""Ended by Ctrl-C; every output is closed and valid."""
EXIT_TERMINATED: Final = 143
"""Ended by SIGTERM; every output is closed and valid."""
