"""The goal files of a workspace on disk: finding, reading and loading them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from donewhen.core.errors import GoalFileError
from donewhen.core.goal import Goal
from donewhen.goalfile.parse import SIZE_LIMIT, parse
from donewhen.goalfile.source import ParsedGoalFile
from donewhen.regular import LeadsOut, read_start

GOAL_FILE = "GOAL.md"
GOAL_SUFFIX = ".goal.md"

_MOST_GOALS = 200


class WorkspaceGoalFiles:
    """Goal files of the workspace at `root`. Nothing outside of it is ever read. `plugged`: as for
    `parse`."""

    def __init__(self, root: Path, plugged: Callable[[], bool] = lambda: False) -> None:
        self._plugged = plugged
        self._root = Path(os.path.abspath(root))  # noqa: PTH100  # resolve() would follow links: the given name counts

    def load(self, path: str) -> Goal:
        """The goal at `path` (absolute, or relative to the root); raises GoalFileError with the first error."""
        parsed = self.read(path)
        if parsed.goal is None:
            error = parsed.errors[0]
            line = error.span.start_line
            raise GoalFileError(f"{parsed.path}, line {line + 1}: {error.message}", line)
        return parsed.goal

    def read(self, path: str) -> ParsedGoalFile:
        """Reads and parses; raises GoalFileError only if there is no such file in the workspace."""
        relative = self.relative(path)
        try:
            # One byte more than is allowed shows that it is too large, whatever its size.
            content = read_start(relative, SIZE_LIMIT + 1, within=self._root)
        except LeadsOut:
            raise GoalFileError(
                f"{relative} is a link that leads out of the workspace: copy the file here instead"
            ) from None
        except FileNotFoundError:
            init = ": `donewhen init` drafts one" if relative == GOAL_FILE else ""
            raise GoalFileError(f"there is no {relative} here", typed=init) from None
        except (OSError, ValueError) as error:
            if (self._root / relative).is_dir():
                raise GoalFileError(f"{relative} is a folder: name the goal file in it") from None
            raise GoalFileError(f"{relative} can't be read: {getattr(error, 'strerror', None) or error}") from error
        return parse(content, path=relative, name=goal_name(relative), plugged=self._plugged)

    def relative(self, path: str) -> str:
        """The path relative to the root, with `/`; raises GoalFileError for one outside of it."""
        full = Path(os.path.abspath(self._root / path))  # noqa: PTH100  # as above
        for root in (self._root, self._root.resolve()):
            if full.is_relative_to(root):
                return full.relative_to(root).as_posix()
        raise GoalFileError(f"{path} is outside of the workspace {self._root}: open the folder that it is in")


def goal_name(path: str) -> str:
    """The name of a goal without a heading: its file's name, without the suffix."""
    name = path.rsplit("/", 1)[-1]
    for suffix in (GOAL_SUFFIX, ".md"):
        if name.casefold().endswith(suffix):
            return name[: -len(suffix)] or "Goal"
    return name or "Goal"


def is_goal_file(name: str) -> bool:
    """True for `GOAL.md` and `*.goal.md`."""
    return name == GOAL_FILE or name.endswith(GOAL_SUFFIX)


def find_goals(root: Path) -> list[str]:
    """The goal files under `root`, relative, with `/`: `GOAL.md` files first, then `*.goal.md`, the nearest first.

    Hidden folders and those of dependencies and build results are skipped; links to folders are not followed.
    """
    found = (path for path in walk_files(root) if is_goal_file(path.rsplit("/", 1)[-1]))
    return sorted(found, key=lambda path: (path.rsplit("/", 1)[-1] != GOAL_FILE, path.count("/"), path))[:_MOST_GOALS]


# Walks a workspace without the folders that nobody wrote: dependencies, build results, hidden folders.


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
        ours = sorted(one for one in folders if not one.startswith(".") and one not in SKIPPED_FOLDERS)
        folders[:] = ours if depth < _DEEPEST else []
        yield from ((relative / name).as_posix() for name in sorted(names))
        if number >= _MOST_FOLDERS:
            return
