"""The totals that known runners print, for where there is no report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from donewhen.core.evidence import TestTotals
from donewhen.evidence.tap import read_tap

Counts = tuple[int, int, int]
"""Passed, failed, skipped."""


def printed_totals(output: str, forms: Sequence[str]) -> TestTotals | None:
    """The first of the forms that the output (without escape sequences) has; None where it has none."""
    for form in forms:
        counts = _FORMS[form](output)
        if counts is not None:
            return TestTotals(*counts, source="printed")
    return None


def _words(text: str, words: dict[str, int]) -> Counts:
    """Adds up `3 failed, 12 passed`: `words` maps each word to 0 passed, 1 failed or 2 skipped."""
    counts = [0, 0, 0]
    for number, word in re.findall(r"(\d+) ([A-Za-z]+)", text):
        kind = words.get(word.lower())
        if kind is not None:
            counts[kind] += int(number)
    return counts[0], counts[1], counts[2]


_PYTEST_WORDS = {
    "passed": 0,
    "xpassed": 0,
    "failed": 1,
    "error": 1,
    "errors": 1,
    "skipped": 2,
    "xfailed": 2,
    "todo": 2,
    "pending": 2,
    "passing": 0,
    "failing": 1,
    "pass": 0,
    "fail": 1,
    "ignored": 2,
}


def _last(pattern: str) -> Callable[[str], Counts | None]:
    """The last line that matches, its numbers told by the word after them."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(output: str) -> Counts | None:
        found = compiled.findall(output)
        return _words(found[-1], _PYTEST_WORDS) if found else None

    return read


def _all(pattern: str) -> Callable[[str], Counts | None]:
    """All lines that match, added up."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(output: str) -> Counts | None:
        return _sum([_words(line, _PYTEST_WORDS) for line in compiled.findall(output)])

    return read


def _sum(counts: Sequence[Counts]) -> Counts | None:
    if not counts:
        return None
    return sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts)


_UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\n+(OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?", re.MULTILINE)


def _unittest(output: str) -> Counts | None:
    return _sum([_unittest_run(*found) for found in _UNITTEST.findall(output)])


def _unittest_run(ran: str, _: str, details: str) -> Counts:
    named = {key: int(value) for key, value in re.findall(r"([a-z ]+)=(\d+)", details)}
    numbers = {key.strip(): value for key, value in named.items()}
    failed = numbers.get("failures", 0) + numbers.get("errors", 0) + numbers.get("unexpected successes", 0)
    skipped = numbers.get("skipped", 0) + numbers.get("expected failures", 0)
    return max(int(ran) - failed - skipped, 0), failed, skipped


def _go(output: str) -> Counts | None:
    """`-json` and `-v` count tests; otherwise each package that ran at least one counts as one."""
    return _go_json(output) or _go_verbose(output) or _go_packages(output)


def _go_json(output: str) -> Counts | None:
    counts = {"pass": 0, "fail": 0, "skip": 0}
    seen = False
    for line in output.splitlines():
        if not line.startswith('{"') or '"Action"' not in line:
            continue
        try:
            event = json.loads(line)
        except ValueError:
            continue
        seen = True
        if event.get("Test") and event.get("Action") in counts:
            counts[event["Action"]] += 1
    return (counts["pass"], counts["fail"], counts["skip"]) if seen else None


def _go_verbose(output: str) -> Counts | None:
    marks = re.findall(r"^\s*--- (PASS|FAIL|SKIP): ", output, re.MULTILINE)
    # Without -v only failures are listed: then the packages say how many ran.
    if "PASS" not in marks and "SKIP" not in marks:
        return None
    return marks.count("PASS"), marks.count("FAIL"), marks.count("SKIP")


def _go_packages(output: str) -> Counts | None:
    passed = failed = seen = 0
    for mark, rest in re.findall(r"^(ok|FAIL|\?)[ \t]+(\S+.*)$", output, re.MULTILINE):
        seen += 1
        if "[no tests to run]" in rest or "[no test files]" in rest:
            continue
        passed += mark == "ok"
        failed += mark == "FAIL"
    return (passed, failed, 0) if seen else None


def _labelled(passed: str, failed: str, skipped: str) -> Callable[[str], Counts | None]:
    """One number per line, told by its label: `# pass 5`. The last of each counts."""

    def read(output: str) -> Counts | None:
        numbers = [re.findall(pattern, output, re.MULTILINE) for pattern in (passed, failed, skipped)]
        if not numbers[0] and not numbers[1]:
            return None
        last = [int(found[-1]) if found else 0 for found in numbers]
        return last[0], last[1], last[2]

    return read


def _fraction(pattern: str) -> Callable[[str], Counts | None]:
    """Groups `total`, `failed` and perhaps `skipped` of the last match."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(output: str) -> Counts | None:
        found = list(compiled.finditer(output))
        if not found:
            return None
        groups = found[-1].groupdict()
        failed, skipped = int(groups["failed"] or 0), int(groups.get("skipped") or 0)
        return max(int(groups["total"]) - failed - skipped, 0), failed, skipped

    return read


def _prove(output: str) -> Counts | None:
    found = re.findall(r"^Files=\d+, Tests=(\d+),", output, re.MULTILINE)
    if not found:
        return None
    failed = sum(int(n) for n in re.findall(r"Failed (\d+)/\d+ subtests", output))
    return max(int(found[-1]) - failed, 0), failed, 0


def _tap(output: str) -> Counts | None:
    tests = read_tap(output)
    if tests is None:
        return None
    outcomes = [test.outcome for test in tests]
    return outcomes.count("passed"), outcomes.count("failed"), outcomes.count("skipped")


_FORMS: dict[str, Callable[[str], Counts | None]] = {
    # `=== 2 failed, 3 passed in 0.12s ===`, or the same without the rules under -q.
    "pytest": _all(r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?|no tests ran)+ in [\d.]+s)\b"),
    "unittest": _unittest,
    "stestr": _labelled(r"^ - Passed: (\d+)", r"^ - Failed: (\d+)", r"^ - Skipped: (\d+)"),
    "cargo": _all(r"^test result: \S+ (\d+ passed; \d+ failed; \d+ ignored)"),
    "nextest": _last(r"^\s*Summary \[[^\]]*\] .*?run: (.*)$"),
    "go": _go,
    "gotestsum": _fraction(
        r"^DONE (?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?"
    ),
    "jest": _last(r"^Tests:\s+(.*)$"),
    "vitest": _last(r"^\s*Tests\s+(\d+ (?:passed|failed|skipped|todo).*)$"),
    "mocha": _labelled(r"^\s*(\d+) passing\b", r"^\s*(\d+) failing\b", r"^\s*(\d+) pending\b"),
    "ava": _labelled(r"^\s*(\d+) tests? passed", r"^\s*(\d+) tests? failed", r"^\s*(\d+) tests? skipped"),
    "node": _labelled(r"^(?:#|ℹ) pass (\d+)", r"^(?:#|ℹ) fail (\d+)", r"^(?:#|ℹ) skipped (\d+)"),
    "tap": _tap,
    "bun": _labelled(r"^\s*(\d+) pass$", r"^\s*(\d+) fail$", r"^\s*(\d+) skip$"),
    "deno": _last(r"^(?:ok|FAILED) \| (.*)$"),
    "playwright": _labelled(r"^\s*(\d+) passed\b", r"^\s*(\d+) failed\b", r"^\s*(\d+) skipped\b"),
    "dotnet": _labelled(r"Passed:\s+(\d+)", r"Failed:\s+(\d+)", r"Skipped:\s+(\d+)"),
    "ctest": _fraction(r"tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)"),
    "rspec": _fraction(r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"),
    "phpunit": _fraction(r"^(?:OK \(|Tests: )(?P<total>\d+)(?: tests?)?.*?(?:Failures: (?P<failed>\d+).*)?$"),
    "mix": _fraction(r"^(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) (?:skipped|excluded))?"),
    "bats": _fraction(r"^(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) skipped)?"),
    "prove": _prove,
}
