"""Reading video: from what a person names to sampled frames with their true times."""
