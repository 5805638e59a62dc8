import pytest

from engine.lite.runtime import Network, threads
from protocol.errors import EngineError


def test_a_missing_network_is_an_error_of_one_line(tmp_path):
    with pytest.raises(EngineError) as caught:
        Network(tmp_path / "none.onnx")
    assert "none.onnx" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_damaged_network_is_an_error(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"not a network")
    with pytest.raises(EngineError, match=r"bad\.onnx"):
        Network(tmp_path / "bad.onnx")


def test_there_is_at_least_one_core():
    assert 1 <= threads() <= 4
