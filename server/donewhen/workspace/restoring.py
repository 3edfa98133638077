"""Puts files back on the disk: never through a link, never over what no checkpoint knows."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from donewhen.workspace.manifest import EXECUTABLE, LINK
from donewhen.workspace.writes import replace_file


def take_away(root: Path, paths: Iterable[str], failed: list[str]) -> None:
    """Removes files, and the folders that are empty then; what can't be removed is added to `failed`."""
    for path in paths:
        try:
            _refuse_links_above(root, path)
            (root / path).unlink()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            failed.append(f"{path} ({error.strerror})")
            continue
        _remove_empty_above(root, path)


def put_back(root: Path, files: Sequence[tuple[str, str, bytes]], failed: list[str]) -> None:
    """Writes files of (path, mode, content); what can't be written is added to `failed`."""
    for path, mode, content in files:
        try:
            _put_one(root, path, mode, content)
        except OSError as error:
            failed.append(f"{path} ({error.strerror})")


def has_real_folders(root: Path, path: str) -> bool:
    """Whether all folders above the path are there, and none is a link."""
    try:
        _refuse_links_above(root, path)
    except OSError:
        return False
    return True


def _put_one(root: Path, path: str, mode: str, content: bytes) -> None:
    target = root / path
    _make_folders(root, path)
    with contextlib.suppress(OSError):
        target.rmdir()  # an empty folder in its place is nobody's content
    if mode == LINK:
        with contextlib.suppress(FileNotFoundError):
            target.unlink()
        target.symlink_to(os.fsdecode(content))
        return
    replace_file(target, content, _permissions(target, mode == EXECUTABLE))


def _permissions(target: Path, executable: bool) -> int | None:
    """The mode that the file has, but for the bit that git keeps."""
    try:
        status = target.lstat()
        known = stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        known = None
    if known is None:
        return 0o755 if executable else None
    return known | (known & 0o444) >> 2 if executable else known & ~0o111


def _make_folders(root: Path, path: str) -> None:
    place = root
    for part in path.split("/")[:-1]:
        place = place / part
        with contextlib.suppress(FileExistsError):
            place.mkdir()
    _refuse_links_above(root, path)


def _refuse_links_above(root: Path, path: str) -> None:
    place = root
    for part in path.split("/")[:-1]:
        place = place / part
        if not stat.S_ISDIR(place.lstat().st_mode):
            raise NotADirectoryError(20, f"{place.name} is not a folder now")


def _remove_empty_above(root: Path, path: str) -> None:
    place = (root / path).parent
    while place != root:
        try:
            place.rmdir()
        except OSError:
            return
        place = place.parent
