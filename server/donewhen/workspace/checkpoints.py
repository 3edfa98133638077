"""Checkpoints: the covered tree, kept outside of the workspace, byte for byte, and put back on demand.

A checkpoint's id is that of a git tree. Ignored files, empty folders and the contents of nested repositories are not
captured, and restoring never removes them; a file that is too large, or can't be read, is known by its content's id
alone, and restoring leaves it as it is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from donewhen.core.errors import OtherRevision, WorkspaceError
from donewhen.regular import read_bytes
from donewhen.workspace.diffing import Change, unified
from donewhen.workspace.manifest import LINK, NESTED, Entry, Manifest, encoded
from donewhen.workspace.objects import ObjectStore
from donewhen.workspace.packs import PackWriter
from donewhen.workspace.reading import blob_id, read_entry
from donewhen.workspace.restoring import has_real_folders, put_back, take_away

SIZE_LIMIT = 50 * 1024 * 1024
_BATCH = 128
_TREE = "40000"


class Kept(NamedTuple):
    """One file of a checkpoint: mode `160000` where only its identity was kept."""

    mode: str
    blob: bytes


Tree = Mapping[str, Kept]


class Checkpoints:
    """The checkpoints of one workspace folder, under `state`. `borrowed` is the user's git object store, if any."""

    def __init__(self, root: Path, state: Path, borrowed: Path | None, size_limit: int = SIZE_LIMIT) -> None:
        self._root = root
        self._objects = ObjectStore(state / "checkpoints.git", borrowed)
        self._size_limit = size_limit
        self._trees: dict[str, Tree] = {}
        self._last: tuple[Manifest, str] | None = None
        self.not_captured: tuple[str, ...] = ()

    async def keep(self, manifest: Manifest) -> str:
        """Keeps the files of a manifest that was just confirmed; returns the checkpoint's id."""
        if self._last is not None and self._last[0] is manifest:
            return self._last[1]
        tree = await asyncio.to_thread(self._tree_of, manifest)
        missing = await self._objects.missing({kept.blob for kept in tree.values() if kept.mode != NESTED})
        wanted = [path for path, kept in tree.items() if kept.mode != NESTED and kept.blob in missing]
        checkpoint = await asyncio.to_thread(self._write, tree, wanted)
        self.not_captured = tuple(path for path, kept in tree.items() if kept.mode == NESTED)
        if self._trees.get(checkpoint) == tree:
            self._last = (manifest, checkpoint)
        return checkpoint

    async def restore(
        self, checkpoint: str, manifest: Manifest, paths: Sequence[str] | None, keep: Sequence[str]
    ) -> tuple[str, ...]:
        """Makes the files what they were; returns those that it changed. WorkspaceError names what it couldn't."""
        then = await self._tree(checkpoint)
        now = await asyncio.to_thread(self._present, then, manifest)
        wanted = (
            _different(then, now) if paths is None else [path for path in _different(then, now) if path in set(paths)]
        )
        wanted = [path for path in wanted if path not in set(keep) and _restorable(then.get(path), now.get(path))]
        failed: list[str] = []
        gone = [path for path in wanted if path not in then]
        await asyncio.to_thread(take_away, self._root, gone, failed)
        back = [path for path in wanted if path in then]
        for start in range(0, len(back), _BATCH):
            batch = back[start : start + _BATCH]
            contents = await self._objects.read(then[path].blob for path in batch)
            files = [(path, then[path].mode, contents[then[path].blob]) for path in batch]
            await asyncio.to_thread(put_back, self._root, files, failed)
        if failed:
            raise WorkspaceError(f"not restored: {'; '.join(failed[:20])}. Everything else was")
        return tuple(wanted)

    async def changed_between(self, before: str, after: str | None, manifest: Manifest) -> tuple[str, ...]:
        """Paths that differ between two checkpoints, or between one and a manifest, sorted."""
        then = await self._tree(before)
        now = await (asyncio.to_thread(self._present, then, manifest) if after is None else self._tree(after))
        return tuple(await asyncio.to_thread(_different, then, now))

    async def file_at(self, checkpoint: str, path: str) -> bytes | None:
        """A file's bytes as they were (a link's target); None if it was absent or not captured."""
        kept = (await self._tree(checkpoint)).get(path)
        if kept is None or kept.mode == NESTED:
            return None
        return (await self._objects.read([kept.blob]))[kept.blob]

    async def lay(self, checkpoint: str, paths: Sequence[str], target: Path) -> tuple[str, ...]:
        """Writes files as they were into another folder; returns those that were not there."""
        then = await self._tree(checkpoint)
        unknown = [path for path in paths if path in then and then[path].mode == NESTED]
        if unknown:
            raise WorkspaceError(f"no checkpoint holds {unknown[0]}: it is too large, or a repository of its own")
        there = [path for path in paths if path in then]
        failed: list[str] = []
        for start in range(0, len(there), _BATCH):
            batch = there[start : start + _BATCH]
            contents = await self._objects.read(then[path].blob for path in batch)
            files = [(path, then[path].mode, contents[then[path].blob]) for path in batch]
            await asyncio.to_thread(put_back, target, files, failed)
        if failed:
            raise WorkspaceError(f"not written: {'; '.join(failed[:20])}")
        return tuple(path for path in paths if path not in then)

    async def diff(self, before: str, after: str | None, manifest: Manifest, limit: int) -> str:
        """A unified diff of at most about `limit` characters. Raises OtherRevision if a file isn't as listed."""
        then = await self._tree(before)
        now = await (asyncio.to_thread(self._present, then, manifest) if after is None else self._tree(after))
        changes: list[Change] = []
        paths = _different(then, now)
        for start in range(0, len(paths), _BATCH):
            batch = paths[start : start + _BATCH]
            # What lies beyond the limit is counted, not read.
            full = sum(change.size for change in changes) > limit
            changes += _unread(then, now, batch) if full else await self._read(then, now, batch, after is None)
        return await asyncio.to_thread(unified, changes, limit)

    async def _read(self, then: Tree, now: Tree, paths: Sequence[str], on_disk: bool) -> list[Change]:
        trees = (then,) if on_disk else (then, now)
        wanted = {tree[path].blob for tree in trees for path in paths if path in tree and tree[path].mode != NESTED}
        contents = await self._objects.read(wanted)
        changes: list[Change] = []
        for path in paths:
            old, new = then.get(path), now.get(path)
            before = contents.get(old.blob) if old is not None else None
            after = self._standing(path, new) if on_disk else contents.get(new.blob) if new is not None else None
            changes.append(Change(path, before, after, old and old.mode, new and new.mode))
        return changes

    def _standing(self, path: str, kept: Kept | None) -> bytes | None:
        if kept is None or kept.mode == NESTED:
            return None
        content = _on_disk(self._root / path, kept.mode)
        if content is None or blob_id(content) != kept.blob:
            raise OtherRevision  # it changed since it was listed
        return content

    def _present(self, then: Tree, manifest: Manifest) -> Tree:
        """The present tree, files of the checkpoint included that the revision doesn't cover now."""
        now = dict(self._tree_of(manifest))
        for path in then.keys() - now.keys():
            if has_real_folders(self._root, path):
                entry = read_entry(os.fspath(self._root / path))
                if entry is not None:
                    now[path] = self._kept(entry)
        return now

    def _tree_of(self, manifest: Manifest) -> Tree:
        return {path: self._kept(entry) for path, entry in manifest.items()}

    def _kept(self, entry: Entry) -> Kept:
        return Kept(NESTED if entry.size > self._size_limit else entry.mode, entry.blob)

    def _write(self, tree: Tree, wanted: Sequence[str]) -> str:
        actual = dict(tree)
        try:
            with self._objects.writing() as writer:
                for path in wanted:
                    content = _on_disk(self._root / path, tree[path].mode)
                    if content is None:
                        del actual[path]
                    else:
                        # It may have changed since it was listed: what is kept is what is named.
                        actual[path] = Kept(tree[path].mode, writer.add("blob", content))
                checkpoint = _write_folder(_nest(actual), writer).hex()
        except OSError as error:
            raise WorkspaceError(
                f"the checkpoint can't be kept ({error.strerror}): free some space, or correct the permissions"
            ) from error
        self._remember(checkpoint, actual)
        return checkpoint

    async def _tree(self, checkpoint: str) -> Tree:
        if checkpoint not in self._trees:
            try:
                name = bytes.fromhex(checkpoint)
            except ValueError:
                raise WorkspaceError(f"{checkpoint!r} is not a checkpoint") from None
            tree: dict[str, Kept] = {}
            await asyncio.to_thread(self._read_folder, name, "", tree)
            self._remember(checkpoint, tree)
        return self._trees[checkpoint]

    def _read_folder(self, name: bytes, place: str, tree: dict[str, Kept]) -> None:
        content = self._objects.read_tree(name)
        at = 0
        while at < len(content):
            end = content.index(b"\0", at)
            mode, _, part = content[at:end].partition(b" ")
            held, at = content[end + 1 : end + 21], end + 21
            path = place + part.decode("utf-8", "surrogateescape")
            if mode.decode() == _TREE:
                self._read_folder(held, f"{path}/", tree)
            else:
                tree[path] = Kept(mode.decode(), held)

    def _remember(self, checkpoint: str, tree: Tree) -> None:
        self._trees[checkpoint] = tree
        while len(self._trees) > 6:
            del self._trees[next(iter(self._trees))]


Nested = dict[bytes, "Nested | Kept"]


def _write_folder(folder: Nested, writer: PackWriter) -> bytes:
    rows: list[tuple[bytes, bytes]] = []
    for name, held in folder.items():
        if isinstance(held, dict):
            row = b"%b %b\0%b" % (_TREE.encode(), name, _write_folder(held, writer))
            rows.append((name + b"/", row))  # git sorts folders so
        else:
            rows.append((name, b"%b %b\0%b" % (held.mode.encode(), name, held.blob)))
    return writer.add("tree", b"".join(row for _, row in sorted(rows)))


def _nest(tree: Tree) -> Nested:
    top: Nested = {}
    folders: dict[str, Nested] = {"": top}
    for path, kept in tree.items():
        place, _, name = path.rpartition("/")
        _folder(folders, place)[encoded(name)] = kept
    return top


def _folder(folders: dict[str, Nested], place: str) -> Nested:
    if place not in folders:
        above, _, name = place.rpartition("/")
        made: Nested = {}
        _folder(folders, above)[encoded(name)] = made
        folders[place] = made
    return folders[place]


def _different(one: Tree, other: Tree) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def _unread(then: Tree, now: Tree, paths: Sequence[str]) -> list[Change]:
    modes = ((path, then.get(path), now.get(path)) for path in paths)
    return [Change(path, None, None, old and old.mode, new and new.mode, unread=True) for path, old, new in modes]


def _restorable(then: Kept | None, now: Kept | None) -> bool:
    """What can't be put back, or couldn't be brought back once removed, is left alone."""
    return not ((then is not None and then.mode == NESTED) or (now is not None and now.mode == NESTED))


def _on_disk(path: Path, mode: str) -> bytes | None:
    try:
        return os.fsencode(path.readlink()) if mode == LINK else read_bytes(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
