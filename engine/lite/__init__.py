"""The embedded engine: a small, deterministic describer that says what it measured."""
