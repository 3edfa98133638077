"""Why a check is not met, in a few words: its first problems, each with its place, and how many more there are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from donewhen.core.evidence import CheckResult, Problem, TestCase

SHOWN = 3
LONGEST = 200
"""Characters of one message."""

COLLECTION = "collection failure"
"""How the message of a test begins that stands for a file which pytest could not import."""

_LONGEST_NAME = 120
_PRINTED_BY_UNITTEST = re.compile(r"(?P<name>\w+) \((?P<owner>[\w.]+)\)")
_AFTER = re.compile(r"; (?=and \d+ more\b|hint: )")


def first_problems(tests: Sequence[TestCase], problems: Sequence[Problem]) -> tuple[tuple[str, ...], int]:
    """The first problems, as `path:line: message` with lines from 1, and how many more there are: tests that failed and
    say why, else the places that were named, errors before others."""
    failed = [test for test in tests if test.outcome in ("failed", "error")]
    if any(test.message for test in failed):
        told = [_test(test) for test in failed]
    else:
        told = list(dict.fromkeys(_problem(problem) for problem in _errors_first(problems)))
    return tuple(told[:SHOWN]), max(len(told) - SHOWN, 0)


def told(head: str, first: Sequence[str], more: int, hint: str = "") -> str:
    """All of it on one line."""
    parts = [*first, *([f"and {more} more"] if more else [])]
    said = f"{head}: {'; '.join(parts)}" if parts else head
    return f"{said}; hint: {hint}" if hint else said


def reason_lines(reason: str, result: CheckResult) -> list[str]:
    """A reason that `told` made for a result, its problems and its hint each on a line of its own."""
    first, _ = first_problems(result.tests, result.problems)
    for place in first:
        for before in (": ", "; "):
            head, found, rest = reason.partition(before + place)
            if found:
                reason = f"{head}\n{place}{rest}"
                break
    return _AFTER.sub("\n", reason).split("\n")


def short_name(name: str) -> str:
    """A test's name without its file or module."""
    if (unit := _PRINTED_BY_UNITTEST.fullmatch(name)) is not None:
        owner = unit["owner"].removesuffix(f".{unit['name']}").rpartition(".")[2]
        short = f"{owner}.{unit['name']}"
    else:
        short = name.split("::", 1)[1].replace("::", ".") if "::" in name else name
    return short if len(short) <= _LONGEST_NAME else short[: _LONGEST_NAME - 1] + "…"


def clipped(text: str) -> str:
    """The first line that says something, bounded."""
    line = next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _test(test: TestCase) -> str:
    place = f"{test.path}:{(test.line or 0) + 1}: " if test.path else ""
    message = clipped(test.message) or test.outcome
    if message.startswith(COLLECTION):
        return place + (message.removeprefix(COLLECTION).removeprefix(": ") or COLLECTION)
    return f"{place}{short_name(test.name)}: {message}"


def _errors_first(problems: Sequence[Problem]) -> list[Problem]:
    """Without the further places of a problem that was named before."""
    seen: set[tuple[str, str]] = set()
    found: list[Problem] = []
    for problem in sorted(problems, key=lambda one: one.severity != "error"):
        same = (problem.source, problem.message)
        if problem.source in ("test", "unittest", "stack") and same in seen:
            continue
        seen.add(same)
        found.append(problem)
    return found


def _problem(problem: Problem) -> str:
    return f"{problem.path}:{problem.line + 1}: {clipped(problem.message)}"
