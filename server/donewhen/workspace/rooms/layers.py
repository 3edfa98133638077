"""Writes the files that differ in a room."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.errors import WorkspaceError
from donewhen.core.globs import any_matches, folders_above
from donewhen.ports import Laid, Workspace
from donewhen.regular import read_bytes
from donewhen.workspace.checkpoints import has_real_folders, put_back
from donewhen.workspace.manifest import FILE


async def lay_files(workspace: Workspace, laid: Sequence[Laid], target: Path) -> tuple[str, ...]:
    """Writes all existing files into a folder, and returns the paths of the missing ones. Raises WorkspaceError."""
    kept: dict[str, list[str]] = defaultdict(list)
    gone: list[str] = []
    for one in laid:
        if one.path.startswith("/") or ".." in one.path.split("/") or not one.path:
            raise WorkspaceError(f"{one.path!r} is not a path of the workspace")
        if one.checkpoint is not None:
            kept[one.checkpoint].append(one.path)
        elif one.content is None:
            gone.append(one.path)
    for checkpoint, paths in kept.items():
        gone += await workspace.lay(checkpoint, paths, target)
    texts = [(one.path, one.content) for one in laid if one.checkpoint is None and one.content is not None]
    try:
        await asyncio.to_thread(_write_files, workspace.root, texts, target)
    except OSError as error:
        raise WorkspaceError(f"a room's files can't be written ({error.strerror or error})") from error
    return tuple(gone)


ENVIRONMENT = "pyvenv.cfg"
"""The file at the top of a virtual environment."""


def built_folders(root: Path, covered: frozenset[str]) -> tuple[str, ...]:
    """The folders that builds made, outermost first."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        place = Path(folder).relative_to(root)
        if ENVIRONMENT in names:
            folders[:] = []  # what is in it was installed
            continue
        made = [name for name in folders if made_by_builds((place / name).as_posix(), covered)]
        found += [(place / name).as_posix() for name in made]
        folders[:] = [name for name in folders if name not in made and name != ".git"]
    return tuple(found)


def made_by_builds(path: str, covered: frozenset[str]) -> bool:
    """Whether a folder is made by builds, and the revision covers nothing in it. What is installed isn't: packages
    bring folders of such names."""
    if "node_modules" in path.split("/") or not any_matches(_OUTPUTS, f"{path}/x"):
        return False
    start = f"{path}/"
    return not any(one.startswith(start) for one in covered)


_OUTPUTS = tuple(glob for table in ECOSYSTEMS for glob in table.outputs if glob.endswith("/**"))


def _write_files(root: Path, texts: Iterable[tuple[str, bytes]], target: Path) -> None:
    failed: list[str] = []
    for path, content in texts:
        put_back(target, [(path, FILE, content)], failed)
        with contextlib.suppress(OSError):
            (target / path).chmod(stat.S_IMODE((root / path).stat().st_mode))
    if failed:
        raise OSError(errno.EIO, "; ".join(failed[:20]))


def hide(paths: Iterable[str], layer: Path) -> None:
    """Hides the files below a layer: in an overlay a character device 0:0 means that a file is missing, and any user
    may create one since Linux 5.8. Raises OSError."""
    for path in paths:
        file = layer / path
        above = [place for place in file.parents if place != layer and place.is_relative_to(layer)]
        if any(os.path.lexists(place) and not stat.S_ISDIR(place.lstat().st_mode) for place in above):
            continue  # a file of the layer replaces its folder
        file.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(file, stat.S_IFCHR, 0)


def like_below(root: Path, layer: Path) -> None:
    """Gives the folders of a layer their modes in the workspace, because the mode of the upper folder counts."""
    for place, folders, _ in os.walk(layer):
        for name in folders:
            folder = Path(place) / name
            path = folder.relative_to(layer).as_posix()
            with contextlib.suppress(OSError):
                below = (root / path).lstat()
                # A mode is given through a link; what is above the layer's folders may be a link in the workspace.
                if stat.S_ISDIR(below.st_mode) and not folder.is_symlink() and has_real_folders(root, path):
                    folder.chmod(stat.S_IMODE(below.st_mode))
    with contextlib.suppress(OSError):
        layer.chmod(stat.S_IMODE(root.stat().st_mode))


def changed_above(upper: Path, below: Sequence[Path], files: Iterable[str]) -> Iterator[str]:
    """Those of the lower files that the content written into an overlay changes or hides. `below` are the lower layers,
    the highest first. Raises OSError."""
    written, hiding = set[str](), set[str]()
    for place, folders, names in os.walk(upper, onerror=_raise):
        here = Path(place).relative_to(upper)
        written.update((here / name).as_posix() for name in (*folders, *names))
        hiding.update((here / name).as_posix() for name in names)
        hiding.update((here / name).as_posix() for name in folders if (Path(place) / name).is_symlink())
        hiding.update([here.as_posix()] if _opaque(Path(place)) else [])
    for path in files:
        if path in written or not hiding.isdisjoint(folders_above(path)):
            lower = next((layer / path for layer in below if os.path.lexists(layer / path)), None)
            if lower is not None and not (path in written and _same(upper / path, lower)):
                yield path


def _raise(error: OSError) -> None:
    raise error


def _opaque(folder: Path) -> bool:
    """A folder that was removed and made again hides what is below it."""
    try:
        return os.getxattr(folder, "user.overlay.opaque") == b"y"
    except OSError:
        return False


def _same(one: Path, other: Path) -> bool:
    """The same kind of file with the same content; times and owners don't count, nor does what is in a folder."""
    try:
        first, second = one.lstat(), other.lstat()
        if stat.S_ISDIR(first.st_mode) and stat.S_ISDIR(second.st_mode):
            return True  # a nested repository
        if stat.S_IFMT(first.st_mode) != stat.S_IFMT(second.st_mode) or first.st_mode & 0o111 != second.st_mode & 0o111:
            return False
        if stat.S_ISLNK(first.st_mode):
            return one.readlink() == other.readlink()
        if not stat.S_ISREG(first.st_mode) or first.st_size != second.st_size:
            return False
        return read_bytes(one) == read_bytes(other)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return False
        raise
