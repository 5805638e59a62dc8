"""Where captions go, and what is refused before anything is written."""

import json
import os
from pathlib import Path

import pytest

from cli.output.outputs import Outputs
from protocol.errors import OutputError, UsageError
from tests.cli.output.records import record

OPTIONS = {"--fps": "1"}


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


def run(outputs: Outputs, *captions: tuple[float, str], index: int = 0, end_s: float | None = None) -> None:
    """Writes `captions` for an input, which then is done if it has an end."""
    sinks = outputs.open_for(index)
    past = outputs.past(index)
    for number, (pts_s, text) in enumerate(captions, start=past.captions):
        sinks.write(record(pts_s, text, source=["clip.mp4", "b.mp4"][index], frame_index=number))
    sinks.finish(end_s, done=end_s is not None)


def test_files_beside_the_jsonl_are_made_anew(tmp_path: Path) -> None:
    kinds = ["srt", "jsonl", "vtt", "csv", "tsv", "txt"]
    broken, whole = tmp_path / "broken", tmp_path / "whole"

    def places(folder: Path, *, resume: bool = False) -> Outputs:
        folder.mkdir(exist_ok=True)
        files = [folder / f"o.{kind}" for kind in kinds]
        return Outputs(files=files, inputs=["clip.mp4"], options=OPTIONS, resume=resume)

    first = places(broken)
    run(first, (0.0, "One."), (1.0, "Two."))
    first.close()
    for kind in ("srt", "vtt", "csv"):
        (broken / f"o.{kind}").write_text("half a")
    (broken / "o.txt").unlink()
    with (broken / "o.jsonl").open("a") as half:
        half.write('{"type": "cap')
    second = places(broken, resume=True)
    assert second.past(0).captions == 2
    run(second, (2.0, "Two."), (3.0, "Three."), end_s=4.0)
    second.close()
    unbroken = places(whole)
    run(unbroken, (0.0, "One."), (1.0, "Two."), (2.0, "Two."), (3.0, "Three."), end_s=4.0)
    unbroken.close()
    for kind in kinds:
        assert (broken / f"o.{kind}").read_text() == (whole / f"o.{kind}").read_text()


def test_of_several_inputs_what_is_done_is_left_and_the_rest_goes_on(tmp_path: Path) -> None:
    inputs = ["clip.mp4", "b.mp4"]

    def places(*, resume: bool = False) -> Outputs:
        return Outputs(
            directory=tmp_path,
            directory_formats=["srt", "jsonl"],
            inputs=inputs,
            options=OPTIONS,
            resume=resume,
        )

    first = places()
    run(first, (0.0, "One."), end_s=1.0)
    run(first, (0.0, "B."), index=1)
    first.close()
    (tmp_path / "clip.srt").unlink()
    again = places(resume=True)
    assert [again.past(index).done for index in range(2)] == [True, False]
    assert not again.done
    again.restore()
    assert (tmp_path / "clip.srt").read_text() == "1\n00:00:00,000 --> 00:00:01,000\nOne.\n\n"
    run(again, (1.0, "C."), index=1, end_s=2.0)
    assert "--> 00:00:01,000\nB.\n\n2\n00:00:01,000 --> 00:00:02,000\nC." in (tmp_path / "b.srt").read_text()
    assert places(resume=True).done


def test_one_jsonl_for_all_inputs_serves_files_of_each(tmp_path: Path) -> None:
    inputs = ["clip.mp4", "b.mp4"]

    def places(*, resume: bool = False) -> Outputs:
        return Outputs(
            files=[tmp_path / "all.csv", tmp_path / "all.jsonl"],
            directory=tmp_path / "each",
            directory_formats=["srt"],
            inputs=inputs,
            options=OPTIONS,
            resume=resume,
        )

    first = places()
    run(first, (0.0, "One."), end_s=1.0)
    run(first, (0.0, "B."), index=1)
    first.close()
    again = places(resume=True)
    run(again, (1.0, "C."), index=1, end_s=2.0)
    again.close()
    rows = (tmp_path / "all.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == ["clip.mp4", "b.mp4", "b.mp4"]
    assert "One." not in (tmp_path / "each" / "b.srt").read_text()
    assert (tmp_path / "each" / "b.srt").read_text().count("-->") == 2
    (tmp_path / "all.csv").unlink()
    done = places(resume=True)
    assert done.done
    done.restore()
    assert (tmp_path / "all.csv").read_text().splitlines() == rows


def test_without_a_jsonl_file_there_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--resume goes on from a JSONL file"):
        Outputs(files=[tmp_path / "a.srt"], resume=True, options=OPTIONS)
    (tmp_path / "a.srt").write_text("precious")
    with pytest.raises(OutputError, match="exists already"):  # not of a run whose JSONL is not there
        Outputs(files=[tmp_path / "a.srt", tmp_path / "a.jsonl"], resume=True, options=OPTIONS)
    assert (tmp_path / "a.srt").read_text() == "precious"


def test_the_jsonl_is_opened_before_what_is_made_from_it(tmp_path: Path) -> None:
    """Killed in between, it must not leave files that the next run takes for somebody else's."""
    outputs = Outputs(files=[tmp_path / "a.csv", tmp_path / "a.jsonl"], inputs=["clip.mp4"], options=OPTIONS)
    (tmp_path / "a.csv").write_text("precious")
    with pytest.raises(OutputError, match=r"a\.csv: exists already"):
        outputs.open_for()
    outputs.close()
    assert (tmp_path / "a.jsonl").exists()


def test_a_format_asked_for_twice_is_written_once(tmp_path: Path) -> None:
    outputs = Outputs(directory=tmp_path, directory_formats=["srt", "srt"], inputs=["clip.mp4"])
    run(outputs, (0.0, "One."), end_s=1.0)
    assert (tmp_path / "clip.srt").read_text().count("-->") == 1
