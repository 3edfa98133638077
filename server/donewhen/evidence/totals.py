"""What known test runners print at their end: how to recognise it, and the totals in it. Totals replace a missing
report, and are compared with one that exists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from donewhen.core.evidence import TestTotals
from donewhen.evidence.tap import read_tap

Counts = tuple[int, int, int]
"""Passed, failed, skipped."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the output of one runner ends. `read` extracts the totals from it; `says` is found in the output of this
    runner and of no linter or compiler, `nothing` where it says that there was no test. `instead_of` are forms that its
    output has as well: they are not counted again."""

    read: Callable[[str], Counts | None]
    says: re.Pattern[str]
    nothing: re.Pattern[str] | None = None
    instead_of: tuple[str, ...] = ()

    def counts(self, output: str) -> Counts | None:
        found = self.read(output)
        if found is None and self.nothing is not None and self.nothing.search(output):
            return 0, 0, 0
        return found


def printed_totals(output: str, forms: Sequence[str]) -> TestTotals | None:
    """The first of the forms that the output (without escape sequences) has; None if it has none."""
    for form in forms:
        counts = FORMS[form].counts(output)
        if counts is not None:
            return TestTotals(*counts, source="printed")
    return None


def recognised(output: str) -> tuple[str, ...]:
    """The forms of all the test runners whose output this is, or holds."""
    found = [
        name
        for name, form in FORMS.items()
        if form.says.search(output) or (form.nothing is not None and form.nothing.search(output))
    ]
    covered = {other for name in found for other in FORMS[name].instead_of}
    return tuple(name for name in found if name not in covered)


def all_totals(output: str, forms: Sequence[str]) -> TestTotals | None:
    """What all of the forms count together; None if one of them has no totals."""
    counts = [FORMS[form].counts(output) for form in forms]
    known = [one for one in counts if one is not None]
    total = _sum(known) if len(known) == len(counts) else None
    return TestTotals(*total, source="printed") if total is not None else None


_MAKERS = {
    "pytest": "pytest", "pytest tests": "pytest", "jest tests": "jest", "vitest tests": "vitest",
    "nextest-run": "nextest",
}  # fmt: skip
"""By the name that a report has: the form in which its maker prints its totals."""


def last_totals(output: str, maker: str) -> TestTotals | None:
    """What the runner with this name in its report printed at its very end; None if it is not known, or did not."""
    form = _MAKERS.get(maker)
    if form == "pytest":
        lines = _PYTEST.findall(output)
        return TestTotals(*_words(lines[-1], _WORDS), source="printed") if lines else None
    return printed_totals(output, (form,)) if form is not None else None


def _words(text: str, words: dict[str, int]) -> Counts:
    """Adds up `3 failed, 12 passed`: `words` maps each word to 0 passed, 1 failed or 2 skipped."""
    counts = [0, 0, 0]
    for number, word in re.findall(r"(\d+) ([A-Za-z]+)", text):
        kind = words.get(word.lower())
        if kind is not None:
            counts[kind] += int(number)
    return counts[0], counts[1], counts[2]


_WORDS = {
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


# `=== 2 failed, 3 passed in 0.12s ===`, or the same without the rules under -q.
_PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?|no tests ran)+ in [\d.]+s)\b", re.MULTILINE)


def _pytest(output: str) -> Counts | None:
    return _sum([_words(line, _WORDS) for line in _PYTEST.findall(output)])


def _last(pattern: str) -> Callable[[str], Counts | None]:
    """The last line that matches, with its numbers identified by the word after them."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(output: str) -> Counts | None:
        found = compiled.findall(output)
        return _words(found[-1], _WORDS) if found else None

    return read


def _all(pattern: str) -> Callable[[str], Counts | None]:
    """All lines that match, added up."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(output: str) -> Counts | None:
        return _sum([_words(line, _WORDS) for line in compiled.findall(output)])

    return read


def _sum(counts: Sequence[Counts]) -> Counts | None:
    if not counts:
        return None
    return sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts)


# `OK (skipped=1)`; Twisted's trial: `PASSED (skips=1, successes=2)`.
_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\n+(OK|FAILED|PASSED|NO TESTS RAN)(?: \(([^)\n]*)\))?", re.MULTILINE
)
_UNITTEST_FAILED = ("failures", "errors", "unexpected successes", "unexpectedSuccesses")
_UNITTEST_SKIPPED = ("skipped", "expected failures", "skips", "expectedFailures", "todos")


def _unittest(output: str) -> Counts | None:
    return _sum([_unittest_run(*found) for found in _UNITTEST.findall(output)])


def _unittest_run(ran: str, _: str, details: str) -> Counts:
    named = {key.strip(): int(value) for key, value in re.findall(r"([A-Za-z ]+)=(\d+)", details)}
    failed = sum(named.get(key, 0) for key in _UNITTEST_FAILED)
    skipped = sum(named.get(key, 0) for key in _UNITTEST_SKIPPED)
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
    marks = re.findall(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", output, re.MULTILINE)
    # Without -v only failures are listed: then the packages say how many ran.
    if not {"PASS", "SKIP"} & {mark for mark, _ in marks}:
        return None
    # A test that is there for its subtests executed nothing if all of those were skipped.
    parents = {name.rpartition("/")[0] for _, name in marks}
    leaves = {mark for mark, name in marks if name not in parents}
    if leaves == {"SKIP"}:
        return 0, 0, len(marks)
    kinds = [mark for mark, _ in marks]
    return kinds.count("PASS"), kinds.count("FAIL"), kinds.count("SKIP")


def _go_packages(output: str) -> Counts | None:
    passed = failed = seen = 0
    for mark, rest in re.findall(r"^(ok|FAIL|\?) *\t(\S+.*)$", output, re.MULTILINE):
        seen += 1
        if "[no tests to run]" in rest or "[no test files]" in rest:
            continue
        passed += mark == "ok"
        failed += mark == "FAIL"
    return (passed, failed, 0) if seen else None


def _labelled(passed: str, failed: str, skipped: str) -> Callable[[str], Counts | None]:
    """One number per line, identified by its label: `# pass 5`. The last of each counts."""

    def read(output: str) -> Counts | None:
        numbers = [re.findall(pattern, output, re.MULTILINE) for pattern in (passed, failed, skipped)]
        if not any(numbers):
            return None
        last = [int(found[-1]) if found else 0 for found in numbers]
        return last[0], last[1], last[2]

    return read


def _parts(pattern: str, *, last: bool = True, but: str = "") -> Callable[[str], Counts | None]:
    """Groups of the last match, or of all added up: `passed` or `total` (of which the others are taken away), and
    perhaps `failed`, `errors`, `skipped`, `left`. `but` finds tests that the total counts and were skipped."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(output: str) -> Counts | None:
        found = [match.groupdict() for match in compiled.finditer(output)]
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


def _phpunit(output: str) -> Counts | None:
    """`OK (3 tests, 5 assertions)`, or `Tests: 3, Assertions: 5, Failures: 1, Skipped: 1.`"""
    if fine := re.findall(r"^OK \((\d+) tests?, ", output, re.MULTILINE):
        return int(fine[-1]), 0, 0
    lines = re.findall(r"^Tests: \d+, Assertions: .*$", output, re.MULTILINE)
    if not lines:
        return None
    named = {key: int(value) for key, value in re.findall(r"([A-Z]\w+): (\d+)", lines[-1])}
    failed = named.get("Failures", 0) + named.get("Errors", 0)
    skipped = named.get("Skipped", 0) + named.get("Incomplete", 0)
    return max(named.get("Tests", 0) - failed - skipped, 0), failed, skipped


def _either(*readers: Callable[[str], Counts | None]) -> Callable[[str], Counts | None]:
    """All that can be read, added up."""
    return lambda output: _sum([counts for read in readers if (counts := read(output)) is not None])


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


def _form(
    read: Callable[[str], Counts | None], says: str, nothing: str | None = None, instead_of: tuple[str, ...] = ()
) -> Form:
    none = re.compile(nothing, re.MULTILINE) if nothing is not None else None
    return Form(read, re.compile(says, re.MULTILINE), none, instead_of)


FORMS: dict[str, Form] = {
    "pytest": _form(
        _pytest,
        r"^(?:=+ )?(?:\d+ (?:passed|failed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)"
        r"(?:, )?)+ in [\d.]+s\b(?: \([\d:]+\))?(?: =+)?$|^=+ test session starts =+$",
        r"^(?:=+ )?(?:(?:\d+ \w+, )*no tests ran|no tests collected(?: \(.*\))?) in [\d.]+s|^collected 0 items",
    ),
    "unittest": _form(_unittest, r"^Ran \d+ tests? in [\d.]+s$", r"^Ran 0 tests in [\d.]+s$|^NO TESTS RAN$"),
    "stestr": _form(
        _labelled(r"^ - Passed: (\d+)", r"^ - Failed: (\d+)", r"^ - Skipped: (\d+)"), r"^Ran: \d+ tests? in [\d.]+ sec"
    ),
    "doctest": _form(
        _parts(r"^\d+ tests? in \d+ items?\.\n(?P<passed>\d+) passed(?: and (?P<failed>\d+) failed)?\.$"),
        r"^\d+ tests? in \d+ items?\.$",
    ),
    "behave": _form(
        _parts(r"^(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped"),
        r"^\d+ scenarios? passed, \d+ failed",
    ),
    "cucumber": _form(_last(r"^\d+ scenarios? (\(.*\))$"), r"^\d+ scenarios? \(\d+ ", r"^0 scenarios$"),
    "robot": _form(
        _parts(r"^(?P<total>\d+) tests?, \d+ passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?$"),
        r"^\d+ tests?, \d+ passed, \d+ failed(?:, \d+ skipped)?$",
    ),
    "cargo": _form(
        _all(r"^test result: \S+ (\d+ passed; \d+ failed; \d+ ignored)"),
        r"^test result: \S+ \d+ passed; \d+ failed",
        r"^running 0 tests$",
    ),
    "nextest": _form(
        _last(r"^\s*Summary \[[^\]]*\] .*?run: (.*)$"),
        r"^\s*Summary \[[^\]]*\] .*tests? run: ",
        r"^\s*Starting 0 tests across |^(?:error|warning): no tests to run$",
    ),
    "go": _form(
        _go,
        r"^ok  \t\S+\t(?:[\d.]+s|\(cached\))|^FAIL\t\S+(?:\t[\d.]+s| \[)|^\?   \t\S+\t\[no test files\]"
        r'|^\s*--- (?:PASS|FAIL|SKIP): \S+ \([\d.]+s\)$|^\{(?=.*"Action":"(?:start|run|pass|fail|skip)").*"Package":',
        r"^testing: warning: no tests to run$|\[no test files\]$|\[no tests to run\]$",
    ),
    "gotestsum": _form(
        _parts(r"^DONE (?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?"),
        r"^DONE \d+ tests?\b.* in [\d.]+s",
        instead_of=("go",),
    ),
    "jest": _form(
        _last(r"^Tests:\s+(.*)$"),
        r"^Tests: +(?:\d+ \w+, )*\d+ total$|^Test Suites: .*\b\d+ total$",
        r"^No tests found, exiting with code \d",
    ),
    "vitest": _form(
        _last(r"^\s*Tests\s+(\d+ (?:passed|failed|skipped|todo).*)$"),
        r"^\s*Test Files +\d+ \w+|^\s*Tests +\d+ (?:passed|failed|skipped|todo)\b.*\(\d+\)$",
        r"^\s*Tests +no tests$|^\s*No test (?:suite )?files found\b",
    ),
    "mocha": _form(
        _labelled(r"^\s*(\d+) passing\b", r"^\s*(\d+) failing\b", r"^\s*(\d+) pending\b"),
        r"^\s*\d+ passing(?: \(\d+m?s?\))?$",
    ),
    "jasmine": _form(
        _parts(r"^(?P<total>\d+) specs?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending(?: specs?)?)?"),
        r"^\d+ specs?, \d+ failures?",
        r"^No specs found$",
    ),
    "ava": _form(
        _labelled(r"^\s*(\d+) tests? passed", r"^\s*(\d+) tests? failed", r"^\s*(\d+) tests? skipped"),
        r"^\s*\d+ tests? (?:passed|failed|skipped)$",
        r"^\s*✖? ?No tests found",
    ),
    "node": _form(
        _labelled(r"^(?:#|ℹ) pass (\d+)", r"^(?:#|ℹ) fail (\d+)", r"^(?:#|ℹ) skipped (\d+)"),
        r"^(?:#|ℹ) pass \d+$",
        instead_of=("tap",),
    ),
    "tap": _form(_tap, r"^TAP version 1[234]$|\A(?=(?:.*\n)*?1\.\.\d+)(?:.*\n)*?(?:not )?ok\b", r"^1\.\.0(?: +#.*)?$"),
    "bun": _form(
        _labelled(r"^\s*(\d+) pass$", r"^\s*(\d+) fail$", r"^\s*(\d+) skip$"),
        r"^Ran \d+ tests? across \d+ files?|^\s*\d+ pass\n(?:.*\n)?\s*\d+ fail$",
    ),
    "deno": _form(_last(r"^(?:ok|FAILED) \| (.*)$"), r"^(?:ok|FAILED) \| \d+ passed", r"^error: No test modules found"),
    "playwright": _form(
        _labelled(r"^\s*(\d+) passed\b", r"^\s*(\d+) failed\b", r"^\s*(\d+) skipped\b"),
        r"^Running \d+ tests? using \d+ workers?",
        r"^Error: No tests found",
    ),
    "dotnet": _form(
        _either(
            _parts(r"- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+), Skipped:\s+(?P<skipped>\d+)", last=False),
            _parts(
                r"^Total tests: (?P<total>\d+)$(?:\n\s+Passed: \d+)?(?:\n\s+Failed: (?P<failed>\d+))?"
                r"(?:\n\s+Skipped: (?P<skipped>\d+))?",
                last=False,
            ),
        ),
        r"^\w+! +- Failed: +\d+, Passed: |^Total tests: \d+$",
        r"^No test is available in|^No test matches the given testcase filter",
    ),
    "maven": _form(
        _parts(
            r"^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), "
            r"Skipped: (?P<skipped>\d+)$",
            last=False,
        ),
        r"^(?:\[\w+\] )?Tests run: \d+, Failures: \d+",
        r"^(?:\[\w+\] )?No tests to run\.$",
    ),
    "sbt": _form(
        _parts(
            r"Tests: succeeded (?P<passed>\d+), failed (?P<failed>\d+), canceled (?P<skipped>\d+), "
            r"ignored (?P<left>\d+)",
            last=False,
        ),
        r"Tests: succeeded \d+, failed \d+",
    ),
    "swift": _form(
        _either(
            _parts(
                r"^\s*Executed (?P<total>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and )?"
                r"(?P<failed>\d+) failure"
            ),
            _parts(
                r"Test run with (?P<total>\d+) tests?\b.* (?:passed|failed) after .*?(?:with (?P<failed>\d+) issues?)?"
            ),
        ),
        r"^\s*Executed \d+ tests?, with .*\d+ failures?|Test run with \d+ tests?\b.* (?:passed|failed) after ",
    ),
    "dart": _form(
        _parts(
            r"^\d\d+:\d\d \+(?P<passed>\d+)(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?: "
            r"(?:All tests (?:passed!|skipped\.)|Some tests failed\.)"
        ),
        r"^\d\d+:\d\d \+\d+(?: ~\d+)?(?: -\d+)?: (?:All tests|Some tests)",
        r"^(?:\d\d+:\d\d \+0: )?No tests ran\.$",
    ),
    "ctest": _form(
        _parts(
            r"tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)",
            but=r"^\s*\d+ - .* \((?:Skipped|Not Run)\)\s*$",
        ),
        r"^\d+% tests passed, \d+ tests? failed out of \d+",
        r"^No tests were found!!!",
    ),
    "gtest": _form(
        _labelled(
            r"^\[  PASSED  \] (\d+) tests?", r"^\[  FAILED  \] (\d+) tests?, listed", r"^\[  SKIPPED \] (\d+) tests?"
        ),
        r"^\[==========\] \d+ tests? from \d+ test (?:suites?|cases?) ran\.",
    ),
    "catch2": _form(
        _either(
            _parts(r"^All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)"),
            _parts(
                r"^(?:\[doctest\] )?test cases: +(?P<total>\d+)(?: \| +\d+ passed)?(?: \| +(?P<failed>\d+) failed)?"
                r"(?: \| +(?P<skipped>\d+) skipped)?"
            ),
        ),
        r"^All tests passed \(\d+ assertions? in|^(?:\[doctest\] )?test cases: +\d+ \|",
        r"^No tests ran$",
    ),
    "rspec": _form(
        _parts(r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"),
        r"^\d+ examples?, \d+ failures?",
    ),
    "minitest": _form(
        _parts(
            r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors, "
            r"(?P<skipped>\d+) (?:skips|pendings)(?:, (?P<left>\d+) omissions)?",
            last=False,
        ),
        r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures",
    ),
    "phpunit": _form(
        _phpunit, r"^OK \(\d+ tests?, \d+ assertion|^Tests: \d+, Assertions: \d+", r"^No tests executed!$"
    ),
    "pest": _form(_last(r"^\s*Tests:\s+(.*) \(\d+ assertions?\)$"), r"^\s*Tests:\s+\d+ .* \(\d+ assertions?\)$"),
    "mix": _form(
        # Of bats too: `3 tests, 1 failure, 1 skipped`.
        _either(
            _parts(
                r"^(?:\d+ (?:doctests?|propert(?:y|ies)), )*(?P<total>\d+) tests?, (?P<failed>\d+) failures?"
                r"(?:, (?P<skipped>\d+) (?:skipped|excluded))?(?:, (?P<left>\d+) skipped)?",
                last=False,
            ),
        ),
        r"^(?:\d+ (?:doctests?|propert(?:y|ies)), )*\d+ tests?, \d+ failures?(?:, \d+ \w+)*$",
        r"^There are no tests to run$",
        instead_of=("tap",),
    ),
    "prove": _form(_prove, r"^Files=\d+, Tests=\d+,", r"^Result: NOTESTS$", instead_of=("tap",)),
    "testthat": _form(
        _parts(r"^\[ FAIL (?P<failed>\d+) \| WARN \d+ \| SKIP (?P<skipped>\d+) \| PASS (?P<passed>\d+) \]"),
        r"^\[ FAIL \d+ \| WARN \d+ \| SKIP \d+ \| PASS \d+ \]",
    ),
}
"""By the name that `known_runners` calls a form by."""
