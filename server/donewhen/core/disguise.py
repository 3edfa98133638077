"""Disguises: questions that code asks about its surroundings, answered as if no test were running.

Code that behaves as it should only while it is tested is found by an experiment, since there are more ways to ask than
any list holds: in lines of the product that came, questions to what surrounds the code (variables, arguments, loaded
modules, callers, a test tool's own insides) get a neutral answer (`ecosystems`: `disguises`), and the check runs again.
Honest code asks such questions too, and still passes.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import splitext

from donewhen.core.ecosystems import ECOSYSTEMS, Disguise
from donewhen.core.globs import any_matches
from donewhen.core.special_cases import product_lines


@dataclass(frozen=True, slots=True)
class Disguised:
    """A source in which `lines`, 0-based with their texts, ask something that is answered neutrally in `content`."""

    path: str
    content: bytes
    lines: tuple[tuple[int, str], ...]


def disguised(changes: Mapping[str, tuple[bytes | None, bytes | None]]) -> tuple[Disguised, ...]:
    """`changes` are both versions of each file of the product that changed. What stood in one of them before, and was
    moved at most, stays as it is."""
    stood = Counter(line.strip() for path, (before, _) in changes.items() for _, line in product_lines(path, before))
    found: list[Disguised] = []
    for path, (_, now) in sorted(changes.items()):
        table = _table(path)
        if not table or now is None:
            continue
        answers: dict[int, str] = {}
        for number, line in product_lines(path, now):
            if stood[line.strip()]:
                stood[line.strip()] -= 1
                continue
            answer = _answered(line, table)
            if answer != line:
                answers[number] = answer
        one = _laid(path, now.decode("utf-8", "replace"), answers)
        if one is not None:
            found.append(one)
    return tuple(found)


def _table(path: str) -> list[Disguise]:
    suffix = splitext(path)[1]
    return [
        one
        for ecosystem in ECOSYSTEMS
        if suffix in ecosystem.sources or (ecosystem.name == "common" and suffix in _SOURCES)
        for one in ecosystem.disguises
        if not any_matches(one.but, path)
    ]


_SOURCES = frozenset(suffix for ecosystem in ECOSYSTEMS for suffix in ecosystem.sources)


def _answered(line: str, table: list[Disguise]) -> str:
    """The line with each question in it replaced, the first that begins where two overlap."""
    matches = [(match.start(), match, one) for one in table for match in re.finditer(one.asks, line)]
    made: list[str] = []
    at = 0
    for start, match, one in sorted(matches, key=lambda each: (each[0], -each[1].end())):
        if start >= at:
            made += [line[at:start], match.expand(one.neutral)]
            at = match.end()
    return "".join([*made, line[at:]])


def _laid(path: str, text: str, answers: Mapping[int, str]) -> Disguised | None:
    """None if nothing can be answered. A question in a place where the answer can't stand is left as it is."""
    lines = text.splitlines(keepends=True)
    fits = path.endswith(".py") and _parses(text)
    told: list[tuple[int, str]] = []
    for number, answer in answers.items():
        was, ending = lines[number], lines[number][len(lines[number].rstrip("\r\n")) :]
        lines[number] = answer + ending
        if fits and not _parses("".join(lines)):
            lines[number] = was
        else:
            told.append((number, was.strip()[:120]))
    return Disguised(path, "".join(lines).encode(), tuple(told)) if told else None


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
