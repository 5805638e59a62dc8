"""WebSocket connections that neither give up a busy peer nor wait for ever on a dead one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    import asyncio
    from asyncio import TimerHandle

SEND_TIMEOUT_S: Final = 60.0
"""A peer that has not made room for more in so long is cut off."""


class PatientWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket, whose keepalive counts anything heard as a sign of life.

    A pong waits behind what the peer sent before it: a large picture on a slow line, or messages sent ahead
    that are not read because the queue is full. Neither is a reason to hang up. A peer that no longer takes
    what it is sent, on the other hand, is cut off, and so is one that does not take the last of it once the
    application is done: closing in order would wait for it.
    """

    _heard_at = 0.0
    _cut_off: TimerHandle | None = None
    _stuck: TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Notes when the peer was last heard."""
        self._heard_at = self.loop.time()
        super().data_received(data)

    def keepalive_timeout(self) -> None:
        """Called when a pong is overdue."""
        silent_s = self.loop.time() - self._heard_at
        if self.read_paused or silent_s < (self.ping_timeout or 0.0):
            self.pong_timer = None
            self.pending_ping_payload = None
            self.schedule_ping()
        else:
            super().keepalive_timeout()

    def pause_writing(self) -> None:
        """Called when what was sent piles up."""
        super().pause_writing()
        self._stuck = self.loop.call_later(SEND_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Called when the peer takes it again."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """Called when the application is done with the connection."""
        super().on_task_complete(task)
        if not self.disconnected:
            self._cut_off = self.loop.call_later(self.close_timeout, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection is gone."""
        for timer in (self._cut_off, self._stuck):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
