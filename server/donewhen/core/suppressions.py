"""Suppressions that came with the work: no trial sees them, since the tool passes with either version of the proof.

They are counted over all that changed, so that moving code is not a finding, and only those that a bound check heeds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import splitext

from donewhen.ecosystems import ECOSYSTEMS

MAX_PLACES = 20


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A line that came and suppresses something; `line` is 0-based."""

    path: str
    line: int
    text: str


def heeded(texts: Iterable[str]) -> frozenset[str]:
    """The tools that commands, or the texts of what their names stand for, name."""
    text = "\n".join(texts)
    return frozenset(tool for tool in _tools() if re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", text))


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
                old, new = _lines(was), _lines(is_now)
                before += sum(len(mark.findall(line)) for line in old)
                now += sum(len(mark.findall(line)) for line in new)
                came += _came(path, old, new, mark)
            if now > before:
                found.update({(one.path, one.line): one for one in came})
    return tuple(found[key] for key in sorted(found)[:MAX_PLACES])


def no_longer_checked(changes: Mapping[str, tuple[bytes | None, bytes | None]]) -> tuple[str, ...]:
    """The sources that are gone, and most of whose lines stand in no other file of their kind that changed."""
    sources = tuple(suffix for ecosystem in ECOSYSTEMS for suffix in ecosystem.sources)
    found: list[str] = []
    for path, (was, now) in sorted(changes.items()):
        lines = {line.strip() for line in _lines(was)} - {""}
        if now is not None or not lines or not path.endswith(sources):
            continue
        kin = (new for other, (_, new) in changes.items() if splitext(other)[1] == splitext(path)[1])
        there = {line.strip() for new in kin for line in _lines(new)}
        if 2 * len(lines & there) <= len(lines):
            found.append(path)
    return tuple(found[:MAX_PLACES])


def _came(path: str, old: list[str], new: list[str], mark: re.Pattern[str]) -> list[Suppressed]:
    known = Counter(line.strip() for line in old if mark.search(line))
    came: list[Suppressed] = []
    for number, line in enumerate(new):
        if not mark.search(line):
            continue
        if known[line.strip()]:
            known[line.strip()] -= 1
        else:
            came.append(Suppressed(path, number, line.strip()[:120]))
    return came


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None or b"\0" in content else content.decode("utf-8", "replace").splitlines()


def _tools() -> frozenset[str]:
    return frozenset(tool for one in ECOSYSTEMS for suppression in one.suppressions for tool in suppression.tools)
