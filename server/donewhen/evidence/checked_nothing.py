"""Linters that pass because they found nothing to check: they say so, and exit with 0."""

from __future__ import annotations

import re
from collections.abc import Sequence

from donewhen.core.commands.wrapped import Segment
from donewhen.core.evidence import TestTotals
from donewhen.evidence.known_runners import LINTERS

_SAYS_SO = re.compile(
    r"^\W*(?:(?:warning|error|info|note|go)\W+)*(?P<said>"
    r"No Python files (?:found|are present)\b"  # ruff, black
    r"|There are no \.py\[i\] files in\b"  # mypy
    r"|No (?:source )?files (?:found|to (?:lint|check|analy[sz]e)|were processed|matching\b)"  # pyright, pylint, eslint
    r"|Nothing to do: no files\b"  # isort
    r"|[\"']?\S+[\"']? matched no packages"  # go
    r"|No lintable files found"
    r"|0 files inspected\b"
    r"|Linting: 0 file"
    r"|No go files to analy[sz]e"
    r").*$",
    re.IGNORECASE | re.MULTILINE,
)


def checked_nothing(output: str, parts: Sequence[Segment], totals: TestTotals | None) -> str | None:
    """The line in which a linter says so; None if none does. Where tests ran, it counts only if the command line
    names a linter: a test may print anything."""
    linter = any(part.tool and part.tool[0] in LINTERS for part in parts)
    if totals is not None and totals.executed and not linter:
        return None
    found = _SAYS_SO.search(output)
    return found[0].strip()[:160] if found else None
