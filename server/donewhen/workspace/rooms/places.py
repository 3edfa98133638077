"""What is there as long as a room is open, and removed whatever happens: the room's folder, in the state folder, and
empty folders of ours in the workspace, in place of what is missing there, so that no command makes it.

Each room has a lock file, which says whose places it holds. A lock ends with its process, so what has a free lock was
left behind by a crash, and the next one who opens the folder, or a room of it, removes it. One at a time, of whatever
process, looks at these files and changes something.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from donewhen.core.errors import WorkspaceError
from donewhen.regular import read_text
from donewhen.workspace.checkpoints import has_real_folders
from donewhen.workspace.locks import open_lock_file, try_lock
from donewhen.workspace.shielding import shielded

ALONE = "alone"
"""The file that is locked by whoever changes something here."""
_LOCK = ".lock"
_GONE = ".gone"
"""The suffix of what is still to be removed, by whoever comes next; nobody else waits for it."""
_COMMONDIR = "commondir"
_PATIENCE, _PAUSE = 60.0, 0.002


class RoomFolder:
    """A new, empty folder of a room in `rooms`. `close` removes it. Raises OSError."""

    def __init__(self, rooms: Path) -> None:
        self._rooms = rooms
        rooms.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(rooms):
            _sweep(rooms)
            self.folder = rooms / secrets.token_hex(8)
            self._lock = open_lock_file(self.folder.with_suffix(_LOCK))
            try_lock(self._lock)
            self.folder.mkdir(mode=0o700)
        _remove_gone(rooms)

    def close(self) -> None:
        try:
            remove(self.folder)
            with contextlib.suppress(OSError), _alone(self._rooms):  # what is left, the next room removes
                _take_away(self.folder)
        finally:
            os.close(self._lock)

    def hold(self, root: Path, path: str) -> bool:
        """Holds the place of something that is missing at a path of the workspace, as long as this room is open;
        False if the person has something there, or if nobody can make anything there. In place of git's `commondir`, a
        file, nothing is made: if a command makes it, it is removed. Raises OSError."""
        place = root / path
        if not _may_be_made(place):
            return False
        with _alone(self._rooms):
            if os.path.lexists(place) and (str(root), path) not in _held(self._rooms):
                return False
            os.write(self._lock, f"{json.dumps([str(root), path])}\n".encode())
            if place.name != _COMMONDIR:
                with contextlib.suppress(FileExistsError):
                    place.mkdir()
        return True


@asynccontextmanager
async def place_in(rooms: Path) -> AsyncGenerator[RoomFolder]:
    """A room's folder for the duration of the block; removed afterwards, even after a cancellation. Raises
    WorkspaceError."""
    taken: list[RoomFolder] = []
    try:
        try:
            await shielded(asyncio.to_thread(lambda: taken.append(RoomFolder(rooms))))
        except OSError as error:
            raise WorkspaceError(f"no room can be made in {rooms} ({error.strerror or error})") from error
        yield taken[0]
    finally:
        for place in taken:
            await shielded(asyncio.to_thread(place.close))


def sweep(rooms: Path) -> None:
    """Removes the rooms whose process is gone, with what they held in the workspace."""
    with contextlib.suppress(OSError):
        if rooms.is_dir():
            with _alone(rooms):
                _sweep(rooms)
            _remove_gone(rooms)


@contextmanager
def _alone(rooms: Path) -> Generator[None]:
    lock = open_lock_file(rooms / ALONE)
    deadline = time.monotonic() + _PATIENCE
    try:
        while not try_lock(lock):
            if time.monotonic() > deadline:
                raise OSError(errno.EAGAIN, "other rooms are opened and closed at the same time: try again", str(rooms))
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(lock)


def _sweep(rooms: Path) -> None:
    for file in rooms.glob(f"*{_LOCK}"):
        with contextlib.suppress(OSError):
            lock = open_lock_file(file)
            try:
                if try_lock(lock):
                    _take_away(file.with_suffix(""))
            finally:
                os.close(lock)


def _remove_gone(rooms: Path) -> None:
    for folder in rooms.glob(f"*{_GONE}"):
        remove(folder)


def _take_away(folder: Path) -> None:
    """Puts a room's folder aside to be removed, and removes what it held in the workspace and no other room holds,
    unless somebody has put something into it. Where the folder can't be moved, a later sweep tries again."""
    with contextlib.suppress(OSError):
        folder.rename(folder.with_suffix(_GONE))
    file = folder.with_suffix(_LOCK)
    alone = _places_in(file)
    alone -= _held(folder.parent, but=file) if alone else set()
    for root, path in sorted(alone, key=lambda one: one[1].count("/"), reverse=True):  # one may be in another one
        if has_real_folders(Path(root), path):
            with contextlib.suppress(OSError):
                place = Path(root, path)
                place.unlink() if place.name == _COMMONDIR else place.rmdir()
    if not os.path.lexists(folder):
        with contextlib.suppress(OSError):
            file.unlink()


def _held(rooms: Path, but: Path | None = None) -> set[tuple[str, str]]:
    """The workspaces, and the paths in them, whose places rooms hold."""
    return {place for file in rooms.glob(f"*{_LOCK}") if file != but for place in _places_in(file)}


def _places_in(file: Path) -> set[tuple[str, str]]:
    found = set[tuple[str, str]]()
    with contextlib.suppress(OSError, ValueError):  # where the disk was full, the last line may be broken off
        for root, path in map(json.loads, read_text(file).splitlines()):
            found.add((root, path))
    return found


def _may_be_made(place: Path) -> bool:
    """Whether a command of this user can make it: the system knows files by such a long path, and the folder above is
    theirs, or they may write to it."""
    try:
        place.lstat()
    except (FileNotFoundError, PermissionError):
        try:
            owner = place.parent.lstat().st_uid
        except OSError:
            return _may_be_made(place.parent)
        return owner == os.geteuid() or os.access(place.parent, os.W_OK | os.X_OK, effective_ids=True)
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    return True


def remove(folder: Path) -> None:
    """Removes a folder with all its content, even if a mount made a folder in it that nobody may enter."""

    def allow(do: Callable[..., Any], path: str, why: object) -> None:
        with contextlib.suppress(OSError):
            for one in (Path(path).parent, Path(path)):
                mode = one.lstat().st_mode
                if stat.S_ISDIR(mode):
                    one.chmod(0o700)
            if do in (os.unlink, os.rmdir):  # the failure may have been in listing a folder
                do(path)

    for _ in range(2):  # a folder that could not be listed is emptied only after access was granted
        if os.path.lexists(folder):
            shutil.rmtree(folder, onerror=allow)
