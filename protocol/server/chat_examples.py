"""Examples of a chat completion, for OpenAPI."""

from __future__ import annotations

from typing import Any, Final

from protocol.server.examples import IMAGE_BODY

CHAT: Final[dict[str, Any]] = {
    "model": "lite-1",
    "messages": [
        {"role": "system", "content": "Answer in one short sentence."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is in this picture?"},
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/png;base64,{IMAGE_BODY['image_b64']}"},
                },
            ],
        },
    ],
    "max_tokens": 48,
}
COMPLETION: Final[dict[str, Any]] = {
    "id": "chatcmpl-5f0c6b1e9d5e4c3f8a53c4d7f1a2b3c4",
    "object": "chat.completion",
    "created": 1767225600,
    "model": "lite-1",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "A plain grey picture.", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 0,
        "completion_tokens": 4,
        "total_tokens": 4,
        "prompt_tokens_details": None,
    },
}
CHAT_STREAM: Final = (
    'data: {"id":"chatcmpl-5f0c6b1e","object":"chat.completion.chunk","created":1767225600,"model":"lite-1",'
    '"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}'
    "\n\ndata: [DONE]\n\n"
)
