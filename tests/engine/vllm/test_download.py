"""What is told while a model arrives, with files written into a cache like the hub's."""

import asyncio
import contextlib
import importlib.util
from pathlib import Path

import pytest

from engine.vllm import download

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub comes with vLLM"
)


async def test_what_arrives_is_told_and_then_that_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(download, "_INTERVAL_S", 0.01)
    blobs = tmp_path / "models--someone--a-model" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / "old").write_bytes(b"x" * 1_000_000)
    told: asyncio.Queue[str] = asyncio.Queue()
    watched = download.Download("someone/a-model")
    watching = asyncio.create_task(watched.watch(told.put_nowait))
    (blobs / "new.incomplete").write_bytes(b"x" * 3_000_000)
    assert await told.get() == "downloading someone/a-model: 3 MB"
    (blobs / "new.incomplete").rename(blobs / "new")
    assert await told.get() == "loading someone/a-model"
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
