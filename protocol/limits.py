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

# Sizes on the wire, beyond the picture itself.
MAX_BASE64_BYTES: Final = (MAX_FRAME_BYTES + 2) // 3 * 4
"""Length of the largest picture as base64."""
MAX_JSON_BODY_BYTES: Final = MAX_BASE64_BYTES + 256 * 1024
"""Largest JSON body or text message that can hold a picture: its base64 and an envelope.

The envelope has room for JSON writers that spell every ``/`` as ``\\/``: one character in 64 of base64.
"""
MAX_CONFIG_BYTES: Final = 1024 * 1024
"""Largest JSON that opens a session: prompts and a schema, but no picture. Ours; the contract has none."""
MAX_COUNT: Final = 2**31 - 1
"""Most frames or tokens a configuration may name. Ours: engines count no further."""
MAX_REGEX_LENGTH: Final = 10_000
"""Longest `guided_regex`. Ours: compiling one to check it takes up to 5 µs a character."""
MAX_WEBSOCKET_MESSAGE_BYTES: Final = 32 * 1024 * 1024
"""A larger message closes the connection (1009). Up to here a picture that is too large is told so (413)."""
MAX_QUEUED_BYTES: Final = MAX_FRAME_BYTES
"""What a WebSocket client may send ahead before reading stops; the message that crosses it is the last."""
MIN_QUEUED_BYTES: Final = 1024
"""The least a message that waits counts for, so that empty ones fill the queue too."""

# Chat completions. Ours: OpenAI's API fixes none of these.
MAX_CHAT_BODY_BYTES: Final = 32 * 1024 * 1024
"""Largest body of a chat completion: two of the largest pictures as base64, or some 30 of 0.7 MiB. Pictures
that are fetched may together have as many bytes."""
MAX_CHAT_PICTURES: Final = 32
"""Most pictures in one chat completion: a little over what a session keeps of its own accord."""
MAX_CHAT_PIXELS: Final = 8 * MAX_FRAME_PIXELS
"""Most pixels its pictures may have together, 100 MB once they are decoded: 16 of 1920 x 1080."""
MAX_CHAT_MESSAGES: Final = 1024
"""Most messages in one chat completion, and most parts of all of them: each costs time to check."""
MAX_CHAT_CHOICES: Final = 10_000
"""Most answers to choose from in one chat completion."""
MAX_CHAT_STOPS: Final = 16
"""Most texts that end the answer of one chat completion. OpenAI takes 4, others more."""
DEFAULT_CHAT_MAX_TOKENS: Final = 1024
"""Most tokens of an answer whose request names no limit. OpenAI's is the model's context; a model that does
not come to an end would keep a place until the time for it is over."""
IMAGE_FETCH_TIMEOUT_S: Final = 10.0
"""Longest the fetching of one picture may take, from looking its host up to its last byte."""

MAX_SESSIONS: Final = 64
"""Sessions a server holds at once unless told otherwise. Ours; the NIM's default is 2."""

# Times a server keeps.
WEBSOCKET_IDLE_TIMEOUT_S: Final = 900.0
"""Without a frame for so long, a session opened over WebSocket expires."""
REST_IDLE_TIMEOUT_S: Final = 120.0
"""The same for one opened over REST."""
FRAME_TIMEOUT_S: Final = 120.0
"""A frame that outlives this ends its session for good."""
PING_INTERVAL_S: Final = 20.0
"""Keepalive pings on a WebSocket."""
PING_TIMEOUT_S: Final = 20.0
"""Without a pong for so long after a ping, either side gives the connection up."""

# WebSocket close codes (RFC 6455), as the contract uses them.
CLOSE_NORMAL: Final = 1000
"""After `delete`."""
CLOSE_GOING_AWAY: Final = 1001
"""The server shuts down."""
CLOSE_POLICY: Final = 1008
"""An invalid first message, a session that is not admitted, or one that is missing or dead."""
CLOSE_TOO_BIG: Final = 1009
"""A message over `MAX_WEBSOCKET_MESSAGE_BYTES`."""
CLOSE_INTERNAL_ERROR: Final = 1011
"""An unexpected failure inside the server, after a fatal 500."""
