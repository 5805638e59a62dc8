"""Where captions go, and what is refused before anything is written."""

import json
import os
from pathlib import Path

import pytest

from cli.output.outputs import Outputs
from protocol.errors import OutputError, UsageError
from tests.cli.output.records import record


def test_shared_files_hold_every_input(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    outputs = Outputs(files=[path], inputs=["a.mp4", "b.mp4"])
    for index, name in enumerate(("a.mp4", "b.mp4")):
        sinks = outputs.open_for(index)
        sinks.write(record(0.0, "One.", source=name))
        sinks.finish(1.0)
    outputs.close()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["source"] for line in lines] == ["a.mp4", "b.mp4"]


def test_a_folder_gets_a_file_for_each_input_and_format(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    outputs = Outputs(directory=folder, directory_formats=["srt", "jsonl"], inputs=["a.mp4", "b.mp4"])
    stems = ("a", "b")
    for index, stem in enumerate(stems):
        sinks = outputs.open_for(index)
        sinks.write(record(0.0, f"Of {stem}."))
        sinks.finish(1.0)
    outputs.close()
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        f"{stem}.{kind}" for stem in stems for kind in ("srt", "jsonl")
    )
    assert "Of b." in (folder / "b.srt").read_text(encoding="utf-8")


def test_existing_files_are_kept_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(OutputError, match=r"a\.srt: exists already; use --overwrite"):
        Outputs(files=[path])
    with pytest.raises(OutputError, match=r"a\.srt: exists already"):
        Outputs(directory=tmp_path, directory_formats=["vtt", "srt"], inputs=["a.mp4"])
    assert not (tmp_path / "a.vtt").exists()
    assert path.read_text(encoding="utf-8") == "precious"
    outputs = Outputs(files=[path], overwrite=True)
    outputs.open_for().finish(1.0)
    outputs.close()
    assert path.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_a_subtitle_holds_one_video(kind: str, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=f"{kind} holds one video's captions, and there are 3 inputs; use --output-dir"
    ):
        Outputs(files=[tmp_path / f"a.{kind}"], inputs=["a", "b", "c"])
    with pytest.raises(UsageError, match="use --output-dir"):
        Outputs(stdout_format=kind, inputs=["a", "b"])


def test_impossible_places_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        Outputs(files=[tmp_path / "a.srt", tmp_path / "." / "a.srt"])
    with pytest.raises(OutputError, match=r"its folder does not exist; mkdir -p .*/no"):
        Outputs(files=[tmp_path / "no" / "a.srt"])
    (tmp_path / "d.srt").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        Outputs(files=[tmp_path / "d.srt"])


def test_one_place_that_fails_does_not_keep_it_from_the_others(tmp_path: Path) -> None:
    full, good = Path("/dev/full"), tmp_path / "good.jsonl"
    if not full.exists():
        pytest.skip("needs /dev/full")
    bad = tmp_path / "bad.jsonl"
    bad.symlink_to(full)
    outputs = Outputs(files=[bad, good])
    sinks = outputs.open_for()
    with pytest.raises(OutputError, match="No space left"):
        sinks.write(record(0.0, "One."))
    sinks.finish(1.0)
    outputs.close()
    assert "One." in good.read_text(encoding="utf-8")


def test_an_input_is_never_written_over(tmp_path: Path) -> None:
    clip = tmp_path / "in.srt"
    clip.write_bytes(b"a video")
    (tmp_path / "other.srt").symlink_to(clip)
    for files in ([clip], [tmp_path / "other.srt"]):
        with pytest.raises(UsageError, match="is an input, and would be written over"):
            Outputs(files=files, inputs=[str(clip)], overwrite=True)
    with pytest.raises(UsageError, match="is an input"):
        Outputs(directory=tmp_path, directory_formats=["srt"], inputs=[str(clip)], overwrite=True)
    assert clip.read_bytes() == b"a video"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    outputs = Outputs(files=[path])
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(OutputError, match="exists already"):
        outputs.open_for()
    assert path.read_text(encoding="utf-8") == "precious"


def test_a_pipe_without_a_reader_is_told_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "a.srt"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="nobody reads this pipe; start its reader first"):
        Outputs(files=[pipe]).open_for()


def test_a_name_too_long_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 300 + ".srt")
    with pytest.raises(OutputError, match="File name too long"):
        Outputs(files=[path]).open_for()
