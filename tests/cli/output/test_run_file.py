"""What is kept beside a JSONL file is whole or not there."""

from pathlib import Path

import pytest

from cli.output.run_file import InputState, Part, RunFile, RunState
from protocol.errors import OutputError

STATE = RunState(options={"--fps": "2"}, inputs=[InputState(source="a.mp4")], parts=[Part(input=0, offset=0)])


def test_it_lies_beside_the_jsonl_file_out_of_sight(tmp_path: Path) -> None:
    file = RunFile(tmp_path / "out.jsonl")
    assert file.load() is None
    file.save(STATE)
    assert file.load() == STATE
    assert [path.name for path in tmp_path.iterdir()] == [".out.jsonl.run"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2, "options": {}, "inputs": []}'])
def test_what_is_none_of_ours_is_not_there(content: str, tmp_path: Path) -> None:
    file = RunFile(tmp_path / "out.jsonl")
    file.path.write_text(content)
    assert file.load() is None
    assert file.exists()


def test_one_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    file = RunFile(tmp_path / "out.jsonl")
    file.save(STATE)
    (tmp_path / ".out.jsonl.run.new").mkdir()  # so that not even root can write it
    with pytest.raises(OutputError, match=r"\.out\.jsonl\.run: Is a directory"):
        file.save(STATE.model_copy(update={"parts": []}))
    assert file.load() == STATE
