"""An animation is made of whole pictures, whose pixels stay what they were."""

from __future__ import annotations

import struct
import zlib

import pytest

from tests.vscode.animation import SIGNATURE, animated, chunk, chunks


def picture(width: int, grey: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, 2, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes([grey]) * width) * 2)
    parts = [(b"IHDR", header), (b"IDAT", pixels[:5]), (b"IDAT", pixels[5:]), (b"IEND", b"")]
    return SIGNATURE + b"".join(chunk(*part) for part in parts)


def test_its_frames_are_the_pictures_in_order() -> None:
    found = list(chunks(animated([(picture(3, 10), 500), (picture(3, 20), 1500)])))
    assert [kind for kind, _ in found] == [
        b"IHDR",
        b"acTL",
        b"fcTL",
        b"IDAT",
        b"IDAT",
        b"fcTL",
        b"fdAT",
        b"fdAT",
        b"IEND",
    ]
    assert found[1][1] == struct.pack(">II", 2, 0)
    numbered = [content for kind, content in found if kind in {b"fcTL", b"fdAT"}]
    assert [struct.unpack_from(">I", content)[0] for content in numbered] == [0, 1, 2, 3]
    assert [struct.unpack_from(">HH", content, 20) for kind, content in found if kind == b"fcTL"] == [
        (500, 1000),
        (1500, 1000),
    ]
    second = b"".join(content[4:] for kind, content in found if kind == b"fdAT")
    assert zlib.decompress(second) == (b"\0" + bytes([20]) * 3) * 2


def test_pictures_of_two_sizes_make_none() -> None:
    with pytest.raises(ValueError, match="one size"):
        animated([(picture(3, 1), 1), (picture(4, 1), 1)])
