"""Places in stack traces: only the frames in the workspace's own code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from donewhen.core.evidence import Problem
from donewhen.ecosystems import TOOLS
from donewhen.evidence.places import Places
from donewhen.evidence.text import first_line

_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)')
_RAISED = re.compile(r"^(?P<message>(?:[A-Za-z_]\w*\.)*[A-Z_]\w*(?:: .*)?)$")
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (?P<name>\S+)(?: \(.*\))?")
_JS_FRAME = re.compile(
    r"^\s+(?:at |❯ )?(?:[^\s():].*? \(|\S+ (?=\S+:\d+:\d+$))?"
    r"(?P<path>(?:file://)?[^\s():]+):(?P<line>\d+):(?P<column>\d+)\)?,?$"
)
_TRACES = tuple(trace for tool in TOOLS for trace in tool.traces)
_JS_TITLES = tuple((re.compile(trace.title), trace.next_line) for trace in _TRACES if trace.title)
_JS_RAISED = (
    re.compile(r"^\s*(?P<message>(?:[A-Z]\w*)?(?:Error|Exception)\b(?: \[\w+\])?: .+)$"),
    *(re.compile(trace.raised) for trace in _TRACES if trace.raised),
)

# mocha breaks a title into lines: `1) sums`, then `adds:`, each further in.
_MOCHA_TITLE = re.compile(r"^\s+\d+\) .*[^:]$")
# `tests/test_a.py:12: AssertionError` of pytest, `panicked at src/lib.rs:10:9` of Rust.
_ENTRY = re.compile(r"^(?:.*panicked at )?(?P<path>[^\s:\"][^:\"]*|[A-Za-z]:[^:\"]+):(?P<line>\d+):")

_LONGEST_TITLE = 500

Place = tuple[str, int]
"""A file of the workspace and a line in it, from 0."""


def frames(text: str, places: Places) -> list[Place]:
    """The places in the workspace that a failure's text names, the innermost last."""
    outermost_first: list[Place] = []
    innermost_first: list[Place] = []
    for line in text.splitlines():
        javascript = _JS_FRAME.match(line)
        match = javascript or _FRAME.match(line) or _ENTRY.match(line)
        if match is not None and (path := places.find(match["path"])) is not None:
            found = innermost_first if javascript else outermost_first
            found.append((path, max(int(match["line"]) - 1, 0)))
    return [*outermost_first, *reversed(innermost_first)]


def find_in_stacks(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    """One problem for each trace, on its innermost frame in the workspace; two where a unit test failed elsewhere."""
    yield from _python(lines, places)
    yield from _javascript(lines, places)


def _python(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    seen: list[Place] = []
    test = ""
    inside = False
    for line in lines:
        if header := _UNITTEST.match(line):
            test = header["name"]
        elif line.startswith("Traceback (most recent call last)"):
            inside, seen = True, []
        elif frame := _FRAME.match(line):
            inside = True
            if (path := places.find(frame["path"])) is not None:
                seen.append((path, max(int(frame["line"]) - 1, 0)))
        elif inside and (raised := _RAISED.match(line)):
            yield from _python_problems(seen, raised["message"], test)
            inside, seen, test = False, [], ""


def _python_problems(seen: Sequence[Place], message: str, test: str) -> Iterator[Problem]:
    if not seen:
        return
    text = f"{test}: {first_line(message)}" if test else first_line(message)
    # The outermost frame of a unit test is the test itself.
    spots = [seen[0], seen[-1]] if test and seen[0][0] != seen[-1][0] else [seen[-1]]
    for path, line in spots:
        yield Problem(path, line, text, source="unittest" if test else "python")


def _javascript(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    test = message = ""
    plain = False
    waiting = False  # a message whose first frame in the workspace has not come yet
    for line in _whole_titles(lines):
        if raised := next((match for one in _JS_RAISED if (match := one.match(line))), None):
            message, waiting = raised["message"].strip(), True
        elif header := next(((match, next_line) for one, next_line in _JS_TITLES if (match := one.match(line))), None):
            test, message, waiting = header[0]["name"].strip().removesuffix(":"), "", True
            plain = header[1]
        elif waiting and (frame := _JS_FRAME.match(line)) and (path := places.find(frame["path"])) is not None:
            text = ": ".join(part for part in (test, message) if part)
            yield Problem(path, int(frame["line"]) - 1, text, int(frame["column"]) - 1, source="stack")
            waiting = False
        elif plain and not message:
            message = line.strip()


def _whole_titles(lines: Sequence[str]) -> Iterator[str]:
    """The lines, but each title of mocha's on one."""
    title = ""
    for line in lines:
        if title:
            title = f"{title} {line.strip()}"
        elif _MOCHA_TITLE.match(line):
            title = line
        if not title:
            yield line
        elif title.endswith(":") or len(title) > _LONGEST_TITLE or not line.strip():
            yield title
            title = ""
