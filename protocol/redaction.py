"""Keeping credentials out of records, logs and errors."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s'\"<>]+")
_SECRET_PARAMETER = re.compile(
    r"(?<=[?&;])((?:[\w.-]*[-_.])?(?:key|token|secret|password|passwd|pwd|pass|auth|signature|sig|credential)"
    r"(?:[-_.]\w+)?)=[^&;#\s]*",
    re.IGNORECASE,
)


def mask_url(url: str) -> str:
    """`url` with its user name, password and secret-looking query values shown as ``***``.

    >>> mask_url("rtsp://admin:s3cret@10.0.0.5/live?token=abc&ch=1")
    'rtsp://***@10.0.0.5/live?token=***&ch=1'
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # not a URL after all, "http://[" for one: show none of it that could be a password
        return re.sub(r"//[^/@]*@", "//***@", url)
    netloc = parts.netloc
    if "@" not in netloc and ":" in netloc and "@" in url:
        # A password with "/", "?" or "#" in it: what the parser takes for a port and a path is the password.
        return re.sub(r"//.*@", "//***@", url)
    if "@" in netloc:
        netloc = "***@" + netloc.rpartition("@")[2]
    masked = urlunsplit(parts._replace(netloc=netloc))
    return _SECRET_PARAMETER.sub(r"\1=***", masked)


def mask_credentials(text: str) -> str:
    """`text` with every URL in it passed through `mask_url`."""
    return _URL.sub(lambda match: mask_url(match.group()), text)
