"""The tests that runners name in their output, for runs without a report."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from donewhen.core.evidence import TestCase, TestOutcome, TestTotals
from donewhen.evidence.junit import numbered
from donewhen.evidence.tap import read_tap

_OUTCOMES: dict[str, TestOutcome] = {
    "ok": "passed",
    "pass": "passed",
    "fail": "failed",
    "failed": "failed",
    "error": "error",
    "ignored": "skipped",
    "skip": "skipped",
    "skipped": "skipped",
    "expected failure": "skipped",
    "unexpected success": "failed",
}
_FAILED_NAMES: dict[str, re.Pattern[str]] = {
    "unittest": re.compile(r"^(?:FAIL|ERROR): (\S+(?: \([\w.]+\))?)", re.MULTILINE),
    "jest": re.compile(r"^\s*● (.+)$", re.MULTILINE),
}


def printed_tests(output: str, forms: Sequence[str], totals: TestTotals | None) -> tuple[TestCase, ...]:
    """All tests, if the output names as many as the totals say; otherwise none."""
    for form in forms if totals is not None else ():
        tests = tuple(_READERS[form](output)) if form in _READERS else ()
        outcomes = [test.outcome for test in tests]
        failed = outcomes.count("failed") + outcomes.count("error")
        if totals and tests and (outcomes.count("passed"), failed) == (totals.passed, totals.failed):
            return _told_apart(tests)
    return ()


def _told_apart(tests: Sequence[TestCase]) -> tuple[TestCase, ...]:
    """Tests of several binaries or packages may have equal names: they stay as many tests."""
    times: Counter[str] = Counter()
    found: list[TestCase] = []
    for test in tests:
        times[test.name] += 1
        found.append(replace(test, name=numbered(test.name, times[test.name])))
    return tuple(found)


def printed_failures(output: str, forms: Sequence[str]) -> tuple[TestCase, ...]:
    """The failed tests that the output names: for the reason only, since it may not name all."""
    named = [name for form in forms if form in _FAILED_NAMES for name in _FAILED_NAMES[form].findall(output)]
    read = [test.name for form in forms if form in _READERS for test in _READERS[form](output) if _failed(test)]
    return tuple(TestCase(name, "failed") for name in dict.fromkeys([*named, *read]))


def _failed(test: TestCase) -> bool:
    return test.outcome in ("failed", "error")


def _lines(pattern: str) -> Callable[[str], Iterator[TestCase]]:
    """A test for each line that matches, with the groups `name` and `word`."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(output: str) -> Iterator[TestCase]:
        for match in compiled.finditer(output):
            yield TestCase(match["name"], _OUTCOMES[match["word"].lower()])

    return read


def _go(output: str) -> Iterator[TestCase]:
    found = list(_go_events(output))
    return iter(found) if found else _lines(r"^\s*--- (?P<word>PASS|FAIL|SKIP): (?P<name>\S+)")(output)


def _go_events(output: str) -> Iterator[TestCase]:
    for line in output.splitlines():
        if line.startswith('{"') and '"Test"' in line and (event := _json(line)):
            outcome = _OUTCOMES.get(str(event.get("Action")))
            if outcome is not None:
                yield TestCase(f"{event.get('Package', '')}.{event['Test']}".lstrip("."), outcome)


def _json(line: str) -> dict[str, object]:
    try:
        return dict(json.loads(line))
    except (TypeError, ValueError):
        return {}


def _tap(output: str) -> Iterator[TestCase]:
    return iter(read_tap(output) or ())


_READERS: dict[str, Callable[[str], Iterator[TestCase]]] = {
    "cargo": _lines(r"^test (?P<name>\S+)(?: - should panic)? \.\.\. (?P<word>ok|FAILED|ignored)\b"),
    # Its `-v`: the name, the class in parentheses, perhaps a line of documentation.
    "unittest": _lines(
        r"^(?P<name>\w+ \([\w.]+\))(?:\n[^\n]+)?? \.\.\. "
        r"(?P<word>ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b"
    ),
    "go": _go,
    "tap": _tap,
}
