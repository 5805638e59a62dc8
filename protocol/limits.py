"""Numbers the streaming-session protocol fixes. They stand here once; everything else imports them.

Source: NVIDIA's "Streaming Video" and "Dynamo With Streaming" pages for the Cosmos NIM, and the behaviour
of its server where those pages are silent.
"""

from __future__ import annotations

from typing import Final

MAX_FRAME_BYTES: Final = 8 * 1024 * 1024
"""Largest encoded picture (the JPEG or PNG file's bytes, before base64)."""

MAX_FRAME_PIXELS: Final = 4_194_304
"""Most pixels (width x height) a picture may decode to."""

DEFAULT_FPS: Final = 1.0
"""Nominal rate of a session that names none. It informs the server; it does not sample or pace."""

# Sampling of a session that names none.
DEFAULT_MAX_TOKENS: Final = 24
DEFAULT_TEMPERATURE: Final = 0.3
DEFAULT_TOP_P: Final = 0.9
DEFAULT_REPETITION_PENALTY: Final = 1.1
DEFAULT_FREQUENCY_PENALTY: Final = 0.0

# Retention. A server keeps 8 frames unless told otherwise; a `retention` object that leaves the field out
# does not inherit that and means 30.
DEFAULT_MAX_VIDEO_SEGMENTS: Final = 8
UNSPECIFIED_MAX_VIDEO_SEGMENTS: Final = 30
DEFAULT_MAX_SESSION_TOKENS: Final = 7000
MIN_SESSION_TOKENS: Final = 1024
DEFAULT_REPREFILL_THRESHOLD: Final = 0.7

# What a client waits for at most; these are ceilings, not what to expect.
CLIENT_FRAME_TIMEOUT_S: Final = 1800.0
"""The answer to a frame."""
CLIENT_CONTROL_TIMEOUT_S: Final = 30.0
"""Creating and deleting a session."""
CLIENT_PING_INTERVAL_S: Final = 20.0
"""Keepalive pings on a WebSocket."""
