"""Writing captions: one writer class a format, and what a terminal shows."""
