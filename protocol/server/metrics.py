"""What the server counts, for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from protocol.server.host_observer import HostObserver

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.messages import FrameReply
    from protocol.server.host_observer import Chatted

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
TRANSPORTS: Final = ("rest", "websocket", "chat")

# From a picture's header to a large model's whole reply.
_BUCKETS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
)  # fmt: skip


class Metrics(HostObserver):
    """Counters of one server, in a registry of their own: two servers in one process do not mix."""

    def __init__(self) -> None:
        """Counts from zero."""
        registry = self._registry = CollectorRegistry()
        self._open = Gauge("stream_sessions_open", "Sessions open now.", registry=registry)
        self._opened = Counter("stream_sessions_opened", "Sessions opened.", registry=registry)
        self._ended = Counter(
            "stream_sessions_closed", "Sessions closed, by the reason.", ["reason"], registry=registry
        )
        self._frames = Counter("stream_frames", "Frames answered.", registry=registry)
        self._errors = Counter(
            "stream_errors",
            "Errors, by their code: sessions and frames refused, and what HTTP answered.",
            ["code"],
            registry=registry,
        )
        received = Counter(
            "stream_received_bytes", "Bytes of messages and bodies.", ["transport"], registry=registry
        )
        stages = Histogram(
            "stream_frame_seconds",
            "Time an answered frame took: waiting, decode, build, engine, to its first token, in total.",
            ["stage"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._chats_running = Gauge(
            "stream_chats_running", "Chat completions being answered now.", registry=registry
        )
        self._chats = Counter(
            "stream_chats",
            "Chat completions answered, by how they ended.",
            ["finish_reason"],
            registry=registry,
        )
        tokens = Counter(
            "stream_chat_tokens", "Tokens of answered chat completions.", ["kind"], registry=registry
        )
        chat_stages = Histogram(
            "stream_chat_seconds",
            "Time an answered chat completion took: to its first token, in total.",
            ["stage"],
            buckets=_BUCKETS,
            registry=registry,
        )
        # Made once: looking them up costs more than counting.
        self._received = {name: received.labels(name) for name in TRANSPORTS}
        self._stages = {
            name: stages.labels(name)
            for name in ("queue", "decode", "build", "engine", "first_token", "total")
        }
        self._chat_tokens = {kind: tokens.labels(kind) for kind in ("prompt", "completion")}
        self._chat_stages = {name: chat_stages.labels(name) for name in ("first_token", "total")}

    def watch_sessions(self, count: Callable[[], int]) -> None:
        """`count` tells how many sessions are open, whenever that is asked."""
        self._open.set_function(count)

    def watch_chats(self, count: Callable[[], int]) -> None:
        """`count` tells how many chat completions are being answered, whenever that is asked."""
        self._chats_running.set_function(count)

    def received(self, transport: str, size: int) -> None:
        """A message or body of `size` bytes came."""
        self._received[transport].inc(size)

    def error(self, code: int) -> None:
        """A client was told of an error."""
        self._errors.labels(str(code)).inc()

    # What the host reports.

    def opened(self) -> None:
        """See `HostObserver`."""
        self._opened.inc()

    def ended(self, how: str) -> None:
        """See `HostObserver`."""
        self._ended.labels(how.replace(" ", "_")).inc()

    def answered(self, reply: FrameReply) -> None:
        """See `HostObserver`."""
        self._frames.inc()
        for stage, milliseconds in (
            ("queue", reply.inqueue_ms),
            ("decode", reply.decode_ms),
            ("build", reply.build_ms),
            ("engine", reply.engine_ms),
        ):
            if milliseconds is not None:
                self._stages[stage].observe(milliseconds / 1000)
        for stage, seconds in (("first_token", reply.ttft_s), ("total", reply.latency_s)):
            if seconds is not None:
                self._stages[stage].observe(seconds)

    def chatted(self, chatted: Chatted) -> None:
        """See `HostObserver`."""
        self._chats.labels(chatted.finish_reason).inc()
        self._chat_tokens["prompt"].inc(chatted.prompt_tokens)
        self._chat_tokens["completion"].inc(chatted.completion_tokens)
        for stage, seconds in (("first_token", chatted.ttft_s), ("total", chatted.latency_s)):
            if seconds is not None:
                self._chat_stages[stage].observe(seconds)

    def exposition(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self._registry)
