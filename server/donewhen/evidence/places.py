"""The places and problems that programs print: which file of the workspace a path means, the frames of a stack that are
the workspace's own, and messages with a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from donewhen.core.evidence import Problem, Severity
from donewhen.ecosystems import TOOLS, Matcher
from donewhen.ecosystems.table import Reach
from donewhen.evidence.text import first_line
from donewhen.regular import read_text


class Places:
    """Resolves paths as programs print them: absolute, `file:` URIs, or relative to the root or a folder in it.

    `folders` are further folders, relative to the root, that a command changes into.
    """

    def __init__(self, root: Path, folders: Sequence[str] = ()) -> None:
        self._root = root.resolve()
        self._folders = tuple(folders)
        self._bases = [self._root, *(self._root / folder for folder in folders)]
        self._known: dict[str, str | None] = {}

    @property
    def root(self) -> Path:
        return self._root

    def within(self, folders: Sequence[str]) -> Places:
        """The same, with more folders to look in."""
        return Places(self._root, (*self._folders, *folders)) if folders else self

    def find(self, printed: str) -> str | None:
        """The path relative to the root (posix) of an existing file inside it; else None."""
        if printed not in self._known:
            self._known[printed] = self._find(printed)
        return self._known[printed]

    def _find(self, printed: str) -> str | None:
        text = printed.strip().strip("'\"")
        if text.startswith("file:"):
            text = _path_of_uri(text)
        if not text or "\n" in text or len(text) > 1000:
            return None
        for base in self._bases:
            found = self._inside(base / text.replace("\\", "/"))
            if found is not None:
                return found
        return None

    def _inside(self, path: Path) -> str | None:
        try:
            whole = path.resolve()
            return whole.relative_to(self._root).as_posix() if whole.is_file() else None
        except (OSError, ValueError, RuntimeError):  # the last: links in a circle, before Python 3.13
            return None


def _path_of_uri(uri: str) -> str:
    try:
        return unquote(urlparse(uri).path)
    except ValueError:
        return ""


# Places in stack traces: only the frames in the workspace's own code.


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


# The problems, and their places, that programs name in their output, by the matchers of `ecosystems/`.


_MOST = 200
_LONGEST_LINE = 2_000


_ORDER: tuple[Reach, ...] = ("own", "shared", "loose")
_MATCHERS = tuple(
    (matcher, tuple(map(re.compile, matcher.lines)))
    for matcher in sorted((one for tool in TOOLS for one in tool.problems), key=lambda one: _ORDER.index(one.reach))
)

_SEVERITY: dict[str, Severity] = {
    "warning": "warning",
    "note": "information",
    "info": "information",
    "information": "information",
    "hint": "information",
    "remark": "information",
}


def find_problems(output: str, places: Places) -> tuple[Problem, ...]:
    """The places in existing files of the workspace that the output (without escape sequences) names.

    At most 200, each once, errors first and otherwise in the order of the output.
    """
    places = places.within(_go_packages(output, places.root))
    lines = [line[:_LONGEST_LINE].rstrip() for line in output.split("\n")]
    found = dict.fromkeys([*find_in_stacks(lines, places), *_matched(lines, places)])
    return tuple(sorted(found, key=lambda problem: problem.severity != "error")[:_MOST])


def _matched(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    index = 0
    while index < len(lines):
        taken, problems = _at(lines, index, places)
        yield from problems
        index += taken


def _at(lines: Sequence[str], index: int, places: Places) -> tuple[int, list[Problem]]:
    """How many lines the first matcher that fits here takes, at least 1, and what it found."""
    for matcher, patterns in _MATCHERS:
        groups: dict[str, str] = {}
        if not _fits(patterns, lines, index, groups):
            continue
        taken = len(patterns)
        problems = [_problem(matcher, groups, places)]
        while matcher.loops and _fits(patterns[-1:], lines, index + taken, groups):
            problems.append(_problem(matcher, groups, places))
            taken += 1
        found = [problem for problem in problems if problem is not None]
        if found:
            return taken, found
    return 1, []


def _fits(patterns: Sequence[re.Pattern[str]], lines: Sequence[str], index: int, groups: dict[str, str]) -> bool:
    for offset, pattern in enumerate(patterns):
        match = pattern.match(lines[index + offset]) if index + offset < len(lines) else None
        if match is None:
            return False
        groups |= {name: value or "" for name, value in match.groupdict().items()}
    return True


def _problem(matcher: Matcher, groups: dict[str, str], places: Places) -> Problem | None:
    path = places.find(groups["path"])
    if path is None:
        return None
    code, name = groups.get("code"), groups.get("name")
    message = groups["message"].strip()
    return Problem(
        path=path,
        line=max(int(groups["line"]) - 1, 0),
        column=max(int(groups.get("column") or 1) - 1, 0),
        message=f"{name}: {message}" if name else f"{message} ({code})" if code else message,
        severity=_SEVERITY.get(groups.get("severity", "").lower(), "error"),
        source=matcher.source,
    )


_GO_RESULT = re.compile(r"^(?:FAIL|ok|\?)[ \t]+(?P<package>[\w.~/-]+)(?:\s|$)", re.MULTILINE)


def _go_packages(output: str, root: Path) -> list[str]:
    """The folders of the Go packages that are named: go test prints files without their folder."""
    try:
        module = re.search(r"^module\s+(\S+)", read_text(root / "go.mod"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return []
    if module is None:
        return []
    names = {match["package"] for match in _GO_RESULT.finditer(output)}
    return sorted(name.removeprefix(module[1]).lstrip("/") for name in names if name.startswith(module[1]))
