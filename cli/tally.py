"""How a run over several inputs went."""

from __future__ import annotations

from dataclasses import dataclass

from cli.exit_codes import EXIT_FAILED, EXIT_INCOMPLETE, EXIT_OK


@dataclass(slots=True)
class Tally:
    """Inputs counted by how they ended.

    Attributes:
        done: read to the end that was asked for.
        incomplete: of those, how many were damaged or ended early.
        failed: could not be read.
    """

    done: int = 0
    incomplete: int = 0
    failed: int = 0

    @property
    def exit_code(self) -> int:
        """0 when all went well, 1 when nothing did, 3 in between."""
        if not self.done:
            return EXIT_FAILED
        return EXIT_INCOMPLETE if self.failed or self.incomplete else EXIT_OK
