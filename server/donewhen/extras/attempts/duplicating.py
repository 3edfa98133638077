"""A second folder with the content of a workspace, to work in: ignored files too, and a repository of its own.

The workspace is read and never written. Of a repository everything is copied that git needs there, the objects too, so
that nothing which is done in the copy reaches the user's index, HEAD, branches or worktrees.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.regular import read_bytes
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.repository import find_repository
from donewhen.workspace.rooms.copying import copy_tree
from donewhen.workspace.rooms.guarding import git_folders
from donewhen.workspace.rooms.places import remove
from donewhen.workspace.shielding import shielded

MAX_FILES = 1_000_000
MAX_BYTES = 20 * 1024**3
TRIES = 3
_OF_A_WORKTREE = ("HEAD", "index", "ORIG_HEAD", "config.worktree")
_ELSEWHERE = re.compile(rb"(?m)^[ \t]*worktree[ \t]*=.*\n?")


async def duplicate(source: FolderWorkspace, place: Path, state: Path, *, without: Path) -> Path:
    """Copies the workspace, which is open, into the new folder `place`, and returns its root there. Where it is a
    folder of a repository, the whole repository is copied. `without` is our own folder, which may be inside it and is
    left out; `state` is for looking at the copy, and is removed again.

    The covered files of the copy are those of one moment: where somebody edits meanwhile it is made again. Raises
    WorkspaceError, and leaves nothing.
    """
    repository = await find_repository(source.root)
    prefix = repository.prefix if repository is not None else ""
    depth = prefix.count("/")
    top = source.root.resolve().parents[depth - 1] if depth else source.root.resolve()
    target = place / top.name
    root = target / source.root.resolve().relative_to(top)
    try:
        for _ in range(TRIES):
            await source.confirm()
            covered = frozenset(f"{prefix}{path}" for path in source.files())
            await shielded(asyncio.to_thread(_duplicate, top, target, covered, without))
            await source.confirm()
            if await _same(source, root, state):
                return root
            await shielded(asyncio.to_thread(remove, target))
    except OSError as error:
        await shielded(asyncio.to_thread(remove, place))
        why = error.strerror or str(error)[:300]  # shutil's errors are OSErrors with a list of what went wrong
        raise WorkspaceError(f"the workspace can't be copied to {place} ({why})") from error
    except BaseException:
        await shielded(asyncio.to_thread(remove, place))
        raise
    await shielded(asyncio.to_thread(remove, place))
    raise WorkspaceError(f"the files of {source.root} go on changing while they are copied: try again when they rest")


async def _same(source: FolderWorkspace, root: Path, state: Path) -> bool:
    copy = FolderWorkspace(root, state, watch=False)
    try:
        await copy.open(())
        return _contents(copy) == _contents(source)
    finally:
        await copy.close()
        await shielded(asyncio.to_thread(remove, state))


def _contents(workspace: FolderWorkspace) -> dict[str, str]:
    """What each covered file holds, but for links, which lead elsewhere in a copy, and nested repositories."""
    held = ((path, workspace.digest(path)) for path in workspace.files())
    return {path: digest for path, digest in held if digest is not None and not (workspace.root / path).is_symlink()}


def _duplicate(top: Path, target: Path, covered: frozenset[str], without: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy_tree(top, target, covered, most=(MAX_FILES, MAX_BYTES), own_links=True, without=without.resolve())
    own, there = top / ".git", target / ".git"
    if own.is_file() or own.is_symlink():
        there.unlink()
        _own_repository(top, there)
    if there.is_dir():
        # The folders of other worktrees are elsewhere: nothing that is done here may reach them, nor what links of
        # git's own folder lead to.
        linked = [name for name in ("worktrees", "config", "config.worktree") if (there / name).is_symlink()]
        for name in linked:
            (there / name).unlink()
        remove(there / "worktrees")
        for config in (there / "config", there / "config.worktree"):
            if config.is_file():
                config.write_bytes(_ELSEWHERE.sub(b"", read_bytes(config)))


def _own_repository(top: Path, target: Path) -> None:
    """Makes a repository of a linked worktree, of a submodule, or of one that a link leads to: what it shares with
    others is copied too. Where its repository isn't there any more, the copy has none."""
    found = git_folders(top)
    if not found:
        return
    own, shared = found[0].resolve(), found[-1].resolve()
    left_out = shutil.ignore_patterns("worktrees", "modules", "*.lock") if shared != own else None
    shutil.copytree(shared, target, symlinks=True, ignore=left_out)
    if shared != own:
        for name in _OF_A_WORKTREE:
            if (own / name).is_file():
                shutil.copy2(own / name, target / name)


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder; what vanishes meanwhile counts nothing. Blocks: for a thread."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += (Path(place) / name).lstat().st_size
    return size
