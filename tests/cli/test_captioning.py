"""The caption loop over real files, with an engine that fails when told to."""

import asyncio
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cli.caption_inputs import Asked, caption_inputs
from cli.output.outputs import Outputs
from cli.output.terminal import Display
from cli.tally import Tally
from cli.video.sampling import SamplingPlan
from protocol.errors import (
    Conflict,
    EngineFailure,
    FrameRefused,
    FrameTooLarge,
    InvalidRequest,
    OutputError,
    SessionLost,
    Unavailable,
    UsageError,
)
from protocol.frame import Frame
from protocol.messages import FrameReply, SessionConfig
from tests.clips import make_clip, steady
from tests.fake_engine import FakeEngine, FakeSession

SAMPLE = str(Path(__file__).parents[2] / "samples" / "tour.mp4")
CONFIG = SessionConfig(system_prompt="Describe.", fps=5)


async def caption(
    engine: FakeEngine,
    path: Path,
    *inputs: str,
    max_frames: int | None = 4,
    skip_similar: float | None = None,
    resume: bool = False,
) -> Tally:
    outputs = Outputs(files=[path], inputs=inputs, options={}, resume=resume)
    plan = SamplingPlan.of(fps=5, max_frames=max_frames)
    display = Display(show_captions=False)
    try:
        asked = Asked(plan, CONFIG, skip_similar=skip_similar)
        return await caption_inputs(inputs, asked, engine, outputs, display)
    finally:
        outputs.close()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def texts(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]


async def test_one_caption_a_frame_in_a_session_of_its_own_for_each_input(tmp_path: Path) -> None:
    engine = FakeEngine()
    tally = await caption(engine, tmp_path / "o.jsonl", SAMPLE, SAMPLE)
    assert tally == Tally(done=2)
    assert texts(tmp_path / "o.jsonl") == [f"frame {k} at {k / 5}" for k in range(4)] * 2
    assert [session.closed for session in engine.sessions] == [True, True]
    assert engine.configs == [CONFIG, CONFIG]
    first = json.loads((tmp_path / "o.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (first["engine"], first["model"], first["session_id"]) == ("fake", "fake-1", "fake-0")
    assert (first["width"], first["height"]) == (640, 360)
    assert first["captured_at"] == "2026-11-29T12:00:00Z"
    assert first["round_trip_s"] > 0


async def test_an_input_that_cannot_be_opened_is_told_and_the_rest_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = await caption(FakeEngine(), tmp_path / "o.jsonl", "nowhere.mp4", SAMPLE)
    assert tally == Tally(done=1, failed=1)
    assert len(texts(tmp_path / "o.jsonl")) == 4
    assert capsys.readouterr().err == "error: nowhere.mp4: no such file\n"


@pytest.mark.parametrize("failure", [EngineFailure("it broke"), RuntimeError("a bug")])
async def test_an_engine_that_fails_loses_nothing_said_before(
    failure: Exception, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = FakeEngine(failures={2: failure})
    if isinstance(failure, EngineFailure):  # of this session: other inputs get sessions of their own
        assert await caption(engine, tmp_path / "o.srt", SAMPLE) == Tally(failed=1)
        assert capsys.readouterr().err.replace("\n", "") == f"error: {SAMPLE}: it broke"
    else:
        with pytest.raises(RuntimeError, match="a bug"):
            await caption(engine, tmp_path / "o.srt", SAMPLE)
    assert (tmp_path / "o.srt").read_text(encoding="utf-8") == (
        "1\n00:00:00,000 --> 00:00:00,200\nframe 0 at 0.0\n\n"
        "2\n00:00:00,200 --> 00:00:00,400\nframe 1 at 0.2\n\n"
    )
    assert engine.sessions[0].closed


async def test_a_session_prepares_for_the_next_frame_while_it_answers(tmp_path: Path) -> None:
    class Preparing(FakeSession):
        """Answers a frame once the one after it is prepared."""

        prepared: ClassVar = defaultdict(asyncio.Event)

        async def prepare(self, frame: Frame) -> None:
            self.prepared[frame.pts_s].set()

        async def caption(self, frame: Frame) -> FrameReply:
            following = {0.0: 0.2, 0.2: 0.4, 0.4: 0.6, 0.6: 0.6}
            await self.prepared[following[frame.pts_s or 0.0]].wait()
            return await super().caption(frame)

    class PreparingEngine(FakeEngine):
        async def open(self, config: SessionConfig) -> FakeSession:
            return Preparing((await super().open(config)).created, {}, 0)

    assert await caption(PreparingEngine(), tmp_path / "o.jsonl", SAMPLE) == Tally(done=1)


async def test_cancelled_the_outputs_are_finished(tmp_path: Path) -> None:
    path = tmp_path / "o.srt"
    running = asyncio.create_task(caption(FakeEngine(delay_s=0.05), path, SAMPLE, max_frames=None))
    while not path.exists() or path.read_text(encoding="utf-8").count("-->") < 2:
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    cues = path.read_text(encoding="utf-8").strip().split("\n\n")
    assert len(cues) >= 3  # the last one, whose end was not known, is there too
    assert all(len(cue.splitlines()) == 3 for cue in cues)


async def test_a_full_disk_ends_the_run(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "o.jsonl").symlink_to("/dev/full")
    engine = FakeEngine()
    with pytest.raises(OutputError, match="No space left on device"):
        await caption(engine, tmp_path / "o.jsonl", SAMPLE, SAMPLE)
    assert len(engine.sessions) == 1
    assert engine.sessions[0].closed


async def test_a_frame_that_is_not_answered_is_recorded_and_the_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = FrameRefused("too large", code=413)
    engine = FakeEngine(failures={1: refused, 2: refused})
    path = tmp_path / "o.jsonl"
    assert await caption(engine, path, SAMPLE) == Tally(done=1, incomplete=1)
    said = lines(path)
    assert [line["type"] for line in said] == ["caption", "error", "error", "caption"]
    assert [line["pts_s"] for line in said] == [0, 0.2, 0.4, 0.6]
    assert [line["frame_index"] for line in said if line["type"] == "caption"] == [0, 1]
    told = capsys.readouterr().err.replace("\n", " ")
    assert told.count("not answered (413): too large; going on") == 1
    assert "2 frames were not answered" in told


@pytest.mark.parametrize("error", [FrameTooLarge("too large"), InvalidRequest("damaged", hint="repair it")])
async def test_a_frame_that_an_engine_here_refuses_is_recorded_too(
    error: FrameTooLarge | InvalidRequest, tmp_path: Path
) -> None:
    path = tmp_path / "o.jsonl"
    assert await caption(FakeEngine(failures={1: error}), path, SAMPLE) == Tally(done=1, incomplete=1)
    refused = lines(path)[1]
    assert [line["type"] for line in lines(path)] == ["caption", "error", "caption", "caption"]
    assert (refused["pts_s"], refused["code"], refused["message"]) == (0.2, error.code, str(error))
    assert not refused["session_lost"]


async def test_a_session_of_no_further_use_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(Conflict):
        await caption(FakeEngine(failures={1: Conflict("dead")}), tmp_path / "o.jsonl", SAMPLE)
    assert texts(tmp_path / "o.jsonl") == ["frame 0 at 0.0"]


async def test_similar_frames_are_left_out_and_counted_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    await caption(FakeEngine(), path, SAMPLE, max_frames=None)
    pictures = len(lines(path))
    await caption(FakeEngine(), tmp_path / "s.jsonl", SAMPLE, max_frames=None, skip_similar=0.9)
    kept = lines(tmp_path / "s.jsonl")
    assert kept[0]["pts_s"] == 0
    assert [line["frame_index"] for line in kept] == list(range(len(kept)))
    assert 3 < len(kept) < pictures / 2  # four pictures, the camera moving slowly over each
    times = [line["pts_s"] for line in lines(path)]
    places = [times.index(line["pts_s"]) for line in kept]
    skipped = [after - before - 1 for before, after in pairwise([-1, *places])]
    assert [line["skipped_similar"] for line in kept] == skipped


async def test_frames_left_out_before_a_refused_one_are_counted_with_it(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    engine = FakeEngine(failures={1: FrameRefused("no")})
    await caption(engine, path, SAMPLE, max_frames=None, skip_similar=0.9)
    assert lines(path)[1]["type"] == "error"
    assert lines(path)[1]["skipped_similar"] > 0


async def test_formats_without_a_place_for_errors_leave_them_out(tmp_path: Path) -> None:
    for suffix in ("srt", "csv", "txt"):
        engine = FakeEngine(failures={1: FrameRefused("too large")})
        path = tmp_path / f"o.{suffix}"
        await caption(engine, path, SAMPLE)
        assert "too large" not in path.read_text(encoding="utf-8")


async def test_no_frame_answered_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine(failures={index: FrameRefused("no") for index in range(4)})
    assert await caption(engine, tmp_path / "o.jsonl", SAMPLE) == Tally(failed=1)
    assert "no frame was answered" in capsys.readouterr().err


async def test_a_lost_session_ends_the_run_with_all_inputs(tmp_path: Path) -> None:
    engine = FakeEngine(failures={1: SessionLost("the connection broke")})
    with pytest.raises(SessionLost):
        await caption(engine, tmp_path / "o.jsonl", SAMPLE, SAMPLE)
    assert texts(tmp_path / "o.jsonl") == ["frame 0 at 0.0"]
    assert [session.closed for session in engine.sessions] == [True]


async def test_the_first_caption_of_a_session_that_follows_a_lost_one_says_so(tmp_path: Path) -> None:
    class Followed(FakeSession):
        async def caption(self, frame: Frame) -> FrameReply:
            reply = await super().caption(frame)
            if reply.frame_index == 2:
                self.created = self.created.model_copy(update={"session_id": "next"})
            return reply

    class FollowedEngine(FakeEngine):
        async def open(self, config: SessionConfig) -> FakeSession:
            return Followed((await super().open(config)).created, {}, 0)

    path = tmp_path / "o.jsonl"
    await caption(FollowedEngine(), path, SAMPLE)
    assert [line["session_id"] for line in lines(path)] == ["fake-0", "fake-0", "next", "next"]
    assert [line["history_lost"] for line in lines(path)] == [False, False, True, False]


async def test_an_engine_is_checked_before_an_input_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Away(FakeEngine):
        async def check(self, config: SessionConfig) -> None:
            raise Unavailable("not ready")

    with pytest.raises(Unavailable):
        await caption(Away(), tmp_path / "o.jsonl", "nowhere.mp4")
    assert capsys.readouterr().err == ""


def without(line: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in keys}


@pytest.mark.parametrize(("skip_similar", "max_frames"), [(None, 9), (0.95, 54)])
async def test_wherever_it_was_cut_off_it_goes_on_with_the_frames_of_an_unbroken_run(
    skip_similar: float | None, max_frames: int, tmp_path: Path
) -> None:
    path = tmp_path / "o.jsonl"

    def engine() -> FakeEngine:
        return FakeEngine(failures={2: FrameRefused("no")})

    await caption(engine(), path, SAMPLE, max_frames=max_frames, skip_similar=skip_similar)
    content = path.read_text(encoding="utf-8").splitlines(keepends=True)
    run_file = (tmp_path / ".o.jsonl.run").read_bytes()
    frames = [(line["pts_s"], line["skipped_similar"]) for line in lines(path)]
    assert len(frames) > 4
    for count in range(len(content)):
        path.write_text("".join(content[:count]), encoding="utf-8")
        (tmp_path / ".o.jsonl.run").write_bytes(run_file)
        tally = await caption(
            engine(), path, SAMPLE, max_frames=max_frames, skip_similar=skip_similar, resume=True
        )
        said = lines(path)
        assert [(line["pts_s"], line["skipped_similar"]) for line in said] == frames
        captions = [line for line in said if line["type"] == "caption"]
        assert [line["frame_index"] for line in captions] == list(range(len(captions)))
        before = sum(line["type"] == "caption" for line in said[:count])
        lost = [index for index, line in enumerate(captions) if line["history_lost"]]
        assert lost == ([before] if 0 < before < len(captions) else [])
        refused = any(line["type"] == "error" for line in said)
        assert tally == Tally(done=1, incomplete=int(refused))


async def test_an_input_that_failed_is_tried_again_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    engine = FakeEngine(failures={2: EngineFailure("it broke")})
    assert await caption(engine, path, "gone.mp4", SAMPLE, SAMPLE) == Tally(failed=3)
    assert await caption(FakeEngine(), path, "gone.mp4", SAMPLE, SAMPLE, resume=True) == Tally(
        done=2, failed=1
    )
    said = lines(path)
    assert [line["pts_s"] for line in said] == [0, 0.2] * 2 + [0.4, 0.6] * 2
    assert [line["frame_index"] for line in said] == [0, 1] * 2 + [2, 3] * 2
    assert await caption(FakeEngine(), path, "gone.mp4", SAMPLE, SAMPLE, resume=True) == Tally(
        done=2, failed=1
    )
    assert lines(path) == said


async def test_what_was_incomplete_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    await caption(FakeEngine(failures={1: FrameRefused("no")}), path, SAMPLE)
    engine = FakeEngine()
    assert await caption(engine, path, SAMPLE, resume=True) == Tally(done=1, incomplete=1)
    assert engine.sessions == []


async def test_damage_from_before_counts_in_the_end(tmp_path: Path) -> None:
    clip, path = tmp_path / "clip.mp4", tmp_path / "o.jsonl"
    make_clip(clip, steady(100), codec="mpeg4", keyframe_every=10)
    content = bytearray(clip.read_bytes())
    begin = content.index(b"mdat") + 4 + 2000
    content[begin : begin + 1000] = bytes(1000)
    clip.write_bytes(content)
    assert (await caption(FakeEngine(), path, str(clip), max_frames=None)).incomplete == 1
    said = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(said[:-2]), encoding="utf-8")
    tally = await caption(FakeEngine(), path, str(clip), max_frames=None, resume=True)
    assert tally == Tally(done=1, incomplete=1)


async def test_another_model_does_not_go_on_with_it(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"

    class Other(FakeEngine):
        async def open(self, config: SessionConfig) -> FakeSession:
            session = await super().open(config)
            session.created = session.created.model_copy(update={"model": "fake-2"})
            return session

    with pytest.raises(SessionLost):
        await caption(FakeEngine(failures={2: SessionLost("gone")}), path, SAMPLE)
    before = path.read_bytes()
    other = Other()
    with pytest.raises(UsageError, match="the captions so far are by fake-1, and fake-2 would go on"):
        await caption(other, path, SAMPLE, resume=True)
    assert path.read_bytes() == before
    assert other.sessions[0].closed
