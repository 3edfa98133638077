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
from functools import cached_property

from donewhen.core.ecosystems import ECOSYSTEMS, SOURCES, Disguise
from donewhen.core.globs import any_matches
from donewhen.core.trials.untried import LARGEST_SOURCE, lines_that_came, product_lines, source_suffix


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
        using = _Using(came.values())
        answers = {number: _with_answers(line, table, using) for number, line in came.items()}
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
        if suffix in ecosystem.sources or (ecosystem.name == "common" and suffix in SOURCES)
        for one in ecosystem.disguises
        if not any_matches(one.but, path)
    ]


class _Using:
    """Which of the lines that came name a word, and where a disguise counts for the sake of them."""

    def __init__(self, came: Iterable[str]) -> None:
        self._lines = list(came)
        self._counts: dict[tuple[str, str], bool] = {}

    @cached_property
    def _by_word(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for at, line in enumerate(self._lines):
            for word in dict.fromkeys(re.findall(r"\w+", line)):
                found.setdefault(word, []).append(at)
        return found

    def counts(self, one: Disguise, line: str) -> bool:
        """True if it counts on this line, for what stands there or where the names are used that it gives a value."""
        if not one.where or re.search(one.where, line):
            return True
        given = _GIVEN.match(line)
        return any(self._counts_at(one.where, name) for name in re.findall(r"\w+", given[1])) if given else False

    def _counts_at(self, where: str, name: str) -> bool:
        if (where, name) not in self._counts:
            lines = (self._lines[at] for at in self._by_word.get(name, ()))
            self._counts[where, name] = any(re.search(where, line) for line in lines)
        return self._counts[where, name]


_GIVEN = re.compile(r"\s*(?:(?:export|const|let|var|local|if|mut)\s+)*([\w\s,()]+?)(?:\s*:\s*[^=]+)?\s*(?::=|:?=(?!=))")
"""The names that a line gives its value."""


def _with_answers(line: str, table: list[Disguise], using: _Using) -> str:
    """The line with each question in it replaced, the first that begins where two overlap."""
    asked = ((one, list(re.finditer(one.asks, line))) for one in table)
    counting = ((one, found) for one, found in asked if found and using.counts(one, line))
    matches = [(match.start(), match, one) for one, found in counting for match in found]
    made: list[str] = []
    at = 0
    for start, match, one in sorted(matches, key=lambda each: (each[0], -each[1].end())):
        if start >= at:
            made += [line[at:start], match.expand(one.neutral)]
            at = match.end()
    return "".join([*made, line[at:]])


def _laid(path: str, text: str, answers: Mapping[int, str], *, parses: bool) -> Disguised | None:
    """None where nothing can be answered. A question in a place where the answer can't stand is left as it is."""
    was = text.splitlines(keepends=True)
    fits, lines = parses and bool(answers) and _parses(text), list(was)
    left = max(3, _MOST_PARSED // (len(text) + 1))
    groups = [sorted(answers)] if answers else []
    told: list[int] = []
    while groups:  # all at once, then halves of those among which one doesn't fit: a source may hold thousands
        group = groups.pop()
        for number in group:
            lines[number] = answers[number] + was[number][len(was[number].rstrip("\r\n")) :]
        left -= 1
        if not fits or (left >= 0 and _parses("".join(lines))):
            told += group
            continue
        for number in group:
            lines[number] = was[number]
        if len(group) > 1 and left > 0:
            groups += [group[len(group) // 2 :], group[: len(group) // 2]]
    shown = tuple((number, was[number].strip()[:120]) for number in sorted(told))
    return Disguised(path, "".join(lines).encode(), shown) if told else None


_MOST_PARSED = 10_000_000
"""Characters that are parsed to find the answers that fit; at least three times a whole source."""


def _parses(text: str) -> bool:
    if len(text) > LARGEST_SOURCE:
        return True  # full of questions: parsing it holds up every other thread, and nobody writes such a source
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
