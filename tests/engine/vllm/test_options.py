"""vLLM's engine arguments from a person's options."""

from engine.vllm.options import VllmOptions


def test_what_is_not_set_is_left_to_vllm() -> None:
    assert VllmOptions().engine_arguments("m") == {
        "model": "m",
        "enable_prefix_caching": True,
        "limit_mm_per_prompt": {"image": 64},
    }


def test_named_options_and_extra_ones() -> None:
    options = VllmOptions(
        max_images=8,
        gpu_memory_utilization=0.5,
        max_model_len=4096,
        dtype="float32",
        tensor_parallel_size=2,
        quantization="fp8",
        extra={"block_size": 16, "max_model_len": 2048},
    )
    assert options.engine_arguments("m") == {
        "model": "m",
        "enable_prefix_caching": True,
        "limit_mm_per_prompt": {"image": 8},
        "gpu_memory_utilization": 0.5,
        "max_model_len": 2048,  # the extra argument wins
        "dtype": "float32",
        "tensor_parallel_size": 2,
        "quantization": "fp8",
        "block_size": 16,
    }
