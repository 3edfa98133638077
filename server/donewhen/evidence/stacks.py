"""Places in stack traces: of all the frames, those in the workspace's own code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from donewhen.core.evidence import Problem
from donewhen.evidence.places import Places
from donewhen.evidence.text import first_line

_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)')
_RAISED = re.compile(r"^(?P<message>(?:[A-Za-z_]\w*\.)*[A-Z_]\w*(?:: .*)?)$")
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (?P<name>\S+)(?: \(.*\))?")
_JS_FRAME = re.compile(
    r"^\s+(?:at |❯ )?(?:[^\s():].*? \(|\S+ (?=\S+:\d+:\d+$))?"
    r"(?P<path>(?:file://)?[^\s():]+):(?P<line>\d+):(?P<column>\d+)\)?,?$"
)
_JS_TEST = re.compile(r"^\s*(?:● |✖ |× |FAIL {2}|\d+\) |not ok \d+ - )(?P<name>\S.*?)(?: \(?[\d.]+ ?m?s\)?)?$")
_JS_RAISED = re.compile(
    r"^\s*(?:(?P<error>(?:[A-Z]\w*)?(?:Error|Exception)\b(?: \[\w+\])?: .+)|error: '(?P<yaml>.+)')$"
)


def find_in_stacks(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    """One problem for each trace, on its innermost frame in the workspace; two where a unit test failed elsewhere."""
    yield from _python(lines, places)
    yield from _javascript(lines, places)


def _python(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    frames: list[tuple[str, int]] = []
    test = ""
    inside = False
    for line in lines:
        if header := _UNITTEST.match(line):
            test = header["name"]
        elif line.startswith("Traceback (most recent call last)"):
            inside, frames = True, []
        elif frame := _FRAME.match(line):
            inside = True
            if (path := places.find(frame["path"])) is not None:
                frames.append((path, max(int(frame["line"]) - 1, 0)))
        elif inside and (raised := _RAISED.match(line)):
            yield from _python_problems(frames, raised["message"], test)
            inside, frames, test = False, [], ""


def _python_problems(frames: Sequence[tuple[str, int]], message: str, test: str) -> Iterator[Problem]:
    if not frames:
        return
    text = f"{test}: {first_line(message)}" if test else first_line(message)
    # The outermost frame of a unit test is the test itself.
    spots = [frames[0], frames[-1]] if test and frames[0][0] != frames[-1][0] else [frames[-1]]
    for path, line in spots:
        yield Problem(path, line, text, source="unittest" if test else "python")


def _javascript(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    test = message = ""
    waiting = False  # a message whose first frame in the workspace has not come yet
    for line in lines:
        if raised := _JS_RAISED.match(line):
            message, waiting = (raised["error"] or raised["yaml"]).strip(), True
        elif header := _JS_TEST.match(line):
            test, message, waiting = header["name"].strip(), "", True
        elif waiting and (frame := _JS_FRAME.match(line)) and (path := places.find(frame["path"])) is not None:
            text = ": ".join(part for part in (test, message) if part)
            yield Problem(path, int(frame["line"]) - 1, text, int(frame["column"]) - 1, source="stack")
            waiting = False
