"""The members of a panel of judges, as settings and goal files name them."""

from __future__ import annotations

import re

MOST = 9
"""More judges than this cost more than they are worth."""

_MEMBER = re.compile(r"(?:(\d{1,2})\s*\*\s*)?([^\s,;*\x00-\x1f\x7f\ud800-\udfff]{1,200})")


def panel(text: str) -> tuple[str, ...] | None:
    """The models of a panel written as `A`, `A,B` or `3*A`, one for each member; None for what can't be one."""
    members: list[str] = []
    for part in text.split(","):
        found = _MEMBER.fullmatch(part.strip())
        if found is None or found[1] in ("0", "00"):
            return None
        members += [found[2]] * int(found[1] or 1)
    return tuple(members) if len(members) <= MOST else None
