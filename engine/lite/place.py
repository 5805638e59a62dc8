"""Words for where in a picture something is."""

from __future__ import annotations


def name(column: int | None, row: int | None) -> str | None:
    """The part of the picture in one column and row of thirds, None being all: "at the top left"."""
    side = {0: "left", 1: "centre", 2: "right"}.get(-1 if column is None else column)
    level = {0: "top", 1: "centre", 2: "bottom"}.get(-1 if row is None else row)
    if side == "centre" and level in ("centre", None):
        return "in the middle"
    if side in (None, "centre"):
        return f"at the {level}" if level in ("top", "bottom") else None
    return f"at the {level} {side}" if level in ("top", "bottom") else f"on the {side}"


def part(x: float, y: float) -> str | None:
    """The part of the picture around a point, given as shares of its width and height."""
    return name(min(int(x * 3), 2), min(int(y * 3), 2))
