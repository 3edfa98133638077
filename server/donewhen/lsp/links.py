"""Document links: the files that requirements name."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from donewhen.lsp.goal_view import GoalView, goal_view

if TYPE_CHECKING:
    from donewhen.lsp.session import Session

MAX_MATCHES = 20


async def links(session: Session, params: types.DocumentLinkParams) -> list[types.DocumentLink]:
    """`textDocument/documentLink`."""
    goal = await goal_view(session, params.text_document.uri)
    return [] if goal is None else await asyncio.to_thread(goal_links, goal)


def goal_links(goal: GoalView) -> list[types.DocumentLink]:
    """A link for each named file that exists; for a glob, where it matches exactly one."""
    found: list[types.DocumentLink] = []
    for source in goal.parsed.requirements:
        for value in (*source.files, *source.problems):
            files = matching(goal.place.root, [value.text], 2)
            if len(files) == 1:
                target = files[0].as_uri()
                found.append(types.DocumentLink(goal.range(value.span), target, tooltip=value.text))
    return found


def matching(root: Path, globs: Sequence[str], limit: int = MAX_MATCHES) -> list[Path]:
    """The files under `root` that the globs name, each once, at most `limit`; nothing outside of it."""
    found: dict[Path, None] = {}
    for pattern in globs:
        relative = pattern.removeprefix("./").lstrip("/")
        if not relative or ".." in Path(relative).parts:
            continue
        try:
            paths = root.glob(relative) if any(sign in relative for sign in "*?[") else iter((root / relative,))
            found.update(dict.fromkeys(itertools.islice((path for path in paths if path.is_file()), limit)))
        except (OSError, ValueError, NotImplementedError):
            continue
    return list(found)[:limit]
