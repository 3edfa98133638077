"""Special cases: product code that looks at its tests instead of doing what they ask for.

No trial sees them, since the original proof passes on such code and fails without it. Three things are looked for in
lines that came: asking whether a test runs (`ecosystems`: `asks`), naming a file of the tests, and values of the tests
in branches. The first two say it by themselves; the third is common in honest work, and a reason to ask a judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from posixpath import splitext
from typing import Literal

from donewhen.core.inline import lines_of_product
from donewhen.ecosystems import ECOSYSTEMS

MAX_PLACES = 20
_LITERAL = re.compile(
    r"""(?P<quote>["'`])(?P<text>(?:\\.|(?!(?P=quote)).){3,200})(?P=quote)|(?<![\w.])(?P<number>\d{3,})(?![\w.])"""
)
_BRANCH = re.compile(
    r"\b(?:if|elif|elsif|else|case|when|match|switch|unless|return|in)\b|[=!]=|=>|->|\?|^\s*[\"'`\d].*:|\)\s*$"
)
_PATH = re.compile(r"[\w./-]+\.\w+")
_OF_TESTS = re.compile(
    r"(?i:(?:^|[^a-z])(?:tests?|specs?|snapshots?|fixtures?|goldens?)(?:[^a-z]|$))|(?:Test|Spec)s?\."
)


Kind = Literal["asks", "names", "copied"]


@dataclass(frozen=True, slots=True)
class Special:
    """A line that came, 0-based. `kind`: it asks whether a test runs, names a test file, or holds a value that
    stands in them."""

    kind: Kind
    path: str
    line: int
    text: str


def special_cases(
    changes: Mapping[str, tuple[bytes | None, bytes | None]], proof: Collection[str], tests: Iterable[str]
) -> tuple[Special, ...]:
    """`changes` are both versions of each file of the product that changed, `proof` the paths of proof files, `tests`
    texts of tests. What stood in a file before isn't a special case, however often it is moved about."""
    names = frozenset(tail for path in proof for tail in _tails(path))
    values = {value for text in tests for value in _literals(text)}
    found: list[Special] = []
    stood = Counter(line.strip() for path, (before, _) in changes.items() for _, line in product_lines(path, before))
    for path, (before, now) in sorted(changes.items()):
        asks = _asks(source_suffix(path, now if now is not None else before))
        if asks is None:
            continue
        known = {text for _, line in product_lines(path, before) for text in _literals(line)}
        for number, line in product_lines(path, now):
            if stood[line.strip()]:
                stood[line.strip()] -= 1
                continue
            kind = _kind(line, asks, names, values - known)
            if kind is not None:
                found.append(Special(kind, path, number, line.strip()[:120]))
    return tuple(sorted(found, key=lambda one: one.kind == "copied")[:MAX_PLACES])


def _kind(line: str, asks: re.Pattern[str], names: frozenset[str], values: set[str]) -> Kind | None:
    if asks.search(line):
        return "asks"
    quoted = _literals(line)
    if any(name.removeprefix("./") in names for text in quoted for name in _PATH.findall(text)):
        return "names"
    return "copied" if _BRANCH.search(line) and not values.isdisjoint(quoted) else None


def _tails(path: str) -> Iterable[str]:
    """The ends of a path by which it is known for one of the tests: `tests/data/rows.txt`, not `rows.txt`."""
    parts = path.split("/")
    return ("/".join(parts[at:]) for at in range(len(parts)) if any(_OF_TESTS.search(part) for part in parts[at:]))


def _literals(text: str) -> list[str]:
    return [match["text"] or match["number"] for match in _LITERAL.finditer(text)]


def source_suffix(path: str, content: bytes | None) -> str:
    """How a source's name ends; of a script without an ending, by the program that its first line names."""
    suffix = splitext(path)[1]
    if suffix or content is None:
        return suffix
    program = _PROGRAM.match(content)
    return _ENDINGS[program[1].decode()] if program is not None else ""


_PROGRAM = re.compile(rb"#!\s*(?:\S*/env\s+(?:-\S+\s+)*)?(?:\S*/)?((?:ba|da|z|k)?sh|python|node|ruby)[\d.]*(?=\s|$)")
_ENDINGS = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), ".sh"),
    "python": ".py",
    "node": ".js",
    "ruby": ".rb",
}


def _asks(suffix: str) -> re.Pattern[str] | None:
    """What asks whether a test runs, in a source whose name ends so; None for what is not a source."""
    marks = [mark for one in ECOSYSTEMS if suffix in one.sources or one.name == "common" for mark in one.asks]
    return re.compile("|".join(marks)) if any(suffix in one.sources for one in ECOSYSTEMS) else None


def product_lines(path: str, content: bytes | None) -> list[tuple[int, str]]:
    """The lines of a source with their numbers, but for those of tests among them."""
    if content is None or b"\0" in content:
        return []
    return lines_of_product(path, content.decode("utf-8", "replace"))
