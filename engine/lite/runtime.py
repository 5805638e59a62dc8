"""How networks are run: loaded fast, with little memory, leaving the cores to others when idle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from protocol.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

MAX_THREADS = 4


class Network:
    """One ONNX file with one input and one output; may be called from several threads."""

    def __init__(self, path: Path) -> None:
        """Loads the file.

        Raises:
            EngineError: it is missing or not a network this runtime can run.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads()
        options.inter_op_num_threads = 1
        # Input sizes differ from frame to frame; an arena would grow to the sum of all of them and stay.
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        # Idle threads sleep: the same cores decode the video meanwhile.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise EngineError(
                f"cannot load {path}: {str(error).splitlines()[0]}", hint="reinstall the program"
            ) from error
        self._session: Any = session
        self._input: str = session.get_inputs()[0].name

    def __call__(self, batch: Array) -> Array:
        """The output for `batch`."""
        output: Array = self._session.run(None, {self._input: batch})[0]
        return output


def threads() -> int:
    """How many threads a network runs on: the cores this process may use, within reason."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_THREADS)
