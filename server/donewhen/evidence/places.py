"""The places and problems that programs print: which file of the workspace a path means, the frames of a stack that are
the workspace's own, and messages with a line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from urllib.parse import unquote, urlparse

from donewhen.core.ecosystems import ECOSYSTEMS, TOOLS, Matcher
from donewhen.core.ecosystems.table import Reach
from donewhen.core.evidence import Problem, Severity
from donewhen.core.failure_text import expected_and_got, failure_text
from donewhen.core.globs import any_matches
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
            try:
                text = unquote(urlparse(text).path)
            except ValueError:
                return None
        if not text or "\n" in text or len(text) > 1000:
            return None
        for base in self._bases:
            # RuntimeError: links in a circle, before Python 3.13.
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                whole = (base / text.replace("\\", "/")).resolve()
                if whole.is_file():
                    return whole.relative_to(self._root).as_posix()
        return None


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
    return _own([*outermost_first, *reversed(innermost_first)])


_INSTALLED = tuple(glob for ecosystem in ECOSYSTEMS for glob in ecosystem.vendored)


@cache
def is_installed(path: str) -> bool:
    """True for a file of a package that was installed, or is kept, in the workspace: nobody mends it there."""
    return any_matches(_INSTALLED, path)


def _own(found: list[Place]) -> list[Place]:
    """Without those in installed packages, where there are others."""
    return [place for place in found if not is_installed(place[0])] or found


def find_in_stacks(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    """One problem for each trace, on its innermost frame in the workspace; two where a unit test failed elsewhere."""
    yield from _python(lines, places)
    # Python's own `doctest`: a place, the example that failed, what was expected and what it gave.
    for index, line in enumerate(lines[:-1]):
        if lines[index + 1] == "Failed example:" and (frame := _FRAME.match(line)) is not None:
            rest = takewhile(lambda line: not line.startswith("***"), lines[index + 1 : index + 1 + _LONGEST_MESSAGE])
            if (path := places.find(frame["path"])) is not None:
                yield Problem(path, max(int(frame["line"]) - 1, 0), failure_text("\n".join(rest)), source="doctest")
    yield from _go_panics(lines, places)
    outside: list[str] = []
    yield from _tap(lines, places, outside)
    yield from _javascript(outside, places)


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
            message = first_line(raised["message"])
            spots = _own(seen)
            # The outermost frame of a unit test is the test itself.
            ends = spots[:1] + spots[-1:] if test and spots and spots[0][0] != spots[-1][0] else spots[-1:]
            for path, number in ends:
                text, source = (f"{test}: {message}", "unittest") if test else (message, "python")
                yield Problem(path, number, text, source=source)
            inside, seen, test = False, [], ""


_GO_TEST = re.compile(r"^\s*--- FAIL: (?P<name>\S+)")
_GO_PANIC = re.compile(r"^(?P<message>(?:panic|fatal error): .+?)(?: \[recovered\b.*)?$")
_GO_FRAME = re.compile(r"^\t(?P<path>\S.*\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$")


def _go_panics(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    """What a goroutine died of, at its innermost frame in the workspace."""
    message, before = "", ""
    for line in lines:
        if (panic := _GO_PANIC.match(line)) is not None:
            failed = _GO_TEST.match(before)  # of the test whose goroutine it was
            message = f"{failed['name']}: {panic['message']}" if failed is not None else panic["message"]
        elif message and (frame := _GO_FRAME.match(line)):
            path = places.find(frame["path"])
            if path is not None and not is_installed(path):
                yield Problem(path, max(int(frame["line"]) - 1, 0), message, source="go")
                message = ""
        before = line


_LONGEST_MESSAGE = 200
"""Lines."""
_TAP_GROUP = re.compile(r"^# (?!Subtest: |(?:tests|suites|pass|fail|ok)\b)(?P<name>\S.*)$")
_TAP_FAILURE = re.compile(r"^\s*not ok\b *\d*(?: *-)? *(?P<name>.*?)(?: \{)?$")
_TAP_FIELD = re.compile(r"^ *(?P<key>\w+):(?: +(?P<value>.*))?$")
_TAP_PLACE = re.compile(r"(?P<path>(?:file://)?[^\s():'\"]+):(?P<line>\d+):(?P<column>\d+)")
_TAP_AT = (("fileName", "file"), ("lineNumber", "line"), ("columnNumber", "column"))
"""The keys below `at:`, and what earlier versions of node-tap call them."""
_TAP_DIFF = re.compile(r"^-(?!-- )(?P<expected>.*)\n\+(?P<actual>.*)$", re.MULTILINE)


def _tap(lines: Sequence[str], places: Places, outside: list[str]) -> Iterator[Problem]:
    """The failed tests of the Test Anything Protocol that say more in a block of YAML. Other lines go to `outside`."""
    rest = iter(lines)
    group = title = raised = ""
    for line in rest:
        if line.strip() == "---" and title:
            fields = _tap_fields(takewhile(lambda line: line.strip() != "...", rest))
            if fields.get("exitCode") and places.find(title):  # the file's own process failed, and said why before
                group, title, fields["error"] = "", raised, "" if raised else fields.get("error", "")
            yield from _tap_problem(group, title, fields, places)
            title = raised = ""
            continue
        group = found["name"] if (found := _TAP_GROUP.match(line)) else group
        raised = said["message"] if (said := _JS_RAISED[0].match(group)) else raised
        title = found["name"] if (found := _TAP_FAILURE.match(line)) else ""
        outside.append(line)


def _tap_fields(block: Iterable[str]) -> dict[str, str]:
    """Each key of the block with its text. It is YAML only nearly: values are not always quoted that should be."""
    fields: dict[str, list[str]] = {}
    key, indent = "", None
    for line in block:
        inner = len(line) - len(line.lstrip())
        indent = inner if indent is None else indent
        if inner <= indent and (match := _TAP_FIELD.match(line)) is not None:
            key, value = match["key"], (match["value"] or "").strip()
            fields[key] = [] if value in ("", "|", "|-", ">", ">-") else [value.strip("'")]
        elif key:
            fields[key].append(line.strip())
    return {key: "\n".join(said) for key, said in fields.items()}


def _tap_problem(group: str, title: str, fields: Mapping[str, str], places: Places) -> Iterator[Problem]:
    if fields.get("failureType") == "subtestsFailed":
        return
    at = _tap_fields(fields.get("at", "").splitlines())
    nested = ":".join(at.get(key) or at.get(older) or "1" for key, older in _TAP_AT) if at else ""
    where = (nested, *(fields.get(key, "") for key in ("at", "stack", "location")))
    spots = [spot for text in where for match in _TAP_PLACE.finditer(text) for spot in _js_spot(match, places)]
    expected, actual = fields.get("expected", fields.get("wanted")), fields.get("actual", fields.get("found"))
    if expected is None and (changed := _TAP_DIFF.search(fields.get("diff", ""))) is not None:
        expected, actual = changed["expected"], changed["actual"]
    said = fields.get("error") or fields.get("message") or ""
    if expected is not None and actual is not None:
        said = expected_and_got(" ".join(expected.split()), " ".join(actual.split()))
    yield from _js_problem(": ".join(filter(None, (group, title))), [said], spots)


def _javascript(lines: Sequence[str], places: Places) -> Iterator[Problem]:
    test = ""
    said: list[str] = []
    spots: list[_Spot] = []
    plain = False
    for line in _whole_titles(lines):
        raised = next((match["message"] for one in _JS_RAISED if (match := one.match(line))), None)
        header = next(((match["name"], next_line) for one, next_line in _JS_TITLES if (match := one.match(line))), None)
        if raised is None and header is None:
            if (frame := _JS_FRAME.match(line)) is not None:
                spots += _js_spot(frame, places)
            elif not spots and (plain or said) and len(said) < _LONGEST_MESSAGE:
                said.append(line)
            continue
        yield from _js_problem(test, said, spots)
        if raised is not None:
            said = [raised.strip()]
        elif header is not None:
            test, plain, said = header[0].strip().removesuffix(":"), header[1], []
        spots = []
    yield from _js_problem(test, said, spots)


_Spot = tuple[str, int, int]
"""A file of the workspace, and a line and a column in it, from 0."""


def _js_spot(frame: re.Match[str], places: Places) -> list[_Spot]:
    path = places.find(frame["path"])
    return [(path, max(int(frame["line"]) - 1, 0), max(int(frame["column"]) - 1, 0))] if path is not None else []


def _js_problem(test: str, said: Sequence[str], spots: Sequence[_Spot]) -> Iterator[Problem]:
    """At the innermost of the spots outside of installed packages, if there is one."""
    text = ": ".join(dict.fromkeys(part for part in (test, failure_text("\n".join(said))) if part))
    if text and spots:
        path, line, column = next((spot for spot in spots if not is_installed(spot[0])), spots[0])
        yield Problem(path, line, text, column, source="stack")


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


# The problems, and their places, that programs name in their output, by the matchers of `core/ecosystems/`.


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

    At most 200, each once, errors first and otherwise in the order of the output; those in installed packages only
    where there are no others.
    """
    places = places.within(_go_packages(output, places.root))
    lines = [line[:_LONGEST_LINE].rstrip() for line in output.split("\n")]
    matched: list[Problem] = []
    index = 0
    while index < len(lines):
        taken, problems = _problems_at(lines, index, places)
        matched += problems
        index += taken
    found = list(dict.fromkeys([*find_in_stacks(lines, places), *matched]))
    found = [problem for problem in found if not is_installed(problem.path)] or found
    return tuple(sorted(found, key=lambda problem: problem.severity != "error")[:_MOST])


def _problems_at(lines: Sequence[str], index: int, places: Places) -> tuple[int, list[Problem]]:
    """How many lines the first matcher that fits here takes, at least 1, and what it found."""
    for matcher, patterns in _MATCHERS:
        groups: dict[str, str] = {}
        if not _fits(patterns, lines, index, groups):
            continue
        taken = len(patterns)
        problems = [_matched_problem(matcher, groups, places)]
        while matcher.loops and _fits(patterns[-1:], lines, index + taken, groups):
            problems.append(_matched_problem(matcher, groups, places))
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


def _matched_problem(matcher: Matcher, groups: dict[str, str], places: Places) -> Problem | None:
    path = places.find(groups["path"])
    if path is None:
        return None
    code, name = groups.get("code"), groups.get("name")
    expected, actual = groups.get("expected"), groups.get("actual")
    told = expected_and_got(expected, actual) if expected is not None and actual is not None else groups["message"]
    message = told.strip()
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
        module = re.search(r"^module\s+(\S+)", read_text("go.mod", within=root), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return []
    if module is None:
        return []
    names = {match["package"] for match in _GO_RESULT.finditer(output)}
    return sorted(name.removeprefix(module[1]).lstrip("/") for name in names if name.startswith(module[1]))
