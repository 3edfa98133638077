"""Readers of what test runners print, from which the rows of the tables are made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

Counts = tuple[int, int, int]
"""Passed, failed, skipped."""
Named = tuple[str, str]
"""The name of a test, and the word for how it ended."""
Reader = Callable[[str], Counts | None]

_WORDS = {
    "passed": 0, "xpassed": 0, "passing": 0, "pass": 0,
    "failed": 1, "error": 1, "errors": 1, "failing": 1, "fail": 1,
    "skipped": 2, "xfailed": 2, "todo": 2, "pending": 2, "ignored": 2,
}  # fmt: skip


@cache
def multiline(pattern: str) -> re.Pattern[str]:
    """The expression, in which `^` and `$` are the ends of a line; compiled when first used, since most never are."""
    return re.compile(pattern, re.MULTILINE)


def counted_words(text: str) -> Counts:
    """Adds up `3 failed, 12 passed`."""
    counts = [0, 0, 0]
    for number, word in re.findall(r"(\d+) ([A-Za-z]+)", text):
        kind = _WORDS.get(word.lower())
        if kind is not None:
            counts[kind] += int(number)
    return counts[0], counts[1], counts[2]


def added(counts: Sequence[Counts]) -> Counts | None:
    """All of them together; None for none."""
    if not counts:
        return None
    return sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts)


def last_line(pattern: str) -> Reader:
    """The last line that matches, its numbers told by the word after them."""

    def read(output: str) -> Counts | None:
        found = multiline(pattern).findall(output)
        return counted_words(found[-1]) if found else None

    return read


def all_lines(pattern: str) -> Reader:
    """All lines that match, added up."""

    def read(output: str) -> Counts | None:
        return added([counted_words(line) for line in multiline(pattern).findall(output)])

    return read


def labelled(passed: str, failed: str, *skipped: str) -> Reader:
    """One number per line, told by its label: `# pass 5`. The last of each counts."""

    def read(output: str) -> Counts | None:
        numbers = [re.findall(pattern, output, re.MULTILINE) for pattern in (passed, failed, *skipped)]
        if not any(numbers):
            return None
        last = [int(found[-1]) if found else 0 for found in numbers]
        return last[0], last[1], sum(last[2:])

    return read


def parts(pattern: str, *, last: bool = True, but: str = "") -> Reader:
    """Groups of the last match, or of all added up: `passed` or `total` (of which the others are taken away), and
    perhaps `failed`, `errors`, `skipped`, `left`. `but` finds tests that the total counts and were skipped."""

    def read(output: str) -> Counts | None:
        found = [match.groupdict() for match in multiline(pattern).finditer(output)]
        if not found:
            return None
        each = [{key: int(value or 0) for key, value in one.items()} for one in (found[-1:] if last else found)]
        sums = {
            key: sum(one.get(key, 0) for one in each)
            for key in ("passed", "total", "failed", "errors", "skipped", "left")
        }
        failed = sums["failed"] + sums["errors"]
        skipped = sums["skipped"] + sums["left"] + (len(re.findall(but, output, re.MULTILINE)) if but else 0)
        return sums["passed"] or max(sums["total"] - failed - skipped, 0), failed, skipped

    return read


def either(*readers: Reader) -> Reader:
    """All that can be read, added up."""
    return lambda output: added([counts for read in readers if (counts := read(output)) is not None])


def named(pattern: str) -> Callable[[str], Iterator[Named]]:
    """A test for each line that matches, with the groups `name` and `word`."""

    def read(output: str) -> Iterator[Named]:
        for match in multiline(pattern).finditer(output):
            yield match["name"], match["word"].lower()

    return read


def json_events(output: str, key: str) -> Iterator[Mapping[str, object]]:
    """The lines that are JSON objects and have that key."""
    for line in output.splitlines():
        if line.startswith('{"') and f'"{key}"' in line:
            try:
                yield dict(json.loads(line))
            except (TypeError, ValueError):
                continue


# ----------------------------------------------------------------- the Test Anything Protocol, versions 12 to 14

_TAP_LINE = re.compile(r"^(?P<indent> *)(?P<not>not )?ok\b *(?P<number>\d+)?(?: *-)? *(?P<name>.*)$")
_TAP_PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
_TAP_END = re.compile(r"^Bail out!(?:[ \t]+(?P<said>\S.*))?$", re.MULTILINE)
_TAP_DIRECTIVE = re.compile(r"\s+#\s*(skip|todo)\S*", re.IGNORECASE)


def read_tap(output: str) -> tuple[Named, ...] | None:
    """The tests of the outermost level; None where it is not TAP.

    A plan promises a number of tests: those that never came are failed, and so is one more at least where the stream
    bails out. A `todo` that fails is skipped.
    """
    plan = _TAP_PLAN.search(output)
    if plan is None and not output.lstrip().startswith("TAP version"):
        return None
    tests: list[Named] = []
    for match in filter(None, map(_TAP_LINE.match, output.splitlines())):
        if match["indent"]:
            continue
        name = match["name"]
        directive = _TAP_DIRECTIVE.search(name)
        title = (name[: directive.start()] if directive else name).strip() or f"test {match['number'] or '?'}"
        word = directive[1].lower() if directive else ""
        skipped = word == "skip" or (word == "todo" and match["not"])
        tests.append((title, "skip" if skipped else "fail" if match["not"] else "pass"))
    promised = int(plan[1]) if plan is not None else len(tests)
    missing = min(max(promised - len(tests), int(_TAP_END.search(output) is not None)), 10_000)
    return (*tests, *((f"test {len(tests) + n + 1}", "never ran") for n in range(missing)))


def bailed_out(output: str) -> tuple[str, int] | None:
    """What a TAP stream that ended before its plan says of that, and how many of its tests never ran; None for any
    other output."""
    end, tests = _TAP_END.search(output), read_tap(output)
    if end is None or tests is None:
        return None
    return end["said"] or "Bail out!", [word for _, word in tests].count("never ran")


def tap_counts(output: str) -> Counts | None:
    tests = read_tap(output)
    if tests is None:
        return None
    words = [word for _, word in tests]
    return words.count("pass"), words.count("fail") + words.count("never ran"), words.count("skip")
