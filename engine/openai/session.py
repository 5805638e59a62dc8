"""A session over a server that keeps none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.caption_session import CaptionSession
from engine.openai.context import OpenAIContext

if TYPE_CHECKING:
    from protocol.frame import Frame


class OpenAISession(CaptionSession):
    """See `CaptionSession`."""

    def shown_size(self, frame: Frame) -> tuple[int, int]:
        """See `Session.shown_size`; a picture may have been scaled down to be sent."""
        assert isinstance(self._context, OpenAIContext)
        return self._context.shown_size or frame.size
