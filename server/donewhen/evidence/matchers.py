"""Problem matchers: the places that programs name in their output, as data.

A matcher is one pattern for each of the lines that make up a problem; groups of the same name are taken from any of
them. A matcher that loops gives one problem for each further line that fits its last pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.evidence import Problem, Severity
from donewhen.evidence.places import Places
from donewhen.evidence.stacks import find_in_stacks
from donewhen.regular import read_text

_MOST = 200
_LONGEST_LINE = 2_000

_PATH = r"(?P<path>(?:[A-Za-z]:)?[^\s:(][^:(\n]*?)"
_ARROW = re.compile(r"^\s*(?:-->|╭▸|╭─\[) ?(?P<path>.+?):(?P<line>\d+):(?P<column>\d+)\]?\s*$")


@dataclass(frozen=True, slots=True)
class Matcher:
    """Groups: `path`, `line` (from 1), and perhaps `column` (from 1), `severity`, `message`, `code`."""

    source: str
    lines: tuple[re.Pattern[str], ...]
    loops: bool = False


def _one(source: str, *patterns: str) -> Matcher:
    return Matcher(source, tuple(re.compile(pattern) for pattern in patterns))


MATCHERS: tuple[Matcher, ...] = (
    # error[E0308]: mismatched types / --> src/main.rs:2:5
    Matcher(
        "rustc",
        (re.compile(r"^(?P<severity>error|warning)(?:\[(?P<code>[\w:-]+)\])?: (?P<message>.+)$"), _ARROW),
    ),
    # F401 [*] `os` imported but unused / --> app.py:1:8
    Matcher("ruff", (re.compile(r"^(?P<code>[A-Z]{1,7}\d+|invalid-syntax)(?: \[\*\]|:)? (?P<message>.+)$"), _ARROW)),
    # thread 'tests::adds' panicked at src/lib.rs:10:9: / assertion failed
    _one(
        "cargo test",
        r"^thread '(?P<name>.*?)'(?: \(\d+\))? panicked at (?P<path>[^:']+):(?P<line>\d+):(?P<column>\d+):$",
        r"^(?P<message>.+)$",
    ),
    _one(
        "cargo test",
        r"^thread '(?P<name>.*?)' panicked at '(?P<message>.*)', (?P<path>[^:']+):(?P<line>\d+):(?P<column>\d+)$",
    ),
    # before Rust 1.73: ... panicked at 'assertion failed: `(left == right)` / left: 1, / right: 2', src/lib.rs:6:5
    _one(
        "cargo test",
        r"^thread '(?P<name>.*?)' panicked at '(?P<message>assertion failed: .*)$",
        r"^\s*left: .*,$",
        r"^\s*right: .*', (?P<path>[^:']+):(?P<line>\d+):(?P<column>\d+)$",
    ),
    # src/app.ts(3,5): error TS2322: message   and   src/app.ts:3:5 - error TS2322: message
    _one(
        "tsc",
        r"^(?P<path>\S[^(\n]*)\((?P<line>\d+),(?P<column>\d+)\): (?P<severity>error|warning|info) "
        r"(?P<code>TS\d+): (?P<message>.+)$",
    ),
    _one(
        "tsc",
        rf"^{_PATH}:(?P<line>\d+):(?P<column>\d+) - (?P<severity>error|warning|info) (?P<code>TS\d+): (?P<message>.+)$",
    ),
    #   /home/me/app.py:1:5 - error: message (reportX)
    _one(
        "pyright",
        rf"^\s*{_PATH}:(?P<line>\d+):(?P<column>\d+) - (?P<severity>error|warning|information): "
        r"(?P<message>.+?)(?: \((?P<code>report\w+)\))?$",
    ),
    # app.js: line 3, col 5, Error - message (rule)
    _one(
        "eslint",
        r"^(?P<path>\S.*?): line (?P<line>\d+), col (?P<column>\d+), (?P<severity>Error|Warning) - "
        r"(?P<message>.+?)(?: \((?P<code>[\w@/-]+)\))?$",
    ),
    # app.js:3:5: message [Error/rule]
    _one(
        "eslint",
        rf"^{_PATH}:(?P<line>\d+):(?P<column>\d+): (?P<message>.+) "
        r"\[(?P<severity>Error|Warning)(?:/(?P<code>[\w@/-]+))?\]$",
    ),
    # app.js / 3:5  error  message  rule
    Matcher(
        "eslint",
        (
            re.compile(r"^(?P<path>(?:[A-Za-z]:)?[^\s:][^:]*\.\w+)$"),
            re.compile(
                r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<severity>error|warning)\s+(?P<message>.+?)(?:\s{2,}(?P<code>[\w@/-]+))?\s*$"
            ),
        ),
        loops=True,
    ),
    # app.py:3: error: message  [code]   and   app.c:3:5: fatal error: message
    _one(
        "compiler",
        rf"^{_PATH}:(?P<line>\d+):(?:(?P<column>\d+):)?(?:\d+:\d+:)? "
        r"(?P<severity>fatal error|error|warning|note|info|hint|remark): (?P<message>.+?)(?:  \[(?P<code>[\w-]+)\])?$",
    ),
    # app.py:1:8: F401 [*] message
    _one(
        "linter",
        rf"^{_PATH}:(?P<line>\d+):(?:(?P<column>\d+):)? (?P<code>[A-Z]{{1,7}}\d+)(?: \[\*\]|:)? (?P<message>.+)$",
    ),
    # vet: ./main.go:3:5: message   and   ./main.go:3:5: message
    _one("go", r"^(?:vet: )?(?P<path>\S+\.go):(?P<line>\d+):(?P<column>\d+): (?P<message>.+)$"),
    #     sum_test.go:12: message
    _one("go test", r"^\s+(?P<path>\S+_test\.go):(?P<line>\d+): (?P<message>.+)$"),
    # tests/test_a.py:12: AssertionError
    _one(
        "pytest",
        r"^(?P<path>\S+\.py):(?P<line>\d+): (?P<message>[A-Z]\w*(?:Error|Exception|Failed|Exit|Warning)?\b.*)$",
    ),
    # app.py:3:5: message
    _one("", rf"^{_PATH}:(?P<line>\d+):(?P<column>\d+): (?P<message>\S.*)$"),
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
    for matcher in MATCHERS:
        groups: dict[str, str] = {}
        if not _fits(matcher.lines, lines, index, groups):
            continue
        taken = len(matcher.lines)
        problems = [_problem(matcher, groups, places)]
        while matcher.loops and _fits(matcher.lines[-1:], lines, index + taken, groups):
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
