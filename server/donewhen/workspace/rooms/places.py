"""The folder of a room, in the state folder: locked while the room is open, and removed whatever happens.

A lock ends with its process, so a folder with a free lock was left behind by a crash.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.locks import open_lock_file, try_lock
from donewhen.workspace.shielding import shielded

_LOCK = ".lock"


class Place:
    """One room's folder. `close` removes it."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    def close(self) -> None:
        remove(self.folder)
        _unlock(self.folder, self._lock)


def take_place(rooms: Path) -> Place:
    """A new, empty folder in `rooms`. Raises WorkspaceError."""
    try:
        rooms.mkdir(mode=0o700, parents=True, exist_ok=True)
        sweep(rooms)
        while True:
            folder = rooms / secrets.token_hex(8)
            # The lock first: any process removes a folder whose lock is free.
            if (lock := _locked(folder.with_suffix(_LOCK))) is not None:
                break
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise WorkspaceError(f"no room can be made in {rooms} ({error.strerror or error})") from error
    return Place(folder, lock)


def _locked(file: Path) -> int | None:
    """The descriptor of a new file with its lock held; None if a sweep took the lock first. Raises OSError."""
    lock = open_lock_file(file)
    # A sweep may still hold the lock, or have removed the file already: a lock on that file protects nothing.
    with contextlib.suppress(FileNotFoundError):
        if try_lock(lock) and os.path.samestat(os.fstat(lock), file.stat()):
            return lock
    os.close(lock)
    return None


@asynccontextmanager
async def place_in(rooms: Path) -> AsyncGenerator[Path]:
    """A new, empty folder in `rooms` for the duration of the block; removed afterwards, even after a cancellation.
    Raises WorkspaceError."""
    taken: list[Place] = []
    try:
        await shielded(asyncio.to_thread(lambda: taken.append(take_place(rooms))))
        yield taken[0].folder
    finally:
        for place in taken:
            await shielded(asyncio.to_thread(place.close))


def sweep(rooms: Path) -> None:
    """Removes the rooms whose process is gone."""
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


def remove(folder: Path) -> None:
    """Removes a folder with all its content, even if a mount made a folder in it that nobody may enter."""

    def allow(do: Callable[..., Any], path: str, why: BaseException) -> None:
        with contextlib.suppress(OSError):
            for one in (Path(path).parent, Path(path)):
                mode = one.lstat().st_mode
                if stat.S_ISDIR(mode):
                    one.chmod(0o700)
            if do in (os.unlink, os.rmdir):  # the failure may have been in listing a folder
                do(path)

    def again(do: Callable[..., Any], path: str, info: tuple[type[BaseException], BaseException, Any]) -> None:
        allow(do, path, info[1])

    for _ in range(2):  # a folder that could not be listed is emptied only after access was granted
        if os.path.lexists(folder):
            shutil.rmtree(folder, onerror=again)
