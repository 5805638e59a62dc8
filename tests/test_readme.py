"""The README's commands do what it shows."""

import contextlib
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
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


@contextlib.contextmanager
def background(command: str, desk: Path, environ: dict[str, str]) -> Iterator[None]:
    """A server that a command ending in `&` starts, once it is ready."""
    with subprocess.Popen(
        ["bash", "-c", f"exec {command.rstrip('& ')}"],
        cwd=desk,
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stderr is not None
            assert any(line.startswith("ready at ") for line in server.stderr)
            yield
        finally:
            server.terminate()
            server.communicate(timeout=60)
        assert server.returncode == 0


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def on_a_terminal(command: str) -> str:
    """`command`, shown as on a terminal: what a pipe gets is another format."""
    if command.startswith("stream ping"):
        return f"script --quiet --return --command '{command}' /dev/null"
    piped = not command.startswith("stream caption") or "-o" in command or "|" in command
    return command if piped else f"{command} --format text"


def measured(text: str) -> str:
    """`text` without what differs from run to run."""
    return re.sub(r"\d+\.\d ms", "4.0 ms", text.replace("\r\n", "\n")).rstrip()


@pytest.mark.parametrize("block", consoles(), ids=lambda block: block[0][0][:40])
@pytest.mark.timeout(400)
def test_console(block: list[tuple[str, str]], desk: Path) -> None:
    path = f"{desk / 'bin'}{os.pathsep}{os.environ['PATH']}"
    port = free_port()
    # Left alone, vLLM takes most of the machine's memory, and fails where others hold some of it.
    few = {"VLLM_CPU_KVCACHE_SPACE": "1"}
    environ = environment(PATH=path, NIM_HTTP_API_PORT=port, COLUMNS="200", **few)
    with contextlib.ExitStack() as servers:
        for command, printed in block:
            for tool in ("jq", "curl", "script"):
                if re.search(rf"\b{tool}\b", on_a_terminal(command)) and shutil.which(tool) is None:
                    pytest.skip(f"{tool} is not installed")
            if "--model" in command and importlib.util.find_spec("vllm") is None:
                pytest.skip("vLLM is not installed")
            if command.endswith("&"):
                servers.enter_context(background(command, desk, environ))
                continue
            done = subprocess.run(
                ["bash", "-c", on_a_terminal(command).replace("8000", port)],
                cwd=desk,
                env=environ,
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=300,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, "")
            assert measured(done.stdout.replace(port, "8000")) == measured(printed)


def test_there_are_exactly_two_set_up_commands() -> None:
    blocks = re.findall(r"^<!-- ci: \w+ -->\n```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert [block.count("\n") for block in blocks] == [1, 1]
    assert len(re.findall(r"^```sh$", README, re.MULTILINE)) == 2


def test_every_key_of_a_record_is_explained() -> None:
    table = README[README.index("| key | |") :].split("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    assert tuple(re.findall(r"`(\w+)`", " ".join(cells))) == FIELDS
