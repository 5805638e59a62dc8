"""Guides as fields of a request, and whether a reply obeys."""

from typing import Any

import pytest

from engine.openai.dialect import guide_fields, repetition_penalty_field
from engine.openai.guide import Guide
from protocol.messages import Sampling

CHOICE = Sampling(guided_choice=["clear", 'a "hazard"'])
REGEX = Sampling(guided_regex=r"\d+ cars?")
SCHEMA = {"type": "object", "properties": {"cars": {"type": "integer"}}, "required": ["cars"]}
JSON = Sampling(guided_json=SCHEMA)


@pytest.mark.parametrize("owner", ["vllm", "sglang", "llamacpp", "library", ""])
def test_a_schema_is_a_response_format_everywhere(owner: str) -> None:
    fields, wrapped = guide_fields(JSON, owner)
    assert not wrapped
    assert fields["response_format"]["type"] == "json_schema"
    assert fields["response_format"]["json_schema"]["schema"] == SCHEMA
    assert guide_fields(Sampling(guided_json='{"type": "object"}'), owner)[0]["response_format"]


@pytest.mark.parametrize(
    ("owner", "choice", "regex"),
    [
        (
            "vllm",
            {"structured_outputs": {"choice": CHOICE.guided_choice}},
            {"structured_outputs": {"regex": r"\d+ cars?"}},
        ),
        ("stream", {"structured_outputs": {"choice": CHOICE.guided_choice}}, None),
        ("sglang", {"regex": r'(clear)|(a\ "hazard")'}, {"regex": r"\d+ cars?"}),
        ("llamacpp", {"grammar": r'root ::= "clear" | "a \"hazard\""'}, None),
    ],
)
def test_choices_and_expressions_are_said_as_the_server_has_them(
    owner: str, choice: dict[str, Any], regex: dict[str, Any] | None
) -> None:
    assert guide_fields(CHOICE, owner) == (choice, False)
    if regex is not None:
        assert guide_fields(REGEX, owner) == (regex, False)


def test_any_other_server_gets_an_object_with_one_field() -> None:
    for sampling, answer in (
        (CHOICE, {"type": "string", "enum": CHOICE.guided_choice}),
        (REGEX, {"type": "string", "pattern": r"^(?:\d+ cars?)$"}),
    ):
        fields, wrapped = guide_fields(sampling, "whoever")
        schema = fields["response_format"]["json_schema"]["schema"]
        assert wrapped
        assert schema["properties"] == {"answer": answer}
        assert schema["required"] == ["answer"]
        assert schema["additionalProperties"] is False


def test_without_a_guide_nothing_is_asked() -> None:
    assert guide_fields(Sampling(), "vllm") == ({}, False)
    assert Guide(Sampling()).fault("anything") is None


def test_the_repetition_penalty_has_two_names() -> None:
    assert repetition_penalty_field("llamacpp") == "repeat_penalty"
    assert repetition_penalty_field("vllm") == "repetition_penalty"


@pytest.mark.parametrize(
    ("sampling", "good", "bad", "fault"),
    [
        (CHOICE, [" clear\n", 'a "hazard"'], ["Clear.", "", "clear clear"], "is none of the choices"),
        (REGEX, ["3 cars", "1 car\n"], ["3 cars here", ""], "does not match the regular expression"),
        (JSON, ['{"cars": 3}', ' {"cars": "x", "more": 1}'], ["", "{", "```json\n{}\n```"], "is not JSON"),
        (JSON, [], ["{}", "[1]", "3", "null"], "does not fit the schema"),
        (Sampling(guided_json='{"type": "array"}'), ["[1]", "null"], ["x"], "is not JSON"),
    ],
)
def test_faults(sampling: Sampling, good: list[str], bad: list[str], fault: str) -> None:
    guide = Guide(sampling)
    assert [guide.fault(reply) for reply in good] == [None] * len(good)
    assert [guide.fault(reply) for reply in bad] == [fault] * len(bad)


def test_an_expression_of_a_stranger_is_not_run() -> None:
    stranger = Sampling(guided_regex="(a+)+$")
    assert Guide(stranger, check_regex=False).fault("a" * 40 + "b") is None


@pytest.mark.parametrize("said", ["clear", "{", "[]", '{"answer": 3}', '{"other": "x"}', ""])
def test_what_is_not_wrapped_is_left_as_it_is(said: str) -> None:
    assert Guide(CHOICE, wrapped=True).unwrapped(said) == said


def test_what_is_wrapped_is_unwrapped() -> None:
    assert Guide(CHOICE, wrapped=True).unwrapped(' {"answer":"clear"}\n') == "clear"
    assert Guide(CHOICE).unwrapped('{"answer":"clear"}') == '{"answer":"clear"}'
