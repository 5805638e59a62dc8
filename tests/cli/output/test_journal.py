"""What a later run finds in a JSONL file, wherever the earlier one was cut off."""

import os
from pathlib import Path
from typing import Any

import pytest

from cli.output.journal import NO_PAST, Journal, Past
from cli.output.record import ErrorRecord
from protocol.errors import InputError, OutputError, UsageError
from tests.cli.output.records import record

OPTIONS = {"--fps": "2"}


def line(pts_s: float, source: str = "a.mp4", **changes: Any) -> str:
    return record(pts_s, "Said.", source=source, **changes).model_dump_json() + "\n"


def refused(pts_s: float, source: str = "a.mp4") -> str:
    return ErrorRecord(
        source=source, pts_s=pts_s, code=413, message="too large", session_lost=False, engine="lite",
        model="lite-1", session_id="s", skipped_similar=2, captured_at=None,
    ).model_dump_json() + "\n"  # fmt: skip


def first_run(path: Path, *parts: tuple[int, list[str]], inputs: list[str], done: int = 0) -> None:
    """A run that wrote `parts`, lines for an input each, and finished the first `done` of them."""
    journal = Journal(path, OPTIONS, inputs)
    with journal.open(overwrite=True) as stream:
        for number, (index, lines) in enumerate(parts):
            journal.begin(index)
            stream.write("".join(lines))
            stream.flush()
            if number < done:
                journal.finish(index, 9.0, incomplete=False)


def resumed(path: Path, *inputs: str, options: dict[str, Any] = OPTIONS) -> Journal:
    return Journal.resume(path, options, inputs or ("a.mp4",))


def test_without_a_file_it_is_a_run_that_begins(tmp_path: Path) -> None:
    journal = resumed(tmp_path / "out.jsonl")
    assert not journal.resumed
    assert not journal.done


def test_it_tells_how_far_an_input_has_come(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    first_run(path, (0, [line(0), refused(0.5), line(1, skipped_similar=3), line(2)[:-40]]), inputs=["a.mp4"])
    journal = resumed(path)
    assert journal.past() == Past(captions=2, refused=1, skipped=5, last_s=1, model="lite-1")
    with journal.open(overwrite=False) as stream:
        stream.write(line(2))
    assert path.read_text() == line(0) + refused(0.5) + line(1, skipped_similar=3) + line(2)


def test_wherever_it_was_cut_off_there_is_one_place_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    lines = [line(number) for number in range(3)]
    whole = "".join(lines).encode()
    first_run(path, (0, lines), inputs=["a.mp4"], done=1)
    run_file = (tmp_path / ".out.jsonl.run").read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        (tmp_path / ".out.jsonl.run").write_bytes(run_file)
        past = resumed(path).past()
        assert not past.done
        assert past.captions == whole[:size].count(b"\n")
        assert past.last_s == (past.captions - 1 if past.captions else None)
    path.write_bytes(whole)
    assert resumed(path).done
    assert resumed(path).past() == Past(done=True, end_s=9)


def test_inputs_have_their_own_records_even_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    inputs = ["a.mp4", "a.mp4", "b.mp4"]
    first_run(path, (0, [line(0), line(1)]), (1, [line(0)]), inputs=inputs, done=1)
    journal = resumed(path, *inputs)
    assert [journal.past(index) for index in range(3)] == [
        Past(done=True, end_s=9),
        Past(captions=1, last_s=0, model="lite-1"),
        NO_PAST,
    ]
    with journal.open(overwrite=False) as stream:
        journal.begin(1)
        stream.write(line(1))
        stream.flush()
        assert [each.pts_s for each in journal.records(1)] == [0]
        journal.finish(1, 2.0, incomplete=True)
        journal.begin(2)
        stream.write(line(0, "b.mp4"))
    again = resumed(path, *inputs)
    assert [each.pts_s for each in again.records(1)] == [0, 1]
    assert again.past(1) == Past(done=True, incomplete=True, end_s=2)
    assert again.past(2).captions == 1
    assert len(list(again.records())) == 5


def test_damage_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    journal = Journal(path, OPTIONS, ["a.mp4"])
    with journal.open(overwrite=False) as stream:
        journal.begin()
        journal.damaged()
        stream.write(line(0))
    assert resumed(path).past().damaged


def test_another_option_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    first_run(path, (0, [line(0)]), inputs=["a.mp4"])
    with pytest.raises(
        UsageError, match=r"^--resume: --fps was 2, and is 3; .*out\.jsonl was begun otherwise"
    ):
        resumed(path, options={"--fps": "3"})


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        (["a.mp4", "c.mp4"], "c.mp4 is new"),
        (["a.mp4"], "b.mp4 is missing"),
        (["b.mp4", "a.mp4"], "their order"),
    ],
)
def test_other_inputs_are_refused(inputs: list[str], told: str, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    first_run(path, (0, [line(0)]), inputs=["a.mp4", "b.mp4"])
    with pytest.raises(UsageError, match=f"other inputs than .* was begun with: {told}"):
        resumed(path, *inputs)


def test_an_input_that_has_changed_is_refused(tmp_path: Path) -> None:
    clip, path = tmp_path / "a.mp4", tmp_path / "out.jsonl"
    clip.write_bytes(b"video")
    first_run(path, (0, [line(0, str(clip))]), inputs=[str(clip)], done=1)
    assert resumed(path, str(clip)).done
    clip.write_bytes(b"another video")
    with pytest.raises(InputError, match=r"a\.mp4: not the file that .* was begun with: it has 13 bytes"):
        resumed(path, str(clip))
    clip.unlink()  # what is done needs it no more
    assert resumed(path, str(clip)).done


def test_a_pipe_cannot_be_gone_on_from(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    first_run(path, (0, [line(0, "-")]), inputs=["-"])
    with pytest.raises(UsageError, match="--resume: - cannot be read a second time"):
        resumed(path, "-")
    first_run(path, (0, [line(0, "-")]), inputs=["-"], done=1)
    assert resumed(path, "-").done


def test_a_file_that_nothing_is_known_of_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(line(0))
    with pytest.raises(OutputError, match=r"cannot be resumed, .*\.out\.jsonl\.run is missing or damaged"):
        resumed(path)
    path.write_text('{"half')  # not one record: nothing can be lost
    assert resumed(path).past() == NO_PAST
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UsageError, match="not a file that could be read again"):
        resumed(tmp_path / "pipe.jsonl")


@pytest.mark.parametrize(
    ("content", "told"), [("{}\n", "a line in it is no caption record"), (line(0, "b.mp4"), "is of b.mp4")]
)
def test_a_file_with_something_else_in_it_is_refused(content: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    first_run(path, (0, [line(0)]), inputs=["a.mp4"])
    path.write_text(line(0) + content)
    with pytest.raises(OutputError, match=f"cannot be resumed, .*{told}"):
        resumed(path).past()


def test_what_another_run_has_just_written_is_not_written_behind(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    first_run(path, (0, [line(0)]), inputs=["a.mp4"])
    late, early = resumed(path), resumed(path)
    assert late.past() == early.past()
    with early.open(overwrite=False) as stream:
        with pytest.raises(OutputError, match="another run is writing to it"):
            late.open(overwrite=False)
        stream.write(line(1))
    with pytest.raises(OutputError, match="another run has just written to it"):
        late.open(overwrite=False)
    assert path.read_text() == line(0) + line(1)


def test_a_file_that_was_written_over_is_not_taken_for_the_old_run(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    first_run(path, (0, [line(0)]), inputs=["a.mp4"], done=1)
    journal = Journal(path, {"--fps": "5"}, ["b.mp4"])
    journal.open(overwrite=True).close()  # and killed before it could note anything
    again = resumed(path, "b.mp4", options={"--fps": "5"})
    assert again.past() == NO_PAST


def test_a_folder_that_takes_no_new_file_is_no_reason_not_to_caption(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    (tmp_path / ".out.jsonl.run.new").mkdir()  # so that not even root can write it
    journal = Journal(path, OPTIONS, ["a.mp4"])
    with journal.open(overwrite=False):
        journal.begin()
        journal.finish(0, 1.0, incomplete=False)
    assert not (tmp_path / ".out.jsonl.run").exists()
    (tmp_path / ".out.jsonl.run").touch()  # of another run: it would be taken for this one's
    journal = Journal(path, OPTIONS, ["a.mp4"])
    with journal.open(overwrite=True), pytest.raises(OutputError, match="Is a directory"):
        journal.begin()


def test_a_device_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.symlink_to("/dev/null")
    journal = Journal(path, OPTIONS, ["a.mp4"])
    with journal.open(overwrite=False):
        journal.begin()
        journal.finish(0, 1.0, incomplete=False)
    assert [each.name for each in tmp_path.iterdir()] == ["out.jsonl"]
