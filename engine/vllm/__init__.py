"""Vision-language models through vLLM, in this process."""
