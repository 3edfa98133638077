"""JUnit XML reports: pytest's two families, and what other runners make of the format."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.core.evidence import Problem, TestCase, TestOutcome
from donewhen.evidence.places import Places
from donewhen.evidence.stacks import frames
from donewhen.evidence.text import first_line, strip_ansi

_LARGEST = 64 * 1024 * 1024
_LONGEST_MESSAGE = 2_000
_RANK: dict[TestOutcome, int] = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}


class BrokenReport(ValueError):
    """A report that can't be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """The tests of one report, and the places that its failures name."""

    tests: tuple[TestCase, ...]
    problems: tuple[Problem, ...] = ()


def read_junit(path: Path, places: Places) -> Report:
    """Reads a report; raises BrokenReport."""
    try:
        if path.stat().st_size > _LARGEST:
            raise BrokenReport(f"it is larger than {_LARGEST >> 20} MiB")
        return parse_junit(path.read_bytes(), places)
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
    tests: dict[object, TestCase] = {}
    problems: list[Problem] = []
    for number, element in enumerate(_cases(root)):
        test, found = _case(element, places)
        problems += found
        # pytest lists a test again for an error in its teardown; other runners may have equal names for two tests.
        key: object = test.name if "::" in test.name else number
        known = tests.get(key)
        if known is None or _RANK[test.outcome] > _RANK[known.outcome]:
            tests[key] = test
    return Report(tuple(tests.values()), tuple(problems))


def _cases(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return (element for element in root.iter() if _local(element) == "testcase")


def _local(element: ElementTree.Element) -> str:
    return element.tag.rsplit("}", 1)[-1]


def _case(element: ElementTree.Element, places: Places) -> tuple[TestCase, list[Problem]]:
    outcome, detail = _outcome(element)
    path = places.find(element.get("file", "")) or places.find(element.get("classname", ""))
    name = _name(element, path)
    test = TestCase(name, outcome, path, _number(element.get("line")))
    if detail is None:
        return test, []
    message = _message(detail)
    if outcome == "skipped":
        return replace(test, message=message), []
    return _located(replace(test, message=message), strip_ansi(detail.text or ""), places)


def _outcome(element: ElementTree.Element) -> tuple[TestOutcome, ElementTree.Element | None]:
    found: tuple[TestOutcome, ElementTree.Element | None] = ("passed", None)
    kinds: dict[str, TestOutcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}
    for child in element:
        outcome = kinds.get(_local(child))
        if outcome is not None and _RANK[outcome] > _RANK[found[0]]:
            found = (outcome, child)
    return found


def _name(element: ElementTree.Element, path: str | None) -> str:
    """pytest's own name of a test (`tests/test_a.py::TestB::test_c`) where it can be told; else `class.name`."""
    name, group = element.get("name", "").strip() or "unnamed test", element.get("classname", "").strip()
    file = element.get("file", "").replace("\\", "/")
    if file.endswith(".py"):
        module = file.removesuffix(".py").replace("/", ".")
        inner = group.removeprefix(module).strip(".").replace(".", "::") if group.startswith(module) else ""
        return "::".join(part for part in (path or file, inner, name) if part)
    return f"{group}.{name}" if group and not name.startswith(group) else name


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _message(detail: ElementTree.Element) -> str:
    text = strip_ansi(detail.get("message") or detail.text or "").strip()
    return text[:_LONGEST_MESSAGE]


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
    message = f"{test.name.rsplit('::', 1)[-1]}: {first_line(test.message) or 'failed'}"
    return test, [Problem(path, line, message, source="test") for path, line in spots]
