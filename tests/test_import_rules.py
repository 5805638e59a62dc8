"""Arrows point one way: cli -> engine -> protocol, and the contract stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("cli", "engine", "protocol")
FORBIDDEN = {"cli": set(), "engine": {"cli"}, "protocol": {"cli", "engine"}}
HEAVY = {
    "av", "cv2", "fastapi", "httpx", "numpy", "onnxruntime", "PIL", "prometheus_client", "rapidocr",
    "starlette", "torch", "uvicorn", "vllm", "websockets",
}  # fmt: skip


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Every module that `path` imports, anywhere in it, also for type checking only."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_in_one_direction(room: str) -> None:
    assert modules(room)
    for path in modules(room):
        crossed = {name for name in imported(path) if name.split(".")[0] in FORBIDDEN[room]}
        assert not crossed, f"{path.relative_to(ROOT)} imports {crossed}"


def test_engines_import_the_root_of_the_protocol_only() -> None:
    for path in modules("engine"):
        deep = {name for name in imported(path) if name.startswith(("protocol.client", "protocol.server"))}
        assert not deep, f"{path.relative_to(ROOT)} imports {deep}"


@pytest.mark.parametrize(("end", "other"), [("server", "client"), ("client", "server")])
def test_the_two_ends_of_the_wire_know_nothing_of_each_other(end: str, other: str) -> None:
    found = [path for path in modules("protocol") if path.is_relative_to(ROOT / "protocol" / end)]
    assert found
    for path in found:
        assert not any(name.startswith(f"protocol.{other}.") for name in imported(path)), path


def test_the_product_does_not_import_its_tests() -> None:
    for room in ROOMS:
        for path in modules(room):
            assert not any(name.split(".")[0] in {"tests", "samples"} for name in imported(path))


def test_no_module_is_named_for_nothing_in_particular() -> None:
    vague = {"utils", "helpers", "manager", "common", "misc"}
    assert not [path for room in ROOMS for path in modules(room) if path.stem in vague]


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize(
    "arguments",
    [["--help"], *([name, "--help"] for name in ("caption", "cameras", "frames", "ping", "probe", "serve"))],
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    loaded = loaded_after(f"from cli.main import run\nassert run({arguments!r}) == 0")
    assert not loaded & HEAVY
    assert "asyncio" not in loaded


def test_the_contract_loads_nothing_heavier_than_pydantic() -> None:
    names = [f"protocol.{path.stem}" for path in (ROOT / "protocol").glob("*.py") if path.stem != "__init__"]
    loaded = loaded_after("import " + ", ".join(names))
    assert "pydantic" in loaded
    assert not loaded & HEAVY
