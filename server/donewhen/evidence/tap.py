"""The Test Anything Protocol, versions 12 to 14."""

from __future__ import annotations

import re

from donewhen.core.evidence import TestCase, TestOutcome

_LINE = re.compile(r"^(?P<indent> *)(?P<not>not )?ok\b *(?P<number>\d+)?(?: *-)? *(?P<name>.*)$")
_PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
_DIRECTIVE = re.compile(r"\s+#\s*(skip|todo)\S*", re.IGNORECASE)


def read_tap(output: str) -> tuple[TestCase, ...] | None:
    """The tests of the outermost level; None if it is not TAP.

    A plan promises a number of tests: those that are missing count as failed. A `todo` that fails is skipped.
    """
    plan = _PLAN.search(output)
    if plan is None and not output.lstrip().startswith("TAP version"):
        return None
    tests = [_case(match) for line in output.splitlines() if (match := _LINE.match(line)) and not match["indent"]]
    promised = int(plan[1]) if plan is not None else len(tests)
    missing = min(promised - len(tests), 10_000)
    return (*tests, *(TestCase(f"test {len(tests) + n + 1}", "failed", message="it never ran") for n in range(missing)))


def _case(match: re.Match[str]) -> TestCase:
    name = match["name"]
    directive = _DIRECTIVE.search(name)
    title = (name[: directive.start()] if directive else name).strip() or f"test {match['number'] or '?'}"
    return TestCase(title, _outcome(bool(match["not"]), directive[1].lower() if directive else ""))


def _outcome(negated: bool, directive: str) -> TestOutcome:
    if directive == "skip" or (directive == "todo" and negated):
        return "skipped"
    return "failed" if negated else "passed"
