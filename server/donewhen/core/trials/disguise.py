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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from donewhen.core.globs import any_matches
from donewhen.core.trials.untried import lines_that_came, product_lines, source_suffix
from donewhen.ecosystems import ECOSYSTEMS, Disguise


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
        suffix = source_suffix(path, now)
        table = _table(path, suffix)
        if not table or now is None:
            continue
        came = dict(lines_that_came(product_lines(path, now), stood))
        answers = {number: _answered(line, _counting(line, table, came.values())) for number, line in came.items()}
        one = _laid(
            path,
            now.decode("utf-8", "replace"),
            {number: answer for number, answer in answers.items() if answer != came[number]},
            parses=suffix == ".py",
        )
        if one is not None:
            found.append(one)
    return tuple(found)


def _table(path: str, suffix: str) -> list[Disguise]:
    return [
        one
        for ecosystem in ECOSYSTEMS
        if suffix in ecosystem.sources or (ecosystem.name == "common" and suffix in _SOURCES)
        for one in ecosystem.disguises
        if not any_matches(one.but, path)
    ]


_SOURCES = frozenset(suffix for ecosystem in ECOSYSTEMS for suffix in ecosystem.sources)


def _counting(line: str, table: list[Disguise], came: Iterable[str]) -> list[Disguise]:
    """Those of the table that count on this line."""
    given = _GIVEN.match(line)
    names = re.findall(r"\w+", given[1]) if given is not None else []
    using = [other for other in came if any(re.search(rf"\b{name}\b", other) for name in names)]
    return [one for one in table if not one.where or any(re.search(one.where, each) for each in (line, *using))]


_GIVEN = re.compile(r"\s*(?:(?:export|const|let|var|local|if|mut)\s+)*([\w\s,()]+?)(?:\s*:\s*[^=]+)?\s*(?::=|:?=(?!=))")
"""The names that a line gives its value."""


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


def _laid(path: str, text: str, answers: Mapping[int, str], *, parses: bool) -> Disguised | None:
    """None where nothing can be answered. A question in a place where the answer can't stand is left as it is."""
    lines = text.splitlines(keepends=True)
    fits = parses and _parses(text)
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
