"""SRT and WebVTT as players read them."""

import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.output.subtitle import SrtWriter, SubtitleWriter, VttWriter
from tests.cli.output.records import record


def written(
    kind: type[SubtitleWriter], captions: list[tuple[float, str]], end_s: float | None, nominal_s: float = 1.0
) -> str:
    stream = io.StringIO()
    writer = kind(stream, "x", nominal_s=nominal_s)
    for pts_s, text in captions:
        writer.write(record(pts_s, text))
    writer.finish(end_s)
    return stream.getvalue()


def test_srt_cues_run_from_a_sample_to_the_next_and_the_last_to_the_end() -> None:
    assert written(SrtWriter, [(0.0, "One."), (1.5, "Two."), (3661.25, "Three.")], 3662.0) == (
        "1\n00:00:00,000 --> 00:00:01,500\nOne.\n\n"
        "2\n00:00:01,500 --> 01:01:01,250\nTwo.\n\n"
        "3\n01:01:01,250 --> 01:01:02,000\nThree.\n\n"
    )


def test_vtt_has_a_header_and_points() -> None:
    assert written(VttWriter, [(0.0, "One.")], 1.0) == "WEBVTT\n\n1\n00:00:00.000 --> 00:00:01.000\nOne.\n\n"


def test_equal_captions_in_a_row_are_one_cue() -> None:
    text = written(SrtWriter, [(0.0, "Same."), (1.0, "Same."), (2.0, "Other."), (3.0, "Same.")], 4.0)
    assert re.findall(r"(\S+) --> (\S+)\n(.+)", text) == [
        ("00:00:00,000", "00:00:02,000", "Same."),
        ("00:00:02,000", "00:00:03,000", "Other."),
        ("00:00:03,000", "00:00:04,000", "Same."),
    ]


def test_broken_off_the_last_cue_lasts_as_long_as_the_one_before() -> None:
    assert "00:00:02,000 --> 00:00:04,000" in written(SrtWriter, [(0.0, "One."), (2.0, "Two.")], None)
    assert "00:00:00,000 --> 00:00:00,500" in written(SrtWriter, [(0.0, "One.")], None, nominal_s=0.5)


def test_an_arrow_or_blank_line_in_a_caption_breaks_nothing() -> None:
    text = written(SrtWriter, [(0.0, "a ---> b\n\n 1\n00:00 --> x"), (1.0, "<b> & c")], 2.0)
    assert text.count("-->") == 2
    assert text.split("\n\n")[0] == "1\n00:00:00,000 --> 00:00:01,000\na -> b\n1\n00:00 -> x"
    assert "&lt;b&gt; &amp; c\n" in written(VttWriter, [(1.0, "<b> & c")], 2.0)


def test_an_empty_caption_leaves_a_gap() -> None:
    text = written(SrtWriter, [(0.0, "One."), (1.0, ""), (2.0, "Two.")], 3.0)
    assert re.findall(r"(\S+) --> (\S+)", text) == [
        ("00:00:00,000", "00:00:01,000"),
        ("00:00:02,000", "00:00:03,000"),
    ]


def test_no_caption_is_still_a_valid_file() -> None:
    assert written(VttWriter, [], 5.0) == "WEBVTT\n\n"
    assert written(SrtWriter, [], 5.0) == ""


def test_a_cue_is_on_disk_as_soon_as_its_end_is_known(tmp_path: Path) -> None:
    path = tmp_path / "out.srt"
    with path.open("w", encoding="utf-8") as stream:
        writer = SrtWriter(stream, str(path))
        writer.write(record(0.0, "One."))
        writer.write(record(1.0, "Two."))
        assert path.read_text(encoding="utf-8") == "1\n00:00:00,000 --> 00:00:01,000\nOne.\n\n"


@given(
    st.lists(st.tuples(st.floats(0, 1e5), st.text(max_size=30)), max_size=12).map(sorted),
    st.none() | st.floats(0, 2e5),
)
def test_cues_are_in_order_and_never_overlap(captions: list[tuple[float, str]], end_s: float | None) -> None:
    text = written(SrtWriter, captions, end_s)
    numbers = [int(number) for number in re.findall(r"^(\d+)\n\S+ --> ", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    ends = 0.0
    for cue in re.findall(r"^\d+:\d\d:\d\d,\d\d\d --> \d+:\d\d:\d\d,\d\d\d$", text, re.MULTILINE):
        start_s, stop_s = (
            sum(unit * float(part) for unit, part in zip((3600, 60, 1), clock.split(":"), strict=True))
            for clock in cue.replace(",", ".").split(" --> ")
        )
        assert ends - 0.0015 <= start_s < stop_s
        ends = stop_s


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
@pytest.mark.parametrize(("kind", "suffix"), [(SrtWriter, "srt"), (VttWriter, "vtt")])
def test_ffmpeg_reads_the_file_back(kind: type[SubtitleWriter], suffix: str, tmp_path: Path) -> None:
    captions = [(0.0, "Grüße – 日本語"), (1.25, "a --> b & c"), (2.5, "The end.")]
    path = tmp_path / f"in.{suffix}"
    path.write_text(written(kind, captions, 4.0), encoding="utf-8")
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-f", "srt", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b""
    assert re.findall(r"(\S+) --> (\S+)\n(.+)", done.stdout.decode()) == [
        ("00:00:00,000", "00:00:01,250", "Grüße – 日本語"),
        ("00:00:01,250", "00:00:02,500", "a -> b & c"),
        ("00:00:02,500", "00:00:04,000", "The end."),
    ]
