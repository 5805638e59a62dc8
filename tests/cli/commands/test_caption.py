"""`stream caption` as a person and a pipe meet it: the real process, the real engine, a real clip."""

import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from cli.output.record import FIELDS, json_schema
from tests.cli.commands.stream import COMMAND, ROOT, SAMPLE, environment, start, stream

SHORT = ("--fps", "1", "--max-frames", "3")


def records(jsonl: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in jsonl.splitlines()]


def test_a_pipe_gets_jsonl_and_nothing_else() -> None:
    done = stream("caption", SAMPLE, "--fps", "2")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = records(done.stdout)
    assert [line["pts_s"] for line in lines] == [k * 25 // 2 / 25 for k in range(30)]  # 25 frames a second
    assert [line["frame_index"] for line in lines] == list(range(30))
    for line in lines:
        jsonschema.validate(line, json_schema(), format_checker=jsonschema.FormatChecker())
        assert line["source"] == SAMPLE
        assert (line["engine"], line["model"]) == ("lite", "lite-1")
        assert 0 < len(str(line["text"]).split()) <= 24
    assert len({line["session_id"] for line in lines}) == 1
    said = " ".join(str(line["text"]) for line in lines)
    assert "A SHORT TOUR" in said
    assert "LAUNCH COMPLEX 40" in said
    assert re.search(r"\bcat\b", said)


def test_the_same_frames_get_the_same_captions() -> None:
    first, second = (records(stream("caption", SAMPLE, *SHORT).stdout) for _ in range(2))
    assert [line["text"] for line in first] == [line["text"] for line in second]


def test_every_line_is_there_as_soon_as_it_is_made() -> None:
    process = start("caption", SAMPLE, "--every-frame")
    assert process.stdout
    first = json.loads(process.stdout.readline())
    assert process.poll() is None  # 374 frames are still to come
    assert first["frame_index"] == 0
    process.kill()
    process.communicate()


@pytest.mark.parametrize("name", ["text", "jsonl", "srt", "vtt", "csv", "tsv"])
def test_format(name: str) -> None:
    done = stream("caption", SAMPLE, *SHORT, "--format", name)
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    if name == "text":
        assert re.match(r"00:00\.000  \S.*\n00:01\.000  \S.*\n00:02\.000  \S", text)
    elif name == "jsonl":
        assert len(records(text)) == 3
    elif name == "srt":
        assert text.startswith("1\n00:00:00,000 --> ")
    elif name == "vtt":
        assert text.startswith("WEBVTT\n\n1\n00:00:00.000 --> ")
    else:
        rows = list(csv.DictReader(io.StringIO(text), delimiter="," if name == "csv" else "\t"))
        assert tuple(rows[0]) == FIELDS
        assert [row["pts_s"] for row in rows] == ["0.0", "1.0", "2.0"]


def test_files_take_the_captions_off_the_pipe(tmp_path: Path) -> None:
    names = [tmp_path / f"out.{suffix}" for suffix in ("jsonl", "srt", "vtt", "csv", "tsv", "txt")]
    done = stream("caption", SAMPLE, *SHORT, *(part for name in names for part in ("-o", str(name))))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert all(name.stat().st_size > 50 for name in names)
    again = stream("caption", SAMPLE, *SHORT, "-o", str(names[1]), "-o", "-", "--overwrite")
    assert len(records(again.stdout)) == 3
    refused = stream("caption", SAMPLE, *SHORT, "-o", str(names[1]))
    assert refused.returncode == 1
    assert refused.stderr == f"error: {names[1]}: exists already; use --overwrite to replace it\n"


def test_the_last_cue_ends_with_the_video(tmp_path: Path) -> None:
    path = tmp_path / "tour.srt"
    assert stream("caption", SAMPLE, "--fps", "0.5", "-o", str(path)).returncode == 0
    assert re.findall(r"--> (\S+)", path.read_text(encoding="utf-8"))[-1] == "00:00:15,000"


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_a_player_takes_the_subtitles_with_the_video(tmp_path: Path) -> None:
    srt, muxed = tmp_path / "tour.srt", tmp_path / "tour.mkv"
    assert stream("caption", SAMPLE, "--fps", "1", "-o", str(srt)).returncode == 0
    mux = ["ffmpeg", "-v", "error", "-i", SAMPLE, "-i", str(srt), "-c", "copy", str(muxed)]
    assert subprocess.run(mux, capture_output=True, check=True).stderr == b""
    back = ["ffmpeg", "-v", "error", "-i", str(muxed), "-map", "0:s", "-f", "srt", "-"]
    read = subprocess.run(back, capture_output=True, check=True).stdout.decode()
    assert read.strip() == srt.read_text(encoding="utf-8").strip()


def test_several_inputs_each_get_a_file(tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "one.mp4")
    shutil.copy(SAMPLE, tmp_path / "two.mp4")
    out = tmp_path / "out"
    done = stream("caption", str(tmp_path), *SHORT, "--output-dir", str(out), "-f", "srt", "-f", "jsonl")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    names = ["one.jsonl", "one.srt", "two.jsonl", "two.srt"]
    assert sorted(path.name for path in out.iterdir()) == [".one.jsonl.run", ".two.jsonl.run", *names]


def test_a_bad_input_is_reported_and_the_rest_go_on(tmp_path: Path) -> None:
    noise = tmp_path / "noise.mp4"
    noise.write_bytes(b"not a video" * 100)
    done = stream("caption", str(noise), SAMPLE, "gone.mp4", *SHORT)
    assert done.returncode == 3
    assert len(records(done.stdout)) == 3
    assert [line.split(": ")[:2] for line in done.stderr.splitlines()] == [
        ["error", str(noise)],
        ["error", "gone.mp4"],
    ]


def test_nothing_captioned_is_a_failure() -> None:
    done = stream("caption", "gone.mp4")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: gone.mp4: no such file\n"


def test_a_range_with_nothing_in_it_is_a_failure() -> None:
    done = stream("caption", SAMPLE, "--start", "20")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {SAMPLE}: no frame in the range asked for; it ends at 00:15.000\n"


def test_a_command_that_is_not_there_comes_with_a_suggestion() -> None:
    assert stream("captions").stderr == "error: No such command 'captions'. Did you mean 'caption'?\n"
    assert stream(SAMPLE).stderr == f"error: {SAMPLE}: what is to be done with it? stream caption {SAMPLE}\n"


def test_standard_input() -> None:
    with Path(SAMPLE).open("rb") as clip:
        cat = subprocess.Popen(["cat"], stdin=clip, stdout=subprocess.PIPE)
        done = stream("caption", "-", *SHORT, stdin=cat.stdout)
        assert cat.stdout
        cat.stdout.close()
        cat.wait()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line["source"] for line in records(done.stdout)] == ["-"] * 3


@pytest.mark.parametrize(
    ("closing", "lines", "message"),
    [("2>&-", 3, ""), (">&-", 0, ""), ("<&-", 3, ""), ("- <&-", 0, "error: -: nothing came in\n")],
)
def test_closed_streams_are_like_the_null_device(closing: str, lines: int, message: str) -> None:
    clip = "" if closing.startswith("-") else SAMPLE
    command = f"{' '.join(COMMAND)} caption {clip} {' '.join(SHORT)} {closing}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env=environment(), timeout=90
    )
    assert done.stdout.count("\n") == lines
    assert done.stderr == message
    assert done.returncode == bool(message)


def test_data_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    clip = shutil.copy(SAMPLE, tmp_path / "größe–日本.mp4")
    done = stream(
        "caption",
        clip,
        "--max-frames",
        "1",
        env=environment(PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0"),
    )
    assert done.returncode == 0
    assert "größe–日本.mp4" in done.stdout


def test_head_ends_it_in_one_line() -> None:
    command = f"{' '.join(COMMAND)} caption {SAMPLE} --fps 5 | head -3; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, env=environment(), timeout=90
    )
    assert done.stderr == "error: standard output: nobody reads it any more\n"
    *lines, status = done.stdout.splitlines()
    assert len(records("\n".join(lines))) == 3
    assert status == "1"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_it_in_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "caption", SAMPLE, *SHORT],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment(),
            timeout=90,
        )
    told = "error: standard output: No space left on device; what was written before is complete\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_a_file_that_may_not_grow_keeps_whole_records(tmp_path: Path) -> None:
    paths = [tmp_path / f"out.{suffix}" for suffix in ("jsonl", "srt")]
    files = [part for path in paths for part in ("-o", str(path))]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = stream("caption", SAMPLE, "--fps", "2", *files, preexec_fn=limit)
    assert done.returncode == 1
    assert done.stderr == (f"error: {paths[0]}: File too large; what was written before is complete\n")
    assert len(records(paths[0].read_text(encoding="utf-8"))) >= 2
    assert paths[0].stat().st_size <= 2000
    assert "-->" in paths[1].read_text(encoding="utf-8")


def test_a_folder_that_is_removed_ends_it_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    process = start("caption", SAMPLE, "--every-frame", "--output-dir", str(folder), "-o", "-")
    assert process.stdout
    process.stdout.readline()
    shutil.rmtree(folder)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert errors == f"error: {folder}/tour.jsonl: was removed while captions were written to it\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_told_to_stop_every_output_is_valid(number: signal.Signals, status: int, tmp_path: Path) -> None:
    paths = {suffix: tmp_path / f"out.{suffix}" for suffix in ("srt", "vtt", "csv")}
    files = [part for path in paths.values() for part in ("-o", str(path))]
    process = start("caption", SAMPLE, "--every-frame", *files, "-o", "-")
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(3)]
    process.send_signal(number)
    rest, errors = process.communicate(timeout=20)
    assert process.returncode == status
    assert errors == ""
    said = records("".join(lines) + rest)
    assert [line["frame_index"] for line in said] == list(range(len(said)))
    assert len(list(csv.DictReader(io.StringIO(paths["csv"].read_text(encoding="utf-8"))))) == len(said)
    cues = paths["srt"].read_text(encoding="utf-8").strip().split("\n\n")
    assert all(re.match(r"\d+\n\S+ --> \S+\n\S", cue) for cue in cues)
    assert paths["vtt"].read_text(encoding="utf-8").count("-->") == len(cues)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fps", "0"], "--fps"),
        (["--fps", "fast"], "--fps fast: not a rate"),
        (["--fps", "2", "--keyframes"], "--fps and --keyframes exclude each other"),
        (["--start", "1:99"], "not a time"),
        (["--start", "5", "--end", "4"], "--end"),
        (["--format", "ass"], "choose from text, jsonl, srt, vtt, csv, tsv"),
        (["-o", "out.mp4"], "no caption format has that suffix"),
        (["--engine", "gpt"], "choose from auto, lite, vllm"),
        (["--engine", "lite", "--model", "some/model"], "--model some/model"),
        (["--max-tokens", "0"], "--max-tokens: Input should be greater than or equal to 1 (got 0)"),
        (["--skip-similar", "1.5"], "--skip-similar"),
        (["-o", "none", "-o", "a.srt"], "-o none writes nothing, and another output is asked for"),
        (["--top-p", "2"], "--top-p: "),
        (["--max-session-tokens", "10"], "--max-session-tokens: "),
        (["--eviction-policy", "fifo"], "sliding_window"),
        (["--guided-json", "{"], "--guided-json: not JSON"),
        (["--guided-json", "no-such-file"], "--guided-json no-such-file: No such file"),
        (["--system-prompt", "a", "--prompt-file", "b"], "use one of them"),
        (["--prompt-file", "no-such-file"], "--prompt-file no-such-file: No such file"),
        (["--guided-choice", "a", "--guided-regex", "b"], "at most one of"),
        (["--max-text-tokens", "9000"], "max_text_tokens (9000) must not exceed max_session_tokens (7000)"),
        (["--guided-choice", "clear"], "vllm"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], message: str) -> None:
    done = stream("caption", SAMPLE, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_question_to_lite_is_taken_with_a_note() -> None:
    done = stream("caption", SAMPLE, *SHORT, "--question", "Is there a cat?")
    assert done.returncode == 0
    assert (
        done.stderr
        == "note: the lite engine describes what it sees; it does not follow a prompt or question\n"
    )
    assert len(records(done.stdout)) == 3


def test_max_tokens_cuts_at_a_word() -> None:
    for line in records(stream("caption", SAMPLE, *SHORT, "--max-tokens", "2").stdout):
        assert (line["token_count"], line["finish_reason"]) == (2, "length")
        assert len(str(line["text"]).split()) == 2


SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


def on_terminal(*arguments: str, interrupt_after: int | None = None) -> tuple[int, str]:
    """Runs ``stream`` on a terminal of its own; exit code and everything it showed.

    Another process makes the terminal: forking this one, which has threads, could hang.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", SPAWN, *COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(TERM="xterm-256color", COLUMNS="100"),
    )
    assert process.stdin
    assert process.stdout
    shown = b""
    while chunk := os.read(process.stdout.fileno(), 65536):
        shown += chunk
        if interrupt_after is not None and len(re.findall(rb"00:\d\d\.\d{3}", shown)) >= interrupt_after:
            process.stdin.write(b"\x03")
            process.stdin.flush()
            interrupt_after = None
    process.stdin.close()
    process.stdout.close()
    return process.wait(timeout=20), shown.decode()


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def test_a_terminal_shows_captions_a_bar_and_a_summary() -> None:
    status, shown = on_terminal("caption", SAMPLE, "--fps", "1")
    text = plain(shown)
    assert status == 0
    assert len(re.findall(r"00:\d\d\.000  [A-Z]", text)) == 15
    assert "/ 00:15" in text
    assert "× real time" in text
    assert re.search(r"\d+ captions?, \d+ left", text)
    assert re.search(r"15 captions from \S*tour\.mp4 in \d+\.\d s, \d+\.\d × real time\s*$", text)


def test_every_thins_the_terminal_and_quiet_silences_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    status, shown = on_terminal("caption", SAMPLE, "--fps", "1", "--every", "5", "--quiet", "-o", str(path))
    assert status == 0
    assert re.findall(r"(\d\d:\d\d\.000)  ", plain(shown)) == ["00:00.000", "00:05.000", "00:10.000"]
    assert "real time" not in shown
    assert len(records(path.read_text(encoding="utf-8"))) == 15


def test_ctrl_c_on_a_terminal_leaves_it_usable() -> None:
    status, shown = on_terminal("caption", SAMPLE, "--every-frame", interrupt_after=3)
    assert status == 130
    assert "stopped after" in plain(shown)
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")  # the cursor is back
    assert "Traceback" not in shown


def test_no_output_at_all(tmp_path: Path) -> None:
    done = stream("caption", SAMPLE, *SHORT, "-o", "none", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())
    status, shown = on_terminal("caption", SAMPLE, *SHORT, "-o", "none")
    assert status == 0
    assert not re.findall(r"00:\d\d\.000  [A-Z]", plain(shown))
    assert "3 captions from" in plain(shown)


def test_similar_frames_left_out_are_told_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    status, shown = on_terminal("caption", SAMPLE, "--fps", "2", "--skip-similar", "0.9", "-o", str(path))
    assert status == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert 3 < len(rows) < 20
    skipped = sum(int(row["skipped_similar"]) for row in rows)
    told = re.search(r"(\d+) captions from .*, (\d+) similar frames left out", plain(shown))
    assert told
    assert (int(told[1]), int(told[1]) + int(told[2])) == (len(rows), 30)
    assert 0 < skipped <= int(told[2])  # those after the last caption are in no record


def test_a_module_that_hides_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text("")
    env = environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    done = stream("--help", env=env, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"error: {tmp_path}/engine.py hides stream's own package 'engine'; "
        "rename it or take its folder off PYTHONPATH\n"
    )


def test_no_log_line_reaches_the_terminal() -> None:
    done = stream("caption", SAMPLE, *SHORT, env=environment(PYTHONWARNINGS="default"))
    assert done.stderr == ""


def test_schema_prints_the_schema_of_the_records() -> None:
    done = stream("schema")
    assert done.returncode == 0
    assert json.loads(done.stdout) == json_schema()
