"""The options that decide what a run's captions are, as a later run is held against them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.engines import EngineChoice
    from cli.video.sampling import SamplingPlan
    from protocol.messages import SessionConfig

_LONGEST_SHOWN = 40


def run_options(
    plan: SamplingPlan, config: SessionConfig, engine: EngineChoice, *, skip_similar: float | None
) -> dict[str, Any]:
    """What decides which frames are captioned, by what and how: JSON values by option, None where not given.

    Where a server is, and how it is spoken to, is left out; so are keys, and whatever might be one.
    """
    rated = plan.mode == "rate"
    options = {
        "--fps": str(plan.fps) if rated else None,
        "--every-frame": plan.mode == "every" or None,
        "--keyframes": plan.mode == "keyframes" or None,
        "--start": str(plan.start),
        "--end": None if plan.end is None else str(plan.end),
        "--max-frames": plan.max_frames,
        "--loop": plan.loop or None,
        "--skip-similar": skip_similar,
        "--engine": engine.kind,
        "--model": engine.model,
        "--system-prompt": config.system_prompt,
        "--question": config.question,
    }
    options |= {_option(name): value for name, value in config.sampling.model_dump(mode="json").items()}
    if config.retention is not None:
        options |= {_option(name): value for name, value in config.retention.model_dump(mode="json").items()}
    if engine.remote is not None:
        options["--frame-encoding"] = engine.remote.frame_encoding
    elif engine.openai is not None:
        asked = engine.openai.options
        options |= {
            "--frame-encoding": engine.openai.connection.frame_encoding,
            "--image-detail": asked.image_detail,
            "--extra-body": _digest(asked.extra_body) if asked.extra_body else None,  # or a key, likewise
            "--prefix-friendly": asked.prefix_friendly or None,
            "--seed": asked.seed,
        }
    else:
        vllm = engine.vllm
        options |= {
            "--seed": vllm.seed,
            "--max-model-len": vllm.max_model_len,
            "--dtype": vllm.dtype,
            "--quantization": vllm.quantization,
            "--vllm-arg": _digest(vllm.extra) if vllm.extra else None,  # a token may be among them
        }
    return options


def changed_option(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first option that is not what it was, and what it was and is; None if all are the same."""
    for option in (*now, *(option for option in before if option not in now)):
        old, new = before.get(option), now.get(option)
        if old != new:
            if len(f"{old}{new}") > _LONGEST_SHOWN or option in ("--vllm-arg", "--extra-body"):
                return f"{option} has changed"
            return f"{option} {_said(old)}, and {_said(new, 'is')}"
    return None


def _said(value: object, verb: str = "was") -> str:
    if value is None:
        return f"{verb} not given"
    return f"{verb} given" if value is True else f"{verb} {value!r}" if value == "" else f"{verb} {value}"


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
