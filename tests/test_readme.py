"""The README's commands do what it shows."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.output.record import FIELDS
from tests.cli.commands.stream import ROOT, environment

README = (ROOT / "README.md").read_text(encoding="utf-8")


def consoles() -> list[list[tuple[str, str]]]:
    """The console blocks, each as (command, what it printed) pairs."""
    blocks = re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE) for block in blocks]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with what the README's commands name, and `stream` on the PATH."""
    sample = ROOT / "samples" / "tour.mp4"
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "shapes").symlink_to(ROOT / "samples" / "shapes")
    (tmp_path / "videos").mkdir()
    for name in ("samples/tour.mp4", "clip.mp4", "videos/clip.mp4", "videos/second.mp4"):
        shutil.copy(sample, tmp_path / name)
    program = tmp_path / "bin" / "stream"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cli.main "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("block", consoles(), ids=lambda block: block[0][0][:40])
@pytest.mark.timeout(400)
def test_console(block: list[tuple[str, str]], desk: Path) -> None:
    path = f"{desk / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command, printed in block:
        if "jq" in command and shutil.which("jq") is None:
            pytest.skip("jq is not installed")
        if "--model" in command and importlib.util.find_spec("vllm") is None:
            pytest.skip("vLLM is not installed")
        # A pipe gets JSONL; what the README shows of a bare caption command is what a terminal shows.
        shown = command if "-o" in command or "|" in command else f"{command} --format text"
        done = subprocess.run(
            ["bash", "-c", shown if command.startswith("stream caption") else command],
            cwd=desk,
            env=environment(PATH=path),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.rstrip() == printed.rstrip()


def test_there_are_exactly_two_set_up_commands() -> None:
    blocks = re.findall(r"^<!-- ci: \w+ -->\n```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert [block.count("\n") for block in blocks] == [1, 1]
    assert len(re.findall(r"^```sh$", README, re.MULTILINE)) == 2


def test_every_key_of_a_record_is_explained() -> None:
    table = README[README.index("| key | |") :].split("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    assert tuple(re.findall(r"`(\w+)`", " ".join(cells))) == FIELDS
