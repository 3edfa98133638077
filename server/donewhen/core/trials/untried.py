"""What no trial sees, and a reading must: code of the product that looks at its tests, and suppressions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from posixpath import splitext
from typing import Literal

from donewhen.core.ecosystems import ECOSYSTEMS, SOURCES
from donewhen.core.inline import lines_of_product

MAX_PLACES = 20
LARGEST_SOURCE = 1_000_000
"""Bytes of a source that is looked into: a larger one would hold up everything else for minutes."""
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
        suffix = source_suffix(path, now if now is not None else before)
        if suffix not in SOURCES:
            continue
        marks = (mark for one in ECOSYSTEMS if suffix in one.sources or one.name == "common" for mark in one.asks)
        asks = re.compile("|".join(marks))
        known = {text for _, line in product_lines(path, before) for text in _literals(line)}
        for number, line in lines_that_came(product_lines(path, now), stood):
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


def is_source(path: str, content: bytes | None) -> bool:
    """True for a program's text, in a language that is known here."""
    return source_suffix(path, content) in SOURCES


def product_lines(path: str, content: bytes | None) -> list[tuple[int, str]]:
    """The lines of a source with their numbers, but for those of tests among them; none of one that is too large."""
    if content is None or len(content) > LARGEST_SOURCE or b"\0" in content:
        return []
    return lines_of_product(path, content.decode("utf-8", "replace"))


def lines_that_came(lines: Iterable[tuple[int, str]], stood: Counter[str]) -> Iterator[tuple[int, str]]:
    """Those that did not stand before: each of `stood`, without its indentation, is taken out for one that did."""
    for number, line in lines:
        if stood[line.strip()]:
            stood[line.strip()] -= 1
        else:
            yield number, line


# Suppressions that came with the work: no trial sees them, since the tool passes with either version of the proof.
#
# They are counted over all that changed, so that moving code is not a finding, and only those that a bound check heeds.


MAX_SUPPRESSIONS = 20


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A line that came and suppresses something; `line` is 0-based."""

    path: str
    line: int
    text: str


def heeded(texts: Iterable[str]) -> frozenset[str]:
    """The tools that commands, or the texts of what their names stand for, name."""
    text = "\n".join(texts)
    tools = {tool for one in ECOSYSTEMS for suppression in one.suppressions for tool in suppression.tools}
    return frozenset(tool for tool in tools if re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", text))


def more_suppressed(
    changes: Mapping[str, tuple[bytes | None, bytes | None]], tools: frozenset[str]
) -> tuple[Suppressed, ...]:
    """The lines by which there are more suppressions than before; `changes` are the two versions of each changed file.
    Empty if there are no more of any kind."""
    found: dict[tuple[str, int], Suppressed] = {}
    for ecosystem in ECOSYSTEMS:
        for suppression in ecosystem.suppressions:
            if tools.isdisjoint(suppression.tools):
                continue
            mark = re.compile(suppression.mark)
            before, now, came = 0, 0, list[Suppressed]()
            for path, (was, is_now) in changes.items():
                old, new = _decoded_lines(was), _decoded_lines(is_now)
                before += sum(len(mark.findall(line)) for line in old)
                now += sum(len(mark.findall(line)) for line in new)
                known = Counter(line.strip() for line in old if mark.search(line))
                marked = ((number, line) for number, line in enumerate(new) if mark.search(line))
                came += (Suppressed(path, at, line.strip()[:120]) for at, line in lines_that_came(marked, known))
            if now > before:
                found.update({(one.path, one.line): one for one in came})
    return tuple(found[key] for key in sorted(found)[:MAX_SUPPRESSIONS])


def no_longer_checked(changes: Mapping[str, tuple[bytes | None, bytes | None]]) -> tuple[str, ...]:
    """The sources that are gone, and most of whose lines stand in no other file of their kind that changed."""
    found: list[str] = []
    for path, (was, now) in sorted(changes.items()):
        lines = {line.strip() for line in _decoded_lines(was)} - {""}
        if now is not None or not lines or not path.endswith(SOURCES):
            continue
        kin = (new for other, (_, new) in changes.items() if splitext(other)[1] == splitext(path)[1])
        there = {line.strip() for new in kin for line in _decoded_lines(new)}
        if 2 * len(lines & there) <= len(lines):
            found.append(path)
    return tuple(found[:MAX_SUPPRESSIONS])


def _decoded_lines(content: bytes | None) -> list[str]:
    return [] if content is None or b"\0" in content else content.decode("utf-8", "replace").splitlines()
