"""Walks a workspace without looking into what nobody wrote: dependencies, build results, hidden folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

SKIPPED_FOLDERS = frozenset([
    "node_modules", "bower_components", "venv", "env", "__pycache__", "site-packages", "target", "dist", "build",
    "vendor",
])  # fmt: skip
_MOST_FOLDERS = 5_000
_DEEPEST = 8


def walk_files(root: Path) -> Iterator[str]:
    """The files under `root`, relative, with `/`, in a fixed order, bounded; links to folders are not followed."""
    for number, (folder, folders, names) in enumerate(os.walk(root)):
        relative = Path(folder).relative_to(root)
        depth = len(relative.parts)
        folders[:] = sorted(filter(_is_ours, folders)) if depth < _DEEPEST else []
        yield from ((relative / name).as_posix() for name in sorted(names))
        if number >= _MOST_FOLDERS:
            return


def _is_ours(folder: str) -> bool:
    return not folder.startswith(".") and folder not in SKIPPED_FOLDERS
