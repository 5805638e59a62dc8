"""The person's side: commands, reading video, writing captions, progress."""
