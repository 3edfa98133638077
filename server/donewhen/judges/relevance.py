"""Which lines and files a requirement is about, judged by its words and identifiers alone."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from donewhen.core.goal import Requirement

_KEPT = 2_000
_WORD = re.compile(r"[^\W\d_]+|\d{2,}")
_IDENTIFIER = re.compile(r"\w+")
_PATH = re.compile(r"[\w./+-]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for are that this with from into must should shall can could will would not but all any each "
        "every when then than its their there here has have had been being was were does did done get gets "
        "set use used using new one two also only more most other same such via per out off over under file "
        "files test tests line lines make makes which what who how where self return def none true false "
        "import class function passes pass ",
    )
)
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DEFINES = re.compile(r"^\s*(?:async\s+def|def|class|func|fn|function|export|public|impl|interface|struct|#+)\s")


def words(text: str) -> frozenset[str]:
    """The words of a text that tell something, in lower case: identifiers whole and in parts."""
    found: set[str] = set()
    for identifier in _IDENTIFIER.findall(text):
        parts = [part.lower() for piece in _CAMEL.split(identifier) for part in _WORD.findall(piece)]
        found.update(_stem(part) for part in parts if len(part) >= 3)
        if len(parts) > 1:
            found.add(identifier.lower())
    return frozenset(found - _COMMON)


def requirement_words(requirement: Requirement) -> frozenset[str]:
    return words("\n".join((requirement.text, *requirement.details)))


def mentioned(requirement: Requirement) -> frozenset[str]:
    """What in the requirement's own words may be a path or the name of a file."""
    said = "\n".join((requirement.text, *requirement.details))
    found = (one.strip(".,:;!?").removeprefix("./") for one in _PATH.findall(said))
    return frozenset(one for one in found if "." in one or "/" in one)


def mentions(said: frozenset[str], path: str) -> bool:
    return path in said or path.rpartition("/")[2] in said


def ranked(
    lines: Sequence[str], wanted: Sequence[frozenset[str]], hot: Iterable[int] = ()
) -> tuple[tuple[int, ...], ...]:
    """For each set of words the indexes of the lines that have to do with it, the most telling first; the lines in
    `hot` (changed, failing) are in every one."""
    every = frozenset[str]().union(*wanted)
    places = _places(lines, every)
    known = [at for at in hot if 0 <= at < len(lines)]
    return tuple(ranking for words_of in wanted if (ranking := _ranking(lines, words_of, places, known)))


def _places(lines: Sequence[str], every: frozenset[str]) -> Mapping[str, list[int]]:
    """Where each word stands, also as a part of another one."""
    found: dict[str, list[int]] = {}
    pattern = _any_of(every)
    if pattern is None:
        return found
    for at, line in enumerate(lines):
        for word in set(pattern.findall(line[:1000].lower())):
            found.setdefault(word, []).append(at)
    return found


def _ranking(
    lines: Sequence[str], wanted: frozenset[str], places: Mapping[str, list[int]], hot: Sequence[int]
) -> tuple[int, ...]:
    scores: dict[int, float] = dict.fromkeys(hot, 2.0)
    for word in sorted(wanted & places.keys()):
        weight = math.log(1 + len(lines) / len(places[word]))
        for at in places[word]:
            scores[at] = scores.get(at, 0.0) + weight * (1.5 if _DEFINES.match(lines[at]) else 1.0)
    return tuple(heapq.nsmallest(_KEPT, scores, key=lambda at: (-round(scores[at], 6), at)))


def path_score(path: str, wanted: frozenset[str]) -> int:
    """How many of the words stand in a path, also as a part of another one."""
    pattern = _any_of(wanted)
    return 0 if pattern is None else len(set(pattern.findall(path.lower())))


@lru_cache(maxsize=256)
def _any_of(wanted: frozenset[str]) -> re.Pattern[str] | None:
    if not wanted:
        return None
    return re.compile("|".join(re.escape(word) for word in sorted(wanted, key=lambda word: (-len(word), word))))


def diff_lines(diff: str) -> Mapping[str, frozenset[int]]:
    """By path, the 0-based lines of the new files that a unified diff adds or that stand next to what it removes."""
    found: dict[str, set[int]] = {}
    path, at, old, new = "", 0, 0, 0
    for line in diff.split("\n"):
        if old > 0 or new > 0:
            if line[:1] in ("+", "-"):
                found.setdefault(path, set()).add(at)
            old -= line[:1] not in ("+", "\\")
            new -= line[:1] not in ("-", "\\")
            at += line[:1] not in ("-", "\\")
        elif line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif match := _HUNK.match(line):
            at, old, new = max(int(match[2]) - 1, 0), int(match[1] or 1), int(match[3] or 1)
    return {key: frozenset(lines) for key, lines in found.items()}


def _stem(word: str) -> str:
    """Plural and singular, and the common verb forms, count as one word."""
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word[: -len(ending)]
    return word
