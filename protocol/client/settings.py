"""How a server is spoken to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from protocol.errors import UsageError
from protocol.frame import Encoding
from protocol.limits import CLIENT_CONTROL_TIMEOUT_S, CLIENT_FRAME_TIMEOUT_S

if TYPE_CHECKING:
    from pathlib import Path

    from protocol.client.address import ServerAddress

Backend = Literal["nim", "dynamo"]
Transport = Literal["websocket", "rest"]
FrameFormat = Literal["binary", "base64"]
T = TypeVar("T", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What a person sets of the connection; make one with `choose`, which knows the defaults.

    Attributes:
        backend: a NIM (or what speaks as one does), or the shared frontend of a Dynamo deployment.
        frame_format: how a picture travels: its bytes, or base64 in JSON.
        frame_encoding: JPEG, or PNG, which loses nothing.
        api_key: sent as ``Authorization: Bearer``.
        ca_cert: certificates to trust beside the usual ones (PEM).
        insecure: take any certificate.
        reconnect: open another session after a lost one.
        control_timeout_s: longest wait for a connection, and for any answer but a frame's.
        frame_timeout_s: longest wait for the answer to a frame.
    """

    address: ServerAddress
    backend: Backend = "nim"
    transport: Transport = "websocket"
    frame_format: FrameFormat = "binary"
    frame_encoding: Encoding = "jpeg"
    api_key: str | None = field(default=None, repr=False)
    ca_cert: Path | None = None
    insecure: bool = False
    reconnect: bool = False
    control_timeout_s: float = CLIENT_CONTROL_TIMEOUT_S
    frame_timeout_s: float = CLIENT_FRAME_TIMEOUT_S

    @classmethod
    def choose(
        cls,
        address: ServerAddress,
        *,
        backend: str | None = None,
        transport: str | None = None,
        frame_format: str | None = None,
        frame_encoding: str | None = None,
        api_key: str | None = None,
        ca_cert: Path | None = None,
        insecure: bool = False,
        reconnect: bool = False,
        control_timeout_s: float | None = None,
        frame_timeout_s: float | None = None,
    ) -> ClientSettings:
        """Settings from the options that were given; None was not.

        Raises:
            UsageError: options contradict each other, or a value is none of the choices.
        """
        served: Backend = _chosen("--backend", backend, "nim", get_args(Backend))
        usual: Transport = "rest" if served == "dynamo" else "websocket"
        way: Transport = _chosen("--transport", transport, usual, get_args(Transport))
        if served == "dynamo" and way == "websocket":
            raise UsageError(
                "--transport websocket: a Dynamo frontend has no WebSocket", hint="leave --transport out"
            )
        common: FrameFormat = "base64" if way == "rest" else "binary"
        frames: FrameFormat = _chosen("--frame-format", frame_format, common, get_args(FrameFormat))
        if way == "rest" and frames == "binary":
            raise UsageError(
                "--frame-format binary: a NIM refuses pictures as REST bodies",
                hint="leave --frame-format out, or use --transport websocket"
                if served == "nim"
                else "leave --frame-format out",
            )
        encoding: Encoding = _chosen("--frame-encoding", frame_encoding, "jpeg", get_args(Encoding))
        if insecure and ca_cert is not None:
            raise UsageError("--insecure and --ca-cert exclude each other")
        if ca_cert is not None and not address.secure:
            raise UsageError(f"--ca-cert is for https://, and the server is {address}")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
            raise UsageError("--api-key: a key is one word of ASCII letters, digits and signs")
        for option, limit_s in (
            ("--frame-timeout", frame_timeout_s),
            ("--connect-timeout", control_timeout_s),
        ):
            if limit_s is not None and not limit_s > 0:  # NaN is not
                raise UsageError(f"{option} {limit_s:g}: must be above 0")
        return cls(
            address=address,
            backend=served,
            transport=way,
            frame_format=frames,
            frame_encoding=encoding,
            api_key=api_key or None,
            ca_cert=ca_cert,
            insecure=insecure,
            reconnect=reconnect,
            control_timeout_s=CLIENT_CONTROL_TIMEOUT_S if control_timeout_s is None else control_timeout_s,
            frame_timeout_s=CLIENT_FRAME_TIMEOUT_S if frame_timeout_s is None else frame_timeout_s,
        )


def _chosen(option: str, given: str | None, default: T, choices: tuple[T, ...]) -> T:
    if given is None:
        return default
    for choice in choices:
        if choice == given:
            return choice
    raise UsageError(f"{option} {given}: choose from {', '.join(choices)}")
