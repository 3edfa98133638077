"""Ways to make a check pass whatever it checks: exit codes that are swallowed, tests that are left out."""

from __future__ import annotations

import re
from collections import Counter

# An exit code of 0 whatever happened, or nothing run at all: no person writes these into a proof without saying so.
_SWALLOWED: tuple[tuple[str, str], ...] = (
    ("|| true", r"\|\|\s*(?:/(?:usr/)?bin/)?(?:true|:|echo|printf|exit\s+0)(?=[\s;)'\"]|$)"),
    ("; true", r";\s*(?:/(?:usr/)?bin/)?(?:true|:)\s*[;)'\"]?\s*$"),
    ("exit 0", r"(?:^|[;&\s{(])exit\s+0(?=[\s;)}'\"]|$)"),
    ("--collect-only", r"(?<![\w-])--(?:collect-only|collectonly|co)(?![\w-])"),
    ("--exit-zero", r"(?<![\w-])--exit-zero(?![\w])"),
    ("--passWithNoTests", r"--passWithNoTests|--suppress-no-test-exit-code|--pass-with-no-tests"),
    ("--no-run", r"(?<![\w-])--no-run(?![\w-])"),
    ("--listTests", r"(?<![\w-])--list-?[Tt]ests(?![\w-])"),
)
# In what a name stands for, these too leave something out that was proven before.
_NARROWED: tuple[tuple[str, str], ...] = (
    ("set +e", r"(?:^|[;&\s])set\s+\+(?:e|o\s+errexit)"),
    ("-k", r"(?<![\w-])-k(?=[\s=\"'])"),
    ("-m", r"pytest\b.*\s-m(?=[\s=\"'])"),
    ("--deselect", r"(?<![\w-])--deselect(?![\w-])"),
    ("--ignore", r"(?<![\w-])--ignore(?:-glob)?(?![\w-])"),
    ("-p no:", r"(?<![\w-])-p\s*no:"),
    ("--last-failed", r"(?<![\w-])--(?:lf|last-failed)(?![\w-])"),
    ("--skip", r"(?<![\w-])--skip(?![\w-])"),
    ("-run", r"go\s+test\b.*\s-{1,2}run(?=[\s=])"),
    ("--testNamePattern", r"--testNamePattern|--testPathIgnorePatterns"),
    ("--dry-run", r"(?<![\w-])--(?:dry-run|just-print)(?![\w-])"),
    ("a pipe", r"(?<!\|)\|\s*(?:tee|cat|tail|head|grep)\b"),
    ("the prefix -", r"^\t-"),
    (".IGNORE", r"^\.IGNORE\s*:"),
    ("ignore_outcome", r"^\s*ignore_(?:outcome|errors)\s*=\s*[Tt]rue"),
    ("exit(0)", r"(?:sys\.exit|os\._exit|process\.exit|(?<![\w.])exit)\(\s*0?\s*\)"),
    ("success_codes", r"success_codes\s*="),
)
_COMPILED_SWALLOWED = tuple((name, re.compile(pattern)) for name, pattern in _SWALLOWED)
_COMPILED_ALL = _COMPILED_SWALLOWED + tuple((name, re.compile(pattern)) for name, pattern in _NARROWED)


def swallowed(command: str) -> tuple[str, ...]:
    """The ways in which a command passes whatever it checks, by the names that a person knows them by."""
    return tuple(name for name, pattern in _COMPILED_SWALLOWED if pattern.search(command))


def gained(before: str, after: str) -> tuple[tuple[str, int], ...]:
    """The masks that `after` has more often than `before`: (name, 0-based line in `after`), in order of lines."""
    had = Counter(name for name, _ in _masks(before))
    found: list[tuple[str, int]] = []
    for name, line in _masks(after):
        if had[name]:
            had[name] -= 1
        else:
            found.append((name, line))
    return tuple(found)


def _masks(text: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for number, line in enumerate(text.splitlines()):
        if line.lstrip().startswith("#"):
            continue
        found += [(name, number) for name, pattern in _COMPILED_ALL if pattern.search(line)]
    return found
