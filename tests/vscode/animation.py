"""Pictures of one size as one that moves: an animated PNG. What can't play it shows its first frame."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def animated(frames: Sequence[tuple[bytes, int]]) -> bytes:
    """`frames` are PNG files and how long each is shown, in milliseconds; it begins again after the last.

    The compressed pixels are taken as they are (W3C PNG, third edition, 11.3.6): all frames must have the same size and
    kind of pixels. Raises ValueError where they don't.
    """
    headers = {dict(chunks(png))[b"IHDR"] for png, _ in frames}
    if len(headers) != 1:
        raise ValueError("the frames of an animation must have one size and one kind of pixels")
    (header,) = headers
    size = header[:8]
    parts = [chunk(b"IHDR", header), chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    number = 0
    for index, (png, shown) in enumerate(frames):
        parts.append(chunk(b"fcTL", struct.pack(">I", number) + size + struct.pack(">IIHHBB", 0, 0, shown, 1000, 0, 0)))
        number += 1
        for pixels in [content for kind, content in chunks(png) if kind == b"IDAT"]:
            if index == 0:
                parts.append(chunk(b"IDAT", pixels))
            else:
                parts.append(chunk(b"fdAT", struct.pack(">I", number) + pixels))
                number += 1
    return SIGNATURE + b"".join(parts) + chunk(b"IEND", b"")


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The kind and the content of each chunk of a PNG file."""
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12
