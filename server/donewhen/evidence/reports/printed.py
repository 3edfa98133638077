"""What test runners print: their totals, and the tests that they name. How each does it is a row in `core/ecosystems/`.

Totals stand in where there is no report, and are held against a report where there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from donewhen.core.ecosystems import FORMS
from donewhen.core.ecosystems.output import added, multiline
from donewhen.core.evidence import TestCase, TestOutcome, TestTotals
from donewhen.evidence.reports.junit import numbered


def printed_totals(output: str, forms: Sequence[str]) -> TestTotals | None:
    """The first of the forms that the output (without escape sequences) has; None where it has none."""
    for form in forms:
        counts = FORMS[form].counts(output)
        if counts is not None:
            return TestTotals(*counts, source="printed")
    return None


def says_once(output: str, form: str) -> bool:
    """True where the output ends once as that of a runner of this form."""
    return len(multiline(FORMS[form].says).findall(output)) == 1


def recognised(output: str) -> tuple[str, ...]:
    """The forms of all the test runners whose output this is, or holds."""
    found = [name for name, form in FORMS.items() if form.is_in(output)]
    covered = {other for name in found for other in FORMS[name].instead_of}
    return tuple(name for name in found if name not in covered)


def all_totals(output: str, forms: Sequence[str]) -> TestTotals | None:
    """What all of the forms count together; None where one of them has no totals."""
    counts = [FORMS[form].counts(output) for form in forms]
    known = [one for one in counts if one is not None]
    total = added(known) if len(known) == len(counts) else None
    return TestTotals(*total, source="printed") if total is not None else None


def last_totals(output: str, maker: str) -> TestTotals | None:
    """What the runner with this name in its report printed at its very end; None where it is not known, or did not."""
    form = next((one for one in FORMS.values() if maker in one.makers), None)
    counts = None if form is None else form.last(output) if form.last is not None else form.counts(output)
    return TestTotals(*counts, source="printed") if counts is not None else None


_OUTCOMES: dict[str, TestOutcome] = {
    "ok": "passed", "pass": "passed",
    "fail": "failed", "failed": "failed", "never ran": "failed", "unexpected success": "failed", "error": "error",
    "ignored": "skipped", "skip": "skipped", "skipped": "skipped", "todo": "skipped", "expected failure": "skipped",
}  # fmt: skip
"""By the word for it."""


def printed_tests(output: str, forms: Sequence[str], totals: TestTotals | None) -> tuple[TestCase, ...]:
    """All tests, where the output names them all: as many as the totals say. Otherwise none."""
    for form in forms if totals is not None else ():
        tests = _tests_in_form(output, form)
        outcomes = [test.outcome for test in tests]
        failed = outcomes.count("failed") + outcomes.count("error")
        if totals and tests and (outcomes.count("passed"), failed) == (totals.passed, totals.failed):
            # Tests of several binaries or packages may have equal names: they stay as many tests.
            times: Counter[str] = Counter()
            found: list[TestCase] = []
            for test in tests:
                times[test.name] += 1
                found.append(replace(test, name=numbered(test.name, times[test.name])))
            return tuple(found)
    return ()


def printed_failures(output: str, forms: Sequence[str]) -> tuple[TestCase, ...]:
    """The failed tests that the output names: for the reason only, since it may not name all."""
    names = [name for form in forms if (said := FORMS[form].failed) for name in multiline(said).findall(output)]
    read = [test.name for form in forms for test in _tests_in_form(output, form) if test.failed]
    return tuple(TestCase(name, "failed") for name in dict.fromkeys([*names, *read]))


def _tests_in_form(output: str, form: str) -> tuple[TestCase, ...]:
    read = FORMS[form].tests
    return tuple(
        TestCase(name, _OUTCOMES[word], message="it never ran" if word == "never ran" else "")
        for name, word in (read(output) if read is not None else ())
    )
