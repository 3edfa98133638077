"""Which lines and files a requirement is about, judged by its words and identifiers alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from donewhen.core.goal import Requirement

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


class LineIndex:
    """The lines of one text by their words, so that several requirements can each rank them."""

    def __init__(self, lines: Sequence[str], hot: Iterable[int] = ()) -> None:
        self._lines = lines
        self._hot = frozenset(at for at in hot if 0 <= at < len(lines))
        self._places: dict[str, list[int]] = {}
        for at, line in enumerate(lines):
            for word in words(line[:1000]):
                self._places.setdefault(word, []).append(at)

    def ranked(self, wanted: frozenset[str]) -> tuple[int, ...]:
        """Indexes of lines that have to do with these words, the most telling first; changed and failing lines too."""
        scores: dict[int, float] = dict.fromkeys(self._hot, 2.0)
        for word in sorted(wanted & self._places.keys()):
            places = self._places[word]
            weight = math.log(1 + len(self._lines) / len(places))
            for at in places:
                scores[at] = scores.get(at, 0.0) + weight * (1.5 if _DEFINES.match(self._lines[at]) else 1.0)
        return tuple(sorted(scores, key=lambda at: (-round(scores[at], 6), at)))


def path_score(path: str, wanted: frozenset[str]) -> int:
    return len(words(path) & wanted)


def diff_lines(diff: str) -> Mapping[str, frozenset[int]]:
    """By path, the 0-based lines of the new files that a unified diff adds or that stand next to what it removes."""
    found: dict[str, set[int]] = {}
    path, at = "", 0
    for line in diff.split("\n"):
        if line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif line.startswith("@@ "):
            match = re.match(r"@@ -\d+(?:,\d+)? \+(\d+)", line)
            at = max(int(match[1]) - 1, 0) if match else 0
        elif line.startswith("+"):
            found.setdefault(path, set()).add(at)
            at += 1
        elif line.startswith("-"):
            found.setdefault(path, set()).add(at)
        elif line.startswith(" "):
            at += 1
    return {key: frozenset(lines) for key, lines in found.items()}


def _stem(word: str) -> str:
    """Plural and singular, and the common verb forms, count as one word."""
    for ending in ("ing", "ies", "es", "ed", "s"):
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word[: -len(ending)]
    return word
