"""What commands in a live room can't change of the workspace itself: what would make git, an editor or Done When do
something outside of the room.

A place is mounted over itself, read-only; the folders above it are mounted over themselves too, since a folder that
holds a mount could be renamed, and another one put in its place. Where something isn't there, an empty folder stands in
for it as long as a room is open, so that nothing comes to be there.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from donewhen.workspace.rooms.looking import is_folder, is_link, is_there
from donewhen.workspace.rooms.mounting import Mount

ALWAYS = (".git", ".vscode")
"""Folders that are guarded where they aren't there too."""
WHERE_THERE = (
    ".idea",
    ".zed",
    ".devcontainer",
    ".envrc",
    ".husky",
    ".gitmodules",
    ".pre-commit-config.yaml",
    ".github/workflows",
    ".github/actions",
    ".gitlab-ci.yml",
    ".circleci",
    ".buildkite",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".dir-locals.el",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".mcp.json",
)
IN_GIT = ("hooks", "config", "config.worktree", "info", "modules", "worktrees")
"""What makes git run something, or read another configuration, where its history may be changed."""
ELSEWHERE = "commondir"
"""A file that makes git look for its configuration elsewhere. Nothing can stand in for it: where a command makes it, it
goes when the room closes."""
_NESTED = ("*/.git", "*/*/.git")


class Guarded:
    """The guarded places of one workspace folder, for all rooms of this process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: Counter[Path] = Counter()

    def take(self, paths: Sequence[str], *, history: bool) -> tuple[Path, ...]:
        """Makes the folders that stand in for what isn't there; `give_back` takes them away. Raises OSError."""
        made: list[Path] = []
        for place in self._absent(paths, history=history):
            if self._made[place] or not is_there(place):
                if place.name != ELSEWHERE:
                    place.mkdir(exist_ok=True)
                self._made[place] += 1
                made.append(place)
        return tuple(made)

    def give_back(self, made: Iterable[Path]) -> None:
        for place in made:
            self._made[place] -= 1
            if not self._made[place]:
                with contextlib.suppress(OSError):
                    place.unlink() if place.name == ELSEWHERE else place.rmdir()

    def mounts(self, paths: Sequence[str], *, history: bool) -> list[Mount]:
        """What keeps them as they are, once the workspace itself is mounted."""
        root = self._root
        found = [root / name for name in (*ALWAYS, *WHERE_THERE, *paths)]
        found += [*root.glob("*.code-workspace"), *root.glob("GOAL.md"), *root.glob("*.goal.md")]
        for glob in _NESTED:
            found += root.glob(glob)
        if history and is_folder(root / ".git"):
            found.remove(root / ".git")
            found += [root / ".git" / name for name in IN_GIT]
        kept = sorted({place for place in found if place.is_relative_to(root) and _real(place)})
        above = {folder for place in kept for folder in place.parents if folder != root and folder.is_relative_to(root)}
        inner = {place for place in kept if any(one in place.parents for one in kept)}
        pinned = [
            Mount("written", folder) for folder in sorted(above) if not any(folder.is_relative_to(k) for k in kept)
        ]
        return [*pinned, *(Mount("seen", place) for place in kept if place not in inner)]

    def links(self) -> tuple[str, ...]:
        """The guarded places that are links: nothing keeps a link as it is."""
        return tuple(name for name in (*ALWAYS, ".git/hooks", ".git/config") if is_link(self._root / name))

    def _absent(self, paths: Sequence[str], *, history: bool) -> list[Path]:
        places = [self._root / name for name in ALWAYS]
        if history and is_folder(self._root / ".git"):
            places += [self._root / ".git" / name for name in ("hooks", "modules", "worktrees", ELSEWHERE)]
        return places


def _real(place: Path) -> bool:
    return is_there(place) and not is_link(place)
