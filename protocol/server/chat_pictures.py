"""From the messages of a chat completion to the turns an engine is shown."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from protocol.context import Image, Text, Turn
from protocol.errors import FrameTooLarge, InvalidRequest, SessionError
from protocol.limits import MAX_CHAT_BODY_BYTES, MAX_CHAT_PICTURES, MAX_CHAT_PIXELS
from protocol.picture import decode_base64, read_picture
from protocol.server.chat_request import ImagePart
from protocol.wire import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.context import Part
    from protocol.server.chat_request import ChatMessage
    from protocol.server.picture_decoder import PictureDecoder
    from protocol.server.picture_fetcher import PictureFetcher


def check_pictures(messages: Sequence[ChatMessage], *, fetching: bool) -> None:
    """Checks what can be seen of the pictures without reading any.

    Args:
        fetching: whether pictures may be at http(s) URLs.

    Raises:
        InvalidRequest: too many, in another message than a user's, or at a URL that is not allowed.
    """
    count = 0
    for place, message, part in _pictures(messages):
        count += 1
        if message.role != "user":
            raise InvalidRequest(
                f"{place}: only a user's message may hold pictures, not one of {message.role}"
            )
        scheme = part.url.partition(":")[0].strip().lower()
        if scheme == "data":
            _base64_of(part.url, place)
        elif scheme not in ("http", "https"):
            raise InvalidRequest(f"{place}: expected a data: URL, not {quoted(part.url)}")
        elif not fetching:
            raise InvalidRequest(
                f"{place}: this server fetches no pictures",
                hint="send a data: URL; --allow-image-urls has it fetch public ones",
            )
    if count > MAX_CHAT_PICTURES:
        raise InvalidRequest(f"{count} pictures are over the limit of {MAX_CHAT_PICTURES}")


class ChatPictures:
    """Reads, checks and decodes the pictures of conversations.

    Within a request one after the other, so that the queue before the decoder's threads holds one a request.
    """

    def __init__(self, decoder: PictureDecoder, fetcher: PictureFetcher | None) -> None:
        """Without a `fetcher` there are only data: URLs."""
        self._decoder = decoder
        self._fetcher = fetcher

    async def turns(self, messages: Sequence[ChatMessage]) -> list[Turn]:
        """The conversation as the engine takes it. The messages have passed `check_pictures`.

        Raises:
            InvalidRequest: a picture is not base64, not a JPEG or PNG, damaged, or cannot be fetched.
            FrameTooLarge: one is over 8 MiB or 4,194,304 pixels, or together they are over their limits.
        """
        files = await self._read(messages)
        turns = []
        for index, message in enumerate(messages):
            parts: list[Part] = []
            for number, part in enumerate(message.parts):
                if isinstance(part, ImagePart):
                    place = _place(index, number)
                    parts.append(await self._image(place, files.pop(place)))
                else:
                    parts.append(Text(part.text))
            turns.append(Turn("system" if message.role == "developer" else message.role, tuple(parts)))
        return turns

    async def _read(self, messages: Sequence[ChatMessage]) -> dict[str, bytes]:
        """The files by their places: all of them are known to be small enough before one is decoded."""
        files: dict[str, bytes] = {}
        size = pixels = 0
        for place, _, part in _pictures(messages):
            try:
                files[place] = data = await self._bytes(part.url, place)
                file = await asyncio.to_thread(read_picture, data)
            except SessionError as error:
                raise _at(place, error) from error
            size += len(data)
            pixels += file.width * file.height
            if size > MAX_CHAT_BODY_BYTES:
                raise FrameTooLarge(
                    f"the pictures are together over the limit of {MAX_CHAT_BODY_BYTES:,} bytes"
                )
            if pixels > MAX_CHAT_PIXELS:
                raise FrameTooLarge(
                    f"the pictures are together over the limit of {MAX_CHAT_PIXELS:,} pixels",
                    hint="scale them down, or send fewer",
                )
        return files

    async def _bytes(self, url: str, place: str) -> bytes:
        if url[:5].lower() == "data:":
            return await asyncio.to_thread(decode_base64, _base64_of(url, place), "what follows the comma")
        assert self._fetcher is not None
        return await self._fetcher.fetch(url)

    async def _image(self, place: str, data: bytes) -> Image:
        try:
            decoded = await self._decoder.decode(data)
        except SessionError as error:
            raise _at(place, error) from error
        # Named by its content, so that an engine knows it again in the next request of a conversation.
        return Image(decoded.frame, uuid=await asyncio.to_thread(_digest, data))


def _pictures(messages: Sequence[ChatMessage]) -> list[tuple[str, ChatMessage, ImagePart]]:
    return [
        (_place(index, number), message, part)
        for index, message in enumerate(messages)
        for number, part in enumerate(message.parts)
        if isinstance(part, ImagePart)
    ]


def _place(message: int, part: int) -> str:
    return f"messages[{message}].content[{part}]"


def _base64_of(url: str, place: str) -> str:
    """What follows the comma of a data: URL. Its media type says nothing: the kind is told by content."""
    start, comma, data = url.partition(",")
    if not comma or not start.lower().rstrip().endswith(";base64"):
        raise InvalidRequest(
            f"{place}: a data: URL without base64",
            hint="write data:image/jpeg;base64, and the picture behind it",
        )
    return data


def _at(place: str, error: SessionError) -> SessionError:
    return type(error)(f"{place}: {error.message}", hint=error.hint)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
