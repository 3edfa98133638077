"""Commands and file names in backticks, as goal files hold them."""

from __future__ import annotations

import re

_BACKTICKS = re.compile(r"`+")


def code_span(text: str) -> str:
    """The text as a Markdown code span, whatever backticks it holds."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
