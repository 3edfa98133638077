"""The problems, and their places, that programs name in their output, by the matchers of `ecosystems/`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from donewhen.core.evidence import Problem, Severity
from donewhen.ecosystems import TOOLS, Matcher
from donewhen.ecosystems.table import Reach
from donewhen.evidence.places import Places
from donewhen.evidence.stacks import find_in_stacks
from donewhen.regular import read_text

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
