"""A picture that came over the wire: what is checked, in which order, and how it becomes a frame.

Cheap checks come first, so that a hostile picture costs nothing: its bytes are counted, its kind is told by
its content and not by any name, its pixels are counted from its header, and only then is it decoded.

A frame is the picture *as shown*: EXIF's orientation is applied, transparent parts are over black, 16-bit
samples are reduced to 8, CMYK and grey become RGB. Of an animated PNG or a multi-picture JPEG it is the
first. Colour profiles, gamma and every other kind of metadata are ignored, malformed or not.
"""

from __future__ import annotations

import binascii
import io
from typing import TYPE_CHECKING

from protocol import jpeg, png
from protocol.errors import FrameTooLarge, InvalidRequest
from protocol.frame import Frame
from protocol.jpeg import JpegFile
from protocol.limits import MAX_FRAME_BYTES, MAX_FRAME_PIXELS
from protocol.png import PngFile

if TYPE_CHECKING:
    from PIL import Image

_BASE64_STEP = 256 * 1024  # characters decoded at a time, so that other threads get their turn


PictureFile = JpegFile | PngFile


def decode_picture(image: bytes | str) -> Frame:
    """The frame in a JPEG or PNG file's bytes, or in their raw base64; its pixels are there already.

    Blocks for as long as decoding takes (some 10 ms for a megapixel): call it in a thread.

    Raises:
        FrameTooLarge: over 8 MiB or 4,194,304 pixels; found before decoding.
        InvalidRequest: empty, neither JPEG nor PNG, truncated, or otherwise damaged.
    """
    file = read_picture(decode_base64(image) if isinstance(image, str) else image)
    bare = file.bare()
    try:
        picture = _open(file, bare)
        picture.load()
        if picture.size != (file.width, file.height):
            raise ValueError(f"its size is {picture.size}")
        return _frame(_turned(picture, file.orientation))
    except Exception as error:  # a decoder meets hostile bytes here, and each fails in ways of its own
        raise InvalidRequest(f"truncated or damaged {file.name} picture: {error}") from error


def read_picture(data: bytes) -> PictureFile:
    """The kind and size of a picture, within the limits; nothing is decoded and no library loaded.

    Raises:
        FrameTooLarge: over 8 MiB or 4,194,304 pixels.
        InvalidRequest: empty, neither JPEG nor PNG, or its header is damaged.
    """
    check_bytes(len(data))
    if data.startswith(jpeg.SIGNATURE):
        file: PictureFile = JpegFile(data)
    elif data.startswith(png.SIGNATURE):
        file = PngFile(data)
    elif not data:
        raise InvalidRequest("the picture is empty")
    else:
        raise InvalidRequest("not a JPEG or PNG picture", hint="the kind is told by content, not by name")
    if file.width * file.height > MAX_FRAME_PIXELS:
        raise FrameTooLarge(
            f"a picture of {file.width} x {file.height} = {file.width * file.height:,} pixels "
            f"is over the limit of {MAX_FRAME_PIXELS:,}",
            hint="scale it down before sending it",
        )
    return file


def check_bytes(size: int) -> None:
    """Checks the length of a JPEG or PNG file.

    Raises:
        FrameTooLarge: it is over 8 MiB.
    """
    if size > MAX_FRAME_BYTES:
        raise FrameTooLarge(
            f"a picture of {size:,} bytes is over the limit of {MAX_FRAME_BYTES:,}",
            hint="scale it down or compress it more before sending it",
        )


def decode_base64(text: str, what: str = "image_b64") -> bytes:
    """The bytes in raw base64: the standard alphabet, padded, with nothing before, between or behind.

    `what` is the name of `text`, for the messages of errors.

    Raises:
        FrameTooLarge: they are over 8 MiB; found before decoding.
        InvalidRequest: it is anything else.
    """
    if text.startswith("data:"):
        raise InvalidRequest(f"{what} is a data: URL", hint="send what follows its comma")
    padding = len(text) - len(text.rstrip("="))
    check_bytes(len(text) // 4 * 3 - min(padding, 2))
    if "=" in text[: len(text) - padding]:  # each step below would take it for its own end
        raise InvalidRequest(f"{what} is not base64: padding before its end")
    try:
        steps = range(0, len(text), _BASE64_STEP)
        return b"".join(binascii.a2b_base64(text[at : at + _BASE64_STEP], strict_mode=True) for at in steps)
    except ValueError as error:
        raise InvalidRequest(
            f"{what} is not base64: {error}",
            hint="raw and padded, of the standard alphabet, without line breaks",
        ) from error


def _open(file: PictureFile, bare: bytes) -> Image.Image:
    # Not by Image.open, which warns of large pictures: they are small by now.
    if isinstance(file, JpegFile):
        from PIL.JpegImagePlugin import JpegImageFile

        return JpegImageFile(io.BytesIO(bare))
    from PIL.PngImagePlugin import PngImageFile

    return PngImageFile(io.BytesIO(bare))


def _frame(picture: Image.Image) -> Frame:
    import numpy as np

    if picture.mode.startswith("I"):  # 16-bit grey, which Pillow would clip to 8
        grey = (np.asarray(picture) >> 8).astype(np.uint8)
        return Frame(pixels=np.ascontiguousarray(np.broadcast_to(grey[:, :, None], (*grey.shape, 3))))
    if picture.has_transparency_data:
        from PIL import Image

        colours = picture.convert("RGBA")
        picture = Image.new("RGB", picture.size)
        picture.paste(colours, mask=colours.getchannel("A"))
    if picture.mode != "RGB":  # converting what is RGB already would copy it
        picture = picture.convert("RGB")
    return Frame(pixels=np.asarray(picture))


def _turned(picture: Image.Image, orientation: int) -> Image.Image:
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return picture.transpose(turns[orientation]) if orientation in turns else picture
