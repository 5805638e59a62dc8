"""Several live inputs at once, over one engine."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from cli.caption_inputs import Asked, caption_inputs
from cli.output.outputs import Outputs
from cli.output.terminal import Display
from cli.tally import Tally
from cli.video.live_policy import LivePolicy
from cli.video.reading import Reading
from cli.video.sampling import SamplingPlan
from protocol.errors import EngineError
from protocol.messages import SessionConfig
from tests.clips import make_clip, steady
from tests.fake_engine import FakeEngine

if TYPE_CHECKING:
    from pathlib import Path

    from cli.output.command_queue import CommandQueue

CONFIG = SessionConfig(system_prompt="Describe.")
RED, BLUE = (f"lavfi:color={colour}:size=64x48:rate=20" for colour in ("red", "blue"))


async def caption(
    engine: FakeEngine, path: Path, inputs: list[str], commands: CommandQueue | None = None, **asked: Any
) -> tuple[Tally, list[dict[str, Any]]]:
    """Three frames of each of `inputs`, and the records that gives."""
    outputs = Outputs(files=[path], inputs=inputs)
    plan = SamplingPlan.of(fps=20, max_frames=3)
    display = Display(show_captions=False)
    try:
        tally = await caption_inputs(inputs, Asked(plan, CONFIG, **asked), engine, outputs, display, commands)
    finally:
        outputs.close()
    return tally, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_live_inputs_share_an_engine_and_are_captioned_at_once(tmp_path: Path) -> None:
    engine = FakeEngine(gated=True)

    async def open_gate() -> None:
        while len(engine.sessions) < 2:
            await engine.reached.wait()
            await asyncio.sleep(0.01)
        assert engine.gate is not None
        engine.gate.set()

    async with asyncio.timeout(30):
        opening = asyncio.create_task(open_gate())
        tally, records = await caption(engine, tmp_path / "o.jsonl", [RED, BLUE])
        await opening
    assert tally == Tally(done=2)
    for source in (RED, BLUE):
        own = [record for record in records if record["source"] == source]
        assert [record["frame_index"] for record in own] == [0, 1, 2]
        assert len({record["session_id"] for record in own}) == 1
        assert all(record["lag_s"] > 0 and record["captured_at"] for record in own)
    assert all(session.closed for session in engine.sessions)


async def test_an_engine_that_is_gone_ends_them_all(tmp_path: Path) -> None:
    engine = FakeEngine(failures={1: EngineError("the engine is gone")})
    with pytest.raises(EngineError, match="gone"):
        await caption(engine, tmp_path / "o.jsonl", [RED, BLUE])
    assert all(session.closed for session in engine.sessions)


async def test_one_that_cannot_be_opened_does_not_keep_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally, records = await caption(FakeEngine(), tmp_path / "o.jsonl", ["lavfi:nonsense", RED])
    assert tally == Tally(done=1, failed=1)
    assert len(records) == 3
    assert capsys.readouterr().err.startswith("error: lavfi:nonsense: ")


async def test_a_file_played_live_takes_its_time_and_ends(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", steady(10))
    reading = Reading(policy=LivePolicy("all"), realtime=True)
    tally, records = await caption(FakeEngine(), tmp_path / "o.jsonl", [str(clip)], reading=reading)
    assert tally == Tally(done=1)
    assert [record["pts_s"] for record in records] == pytest.approx([0.0, 0.04, 0.12], abs=0.05)
    assert [record["dropped_since_last"] for record in records] == [0, 0, 0]


async def test_only_changes_are_written_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    engine = SameWords()
    tally, records = await caption(engine, tmp_path / "o.jsonl", [RED], changes_only=True)
    assert tally == Tally(done=1)
    assert [record["frame_index"] for record in records] == [0]


class SameWords(FakeEngine):
    """Says the same of every frame."""

    async def open(self, config: SessionConfig) -> Any:
        session = await super().open(config)
        answer = session.caption

        async def caption(frame: Any) -> Any:
            return (await answer(frame)).model_copy(update={"text": "All is red."})

        session.caption = caption  # type: ignore[method-assign]
        return session
