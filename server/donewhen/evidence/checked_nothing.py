"""Linters that pass because they found nothing to check: they say so, and exit with 0."""

from __future__ import annotations

import re
from collections.abc import Sequence

from donewhen.core.commands.wrapped import Segment
from donewhen.core.evidence import TestTotals
from donewhen.ecosystems import TOOLS
from donewhen.evidence.known_runners import LINTERS

_SAID = "|".join(dict.fromkeys(said for tool in TOOLS for said in tool.nothing_checked))
_SAYS_SO = re.compile(rf"^\W*(?:(?:warning|error|info|note|go)\W+)*(?P<said>{_SAID}).*$", re.IGNORECASE | re.MULTILINE)


def checked_nothing(output: str, parts: Sequence[Segment], totals: TestTotals | None) -> str | None:
    """The line in which a linter says so; None if none does. Where tests ran, it counts only if the command line
    names a linter: a test may print anything."""
    linter = any(part.tool and part.tool[0] in LINTERS for part in parts)
    if totals is not None and totals.executed and not linter:
        return None
    found = _SAYS_SO.search(output)
    return found[0].strip()[:160] if found else None
