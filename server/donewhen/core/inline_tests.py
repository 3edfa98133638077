"""Takes Rust sources apart into the product's code and the tests among it, `#[cfg(test)]` modules and items.

Only the shape matters: where an item begins, and where its braces end. Strings, characters, lifetimes and comments are
told apart for that; what a macro makes isn't looked into.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TEST = re.compile(
    r"#\[\s*(?:cfg\s*\(\s*(?:test\b|all\s*\(\s*test\b)|(?:\w+\s*::\s*)*test\b|bench\b|cfg_attr\s*\(\s*test\b)"
)
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*)"""
    r"""|(?P<raw>\b(?:b|c)?r(?P<hashes>\#*)")"""
    r"""|(?P<text>\b[bc]?"|")"""
    r"""|(?P<char>b?'(?:\\(?:u\{[0-9a-fA-F_]+\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])')"""
    r"""|(?P<mark>[{}()\[\];])""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Halves:
    """A source without its tests, and its tests, in their order."""

    product: str
    tests: str


def divided(path: str, text: str) -> Halves | None:
    """None where the language isn't known here, or the source can't be read."""
    if not path.endswith(".rs"):
        return None
    product: list[str] = []
    tests: list[str] = []
    at = 0
    places = _places(text)
    if places is None:
        return None
    for start, end in places:
        product.append(text[at:start])
        tests.append(text[start:end])
        at = end
    product.append(text[at:])
    return Halves("".join(product), "\n".join(tests))


def joined(product: str, tests: str) -> str:
    """A source with the code of one version and the tests of another."""
    if not tests:
        return product
    return f"{product.rstrip()}\n\n{tests}\n" if product.strip() else f"{tests}\n"


def _places(text: str) -> list[tuple[int, int]] | None:
    """Where the items of tests stand, attributes included; None for what isn't whole."""
    marks = _marks(text)
    if marks is None:
        return None
    found: list[tuple[int, int]] = []
    at = 0
    for test in _TEST.finditer(text):
        if test.start() < at or not _is_code(marks, test.start()):
            continue
        start = _line_start(text, test.start())
        end = _item_end(marks, test.start())
        if end is None:
            return None
        at = end + 1 if text[end : end + 1] == "\n" else end
        found.append((start, at))
    return found


def _line_start(text: str, at: int) -> int:
    """Where the first of the attributes and comments begins that belong to the item, all on lines of their own."""
    start = text.rfind("\n", 0, at) + 1
    if text[start:at].strip():
        return at
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        line = text[above:start].strip()
        if not (line.startswith("#[") and line.endswith("]")) and not line.startswith("///"):
            break
        start = above
    return start


@dataclass(frozen=True, slots=True)
class _Marks:
    """The brackets and semicolons that are code, by position, and the stretches that aren't code."""

    brackets: tuple[tuple[int, str], ...]
    others: tuple[tuple[int, int], ...]


def _is_code(marks: _Marks, at: int) -> bool:
    return not any(start <= at < end for start, end in marks.others)


def _item_end(marks: _Marks, at: int) -> int | None:
    """After the item that begins with the attribute at `at`: its closing brace, or its semicolon."""
    depth = 0
    opened = False
    for place, char in marks.brackets:
        if place < at:
            continue
        if char in "([{":
            depth += 1
            opened = opened or (char == "{" and depth == 1)
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                return None
            if depth == 0 and char == "}" and opened:
                return place + 1
        elif depth == 0:
            return place + 1
    return None


def _marks(text: str) -> _Marks | None:
    brackets: list[tuple[int, str]] = []
    others: list[tuple[int, int]] = []
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["mark"]:
            brackets.append((token.start(), token["mark"]))
            continue
        end = _token_end(text, token)
        if end is None:
            return None
        others.append((token.start(), end))
        at = end
    return _Marks(tuple(brackets), tuple(others))


def _token_end(text: str, token: re.Match[str]) -> int | None:
    """Where a comment, a string or a character ends."""
    if token["comment"] == "/*":
        return _comment_end(text, token.end())
    if token["comment"] or token["char"]:
        return token.end()
    if token["raw"]:
        end = text.find(f'"{token["hashes"]}', token.end())
        return None if end < 0 else end + 1 + len(token["hashes"])
    at = token.end()
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == '"':
            return at + 1
        else:
            at += 1
    return None


def _comment_end(text: str, at: int) -> int | None:
    """Comments hold others."""
    depth = 1
    while depth:
        ends, begins = text.find("*/", at), text.find("/*", at)
        if ends < 0:
            return None
        inner = 0 <= begins < ends
        depth += 1 if inner else -1
        at = (begins if inner else ends) + 2
    return at
