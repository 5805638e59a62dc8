"""How vLLM is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DEFAULT_MAX_IMAGES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmOptions:
    """What of vLLM's engine arguments a person sets; None leaves vLLM's own default.

    Attributes:
        max_images: most frames a session's window may hold.
        sessions: how many sessions to keep processed pictures for; more than that may be open.
        seed: of the sampling in every session.
        extra: further engine arguments by vLLM's names; they win over all else here.
    """

    max_images: int = DEFAULT_MAX_IMAGES
    sessions: int = 1
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    dtype: str | None = None
    tensor_parallel_size: int | None = None
    quantization: str | None = None
    seed: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def engine_arguments(self, model: str) -> dict[str, Any]:
        """The keyword arguments for vLLM's `AsyncEngineArgs`."""
        return {
            "model": model,
            "enable_prefix_caching": True,
            "limit_mm_per_prompt": {"image": self.max_images},
            **self._named(),
            **self.extra,
        }

    def given(self) -> list[str]:
        """Names of what a person set of how vLLM is loaded, `vllm_arg` for what has no field here."""
        return [*self._named(), *(["vllm_arg"] if self.extra else [])]

    def _named(self) -> dict[str, Any]:
        named = {
            "gpu_memory_utilization": self.gpu_memory_utilization,
            "max_model_len": self.max_model_len,
            "dtype": self.dtype,
            "tensor_parallel_size": self.tensor_parallel_size,
            "quantization": self.quantization,
        }
        return {name: value for name, value in named.items() if value is not None}
