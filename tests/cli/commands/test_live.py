"""`stream caption` over live sources: the real process, real servers, an engine that reads their clock."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.output.record import json_schema
from cli.video.timecode import parse_timecode
from tests.cli.commands.stream import environment, start, stream
from tests.live.ffmpeg_server import mjpeg_server, tcp_server
from tests.live.rtsp_server import rtsp_server
from tests.live.tcp_parts import Part, PartsServer, SilentServer

CLOCK = [sys.executable, "-m", "tests.live.clock_engine"]
OLD_S = 2.5
"""A picture that comes so long after it was made has waited somewhere, however slow the machine is."""


def start_clock(*arguments: str, delay_s: float = 0.0) -> subprocess.Popen[str]:
    """Starts `stream` with the engine that says, after `delay_s`, when each picture was made."""
    return subprocess.Popen(
        [*CLOCK, str(delay_s), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


@contextlib.contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """Leaves nothing of `process` in the end."""
    with process:
        try:
            yield
        finally:
            process.kill()


def clock_stream(*arguments: str, delay_s: float = 0.0) -> tuple[int, list[dict[str, Any]], str]:
    """Runs that to its end: its exit code, its records, and what it said."""
    process = start_clock(*arguments, delay_s=delay_s)
    with ended(process):
        out, errors = process.communicate(timeout=100)
    return process.returncode, records(out), errors


def records(jsonl: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in jsonl.splitlines()]
    for line in lines:
        jsonschema.validate(line, json_schema(), format_checker=jsonschema.FormatChecker())
    return lines


def check_times(captions: list[dict[str, Any]]) -> None:
    """Each record says when its picture came, and the picture was new then."""
    starts = []
    for each in captions:
        captured_s = datetime.fromisoformat(each["captured_at"]).timestamp()
        assert -0.05 < captured_s - float(each["text"]) < OLD_S
        starts.append(captured_s - each["pts_s"])
    assert starts == [pytest.approx(starts[0], abs=0.05)] * len(starts)
    times = [each["pts_s"] for each in captions]
    assert times == sorted(set(times))


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Ctrl-C, after which it ends soon, whatever it is at; what it wrote meanwhile."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - began < 10
    return out, errors


def test_what_records_say_of_a_camera_and_what_they_hide(tmp_path: Path) -> None:
    with rtsp_server(user="anna", password="s3cret") as server:
        files = ("-o", "-", "-o", str(tmp_path / "out.srt"), "-o", str(tmp_path / "out.csv"))
        code, captions, errors = clock_stream(
            "caption", server.url, "--fps", "10", "--max-frames", "4", *files, "-f", "jsonl", delay_s=0.5
        )
        shown = f"rtsp://***@127.0.0.1:{server.port}/camera"
    assert code == 0
    assert len(captions) == 4
    check_times(captions)
    assert captions[0]["dropped_since_last"] == 0
    for line in captions:
        assert line["source"] == shown
        assert 0.5 <= line["lag_s"] < 0.5 + OLD_S
    for line in captions[1:]:
        assert line["dropped_since_last"] >= 3
    ticks = (captions[-1]["pts_s"] - captions[0]["pts_s"]) * 10 + 1
    assert 4 + sum(line["dropped_since_last"] for line in captions) == pytest.approx(ticks, abs=2)
    start, end = (tmp_path / "out.srt").read_text().splitlines()[-3].split(" --> ")
    assert parse_timecode(end.replace(",", ".")) - parse_timecode(start.replace(",", ".")) >= Fraction(
        "0.099"
    )
    everything = [errors, json.dumps(captions), *(path.read_text() for path in tmp_path.iterdir())]
    assert len(everything) == 4
    assert not any(secret in text for text in everything for secret in ("anna", "s3cret"))


def test_a_folder_of_outputs_and_a_failure_tell_no_password(tmp_path: Path) -> None:
    with rtsp_server(user="anna", password="s3cret") as server:
        options = ("--max-frames", "1", "--output-dir", str(tmp_path), "--quiet")
        code, _, errors = clock_stream("caption", server.url, *options)
        names = [path.name for path in tmp_path.iterdir()]
        assert (code, errors, len(names)) == (0, "", 1)
        wrong = clock_stream("caption", server.url.replace("s3cret", "s3kret"))
    assert wrong[:2] == (1, [])
    assert wrong[2].startswith("error: rtsp://***@127.0.0.1:")
    assert wrong[2].count("\n") == 1
    said = [*names, errors, wrong[2], *(path.read_text() for path in tmp_path.iterdir())]
    assert not any(secret in text for text in said for secret in ("anna", "s3cret", "s3kret"))


@pytest.mark.parametrize("on_gap", ["keep", "new-session"])
def test_a_camera_that_goes_away_and_comes_back(on_gap: str) -> None:
    with tcp_server() as server:
        process = start_clock("caption", server.url, "--fps", "5", "--on-gap", on_gap, "-f", "jsonl")
        with ended(process):
            assert process.stdout
            assert process.stderr
            lines = [process.stdout.readline() for _ in range(3)]
            server.kill()
            told = process.stderr.readline()
            server.start()
            while '"gap"' not in lines[-1]:
                lines.append(process.stdout.readline())
            lines += [process.stdout.readline() for _ in range(3)]
            out, errors = interrupt(process)
    said = records("".join(lines) + out)
    captions = [line for line in said if line["type"] == "caption"]
    [gap] = [line for line in said if line["type"] == "gap"]
    place = said.index(gap)
    assert said[place - 1]["pts_s"] <= gap["start_s"] < gap["end_s"] <= said[place + 1]["pts_s"]
    assert gap["source"] == server.url
    assert server.url in told
    assert gap["reason"] in told
    assert server.url in errors  # it is back
    check_times(captions)
    assert [line["frame_index"] for line in captions] == list(range(len(captions)))
    sessions = [line["session_id"] for line in captions]
    lost = [line["history_lost"] for line in captions]
    if on_gap == "keep":
        assert set(sessions) == {"clock-1"}
        assert not any(lost)
    else:
        assert sessions == ["clock-1"] * place + ["clock-2"] * (len(captions) - place)
        assert lost == [index == place for index in range(len(captions))]


def test_duration(tmp_path: Path) -> None:
    with rtsp_server() as server:
        options = ("--fps", "10", "--duration", "1", "-o", "-", "-o", str(tmp_path / "out.srt"))
        code, captions, _ = clock_stream("caption", server.url, *options, "-f", "jsonl")
    assert code == 0
    assert len(captions) > 3
    assert all(line["pts_s"] < 1 for line in captions)
    check_times(captions)
    assert (tmp_path / "out.srt").read_text().count(" --> ") == len(captions)
    assert "--> 00:00:01,000\n" in (tmp_path / "out.srt").read_text()


def test_two_at_once_have_a_session_each() -> None:
    with tcp_server() as one, mjpeg_server() as other:
        code, captions, _ = clock_stream(
            "caption", one.url, other.url, "--max-frames", "3", "--fps", "5", "-f", "jsonl", delay_s=0.1
        )
    assert code == 0
    for server in (one, other):
        own = [line for line in captions if line["source"] == server.url]
        assert [line["frame_index"] for line in own] == [0, 1, 2]
        assert len({line["session_id"] for line in own}) == 1
        check_times(own)
    assert len({line["session_id"] for line in captions}) == 2


def test_a_camera_that_changes_its_size() -> None:
    with PartsServer([Part(1.5, 320, 64), Part(60, 640, 128)]) as server:
        code, captions, _ = clock_stream(
            "caption", server.url, "--fps", "5", "--duration", "2.5", "-f", "jsonl"
        )
    assert code == 0
    assert [line["type"] for line in captions] == ["caption"] * len(captions)
    sizes = [(line["width"], line["height"]) for line in captions]
    assert set(sizes) == {(320, 64), (640, 128)}
    assert sizes == sorted(sizes)


def test_the_lite_engine_and_a_camera() -> None:
    with mjpeg_server() as server:
        done = stream("caption", server.url, "--engine", "lite", "--max-frames", "2", "-f", "jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line["lag_s"] > 0 for line in records(done.stdout)] == [True, True]


@pytest.mark.parametrize("command", [start, start_clock])
def test_an_interrupt_while_it_connects(command: Any, tmp_path: Path) -> None:
    with SilentServer() as server:
        process = command("caption", server.url, "-o", "-", "-o", str(tmp_path / "out.srt"), "-f", "jsonl")
        with ended(process), server.accept():
            assert interrupt(process) == ("", "")
    assert all(path.read_text() == "" for path in tmp_path.glob("*.srt"))


@pytest.mark.parametrize("moment", ["running", "silent", "away"])
def test_an_interrupt_later(moment: str, tmp_path: Path) -> None:
    with tcp_server() as server:
        path = tmp_path / "out.srt"
        process = start_clock("caption", server.url, "--fps", "10", "-o", "-", "-o", str(path), "-f", "jsonl")
        with ended(process):
            assert process.stdout
            assert process.stderr
            lines = [process.stdout.readline() for _ in range(3)]
            if moment == "silent":
                server.hold()
            elif moment == "away":
                server.kill()
                assert server.url in process.stderr.readline()
            out, errors = interrupt(process)
    said = records("".join(lines) + out)
    check_times(said)
    assert "Traceback" not in errors
    assert path.read_text().count(" --> ") == len(said)
    assert path.read_text().endswith("\n")


def test_one_that_is_lost_for_good_ends_the_run_with_what_was_said(tmp_path: Path) -> None:
    with tcp_server() as server:
        path = tmp_path / "out.jsonl"
        process = start_clock("caption", server.url, "--fps", "10", "--retry-for", "0.5", "-o", str(path))
        with ended(process):
            while not path.exists() or not path.read_text().count("\n"):
                assert process.poll() is None
                time.sleep(0.05)
            server.kill()
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.splitlines()[-1].startswith(f"error: {server.url}: lost (")
    assert records(path.read_text())
