"""Routes about the server itself: health, what it serves, and what it counted."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from protocol.errors import NotFound
from protocol.messages import Retention, Sampling
from protocol.server.answers import errors
from protocol.server.metrics import CONTENT_TYPE
from protocol.wire import quoted

if TYPE_CHECKING:
    from protocol.server.metrics import Metrics
    from protocol.server.readiness import Readiness
    from protocol.server.settings import ServerSettings


class Health(BaseModel):
    """What a health check is answered; its HTTP status is what counts."""

    object: str = "health.response"
    message: str
    status: str


class Instance(BaseModel):
    """A worker, as Dynamo's frontend lists it."""

    namespace: str
    component: str
    endpoint: str
    instance_id: int
    transport: dict[str, str]


class FrontendHealth(BaseModel):
    """Health in the form of Dynamo's frontend."""

    status: str
    message: str
    endpoints: list[str]
    instances: list[Instance]


class Model(BaseModel):
    """A model, as OpenAI's API lists it."""

    id: str
    object: str = "model"
    created: int
    """Since when it is served: Unix time, in seconds."""
    owned_by: str = "stream"


class Models(BaseModel):
    """The models served: one, or none while it loads."""

    object: str = "list"
    data: list[Model]


class Metadata(BaseModel):
    """What is served, in the NIM's words."""

    model_type: str = "reasoner"
    inference_endpoint: str = "/v1/chat/completions"
    selectedModelProfileId: str  # noqa: N815 - the wire's name
    version: str
    modelInfo: list[dict[str, str]]  # noqa: N815
    assetInfo: list[str] = []  # noqa: N815
    licenseInfo: dict[str, Any]  # noqa: N815
    repository_override: str = ""


class Manifest(BaseModel):
    """The profiles that could be served."""

    manifest_file: str
    """YAML text."""


class Version(BaseModel):
    """Of the software, and of the contract it speaks."""

    release: str
    api: str


class License(BaseModel):
    """Under which the software comes."""

    name: str
    type: str = "file"
    size: int
    content: str


class StreamingConfig(BaseModel):
    """What a session that names nothing gets."""

    model: str
    retention: Retention
    sampling: Sampling


def service_routes(readiness: Readiness, metrics: Metrics, settings: ServerSettings) -> APIRouter:
    """Health, models, metadata, manifest, version, license and metrics."""
    routes = APIRouter(tags=["service"])
    started = int(time.time())

    @routes.get("/v1/health/live", summary="Whether the process answers", responses=errors(403))
    async def live() -> Health:
        return Health(message="Service is live", status="live")

    @routes.get(
        "/v1/health/ready",
        summary="Whether sessions are admitted",
        response_model=Health,
        responses={503: {"model": Health, "description": "Still loading, or shutting down"}},
    )
    async def ready() -> Response:
        health = (
            Health(message="Service is ready", status="ready")
            if readiness.ready
            else Health(message="Service is not ready", status="not_ready")
        )
        return _json(health, 200 if readiness.ready else 503)

    @routes.get(
        "/health",
        summary="Health in the form of Dynamo's frontend",
        response_model=FrontendHealth,
        responses={503: {"model": FrontendHealth, "description": "Still loading, or shutting down"}},
    )
    async def health(request: Request) -> Response:
        if not readiness.ready:
            none = FrontendHealth(
                status="unhealthy", message="No endpoints available", endpoints=[], instances=[]
            )
            return _json(none, 503)
        address = request.url.netloc
        instance = Instance(
            namespace="stream",
            component="engine",
            endpoint="generate",
            instance_id=1,
            transport={"tcp": address},
        )
        healthy = FrontendHealth(
            status="healthy",
            message="All endpoints are healthy",
            endpoints=["dyn://stream.engine.generate"],
            instances=[instance],
        )
        return _json(healthy)

    @routes.get("/v1/models", summary="The models served", responses=errors(401, 403, openai=True))
    async def models() -> Models:
        served = readiness.served
        return Models(data=[Model(id=served.model, created=started)] if served else [])

    @routes.get(
        "/v1/models/{model:path}",  # names have slashes
        summary="One of the models served",
        responses=errors(401, 403, 404, 503, openai=True),
    )
    async def model(model: str) -> Model:
        served = readiness.require()
        if model != served.model:
            raise NotFound(f"no model {quoted(model)} here", hint=f"this server has {served.model!r}")
        return Model(id=model, created=started)

    @routes.get("/v1/metadata", summary="What is served", responses=errors(401, 403, 503))
    async def metadata() -> Metadata:
        model = readiness.require().model
        return Metadata(
            selectedModelProfileId=_profile_id(model),
            version=settings.version,
            modelInfo=[{"shortName": model, "modelUrl": ""}],
            licenseInfo={"name": settings.license_name, "path": "", "type": "file"},
        )

    @routes.get("/v1/manifest", summary="The profile served, as YAML", responses=errors(401, 403, 503))
    async def manifest() -> Manifest:
        return Manifest(manifest_file=_manifest(readiness.require().model))

    @routes.get("/v1/version", summary="Version of the software", responses=errors(401, 403))
    async def version() -> Version:
        return Version(release=settings.version, api="1.0.0")

    @routes.get("/v1/license", summary="License of the software", responses=errors(401, 403))
    async def license_() -> License:
        text = settings.license_text
        return License(name=settings.license_name, size=len(text.encode()), content=text)

    @routes.get(
        "/v1/metrics",
        summary="Counters for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **errors(401, 403)},
    )
    async def exposition() -> Response:
        return Response(metrics.exposition(), media_type=CONTENT_TYPE)

    return routes


def _json(body: BaseModel, status: int = 200) -> Response:
    return Response(body.model_dump_json(), status_code=status, media_type="application/json")


def _profile_id(model: str) -> str:
    """The id of the one profile there is; a model has the same one everywhere."""
    return hashlib.sha256(model.encode()).hexdigest()


def _manifest(model: str) -> str:
    quoted = json.dumps(model)  # a JSON string is a YAML string
    return (
        f"schema_version: '2.0'\nprofiles:\n- id: {_profile_id(model)}\n  tags:\n    model: {quoted}\n"
        "    model_type: reasoner\n    feat_streaming: 'true'\n"
    )
