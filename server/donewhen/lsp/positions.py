"""Columns: ours count Unicode code points from 0, a client's count units of the encoding that was agreed on.

Lines end as LSP says, at \\n, \\r\\n or \\r and nowhere else: `str.splitlines` would also cut at form feeds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
DEFAULT_ENCODING: Encoding = "utf-16"
KNOWN_ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")

_LINE = re.compile(r"\r\n|\n|\r")


def choose_encoding(offered: Iterable[object]) -> Encoding:
    """The first of the client's encodings that we know; utf-16 where it names none, as LSP says."""
    for name in offered:
        for known in KNOWN_ENCODINGS:
            if name == known:
                return known
    return DEFAULT_ENCODING


def split_lines(text: str) -> list[str]:
    """The lines without their ends; a text that ends in a line break has an empty last line."""
    return _LINE.split(text)


def units(text: str, encoding: Encoding) -> int:
    """How many units of `encoding` the text takes."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def to_client(line: str, column: int, encoding: Encoding) -> int:
    """Our column in `line` as the client counts it; columns past the end are cut to it."""
    return units(line[: max(0, column)], encoding)


def from_client(line: str, character: int, encoding: Encoding) -> int:
    """The client's `character` in `line` as our column.

    Past the end: the end. Within a character: that character's start.
    """
    if encoding == "utf-32" or line.isascii():
        return max(0, min(character, len(line)))
    used = 0
    for column, text in enumerate(line):
        used += units(text, encoding)
        if used > character:
            return column
    return len(line)


def line_starts(text: str) -> list[int]:
    """The offset of each line's first code point."""
    return [0, *(match.end() for match in _LINE.finditer(text))]


def offset_of(text: str, line: int, character: int, encoding: Encoding) -> int:
    """The offset in code points of a client's position; positions past the end are cut to it."""
    starts = line_starts(text)
    if line >= len(starts):
        return len(text)
    end = _LINE.search(text, starts[line])
    content = text[starts[line] : end.start() if end else len(text)]
    return starts[line] + from_client(content, character, encoding)
