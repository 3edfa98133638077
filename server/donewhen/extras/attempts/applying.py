"""Puts changes that were made in one folder into another one, and never over what somebody changed there meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from donewhen.core.errors import WorkspaceError
from donewhen.core.words import listed
from donewhen.regular import read_bytes
from donewhen.workspace.checkpoints import Content, has_real_folders, put_back, take_away
from donewhen.workspace.manifest import EXECUTABLE, FILE, LINK
from donewhen.workspace.writes import belongs_to_git


@dataclass(frozen=True, slots=True)
class Change:
    """One path, relative and with slashes: what was there when the work began, and what is to be there. None: no
    file."""

    path: str
    before: Content | None
    after: Content | None


def standing(root: Path, path: str) -> Content | None:
    """What is there now; None if there is no file. Raises OSError for what can't be read, or is not a file."""
    place = root / path
    try:
        status = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not has_real_folders(root, path):
        raise NotADirectoryError(20, "a folder above it is a link", path)
    if stat.S_ISLNK(status.st_mode):
        return Content(LINK, os.fsencode(place.readlink()))
    return Content(EXECUTABLE if status.st_mode & 0o100 else FILE, read_bytes(path, within=root))


def in_the_way(root: Path, changes: Sequence[Change]) -> Sequence[str]:
    """The paths where something else stands than before the work and than after it, or what can't be read: applying
    would overwrite it."""
    goes = {one.path for one in changes if one.after is None}
    comes = {one.path: one.after for one in changes if one.after is not None}
    return [one.path for one in changes if not _free(root, one, goes) and not _replaced(root, one, comes)]


def apply(root: Path, changes: Sequence[Change]) -> Sequence[str]:
    """Makes the changes, all or none, and returns the paths that it changed: what already is as it should be is left.

    Each file is looked at once more right before it is written. Raises WorkspaceError with the paths that are in the
    way, or that could not be written; what had been written until then is put back.
    """
    if refused := [one.path for one in changes if belongs_to_git(root.resolve(), Path(one.path).parts)]:
        raise WorkspaceError(f"{refused[0]} belongs to git; nothing was written")
    if blocked := in_the_way(root, changes):
        raise WorkspaceError(f"changed here since the attempt began: {listed(blocked, 10)}")
    done: list[Change] = []
    comes = {one.path: one.after for one in changes if one.after is not None}
    # What goes makes room for what comes: a folder in the place of a file, or a file in that of a folder.
    for one in sorted(changes, key=lambda one: one.after is not None):
        try:
            if not _replaced(root, one, comes) and _put(root, one.path, one.before, one.after):
                done.append(one)
        except OSError as error:
            left = _undo(root, done)
            also = f"; not put back: {listed(left, 10)}" if left else "; nothing was changed"
            raise WorkspaceError(f"{one.path} can't be written ({error.strerror or error}){also}") from error
    return sorted(one.path for one in done)


def _free(root: Path, one: Change, goes: set[str]) -> bool:
    place = root / one.path
    if place.is_dir() and not place.is_symlink():
        # A folder is not a file: where one is to come, the folder must have been there before, and all in it goes.
        return one.after is None or (one.before is None and _only(root, one.path, goes))
    folders = [above.as_posix() for above in PurePosixPath(one.path).parents]
    if one.before is None and any(above in goes and (root / above).is_symlink() for above in folders):
        return True  # a link that goes makes room for a folder: nothing behind it is this path
    try:
        return standing(root, one.path) in (one.before, one.after)
    except OSError:
        return False


def _replaced(root: Path, one: Change, comes: Mapping[str, Content]) -> bool:
    """Whether a file that goes is gone already, with the folder that a file or a link of these changes has replaced."""
    if one.after is not None:
        return False
    try:
        return any(
            above in comes and standing(root, above) == comes[above]
            for above in (place.as_posix() for place in PurePosixPath(one.path).parents)
        )
    except OSError:
        return False


def _only(root: Path, path: str, goes: set[str]) -> bool:
    """Whether a folder holds nothing but files that go."""
    for folder, folders, names in os.walk(root / path):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        if any((Path(folder) / name).relative_to(root).as_posix() not in goes for name in (*names, *links)):
            return False
    return True


def _put(root: Path, path: str, before: Content | None, after: Content | None) -> bool:
    """Replaces `before` by `after`; False if that is there already. Raises OSError, if it is something else too."""
    there = None if (root / path).is_dir() and not (root / path).is_symlink() else standing(root, path)
    if there == after:
        return False
    if there != before:
        raise FileExistsError(17, "it was changed meanwhile")
    failed: list[str] = []
    if after is None:
        take_away(root, [path], failed)
    else:
        put_back(root, [(path, after.mode, after.data)], failed)
    if failed:
        raise OSError(5, failed[0])
    return True


def _undo(root: Path, done: Sequence[Change]) -> list[str]:
    """Takes back what was written, where it still is what was written; returns the other paths."""
    left: list[str] = []
    for one in reversed(done):
        try:
            _put(root, one.path, one.after, one.before)
        except OSError:
            left.append(one.path)
    return left
