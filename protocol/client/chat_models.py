"""Finding out what an OpenAI-compatible server has, and where its routes begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.chat_server import ListedModel
from protocol.errors import EngineError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from protocol.client.answer import Answer
    from protocol.client.connection import Connection

    Refused = Callable[[str, Answer], EngineError | Unavailable]

_ABSENT = (404, 405, 501)


async def find_models(
    connection: Connection, roots: Sequence[str], refused: Refused
) -> tuple[str, list[ListedModel] | None]:
    """The first of `roots` (paths behind the base URL) with a list of models, and the list.

    A server without a list is one if it has the route for chat; then there is None in its place.

    Args:
        refused: what an answer that grants nothing comes to, by its path.

    Raises:
        Unavailable: the server cannot be reached, or is not ready.
        EngineError: it is no such server, or refuses the key.
    """
    address = connection.address
    other: EngineError | None = None
    for root in roots:
        path = f"{root}/models"
        answer = await connection.request("GET", path)
        if answer.status in _ABSENT:
            continue
        if not answer.ok:
            raise refused(path, answer)
        data = (answer.json_object() or {}).get("data")
        if isinstance(data, list):
            return root, [model for each in data if (model := _listed(each)) is not None]
        other = other or EngineError(
            f"{address}: no OpenAI-compatible server: {path} is {answer.kind}",
            hint="check the URL; it usually ends in /v1",
        )
    if other is not None:
        raise other
    for root in roots:
        if await _chats(connection, root, refused):
            return root, None
    raise EngineError(
        f"{address}: no OpenAI-compatible server: neither {roots[0]}/models nor {roots[0]}/chat/completions "
        "is there (404)",
        hint="check the URL: it ends before /chat/completions, usually in /v1",
    )


async def _chats(connection: Connection, root: str, refused: Refused) -> bool:
    """Whether the route for chat is there: one that is complains of an empty request."""
    path = f"{root}/chat/completions"
    answer = await connection.request("POST", path, body=b"{}")
    if answer.status in (401, 403) or 300 <= answer.status < 400:
        raise refused(path, answer)
    # It may be the model that is not found, and not the route.
    return answer.status not in _ABSENT or "model" in answer.reason


def _listed(entry: Any) -> ListedModel | None:
    """An entry of the list; None if it names no model."""
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        return None
    owner, length = entry.get("owned_by"), entry.get("max_model_len")
    return ListedModel(
        entry["id"],
        owner if isinstance(owner, str) else "",
        length if isinstance(length, int) and length > 0 else None,
    )
