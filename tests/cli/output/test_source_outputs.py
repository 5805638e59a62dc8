"""An input that is done is noted as such, and only then."""

from pathlib import Path

import pytest

from cli.output.outputs import Outputs
from protocol.errors import OutputError
from tests.cli.output.records import record

OPTIONS = {"--fps": "1"}


def outputs(folder: Path, *, resume: bool = False) -> Outputs:
    return Outputs(
        files=[folder / "o.jsonl", folder / "o.srt"], inputs=["clip.mp4"], options=OPTIONS, resume=resume
    )


@pytest.mark.parametrize("done", [True, False])
def test_what_is_done_is_noted(done: bool, tmp_path: Path) -> None:
    places = outputs(tmp_path)
    sinks = places.open_for()
    sinks.write(record(0.0, "One."))
    sinks.damaged()
    sinks.finish(1.0, done=done, incomplete=True)
    places.close()
    past = outputs(tmp_path, resume=True).past(0)
    assert (past.done, past.damaged, past.incomplete) == (done, True, done)


def test_what_could_not_be_written_is_not_done(tmp_path: Path) -> None:
    places = outputs(tmp_path)
    sinks = places.open_for()
    sinks.write(record(0.0, "One."))
    (tmp_path / "o.srt").unlink()
    with pytest.raises(OutputError, match="was removed"):
        sinks.finish(1.0, done=True)
    places.close()
    assert not outputs(tmp_path, resume=True).done
