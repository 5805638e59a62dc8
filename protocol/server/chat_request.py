"""What a chat completion is asked for with, in the words of OpenAI's API and of vLLM's additions to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationError

from protocol.errors import InvalidRequest
from protocol.limits import (
    DEFAULT_CHAT_MAX_TOKENS,
    MAX_CHAT_CHOICES,
    MAX_CHAT_MESSAGES,
    MAX_CHAT_STOPS,
    MAX_COUNT,
    MAX_REGEX_LENGTH,
)
from protocol.messages import Message, Sampling, describe_invalid
from protocol.server.chat_unsupported import refuse_unsupported
from protocol.wire import one_line, read_object

if TYPE_CHECKING:
    from collections.abc import Iterator


class TextPart(Message):
    """Words in a message."""

    type: Literal["text"]
    text: str


class ImageUrl(Message):
    """Where a picture is."""

    url: str = Field(description="`data:image/jpeg;base64,…` (or png), or an http(s) URL where allowed.")
    detail: str | None = Field(None, description="Taken and ignored: the model sees the picture as it is.")


class ImagePart(Message):
    """A picture in a user's message."""

    type: Literal["image_url"]
    image_url: ImageUrl | str

    @property
    def url(self) -> str:
        """Where it is."""
        return self.image_url if isinstance(self.image_url, str) else self.image_url.url


ChatPart = Annotated[TextPart | ImagePart, Field(discriminator="type")]


def _kind(content: object) -> str:
    return "parts" if isinstance(content, list) else "text"


class ChatMessage(Message):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant"] = Field(
        description="`developer` means the same as `system`."
    )
    content: Annotated[
        Annotated[str, Tag("text")]
        | Annotated[list[ChatPart], Tag("parts"), Field(min_length=1, max_length=MAX_CHAT_MESSAGES)],
        Discriminator(_kind),
    ]

    @property
    def parts(self) -> list[TextPart | ImagePart]:
        """The content as parts."""
        if isinstance(self.content, str):
            return [TextPart(type="text", text=self.content)]
        return self.content


class JsonSchema(Message):
    """A schema, as `response_format` names it."""

    name: str | None = None
    json_schema: dict[str, Any] = Field({"type": "object"}, alias="schema")


class ResponseFormat(Message):
    """The form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None

    @property
    def guide(self) -> dict[str, Any] | None:
        """The schema that the answer is held to, if any."""
        if self.type == "json_object":
            return {"type": "object"}
        if self.type == "json_schema":
            if self.json_schema is None:
                raise InvalidRequest("response_format: json_schema is missing")
            return self.json_schema.json_schema
        return None


class StructuredOutputs(Message):
    """vLLM's newer way to say what constrains the answer."""

    json_schema: dict[str, Any] | str | None = Field(None, alias="json")
    json_object: bool | None = None
    regex: str | None = Field(None, min_length=1, max_length=MAX_REGEX_LENGTH)
    choice: list[str] | None = Field(None, min_length=1, max_length=MAX_CHAT_CHOICES)


class StreamOptions(Message):
    """About the stream of an answer."""

    include_usage: bool | None = Field(None, description="Count tokens in a last chunk of its own.")


class ChatRequest(Message):
    """A conversation to be answered. What is absent, or null, is OpenAI's default but for `max_tokens`."""

    messages: list[ChatMessage] = Field(min_length=1, max_length=MAX_CHAT_MESSAGES)
    model: str | None = Field(None, description="The one that /v1/models lists; may be left out.")
    max_completion_tokens: int | None = Field(
        None, ge=1, le=MAX_COUNT, description="Most tokens of the answer; goes before `max_tokens`."
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=MAX_COUNT,
        description=f"Most tokens of the answer. Default: {DEFAULT_CHAT_MAX_TOKENS}. With the prompt "
        "they must fit the model's context.",
    )
    temperature: float | None = Field(None, ge=0, le=2, description="0 is greedy. Default: 1.")
    top_p: float | None = Field(None, gt=0, le=1, description="Default: 1.")
    frequency_penalty: float | None = Field(None, ge=-2, le=2, description="Default: 0.")
    stop: str | Annotated[list[str], Field(max_length=MAX_CHAT_STOPS)] | None = Field(
        None, description="The answer ends before the first of these texts."
    )
    repetition_penalty: float | None = Field(None, gt=0, description="vLLM's. Default: 1, that is none.")
    response_format: ResponseFormat | None = Field(None, description="Default: text.")
    guided_json: dict[str, Any] | str | None = Field(None, description="vLLM's: a JSON Schema.")
    guided_choice: list[str] | None = Field(
        None, min_length=1, max_length=MAX_CHAT_CHOICES, description="vLLM's: the possible answers."
    )
    guided_regex: str | None = Field(
        None, min_length=1, max_length=MAX_REGEX_LENGTH, description="vLLM's: what the whole answer matches."
    )
    structured_outputs: StructuredOutputs | None = Field(None, description="vLLM's newer form of these.")
    stream: bool | None = Field(None, description="Send the answer as it is generated. Default: false.")
    stream_options: StreamOptions | None = None

    @property
    def include_usage(self) -> bool:
        """Whether a stream is to end with the count of its tokens."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def stops(self) -> list[str]:
        """The texts that end the answer."""
        given = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return [text for text in given if text]

    def sampling(self) -> Sampling:
        """How the answer is generated.

        Raises:
            InvalidRequest: more than one field constrains the answer, or the one that does is wrong.
        """
        guides = list(self._guides())
        if len(guides) > 1:
            names = " and ".join(name for name, _, _ in guides)
            raise InvalidRequest(f"at most one field may constrain the answer, not {names}")
        try:
            return Sampling(
                max_tokens=self.max_completion_tokens or self.max_tokens or DEFAULT_CHAT_MAX_TOKENS,
                temperature=1.0 if self.temperature is None else self.temperature,
                top_p=1.0 if self.top_p is None else self.top_p,
                repetition_penalty=self.repetition_penalty or 1.0,
                frequency_penalty=self.frequency_penalty or 0.0,
                **{field: value for _, field, value in guides},
            )
        except ValidationError as error:
            given = {field: name for name, field, _ in guides}
            said = describe_invalid(error, spell=lambda field: given.get(field, field))
            raise InvalidRequest(one_line(said)) from error

    def _guides(self) -> Iterator[tuple[str, str, Any]]:
        """What constrains the answer: the field in the request, the one of `Sampling`, and the value."""
        if self.response_format is not None and self.response_format.guide is not None:
            yield "response_format", "guided_json", self.response_format.guide
        for field in ("guided_json", "guided_choice", "guided_regex"):
            if getattr(self, field) is not None:
                yield field, field, getattr(self, field)
        wanted = self.structured_outputs
        if wanted is not None:
            if wanted.json_schema is not None:
                yield "structured_outputs.json", "guided_json", wanted.json_schema
            if wanted.json_object:
                yield "structured_outputs.json_object", "guided_json", {"type": "object"}
            if wanted.regex is not None:
                yield "structured_outputs.regex", "guided_regex", wanted.regex
            if wanted.choice is not None:
                yield "structured_outputs.choice", "guided_choice", wanted.choice


def read_chat(body: bytes) -> ChatRequest:
    """What a body asks for.

    Raises:
        InvalidRequest: it is not JSON, a field is missing or wrong, or it asks for what is not done here.
    """
    asked = read_object(body)
    refuse_unsupported(asked)
    _check_count(asked.get("messages"))
    try:
        return ChatRequest.model_validate(asked)
    except ValidationError as error:
        raise InvalidRequest(one_line(describe_invalid(error))) from error


def _check_count(messages: object) -> None:
    """Checks how many messages and parts there are, before anything is said of each."""
    if not isinstance(messages, list):
        return
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    parts = sum(len(content) for content in contents if isinstance(content, list))
    if max(len(messages), parts) > MAX_CHAT_MESSAGES:
        raise InvalidRequest(f"more than {MAX_CHAT_MESSAGES:,} messages, or parts of messages")
