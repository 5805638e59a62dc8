"""`stream schema`: the JSON Schema of a line of JSONL output."""

from __future__ import annotations


def schema_command() -> None:
    """Print the JSON Schema of the records that `stream caption` writes as JSONL."""
    import json
    import sys

    from cli.output.record import json_schema

    json.dump(json_schema(), sys.stdout, indent=2)
    sys.stdout.write("\n")
    sys.stdout.flush()
