"""From what a file holds to text that can be parsed: encoding, size and binary content."""

from __future__ import annotations

import re
from dataclasses import dataclass

from donewhen.goalfile.source import FileProblem, Span

SIZE_LIMIT = 1_000_000
"""Bytes, or characters of a text, that a goal file may have."""
LINE_LIMIT = 10_000
"""Lines that a goal file may have, so that reading it stays a matter of milliseconds."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_START = Span(0, 0, 0, 1)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Decoded:
    """`text` is what to parse, `original` the same as given; columns agree. Nothing to parse unless `readable`."""

    original: str
    text: str
    readable: bool = True
    problems: tuple[FileProblem, ...] = ()


def decode(content: str | bytes) -> Decoded:
    """Decodes UTF-8; what can't be text, or is too large, is refused with a problem. Never raises."""
    if len(content) > SIZE_LIMIT:
        unit = "bytes" if isinstance(content, bytes) else "characters"
        return _refused("too-large", f"the file has more than {SIZE_LIMIT:,} {unit}: too large for a goal, shorten it")
    if isinstance(content, bytes):
        if content.startswith(_UTF16):
            return _refused("encoding", "the file is UTF-16: save it as UTF-8")
        if b"\0" in content:
            return _binary(content.count(b"\n", 0, content.index(b"\0")))
        return _from_bytes(content)
    if "\0" in content:
        return _binary(content.count("\n", 0, content.index("\0")))
    return _from_text(content)


def _from_bytes(content: bytes) -> Decoded:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start)
        message = f"the file is not UTF-8 (byte {error.start + 1}, line {line + 1}): save it as UTF-8"
        text = content.decode("utf-8-sig", errors="replace")
        return Decoded(text, text, True, (_error(Span(line, 0, line, 1), "encoding", message),))
    return _from_text(text)


def _from_text(text: str) -> Decoded:
    lines = text.count("\n") + text.count("\r") - text.count("\r\n") + 1
    if lines > LINE_LIMIT:
        return _refused("too-large", f"the file has {lines:,} lines; a goal may have {LINE_LIMIT:,}: shorten it")
    if lone := _SURROGATE.search(text):
        line = text.count("\n", 0, lone.start())
        message = f"line {line + 1} holds half a character (a lone surrogate): remove it"
        problem = _error(Span(line, 0, line, 1), "encoding", message)
        return Decoded(text, _SURROGATE.sub("\ufffd", text), True, (problem,))
    return Decoded(text, text)


def _binary(line: int) -> Decoded:
    return _refused("binary", f"the file is binary (a zero byte on line {line + 1}): a goal is a Markdown text")


def _refused(code: str, message: str) -> Decoded:
    return Decoded("", "", False, (_error(_START, code, message),))


def _error(span: Span, code: str, message: str) -> FileProblem:
    return FileProblem(span, "error", code, message)
