"""What is taken for a picture, what is refused, in which order, and how it looks."""

import base64
import io
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from protocol.errors import FrameTooLarge, InvalidRequest, SessionError
from protocol.limits import MAX_FRAME_BYTES, MAX_FRAME_PIXELS
from protocol.picture import decode_base64, decode_picture, read_picture

RED, BLACK = (255, 0, 0), (0, 0, 0)
# Four quarters of four colours: every rotation and mirror of it looks different.
QUARTERS = np.zeros((24, 32, 3), dtype=np.uint8)
QUARTERS[:12, :16] = (255, 0, 0)
QUARTERS[:12, 16:] = (0, 255, 0)
QUARTERS[12:, :16] = (0, 0, 255)
QUARTERS[12:, 16:] = (255, 255, 255)
QUARTERS_LINES = b"".join(b"\0" + line.tobytes() for line in QUARTERS)


def encode(pixels: np.ndarray | Image.Image, kind: str = "PNG", **options: object) -> bytes:
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def noise(width: int, height: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    width: int, height: int, lines: bytes, *, depth: int = 8, colour: int = 2, interlace: int = 0,
    before: bytes = b"", after: bytes = b"",
) -> bytes:  # fmt: skip
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    image = chunk(b"IDAT", zlib.compress(lines))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + image + after + chunk(b"IEND", b"")


def black_lines(width: int, height: int) -> bytes:
    return (b"\0" + bytes(3 * width)) * height


def exif(orientation: int) -> bytes:
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


def refused(data: bytes | str, words: str, kind: type[SessionError] = InvalidRequest) -> None:
    with pytest.raises(kind) as caught:
        decode_picture(data)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# Taken.


@pytest.mark.parametrize("options", [{}, {"compress_level": 0}, {"optimize": True}])
def test_png_gives_its_pixels(options: dict[str, object]) -> None:
    frame = decode_picture(encode(QUARTERS, **options))
    assert frame.decoded
    assert np.array_equal(frame.pixels, QUARTERS)
    assert frame.size == (32, 24)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"optimize": True, "subsampling": 0}])
def test_jpeg_gives_its_pixels(options: dict[str, object]) -> None:
    data = encode(QUARTERS, "JPEG", quality=95, **options)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert np.array_equal(decode_picture(data).pixels, expected)


def test_base64_gives_the_same() -> None:
    data = encode(noise(300, 200), "PNG")
    assert np.array_equal(decode_picture(base64.b64encode(data).decode()).pixels, noise(300, 200))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 196_607, 196_608, 196_609, 400_001])
def test_base64_is_decoded_in_steps_without_a_seam(size: int) -> None:
    data = np.random.default_rng(0).bytes(size)
    assert decode_base64(base64.b64encode(data).decode()) == data


def test_exactly_the_most_bytes_pass() -> None:
    data = encode(QUARTERS, "JPEG")
    padded = data + bytes(MAX_FRAME_BYTES - len(data))
    assert decode_picture(padded).size == (32, 24)
    assert decode_picture(base64.b64encode(padded).decode()).size == (32, 24)
    refused(padded + b"\0", "8,388,609 bytes is over the limit of 8,388,608", FrameTooLarge)
    refused(base64.b64encode(padded + b"\0").decode(), "8,388,609 bytes is over the limit", FrameTooLarge)


def test_exactly_the_most_pixels_pass() -> None:
    assert decode_picture(encode(Image.new("L", (2048, 2048)))).size == (2048, 2048)
    assert MAX_FRAME_PIXELS == 2048 * 2048
    refused(encode(Image.new("L", (2048, 2049))), "over the limit of 4,194,304", FrameTooLarge)


# What is seen.

SHOWN: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    1: lambda pixels: pixels,
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.transpose(1, 0, 2),
    6: lambda pixels: np.rot90(pixels, -1),
    7: lambda pixels: np.rot90(pixels, 2).transpose(1, 0, 2),
    8: lambda pixels: np.rot90(pixels, 1),
}


@pytest.mark.parametrize("orientation", SHOWN)
def test_exif_orientation_is_applied(orientation: int) -> None:
    frame = decode_picture(encode(QUARTERS, exif=exif(orientation)))
    assert np.array_equal(frame.pixels, SHOWN[orientation](QUARTERS))
    assert frame.size == ((24, 32) if orientation > 4 else (32, 24))
    jpeg = decode_picture(encode(QUARTERS, "JPEG", quality=100, subsampling=0, exif=exif(orientation)))
    assert np.abs(jpeg.pixels.astype(int) - SHOWN[orientation](QUARTERS)).max() < 10


def test_exif_behind_the_picture_is_applied() -> None:
    data = png(
        32, 24, b"".join(b"\0" + line.tobytes() for line in QUARTERS), after=chunk(b"eXIf", exif(6)[6:])
    )
    assert np.array_equal(decode_picture(data).pixels, SHOWN[6](QUARTERS))


@pytest.mark.parametrize(
    "metadata",
    [
        b"", b"II", b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0*\0\0\0\x08\xff\xff", b"XX*\0\x08\0\0\0\x01\0",
        b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x09\0\0\0",  # orientation 9
        b"II*\0\x08\0\0\0\x01\0\x12\x01\x02\0\x01\0\0\0\x06\0\0\0",  # an orientation in letters
        exif(6)[6:16],
        b"II*\0\x08\0\0\0\x01\0\x0f\x01\x03\0\x01\0\0\0\x06\0\0\0",  # a camera's name and no orientation
    ],
)  # fmt: skip
def test_malformed_exif_changes_nothing(metadata: bytes) -> None:
    in_png = png(
        32, 24, b"".join(b"\0" + line.tobytes() for line in QUARTERS), before=chunk(b"eXIf", metadata)
    )
    assert np.array_equal(decode_picture(in_png).pixels, QUARTERS)
    plain = encode(QUARTERS, "JPEG")
    segment = b"\xff\xe1" + struct.pack(">H", 8 + len(metadata)) + b"Exif\0\0" + metadata
    in_jpeg = plain[:2] + segment + plain[2:]
    assert np.array_equal(decode_picture(in_jpeg).pixels, decode_picture(plain).pixels)


def test_transparent_parts_are_over_black() -> None:
    pixels = np.zeros((1, 3, 4), dtype=np.uint8)
    pixels[0] = [(255, 0, 0, 255), (255, 0, 0, 128), (255, 0, 0, 0)]
    shown = decode_picture(encode(pixels)).pixels[0]
    assert shown.tolist() == [[255, 0, 0], [128, 0, 0], [0, 0, 0]]


def test_grey_with_transparency_is_over_black() -> None:
    image = Image.new("LA", (2, 1))
    image.putdata([(200, 255), (200, 0)])
    assert decode_picture(encode(image)).pixels[0].tolist() == [[200] * 3, [0] * 3]


def test_a_palette_becomes_its_colours() -> None:
    image = Image.fromarray(QUARTERS).convert("P", palette=Image.Palette.ADAPTIVE, colors=4)
    assert np.array_equal(decode_picture(encode(image)).pixels, QUARTERS)


def test_a_transparent_colour_of_a_palette_is_black() -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 255, 0])
    image.putdata([0, 1])
    assert decode_picture(encode(image, transparency=1)).pixels[0].tolist() == [[255, 0, 0], [0, 0, 0]]
    assert decode_picture(encode(image, transparency=b"\xff\x80")).pixels[0].tolist() == [
        [255, 0, 0],
        [0, 128, 0],
    ]


def test_a_transparent_colour_is_black() -> None:
    data = png(2, 1, b"\0" + bytes([9, 9, 9, 7, 7, 7]), before=chunk(b"tRNS", b"\0\x09\0\x09\0\x09"))
    assert decode_picture(data).pixels[0].tolist() == [[0, 0, 0], [7, 7, 7]]


def test_sixteen_bits_are_reduced_to_eight() -> None:
    grey = png(3, 1, b"\0" + b"\0\0" + b"\x80\xff" + b"\xff\xff", depth=16, colour=0)
    assert decode_picture(grey).pixels[0].tolist() == [[0] * 3, [128] * 3, [255] * 3]
    colour = png(
        1, 1, b"\0" + b"\x12\x34\x56\x78\x9a\xbc", depth=16, colour=2, before=chunk(b"tRNS", bytes(6))
    )
    assert decode_picture(colour).pixels[0].tolist() == [[0x12, 0x56, 0x9A]]


@pytest.mark.parametrize(("depth", "line", "expected"), [(1, 0xA0, [255, 0, 255]), (2, 0xE4, [255, 170, 85])])
def test_few_bits_are_stretched(depth: int, line: int, expected: list[int]) -> None:
    shown = decode_picture(png(3, 1, bytes([0, line]), depth=depth, colour=0)).pixels
    assert shown[0, :, 0].tolist() == expected


def test_cmyk_becomes_rgb() -> None:
    image = Image.fromarray(QUARTERS).convert("CMYK")
    shown = decode_picture(encode(image, "JPEG", quality=100)).pixels
    assert np.abs(shown.astype(int) - QUARTERS).mean() < 5


def test_grey_jpeg_becomes_rgb() -> None:
    shown = decode_picture(encode(Image.new("L", (8, 8), 77), "JPEG")).pixels
    assert shown.shape == (8, 8, 3)
    assert set(shown.ravel().tolist()) == {77}


def test_the_first_picture_of_several_is_shown() -> None:
    first, second = Image.new("RGB", (8, 8), RED), Image.new("RGB", (8, 8), BLACK)
    for kind in ("PNG", "MPO"):
        shown = decode_picture(encode(first, kind, save_all=True, append_images=[second])).pixels
        assert shown[..., 0].min() > 250


@given(st.integers(1, 20), st.integers(1, 20))
@settings(max_examples=50, deadline=None)
def test_interlaced_png(width: int, height: int) -> None:
    pixels = noise(width, height)
    passes = [
        pixels[::8, ::8], pixels[::8, 4::8], pixels[4::8, ::4], pixels[::4, 2::4],
        pixels[2::4, ::2], pixels[::2, 1::2], pixels[1::2],
    ]  # fmt: skip
    lines = b"".join(b"\0" + line.tobytes() for lines in passes if lines.size for line in lines)
    assert np.array_equal(decode_picture(png(width, height, lines, interlace=1)).pixels, pixels)
    refused(png(width, height, lines[:-1], interlace=1), "pixels it claims")


def test_metadata_costs_nothing_and_breaks_nothing() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = encode(QUARTERS, "JPEG", icc_profile=profile * 200, comment=b"\xff" * 5000, dpi=(72, 72))
    assert len(data) > 100_000
    assert decode_picture(data).size == (32, 24)
    text = chunk(b"zTXt", b"bomb\0\0" + zlib.compress(bytes(50_000_000))) * 3
    assert decode_picture(png(8, 8, black_lines(8, 8), before=text, after=chunk(b"iCCP", b"?"))).size == (
        8,
        8,
    )


# Refused.


@pytest.mark.parametrize(
    "data", [b"GIF89a", b"\xff\xd8", b"\x89PNG", b"RIFF\0\0\0\0WEBP", b"BM", b"<svg/>", b"\0" * 100, b"{}"]
)
def test_what_is_no_jpeg_or_png_is_refused_by_its_content(data: bytes) -> None:
    refused(data, "not a JPEG or PNG picture")


def test_an_empty_picture_is_refused() -> None:
    refused(b"", "empty")
    refused("", "empty")


def test_other_formats_are_refused() -> None:
    for kind in ("GIF", "BMP", "TIFF", "WEBP", "JPEG2000"):
        refused(encode(QUARTERS, kind), "not a JPEG or PNG picture")


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_picture_cut_off_anywhere_is_refused(kind: str) -> None:
    data = encode(noise(24, 16), kind)
    for length in range(len(data)):
        with pytest.raises(InvalidRequest):
            decode_picture(data[:length])


def test_a_progressive_picture_cut_off_is_refused() -> None:
    data = encode(noise(64, 64), "JPEG", progressive=True)
    for length in range(100, len(data), 97):
        refused(data[:length], "JPEG picture")


@pytest.mark.parametrize(
    "size", [(60_000, 60_000), (2**31 - 1, 2**31 - 1), (9_000, 10_000), (14_000, 14_000)]
)
def test_a_png_that_claims_too_much_costs_nothing(size: tuple[int, int]) -> None:
    bomb = png(*size, b"")
    assert len(bomb) < 100
    decode_picture(encode(QUARTERS))  # whatever is loaded once is loaded
    tracemalloc.start()
    refused(bomb, "over the limit of 4,194,304; scale it down", FrameTooLarge)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000


def test_a_jpeg_that_claims_too_much_costs_nothing() -> None:
    data = bytearray(encode(QUARTERS, "JPEG"))
    size = data.index(b"\xff\xc0") + 5
    data[size : size + 4] = struct.pack(">HH", 60_000, 60_000)
    refused(bytes(data), "60000 x 60000", FrameTooLarge)


def test_a_small_jpeg_cannot_be_a_large_picture() -> None:
    data = bytearray(encode(QUARTERS, "JPEG"))
    size = data.index(b"\xff\xc0") + 5
    data[size : size + 4] = struct.pack(">HH", 2000, 2000)
    refused(bytes(data), "2000 x 2000 pixels take more than what follows")


def test_the_blackest_jpegs_are_not_taken_for_small_ones() -> None:
    for options in ({}, {"progressive": True}):
        data = encode(Image.new("L", (2048, 2048)), "JPEG", optimize=True, quality=1, **options)
        assert decode_picture(data).size == (2048, 2048)


def test_a_png_of_fewer_lines_than_it_claims_is_refused() -> None:
    refused(png(64, 48, black_lines(64, 10)), "not the 64 x 48 pixels it claims")
    refused(png(64, 48, b""), "not the 64 x 48 pixels it claims")
    refused(png(64, 48, black_lines(64, 49)), "not the 64 x 48 pixels it claims")


def test_an_inflating_png_is_not_inflated() -> None:
    bomb = png(8, 8, bytes(50_000_000))
    tracemalloc.start()
    refused(bomb, "not the 8 x 8 pixels it claims")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(bomb)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (png(0, 8, b""), "a size of 0 x 8"),
        (png(8, 0, b""), "a size of 8 x 0"),
        (png(8, 8, b"", colour=5), "names no kind of picture"),
        (png(8, 8, b"", depth=7), "names no kind of picture"),
        (png(8, 8, b"", interlace=2), "names no kind of picture"),
        (png(8, 1, b"\x09" + bytes(24)), "truncated or damaged PNG picture"),  # no such filter
        (png(8, 1, b"\0" + bytes(16), depth=16, colour=3), "truncated or damaged PNG picture"),
        (encode(QUARTERS)[:20] + b"\xff" + encode(QUARTERS)[21:], "over the limit"),
        (encode(QUARTERS)[:24] + b"\x01" + encode(QUARTERS)[25:], "checksum"),
        (b"\x89PNG\r\n\x1a\n" + chunk(b"CgBI", bytes(4)) + encode(QUARTERS)[8:], "begin with its header"),
        (
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)),
            "within a chunk",
        ),
        (
            encode(QUARTERS)[:33] + chunk(b"IDAT", b"\xff" * 9) + chunk(b"IEND", b""),
            "damaged PNG picture: Error",
        ),
        (b"\xff\xd8\xff\xd9" + bytes(20), "no image"),
        (b"\xff\xd8\xff\xda" + bytes(20), "its size is missing"),
        (b"\xff\xd8\xff\xc0\0\x0b\x08\0\0\0\x08\x01\x01\x11\0" + bytes(20), "a size of 8 x 0"),
        (b"\xff\xd8" + b"\xff\xfe\0\x02" * 2000, "over 1000 segments"),
    ],
)
def test_damage_is_named(data: bytes, words: str) -> None:
    with pytest.raises(SessionError) as caught:
        decode_picture(data)
    assert words in str(caught.value)


def test_a_damaged_byte_of_a_png_is_found() -> None:
    data = bytearray(encode(noise(32, 32)))
    data[len(data) // 2] ^= 1
    refused(bytes(data), "checksum is wrong (IDAT)")


def test_a_jpeg_of_ever_more_scans_is_refused() -> None:
    data = encode(QUARTERS, "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    refused(data[:last] + data[last:-2] * 100 + data[-2:], "over 100 scans")


def test_a_png_of_ever_more_chunks_is_refused() -> None:
    refused(png(8, 8, black_lines(8, 8), before=chunk(b"teXt", b"") * 20_000), "over 20000 chunks")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("data:image/png;base64,iVBORw0KGgo=", "data: URL; send what follows its comma"),
        ("iVBORw0KGgo", "not base64"),
        ("iVBO\nRw0KGgo=", "without line breaks"),
        ("iVBO Rw0KGgo=", "not base64"),
        ("_-8=", "not base64"),
        ("iVBORw0KGgo=iVBORw0KGgo=", "padding before its end"),
        ("====", "not base64"),
        ("é" * 4, "not base64"),
        ("A" * 262_144 + "=" + "A" * 3, "padding before its end"),
    ],
)
def test_what_is_not_raw_base64_is_refused(text: str, words: str) -> None:
    refused(text, words)


def test_base64_is_counted_before_it_is_decoded() -> None:
    refused("!" * (MAX_FRAME_BYTES * 2), "over the limit", FrameTooLarge)


def test_reading_a_header_decodes_nothing() -> None:
    picture = read_picture(encode(noise(2000, 1000), "JPEG"))
    assert (picture.name, picture.width, picture.height) == ("JPEG", 2000, 1000)
    assert read_picture(encode(QUARTERS)[:60]).width == 32


@given(
    st.sampled_from(["PNG", "JPEG"]), st.lists(st.tuples(st.integers(0), st.binary(max_size=4)), max_size=6)
)
@settings(max_examples=300, deadline=None)
def test_any_damage_is_refused_in_words(kind: str, damage: list[tuple[int, bytes]]) -> None:
    data = bytearray(encode(noise(16, 16), kind))
    for place, instead in damage:
        at = place % len(data)
        data[at : at + len(instead)] = instead
    with suppress(InvalidRequest, FrameTooLarge):
        frame = decode_picture(bytes(data))
        assert frame.width * frame.height <= MAX_FRAME_PIXELS
        assert frame.pixels.shape == (frame.height, frame.width, 3)


@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe1\0\x40Exif\0\0"]),
)
@settings(max_examples=300, deadline=None)
def test_bytes_of_any_kind_are_refused_in_words(data: bytes, head: bytes) -> None:
    with pytest.raises((InvalidRequest, FrameTooLarge)):
        decode_picture(head + data)
