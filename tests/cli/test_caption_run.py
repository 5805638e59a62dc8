"""From options to the session that is asked for."""

from pathlib import Path
from typing import Any

import pytest

from cli.caption_run import guided_schema, read_text, session_config
from protocol.errors import UsageError
from protocol.messages import Retention, SessionConfig

NOT_GIVEN = dict.fromkeys(Retention.model_fields)


def config(**changes: Any) -> SessionConfig:
    options: dict[str, Any] = {
        "system_prompt": "Describe.",
        "question": "",
        "fps": 1.0,
        "model": None,
        "sampling": {},
        "retention": NOT_GIVEN,
    }
    return session_config(**{**options, **changes})


def test_without_a_retention_option_the_servers_policy_holds() -> None:
    assert config().retention is None


def test_with_one_the_object_is_complete_and_names_its_frames() -> None:
    asked = config(retention={**NOT_GIVEN, "max_session_tokens": 2048}).retention
    assert asked == Retention(max_video_segments=8, max_session_tokens=2048)
    assert config(retention={**NOT_GIVEN, "max_video_segments": 3}).retention == Retention(
        max_video_segments=3
    )


def test_an_error_names_the_option() -> None:
    with pytest.raises(UsageError, match=r"^--max-session-tokens: .*1024 \(got 5\)$"):
        config(retention={**NOT_GIVEN, "max_session_tokens": 5})
    with pytest.raises(UsageError, match=r"^--top-p: "):
        config(sampling={"top_p": 0})


def test_a_schema_is_json_text_or_a_file(tmp_path: Path) -> None:
    schema = {"type": "object"}
    path = tmp_path / "schema.json"
    path.write_text('{"type": "object"}', encoding="utf-8")
    assert guided_schema(None) is None
    assert guided_schema('{"type": "object"}') == schema
    assert guided_schema(str(path)) == schema
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError, match="a JSON Schema is an object"):
        guided_schema(str(path))


def test_a_prompt_file_is_utf8(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_bytes("Beschreibe größer.".encode("latin-1"))
    with pytest.raises(UsageError, match=r"--prompt-file .*prompt\.txt: not UTF-8 text"):
        read_text(path, "--prompt-file")
