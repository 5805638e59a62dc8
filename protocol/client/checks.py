"""Finding out what a server is, and whether it streams, before any video is opened.

Source: the checks of NVIDIA's example client, for a NIM by itself and for a Dynamo frontend. The latter has
no readiness or metadata routes of its own, so that their absence says nothing there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.client.failures import refused
from protocol.client.server_info import ServerInfo
from protocol.errors import EngineError, StreamError, Unavailable

if TYPE_CHECKING:
    from protocol.client.answer import Answer
    from protocol.client.connection import Connection
    from protocol.client.settings import Backend

READY = "/v1/health/ready"
METADATA = "/v1/metadata"
HEALTH = "/health"
MODELS = "/v1/models"
CONFIG = "/v1/streaming/config"

_ABSENT = (404, 405, 501)


async def check_server(connection: Connection, backend: Backend) -> ServerInfo:
    """What the server is; it is ready and streams.

    Raises:
        Unavailable: it cannot be reached, or is not ready.
        EngineError: it is something else, refuses the key, or does not stream.
    """
    checks = _Checks(connection)
    return await (checks.dynamo() if backend == "dynamo" else checks.nim())


async def identify_server(connection: Connection) -> ServerInfo:
    """As `check_server`, of a server unknown so far: a NIM, unless only a Dynamo frontend is there.

    Raises:
        Unavailable: it cannot be reached, or is not ready.
        EngineError: it is neither, refuses the key, or does not stream.
    """
    checks = _Checks(connection)
    backend: Backend = "nim"
    if (await checks.ask(READY)).status in _ABSENT and await checks.has_dynamo_health():
        backend = "dynamo"
    return await check_server(connection, backend)


class _Checks:
    """One round of questions to one server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._address = connection.address
        self._quickest_s = float("inf")

    async def nim(self) -> ServerInfo:
        ready = await self.ask(READY)
        if ready.status in _ABSENT:
            hint = "check the URL: it is the server's base, without /v1"
            if await self.has_dynamo_health():
                hint = "it looks like a Dynamo frontend: --backend dynamo"
            raise EngineError(f"{self._address}: no NIM: {READY} is not there ({ready.status})", hint=hint)
        if not ready.ok:
            raise refused(self._address, READY, ready)
        metadata = await self._object(METADATA)
        kind = metadata.get("model_type")
        if kind not in (None, "reasoner"):
            raise EngineError(
                f"{self._address}: serves a {kind!r} model", hint="streaming needs a Reasoner NIM"
            )
        profile = metadata.get("selectedModelProfileId")
        if not isinstance(profile, str) or not profile:
            raise EngineError(
                f"{self._address}: {METADATA} names no selected profile",
                hint="check the NIM's logs and version",
            )
        version = metadata.get("version")
        return await self._configured("nim", profile, version if isinstance(version, str) else None)

    async def dynamo(self) -> ServerInfo:
        health = await self.ask(HEALTH)
        if health.status in _ABSENT:
            raise EngineError(
                f"{self._address}: no Dynamo frontend: {HEALTH} is not there ({health.status})",
                hint="check the URL; a NIM by itself is --backend nim",
            )
        # An unhealthy frontend may say who is missing with a 503.
        instances = (health.json_object() or {}).get("instances")
        if not health.ok and health.status != 503:
            raise refused(self._address, HEALTH, health)
        if not isinstance(instances, list):
            if health.ok:
                raise self._other(HEALTH, health)
            raise refused(self._address, HEALTH, health)
        if not any(isinstance(each, dict) and each.get("endpoint") == "generate" for each in instances):
            raise Unavailable(
                f"{self._address}: no worker is registered with this frontend",
                hint="workers may be loading, or scaled to none: look at theirs and the frontend's logs",
            )
        if not (await self._object(MODELS)).get("data"):
            raise Unavailable(f"{self._address}: no model is served yet", hint="workers may still be loading")
        return await self._configured("dynamo", None, None)

    async def ask(self, path: str) -> Answer:
        answer = await self._connection.request("GET", path)
        self._quickest_s = min(self._quickest_s, answer.elapsed_s)
        return answer

    async def has_dynamo_health(self) -> bool:
        try:
            health = await self.ask(HEALTH)
        except StreamError:
            return False
        return isinstance((health.json_object() or {}).get("instances"), list)

    async def _configured(self, backend: Backend, profile: str | None, version: str | None) -> ServerInfo:
        answer = await self.ask(CONFIG)
        if answer.status in _ABSENT:
            raise self._streaming_off(backend, answer)
        if answer.status == 503 and backend == "dynamo":
            raise Unavailable(
                f"{self._address}: streaming is not available now ({answer.status}: {answer.reason})",
                hint="workers may be loading or full, or the one that would answer is away",
            )
        config = self._taken(CONFIG, answer)
        model, retention, sampling = (config.get(key) for key in ("model", "retention", "sampling"))
        if not isinstance(model, str) or not model:
            raise EngineError(f"{self._address}: {CONFIG} names no model", hint="check the server's version")
        return ServerInfo(
            url=self._address.url,
            backend=backend,
            model=model,
            profile=profile,
            version=version,
            retention=retention if isinstance(retention, dict) else {},
            sampling=sampling if isinstance(sampling, dict) else {},
            round_trip_s=self._quickest_s,
        )

    def _streaming_off(self, backend: Backend, answer: Answer) -> EngineError:
        if backend == "dynamo":
            hint = "the frontend or worker image may be old, or streaming disabled on the worker"
        elif answer.status == 501:
            hint = "its routes are there, its state is not: look at its startup logs"
        else:
            hint = "start the NIM with NIM_ENABLE_STREAMING=true, and an image that can stream"
        return EngineError(
            f"{self._address}: streaming is unavailable ({CONFIG}: {answer.status})", hint=hint
        )

    async def _object(self, path: str) -> dict[str, Any]:
        return self._taken(path, await self.ask(path))

    def _taken(self, path: str, answer: Answer) -> dict[str, Any]:
        if not answer.ok:
            raise refused(self._address, path, answer)
        found = answer.json_object()
        if found is None:
            raise self._other(path, answer)
        return found

    def _other(self, path: str, answer: Answer) -> EngineError:
        return EngineError(
            f"{self._address}: no streaming server: {path} is {answer.kind}", hint="check the URL"
        )
