"""Whether the server can be used yet, and still."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.errors import Unavailable

if TYPE_CHECKING:
    from protocol.messages import Retention, SessionConfig
    from protocol.session import ServedModel


class Readiness:
    """The server's state: loading, ready, then draining.

    Attributes:
        served: the model, once the engine is loaded.
        retention: the policy of a session that names none, where it is not to be the engine's own.
        draining: the server was told to stop.
    """

    def __init__(self, served: ServedModel | None = None) -> None:
        """Ready from the beginning where `served` is given."""
        self.served = served
        self.retention: Retention | None = None
        self.draining = False

    @property
    def ready(self) -> bool:
        """Whether sessions are admitted."""
        return self.served is not None and not self.draining

    def require(self) -> ServedModel:
        """The model served.

        Raises:
            Unavailable: the engine is still loading, or the server is stopping.
        """
        if self.draining:
            raise Unavailable("the server is shutting down", hint="use another, or try again later")
        if self.served is None:
            raise Unavailable("the engine is still loading", hint="wait until /v1/health/ready answers 200")
        return self.served

    def admit(self, config: SessionConfig) -> SessionConfig:
        """`config` as the host is to be asked for it: with the server's retention where it names none.

        Raises:
            Unavailable: the engine is still loading, or the server is stopping.
        """
        self.require()
        if config.retention is None and self.retention is not None:
            return config.model_copy(update={"retention": self.retention})
        return config
