"""How much of a model has come from the Hugging Face hub."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_INTERVAL_S = 1.0


class Download:
    """What arrives in the hub's cache for a model, from when this was made; a folder's model does not."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._folder = _cache_folder(model)
        self._before = _held_bytes(self._folder)

    async def watch(self, report: Callable[[str], None]) -> None:
        """Tells `report` how much there is as it grows, and when it no longer does; until cancelled."""
        before = now = self._before
        while True:
            await asyncio.sleep(_INTERVAL_S)
            last, now = now, await asyncio.to_thread(_held_bytes, self._folder)
            if now > last:
                report(f"downloading {self._model}: {(now - before) / 1e6:,.0f} MB")
            elif last > before:
                report(f"loading {self._model}")
                before = now


def _cache_folder(model: str) -> Path | None:
    if Path(model).exists():
        return None
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    return Path(HF_HUB_CACHE, repo_folder_name(repo_id=model, repo_type="model"), "blobs")


def _held_bytes(folder: Path | None) -> int:
    """Size of the files in `folder`, those that are still coming too; a folder that is not there has none."""
    total = 0
    for file in folder.glob("*") if folder else ():
        try:
            total += file.stat().st_size
        except OSError:  # it was renamed when it was complete
            continue
    return total
