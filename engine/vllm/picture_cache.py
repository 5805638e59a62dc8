"""How much memory vLLM may keep processed pictures in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.errors import EngineError

if TYPE_CHECKING:
    from engine.vllm.options import VllmOptions


def limit_picture_cache(config: Any, options: VllmOptions) -> None:
    """Makes room for two windows of pictures a session and no more, unless a person has set the size.

    vLLM keeps what it has processed, in its engine's process, until the size it was given is reached (4 GiB
    if none was), and cannot be told that a picture has left: a session of many hours would fill that. Twice a
    window, so that a slow session's pictures are still there when a fast one's have long gone by.

    Args:
        config: vLLM's `VllmConfig`, before anything is loaded.

    Raises:
        EngineError: the model takes no pictures.
    """
    pictures = config.model_config.multimodal_config
    if pictures is None or not config.model_config.is_multimodal_model:
        raise EngineError(
            f"{config.model_config.model} takes no pictures", hint="name a vision-language model"
        )
    if "mm_processor_cache_gb" in options.extra:
        return
    needed = 2 * options.sessions * (options.max_images + 1) * _largest_picture_bytes(config.model_config)
    pictures.mm_processor_cache_gb = min(pictures.mm_processor_cache_gb, needed / 2**30)


def _largest_picture_bytes(model_config: Any) -> int:
    """What the processor makes of the largest picture it takes, as the cache counts it."""
    from vllm.multimodal import MULTIMODAL_REGISTRY
    from vllm.multimodal.cache.base import MultiModalCache

    processor = MULTIMODAL_REGISTRY.create_processor(model_config)
    dummy = processor.get_dummy_mm_inputs(mm_counts={"image": 1}, cache=None)
    return int(MultiModalCache.get_item_size(dummy["mm_kwargs"]["image"][0]))
