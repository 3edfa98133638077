"""Glob matching over workspace paths: `*` and `?` within a folder, `**` over folders, `[...]`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def matches(glob: str, path: str) -> bool:
    """True where `path` (posix, relative) matches; a glob that names a folder matches all that it holds."""
    return _pattern(glob).fullmatch(path) is not None


def any_matches(globs: Iterable[str], path: str) -> bool:
    return any(matches(glob, path) for glob in globs)


def literal(path: str) -> str:
    """The glob that matches this path, and nothing else but what lies in it."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    text = glob.removeprefix("./").rstrip("/")
    out: list[str] = []
    position = 0
    while position < len(text):
        piece, position = _piece(text, position)
        out.append(piece)
    return re.compile("".join(out) + r"(?:/.*)?", re.DOTALL)


def _piece(text: str, at: int) -> tuple[str, int]:
    if text.startswith("**/", at):
        return r"(?:.*/)?", at + 3
    if text.startswith("**", at):
        return r".*", at + 2
    char = text[at]
    if char == "*":
        return r"[^/]*", at + 1
    if char == "?":
        return r"[^/]", at + 1
    if char == "[" and (end := text.find("]", at + 2)) != -1:
        body = text[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
        return f"[{'^' + body[1:] if body[0] == '!' else body}]", end + 1
    return re.escape(char), at + 1
