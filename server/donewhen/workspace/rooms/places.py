"""What is there as long as a room is open, and removed whatever happens: the room's folder, in the state folder, and
empty folders of ours in the workspace.

Both have a lock file. A lock ends with its process, so what has a free lock was left behind by a crash, and the next
one who opens the folder, or a room of it, removes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.checkpoints import has_real_folders
from donewhen.workspace.locks import open_lock_file, try_lock
from donewhen.workspace.shielding import shielded

_LOCK = ".lock"
_HELD = ".held"
_COMMONDIR = "commondir"
_PATIENCE, _PAUSE = 2.0, 0.005
_LONGEST = 4096
"""Bytes of a path."""


class RoomFolder:
    """One room's folder. `close` removes it."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    def close(self) -> None:
        remove(self.folder)
        _unlock(self.folder, self._lock)


def take_place(rooms: Path) -> RoomFolder:
    """A new, empty folder in `rooms`. Raises WorkspaceError."""
    try:
        rooms.mkdir(mode=0o700, parents=True, exist_ok=True)
        sweep(rooms)
        while True:
            folder = rooms / secrets.token_hex(8)
            # The lock first: any process removes a folder whose lock is free.
            file = folder.with_suffix(_LOCK)
            lock = open_lock_file(file)
            # A sweep may still hold the lock, or have removed the file already.
            if try_lock(lock) and _is_current(Held(file, lock)):
                break
            os.close(lock)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise WorkspaceError(f"no room can be made in {rooms} ({error.strerror or error})") from error
    return RoomFolder(folder, lock)


@asynccontextmanager
async def place_in(rooms: Path) -> AsyncGenerator[Path]:
    """A new, empty folder in `rooms` for the duration of the block; removed afterwards, even after a cancellation.
    Raises WorkspaceError."""
    taken: list[RoomFolder] = []
    try:
        await shielded(asyncio.to_thread(lambda: taken.append(take_place(rooms))))
        yield taken[0].folder
    finally:
        for place in taken:
            await shielded(asyncio.to_thread(place.close))


def sweep(rooms: Path) -> None:
    """Removes the rooms whose process is gone, and what nobody holds any more in the workspace."""
    for file in sorted(rooms.glob(f"*{_HELD}"), reverse=True):  # a folder of ours may be in another one
        with contextlib.suppress(OSError):
            let_go(Held(file, open_lock_file(file)))
    for file in rooms.glob(f"*{_LOCK}"):
        try:
            lock = open_lock_file(file)
        except OSError:
            continue
        if try_lock(lock):
            remove(file.with_suffix(""))
            _unlock(file.with_suffix(""), lock)
        else:
            os.close(lock)


def _unlock(folder: Path, lock: int) -> None:
    """Removes the lock file only after its folder: while anything is left, a later sweep tries again."""
    if not os.path.lexists(folder):
        with contextlib.suppress(OSError):
            folder.with_suffix(_LOCK).unlink()
    os.close(lock)


# A folder of ours in place of something that is missing in the workspace, so that no command makes it: on record before
# it is made, and shared by all rooms in which it is, of whatever process.


@dataclass(frozen=True, slots=True)
class Held:
    """A record, and the descriptor that shares its lock."""

    record: Path
    lock: int


def hold(records: Path, root: Path, path: str) -> Held | None:
    """Holds the place of something that is missing at a path of the workspace; None if the person has something there,
    or if nobody can make anything there. In place of git's `commondir`, a file, nothing is made: if a command makes it,
    it is removed. Raises OSError."""
    place = root / path
    if not _may_be_made(place):
        return None
    # Deeper places come later by name, and no path makes the name too long.
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()
    record = records / f"{path.count('/'):04}-{digest[:32]}{_HELD}"
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if os.path.lexists(place) and not record.exists():
            return None
        held = Held(record, open_lock_file(record))
        try:
            # Whoever is alone with the record finds out whose the place is; all who hold it share the lock.
            if try_lock(held.lock) and _is_current(held):
                if not _place_of(held) and os.path.lexists(place):
                    record.unlink()
                    os.close(held.lock)
                    return None
                os.pwrite(held.lock, os.fsencode(f"{root}\0{path}"), 0)
            if try_lock(held.lock, shared=True) and _is_current(held) and _place_of(held):
                if place.name != _COMMONDIR:
                    with contextlib.suppress(FileExistsError):
                        place.mkdir()
                return held
        except BaseException:
            os.close(held.lock)
            raise
        os.close(held.lock)
        time.sleep(_PAUSE)
    raise OSError(errno.EAGAIN, "other rooms are opened and closed at the same time: try again", os.fspath(place))


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


def let_go(held: Held) -> None:
    """The last one who lets go removes what was made, unless somebody has put something into it."""
    try:
        # In vain, this lets go of the shared lock.
        if try_lock(held.lock) and _is_current(held):
            if (of := _place_of(held)) and has_real_folders(Path(of[0]), of[1]):
                place = Path(*of)
                with contextlib.suppress(OSError):
                    place.unlink() if place.name == _COMMONDIR else place.rmdir()
            held.record.unlink()
    finally:
        os.close(held.lock)


def _is_current(held: Held) -> bool:
    """Whether the record is still the file at its path: a lock on one that was removed protects nothing."""
    try:
        return os.path.samestat(os.fstat(held.lock), held.record.stat())
    except OSError:
        return False


def _place_of(held: Held) -> tuple[str, str] | None:
    """The workspace and the path in it; None in a record that nobody has written yet."""
    root, _, path = os.fsdecode(os.pread(held.lock, 2 * _LONGEST, 0)).partition("\0")
    return (root, path) if path else None


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
