"""Parts of the OpenAPI document that FastAPI does not write by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic import BaseModel

JSON: Final = "application/json"


def inlined_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's schema, with what it refers to in place: OpenAPI would look for that elsewhere."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def put_in(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                name = value["$ref"].rpartition("/")[2]
                return {**put_in(parts[name]), **{k: v for k, v in value.items() if k != "$ref"}}
            # A discriminator is left out: its mapping refers to what is in place by then.
            return {key: put_in(each) for key, each in value.items() if key != "discriminator"}
        return [put_in(each) for each in value] if isinstance(value, list) else value

    inlined: dict[str, Any] = put_in(schema)
    return inlined


def example(status: int, body: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """An example of the answer with this status."""
    return {status: {"content": {JSON: {"example": body}}}}
