"""JUnit XML reports: pytest's two families, and the variants of other runners."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent

from donewhen.core.evidence import COLLECTION, Problem, TestCase, TestOutcome
from donewhen.core.failure_text import clipped, failure_text
from donewhen.core.words import counted
from donewhen.evidence.places import Places, frames
from donewhen.evidence.text import strip_ansi
from donewhen.regular import read_bytes

_LARGEST = 64 * 1024 * 1024
_LONGEST_MESSAGE = 2_000
_RANK: dict[TestOutcome, int] = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}
_KINDS: dict[str, TestOutcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}


class BrokenReport(ValueError):
    """A report that can't be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """The tests of one report, and the places that its failures name. Each test has the name by which its runner knows
    it, unique in the report. `least` and `most` bound how many tests the runner may claim: pytest counts a test that
    passed and failed in its teardown once or twice, as its version has it. `miscounted` says where the report declares
    a different number from the one that it contains; `extra` is how many more, where that is all: pytest 9 counts each
    subtest that passed, and has no element for it. `runner` is the name that it gives for the runner. `broke_off` is
    what ended the runner itself: no test's failure.
    """

    tests: tuple[TestCase, ...]
    problems: tuple[Problem, ...] = ()
    least: int = 0
    most: int = 0
    miscounted: str = ""
    runner: str = ""
    extra: int = 0
    broke_off: str = ""


def read_junit(path: Path, places: Places) -> Report:
    """Reads a report; raises BrokenReport."""
    try:
        return parse_junit(read_bytes(path.name, _LARGEST, within=path.parent), places)
    except OSError as error:
        raise BrokenReport(error.strerror or str(error)) from error


def parse_junit(text: bytes, places: Places) -> Report:
    """The report that the bytes are; raises BrokenReport."""
    try:
        # The parser (expat 2.4 or later) refuses entities that grow without bound, and reads no external ones.
        root = ElementTree.fromstring(text)  # noqa: S314
    except (ElementTree.ParseError, ValueError) as error:
        raise BrokenReport(f"it is not XML: {error}") from error
    if _local(root) not in ("testsuites", "testsuite"):
        raise BrokenReport(f"its first element is <{_local(root)}>, not <testsuites>")
    return _report(root, places)


def _report(root: ElementTree.Element, places: Places) -> Report:
    tests: list[TestCase] = []
    problems: list[Problem] = []
    last: dict[str, int] = {}
    times: Counter[str] = Counter()
    broke_off = ""
    for element in _cases(root):
        if (element.get("classname"), element.get("name")) == _RUNNER_ITSELF:
            broke_off = _last_line(element)
            continue
        test, found = _case(element, places)
        problems += found
        if test.name in last and _teardown_only(element):
            # pytest opens a second element for the error in the teardown of a test that had failed.
            at = last[test.name]
            if tests[at].outcome in ("passed", "skipped"):
                tests[at] = replace(test, name=tests[at].name)
            continue
        times[test.name] += 1
        last[test.name] = len(tests)
        tests.append(replace(test, name=numbered(test.name, times[test.name])))
    least, most = _range(root)
    miscounted, extra = _miscounted(root)
    runner = next((name for one in (root, *root) if (name := one.get("name", ""))), "")
    return Report(tuple(tests), tuple(problems), least, most, miscounted, runner, extra, broke_off)


_RUNNER_ITSELF = ("pytest", "internal")
"""What pytest reports its own end as, beside the tests."""


def _last_line(element: ElementTree.Element) -> str:
    """What was raised, without the module of its class."""
    lines = [line.strip() for child in element for line in (child.text or "").splitlines() if line.strip()]
    return re.sub(r"^[\w.]+\.(?=\w+: )", "", clipped(strip_ansi(lines[-1]))) if lines else "internal error"


def numbered(name: str, time: int) -> str:
    """The name of the `time`-th test that its runner calls `name`: a case of it, in the integrity facts."""
    return name if time == 1 else f"{name}[#{time}]"


def _cases(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return (element for element in root.iter() if _local(element) == "testcase")


def _range(suite: ElementTree.Element) -> tuple[int, int]:
    """The fewest and the most tests that a runner may claim for a suite."""
    seen: set[tuple[str, str, str]] = set()
    least = most = 0
    for case in _cases(suite):
        identity = (case.get("classname", ""), case.get("name", ""), case.get("file", ""))
        results = sum(_local(child) in _KINDS for child in case)
        again = identity in seen and _teardown_only(case)
        least += not again
        most += max(results, 1) + (_teardown_only(case) and not again)
        seen.add(identity)
    return least, most


def _teardown_only(case: ElementTree.Element) -> bool:
    """pytest's error after a test that had a result of its own."""
    results = [child for child in case if _local(child) in _KINDS]
    return bool(results) and all(child.get("message", "").startswith("failed on teardown") for child in results)


def _miscounted(root: ElementTree.Element) -> tuple[str, int]:
    """Where a suite declares different numbers from those that it contains, and how many more; empty if none does."""
    counted_more = ("", 0)
    for suite in root.iter():
        if _local(suite) not in ("testsuites", "testsuite"):
            continue
        least, most = _range(suite)
        declared = _number(suite.get("tests"))
        children = Counter(_local(child) for child in suite)
        direct = (children["testcase"], children["testcase"] + children["testsuite"])  # as mocha and node count
        if declared is not None and not least <= declared <= most and declared not in direct:
            wrong = f"it declares {counted(declared, 'test')}, but contains {least}"
            if declared < least:
                return wrong, 0
            counted_more = (wrong, declared - most)
        failed = (_number(suite.get("failures")) or 0) + (_number(suite.get("errors")) or 0)
        if failed and all(_case_outcome(case)[0] in ("passed", "skipped") for case in _cases(suite)):
            return f"it declares {counted(failed, 'failed test')}, but contains none", 0
    return counted_more


def _local(element: ElementTree.Element) -> str:
    return element.tag.rsplit("}", 1)[-1]


def _case(element: ElementTree.Element, places: Places) -> tuple[TestCase, list[Problem]]:
    outcome, detail = _case_outcome(element)
    path = places.find(element.get("file", "")) or places.find(element.get("classname", ""))
    name = _case_name(element, path, places)
    test = TestCase(name, outcome, path, _number(element.get("line")))
    if detail is None:
        return test, []
    message = _failure_message(detail)
    if outcome == "skipped":
        return replace(test, message=message), []
    return _located(replace(test, message=message), strip_ansi(detail.text or ""), places)


def _case_outcome(element: ElementTree.Element) -> tuple[TestOutcome, ElementTree.Element | None]:
    # What GoogleTest and CTest call a test that did not run.
    unrun = element.get("status") in ("notrun", "disabled") or element.get("result") in ("suppressed", "skipped")
    found: tuple[TestOutcome, ElementTree.Element | None] = ("skipped" if unrun else "passed", None)
    for child in element:
        outcome = _KINDS.get(_local(child))
        if outcome is not None and _RANK[outcome] > _RANK[found[0]]:
            found = (outcome, child)
    return found


def _case_name(element: ElementTree.Element, path: str | None, places: Places) -> str:
    """The runner's own name: for pytest the node id (`tests/test_a.py::TestB::test_c`), else `class.name`.

    pytest's `file` is where a test is defined, its `classname` where it was collected: they are of two files where a
    class inherits its tests.
    """
    name, group = element.get("name", "").strip() or "unnamed test", element.get("classname", "").strip()
    file = element.get("file", "").replace("\\", "/")
    if not file.endswith(".py"):
        return f"{group}.{name}" if group and not name.startswith(group) else name
    module = file.removesuffix(".py").replace("/", ".")
    if group == module or group.startswith(f"{module}."):
        collected, inner = path or file, group[len(module) + 1 :]
    else:
        collected, inner = _collected(group, places)
    return "::".join(part for part in (collected, inner.replace(".", "::"), name) if part)


def _collected(group: str, places: Places) -> tuple[str, str]:
    """The file that pytest's `classname` begins with, and the classes after it; all of it where there is none such."""
    parts = group.split(".")
    for count in range(len(parts), 0, -1):
        found = places.find("/".join(parts[:count]) + ".py")
        if found is not None:
            return found, ".".join(parts[count:])
    return group, ""


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _failure_message(detail: ElementTree.Element) -> str:
    said, text = strip_ansi(detail.get("message") or "").strip(), strip_ansi(detail.text or "").strip()
    if said == COLLECTION and (raised := _RAISED.findall(text) or text.splitlines()[-1:]):
        said = f"{said}: {raised[-1].strip()}"
    if said.endswith(_CUT):
        said = dedent("\n".join(_SAID.findall(text))).strip() or text
    whole = said or text
    return whole if len(whole) <= _LONGEST_MESSAGE else f"{failure_text(whole)}\n{whole}"[:_LONGEST_MESSAGE]


_RAISED = re.compile(r"^E  +(\S.*)$", re.MULTILINE)
"""The lines of a traceback in which pytest says what was raised."""
_SAID = re.compile(r"^E(?: {3}(.*))?$", re.MULTILINE)
_CUT = "full report in element text]"
"""How a message ends of which pytest leaves lines out."""


def _located(test: TestCase, text: str, places: Places) -> tuple[TestCase, list[Problem]]:
    """With the line of the assertion in the test's own file, and the place in other code that raised, if any."""
    entries = frames(text, places)
    own = [entry for entry in entries if entry[0] == test.path] or ([] if test.path else entries[:1])
    if own:
        test = replace(test, path=own[-1][0], line=own[-1][1])
    if test.path is None:
        return test, []
    spots = [(test.path, test.line or 0)]
    if entries and entries[-1][0] != test.path:
        spots.append((entries[-1][0], entries[-1][1]))
    message = f"{test.name.rsplit('::', 1)[-1]}: {failure_text(test.message) or 'failed'}"
    return test, [Problem(path, line, message, source="test") for path, line in spots]
