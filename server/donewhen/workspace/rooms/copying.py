"""Rooms that are copies of the workspace in a separate folder, for systems where nothing can be mounted.

They are weaker: anything that is installed by the workspace's path, or names it, may still be the workspace's own. A
virtual environment in the workspace is changed to belong to the copy.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Checker, Laid, Processes, Room, Workspace
from donewhen.regular import read_bytes
from donewhen.workspace.checkpoints import has_real_folders, take_away
from donewhen.workspace.rooms.layers import ENVIRONMENT, lay_files, made_by_builds
from donewhen.workspace.rooms.places import place_in
from donewhen.workspace.shielding import shielded

MAX_FILES = 50_000
MAX_BYTES = 4 * 1024**3
_LARGEST_TEXT = 1024 * 1024
_FICLONE = 0x40049409
_CHUNK = 1024 * 1024

HIDES_NOTHING = (
    "before completion checks are tried in copies of the workspace, which hide nothing: what runs there can read your"
    " files, your keys and Done When's records; `donewhen doctor` says how to get better rooms"
)

CheckerIn = Callable[[Processes, Path, Path, "Path | None"], Checker]
"""Makes the checker of a room from its processes, its root, a folder that it may write to, and the folder to read from
what is written below the root; None: the root itself."""

Signature = tuple[int, ...]
"""What shows whether a file was written: mode, size, times, inode."""


class CopiedRooms:
    """`ports.Rooms` by copying. `folder` is where rooms are kept; on the workspace's file system, copies may cost
    nothing."""

    def __init__(self, folder: Path, processes: Processes, inside: CheckerIn) -> None:
        self._folder = folder
        self._processes = processes
        self._inside = inside

    async def hindrance(self, workspace: Workspace) -> str:
        """See `ports.Rooms`. A copy belongs to this user, whoever owns the original."""
        return HIDES_NOTHING

    @asynccontextmanager
    async def open(
        self, workspace: Workspace, laid: Sequence[Laid], *, built: bool = True, naming: str = ""
    ) -> AsyncGenerator[Room]:
        """See `ports.Rooms`. Build outputs are never copied, because they contain the workspace's path. Nothing outside
        of the workspace is hidden."""
        async with place_in(self._folder) as place:
            folder = place.folder
            root, layer, scratch = folder / "root" / workspace.root.name, folder / "layer", folder / "scratch"
            try:
                root.parent.mkdir()
                await shielded(asyncio.to_thread(copy_tree, workspace.root, root, frozenset(workspace.files())))
                layer.mkdir()
                gone = await lay_files(workspace, laid, layer)
                await shielded(asyncio.to_thread(_replace, root, layer, gone))
                scratch.mkdir()
                files = {*workspace.files(), *(one.path for one in laid)}
                known = await asyncio.to_thread(lambda: {path: _signature(root / path) for path in files})
            except (OSError, shutil.Error) as error:
                raise WorkspaceError(f"the workspace can't be copied to {folder} ({error})") from error

            def rewritten() -> Sequence[str]:
                return sorted(path for path, before in known.items() if before and _signature(root / path) != before)

            checker = self._inside(self._processes, root, scratch, None)
            yield Room("copy", root, False, checker, lambda: asyncio.to_thread(rewritten))


def _signature(file: Path) -> Signature | None:
    try:
        status = file.lstat()
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return None  # a nested repository
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def copy_tree(
    root: Path,
    target: Path,
    covered: frozenset[str],
    *,
    most: tuple[int, int] = (MAX_FILES, MAX_BYTES),
    own_links: bool = False,
    without: Path | None = None,
) -> None:
    """Copies a tree, except what builds make again; virtual environments then belong to the copy. With `own_links` a
    link by an absolute path into the tree leads into the copy, and one that leaves the tree leads where it did. The
    folder `without` is left out. Raises OSError, and WorkspaceError if the tree has more than `most` files or bytes."""
    files = size = 0
    installed: Path | None = None
    # With a descriptor of each folder, whoever puts a link in its place meanwhile leads nobody out. What walks has no
    # name: a traceback would keep it, and the descriptors with it.
    for folder, folders, names, here in (
        os.fwalk(root) if sys.platform != "win32" else ((*each, None) for each in os.walk(root))
    ):
        place = Path(folder).relative_to(root)
        if ENVIRONMENT in names:
            installed = place
        if installed is not None and place.is_relative_to(installed):
            folders[:] = [name for name in folders if name != "__pycache__"]
        else:
            folders[:] = [name for name in folders if not made_by_builds((place / name).as_posix(), covered)]
        folders[:] = [name for name in folders if Path(folder) / name != without]
        (target / place).mkdir(exist_ok=True)
        for name in (*names, *folders):
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                continue
            source = Path(folder) / name
            files, size = files + 1, size + status.st_size
            if files > most[0] or size > most[1]:
                limit = f"{most[0]:,} files or {most[1] // 1024**3} GB"
                raise WorkspaceError(f"the workspace is too large to be copied: more than {limit}")
            if stat.S_ISLNK(status.st_mode):
                leads = Path(os.readlink(name, dir_fd=here))
                (target / place / name).symlink_to(_led(source, leads, root, target) if own_links else leads)
            elif stat.S_ISREG(status.st_mode):
                _copy_file(name, here, target / place / name)
    for config in (*target.glob("*/pyvenv.cfg"), *target.glob("*/*/pyvenv.cfg")):
        _move_environment(target, config, str(root))


def _led(source: Path, leads: Path, root: Path, target: Path) -> Path:
    """Where the copy of a link leads."""
    if leads.is_absolute():
        return target / leads.relative_to(root) if leads.is_relative_to(root) else leads
    meant = Path(os.path.normpath(source.parent / leads))
    return leads if meant.is_relative_to(root) else meant


def _replace(root: Path, layer: Path, gone: Sequence[str]) -> None:
    """Removes the missing files, with the folders that this empties, and puts the files of a layer in place."""
    failed: list[str] = []
    take_away(root, gone, failed)
    if failed:
        raise WorkspaceError(f"not taken away in the copy: {'; '.join(failed[:20])}")
    for folder, folders, names in os.walk(layer):
        place = root / Path(folder).relative_to(layer)
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        if place.is_symlink() or place.is_file():
            place.unlink()
        place.mkdir(exist_ok=True)
        for name in (*names, *links):
            if (place / name).is_dir() and not (place / name).is_symlink():
                shutil.rmtree(place / name)
            (Path(folder) / name).replace(place / name)


def _copy_file(name: str, folder: int | None, target: Path) -> None:
    """Shares the blocks if the file system can (Linux)."""
    flags = os.O_RDONLY | sum(getattr(os, each, 0) for each in ("O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"))
    read = os.open(name, flags, dir_fd=folder)
    with os.fdopen(read, "rb") as source:
        if not stat.S_ISREG(os.fstat(read).st_mode):
            return
        with target.open("wb") as copy:
            if not _cloned(read, copy.fileno()):
                shutil.copyfileobj(source, copy, _CHUNK)
        status = os.fstat(read)
        for attribute in os.listxattr(read) if sys.platform == "linux" else ():
            with contextlib.suppress(OSError):
                os.setxattr(target, attribute, os.getxattr(read, attribute))
        target.chmod(stat.S_IMODE(status.st_mode))
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _cloned(read: int, write: int) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        fcntl.ioctl(write, _FICLONE, read)
    except OSError:
        return False
    return True


def _is_in(root: Path, file: Path) -> bool:
    """Whether no link leads to it: an environment outside is the person's, and stays as it is."""
    return has_real_folders(root, file.relative_to(root).as_posix())


def _move_environment(root: Path, config: Path, before: str) -> None:
    """Fixes the paths in the scripts of a virtual environment in the copy, and of packages installed from the
    project."""
    if not _is_in(root, config):
        return
    environment, now = config.parent, str(root)
    candidates = [*environment.glob("bin/*"), *environment.glob("Scripts/*")]
    packages = [*environment.glob("lib/*/site-packages"), *environment.glob("Lib/site-packages")]
    for folder in packages:
        candidates += [*folder.glob("*.pth"), *folder.glob("*.egg-link"), *folder.glob("__editable__*.py")]
    for file in candidates:
        with contextlib.suppress(OSError):
            if not _is_in(environment, file) or file.is_symlink() or not file.is_file():
                continue
            if file.stat().st_size > _LARGEST_TEXT:
                continue
            data = read_bytes(file)
            moved = data.replace(os.fsencode(before), os.fsencode(now))
            if moved != data:
                file.write_bytes(moved)
