"""Sessions over an OpenAI-compatible server, which keeps none itself."""
