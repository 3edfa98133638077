"""Puts changes that were made in one folder into another one, and never over what somebody changed there meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.core.words import listed
from donewhen.regular import read_bytes
from donewhen.workspace.checkpoints import Content, put_back, take_away
from donewhen.workspace.manifest import EXECUTABLE, FILE, LINK
from donewhen.workspace.writes import belongs_to_git, real_folder


@dataclass(frozen=True, slots=True)
class Change:
    """One path, relative and with slashes: what was there when the work began, and what is to be there. None: no
    file."""

    path: str
    before: Content | None
    after: Content | None


def standing(root: Path, path: str) -> Content | None:
    """What is there now; None if there is no file: a folder is none, and what lies behind a link is not this path.
    Raises OSError for what can't be read."""
    place = root / path
    try:
        with real_folder(root, path):
            status = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return None
    if stat.S_ISLNK(status.st_mode):
        return Content(LINK, os.fsencode(place.readlink()))
    return Content(EXECUTABLE if status.st_mode & 0o100 else FILE, read_bytes(path, within=root))


def in_the_way(root: Path, changes: Sequence[Change]) -> Sequence[str]:
    """The paths where something else stands than before the work and than after it, or what can't be read: applying
    would overwrite it."""

    def is_free(one: Change) -> bool:
        try:
            return standing(root, one.path) in (one.before, one.after)
        except OSError:
            return False

    return [one.path for one in changes if not is_free(one)]


def apply(root: Path, changes: Sequence[Change]) -> Sequence[str]:
    """Makes the changes, all or none, and returns the paths that it changed: what already is as it should be is left.

    Each file is looked at once more right before it is written. Raises WorkspaceError with the paths that are in the
    way, or that could not be written; what had been written until then is put back.
    """
    if refused := [one.path for one in changes if belongs_to_git(root.resolve(), Path(one.path).parts)]:
        raise WorkspaceError(f"{refused[0]} belongs to git; nothing was written")
    if blocked := in_the_way(root, changes):
        raise WorkspaceError(f"changed here since the attempt began: {listed(blocked, 10)}")
    done, failed = _made(root, changes)
    if not failed:
        return sorted(one.path for one in done)
    _, left = _made(root, [Change(one.path, one.after, one.before) for one in done])
    also = f"; not put back: {listed([*left], 10)}" if left else "; nothing was changed"
    path, error = next(iter(failed.items()))
    raise WorkspaceError(f"{path} can't be written ({error.strerror or error}){also}") from error


def _made(root: Path, changes: Sequence[Change]) -> tuple[Sequence[Change], Mapping[str, OSError]]:
    """The changes that it made, and why others failed. What goes makes room for what comes: a folder in the place of a
    file, or a file in that of a folder."""
    done: list[Change] = []
    failed: dict[str, OSError] = {}
    for one in sorted(changes, key=lambda one: one.after is not None):
        try:
            if _put(root, one):
                done.append(one)
        except OSError as error:
            failed[one.path] = error
    return done, failed


def _put(root: Path, one: Change) -> bool:
    """False if it is so already. Raises OSError, if something else is there by now, too."""
    there = standing(root, one.path)
    if there == one.after:
        return False
    if there != one.before:
        raise FileExistsError(17, "it was changed meanwhile")
    failed: list[str] = []
    if one.after is None:
        take_away(root, [one.path], failed)
    else:
        put_back(root, [(one.path, one.after.mode, one.after.data)], failed)
    if failed:
        raise OSError(5, failed[0])
    return True
