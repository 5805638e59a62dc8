"""Turning pictures into text: one module or folder an engine."""
