"""Ways in which a command passes no matter what it checks: exit codes that are swallowed, tests that don't run."""

from __future__ import annotations

import re

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
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _SWALLOWED)


def swallowed(command: str) -> tuple[str, ...]:
    """The ways in which a command passes no matter what it checks, by the names that a person knows them by."""
    return tuple(name for name, pattern in _COMPILED if pattern.search(command))
