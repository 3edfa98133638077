"""Checkpoints: the covered tree, kept outside of the workspace, byte for byte, and restored on demand.

A checkpoint's id is that of a git tree. Ignored files, empty folders and the contents of nested repositories are not
captured, and restoring never removes them. Of a file that is too large, or can't be read, only the content's id is
kept, and restoring leaves the file as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from donewhen.core.errors import OtherRevision, WorkspaceError
from donewhen.core.feedback import changed_lines
from donewhen.regular import LeadsOut, read_bytes
from donewhen.workspace.manifest import EXECUTABLE, LINK, NESTED, FileEntry, Manifest, encoded
from donewhen.workspace.objects import FOLDER, STORE, ContentRemoved, ObjectStore, ObjectWriter, rows_of
from donewhen.workspace.scanning import SIZE_LIMIT, blob_id, read_entry
from donewhen.workspace.writes import real_folder, replace_file

_BATCH = 128


class Kept(NamedTuple):
    """One file of a checkpoint: mode `160000` if only its identity was kept."""

    mode: str
    blob: bytes


class Content(NamedTuple):
    """What stands at one path: git's mode, and the bytes (of a link: its target)."""

    mode: str
    data: bytes


Tree = Mapping[str, Kept]


class Checkpoints:
    """The checkpoints of one workspace folder, under `state`. `borrowed` is the user's git object store, if any."""

    def __init__(self, root: Path, state: Path, borrowed: Path | None, size_limit: int = SIZE_LIMIT) -> None:
        self._root = root
        self._objects = ObjectStore(state / STORE, borrowed)
        self._size_limit = size_limit
        self._trees: dict[str, Tree] = {}
        self._last: tuple[Manifest, str] | None = None
        self._one_at_a_time = asyncio.Lock()
        self.not_captured: tuple[str, ...] = ()

    async def keep(self, manifest: Manifest) -> str:
        """Keeps the files of a manifest that was just confirmed; returns the checkpoint's id."""
        async with self._one_at_a_time:
            if self._last is not None and self._last[0] is manifest:
                checkpoint = self._last[1]
                if await asyncio.to_thread(self._objects.is_safe, bytes.fromhex(checkpoint)):
                    return checkpoint
            tree, checkpoint = await asyncio.to_thread(self._tree_of, manifest), None
            while checkpoint is None:
                with contextlib.suppress(ContentRemoved):
                    checkpoint = await self._keep_tree(tree)
            self.not_captured = tuple(path for path, kept in tree.items() if kept.mode == NESTED)
            if self._trees.get(checkpoint) == tree:
                self._last = (manifest, checkpoint)
            return checkpoint

    async def _keep_tree(self, tree: Tree) -> str:
        missing = await self._objects.missing({kept.blob for kept in tree.values() if kept.mode != NESTED})
        wanted = [path for path, kept in tree.items() if kept.mode != NESTED and kept.blob in missing]
        return await asyncio.to_thread(self._write_tree, tree, wanted)

    async def restore(
        self, checkpoint: str, manifest: Manifest, paths: Sequence[str] | None, keep: Sequence[str]
    ) -> tuple[str, ...]:
        """Restores the files; returns those that it changed. WorkspaceError names those that it couldn't."""
        then = await self._tree(checkpoint)
        now = await asyncio.to_thread(self._present, then, manifest)
        differing = differing_paths(then, now)
        # What can't be put back, or couldn't be restored once removed, is left alone.
        left = {path for tree in (then, now) for path in differing if path in tree and tree[path].mode == NESTED}
        among = set(differing if paths is None else paths).difference(left, keep)
        wanted = [path for path in differing if path in among]
        failed: list[str] = []
        gone = [path for path in wanted if path not in then]
        await asyncio.to_thread(take_away, self._root, gone, failed)
        await self._put_back(then, [path for path in wanted if path in then], self._root, failed)
        if failed:
            rest = "nothing was put back" if len(failed) == len(wanted) else "the rest was put back"
            raise WorkspaceError(f"not restored: {'; '.join(failed[:20])}: {rest}")
        return tuple(wanted)

    async def changed_between(self, before: str, after: str | None, manifest: Manifest) -> tuple[str, ...]:
        """Paths that differ between two checkpoints, or between one and a manifest, sorted."""
        then = await self._tree(before)
        now = await (asyncio.to_thread(self._present, then, manifest) if after is None else self._tree(after))
        return tuple(await asyncio.to_thread(differing_paths, then, now))

    async def file_at(self, checkpoint: str, path: str) -> bytes | None:
        """A file's bytes at that time (a link's target); None if it was absent or not captured."""
        kept = (await self._tree(checkpoint)).get(path)
        if kept is None or kept.mode == NESTED:
            return None
        return (await self._objects.read([kept.blob]))[kept.blob]

    async def content_at(self, checkpoint: str, path: str) -> Content | None:
        """As `file_at`, with the kind of the file. Raises WorkspaceError for a file that was not captured."""
        kept = (await self._tree(checkpoint)).get(path)
        if kept is None:
            return None
        if kept.mode == NESTED:
            raise WorkspaceError(f"no checkpoint holds {path}: it is too large, or a repository of its own")
        return Content(kept.mode, (await self._objects.read([kept.blob]))[kept.blob])

    async def lay(self, checkpoint: str, paths: Sequence[str], target: Path) -> tuple[str, ...]:
        """Writes files from a checkpoint into another folder; returns those that the checkpoint doesn't have."""
        then = await self._tree(checkpoint)
        unknown = [path for path in paths if path in then and then[path].mode == NESTED]
        if unknown:
            raise WorkspaceError(f"no checkpoint holds {unknown[0]}: it is too large, or a repository of its own")
        failed: list[str] = []
        await self._put_back(then, [path for path in paths if path in then], target, failed)
        if failed:
            raise WorkspaceError(f"not written: {'; '.join(failed[:20])}")
        return tuple(path for path in paths if path not in then)

    async def _put_back(self, tree: Tree, paths: Sequence[str], target: Path, failed: list[str]) -> None:
        for start in range(0, len(paths), _BATCH):
            batch = paths[start : start + _BATCH]
            contents = await self._objects.read(tree[path].blob for path in batch)
            files = [(path, tree[path].mode, contents[tree[path].blob]) for path in batch]
            await asyncio.to_thread(put_back, target, files, failed)

    async def diff(self, before: str, after: str | None, manifest: Manifest, limit: int) -> str:
        """A unified diff of at most about `limit` characters. Raises OtherRevision if a file isn't as listed."""
        then = await self._tree(before)
        now = await (asyncio.to_thread(self._present, then, manifest) if after is None else self._tree(after))
        changes: list[Change] = []
        paths = differing_paths(then, now)
        for start in range(0, len(paths), _BATCH):
            batch = paths[start : start + _BATCH]
            # Content beyond the limit is counted, not read.
            full = sum(change.size for change in changes) > limit
            changes += (
                _unread(then, now, batch) if full else await self._changes_between(then, now, batch, after is None)
            )
        return await asyncio.to_thread(unified, changes, limit)

    async def _changes_between(self, then: Tree, now: Tree, paths: Sequence[str], on_disk: bool) -> list[Change]:
        trees = (then,) if on_disk else (then, now)
        wanted = {tree[path].blob for tree in trees for path in paths if path in tree and tree[path].mode != NESTED}
        contents = await self._objects.read(wanted)
        changes: list[Change] = []
        for path in paths:
            old, new = then.get(path), now.get(path)
            before = contents.get(old.blob) if old is not None else None
            if new is None or new.mode == NESTED:
                after = None
            elif not on_disk:
                after = contents.get(new.blob)
            else:
                after = _on_disk(self._root, path, new.mode)
                if after is None or blob_id(after) != new.blob:
                    raise OtherRevision  # the file has changed since it was listed
            changes.append(Change(path, before, after, old and old.mode, new and new.mode))
        return changes

    def _present(self, then: Tree, manifest: Manifest) -> Tree:
        """The present tree, including files of the checkpoint that the revision doesn't cover now."""
        now = dict(self._tree_of(manifest))
        for path in then.keys() - now.keys():
            if has_real_folders(self._root, path):
                entry = read_entry(os.fspath(self._root / path))
                if entry is not None:
                    now[path] = self._tree_entry(entry)
        return now

    def _tree_of(self, manifest: Manifest) -> Tree:
        return {path: self._tree_entry(entry) for path, entry in manifest.items()}

    def _tree_entry(self, entry: FileEntry) -> Kept:
        return Kept(NESTED if entry.size > self._size_limit else entry.mode, entry.blob)

    def _write_tree(self, tree: Tree, wanted: Sequence[str]) -> str:
        actual = dict(tree)
        try:
            with self._objects.writing() as writer:
                for path in wanted:
                    content = _on_disk(self._root, path, tree[path].mode)
                    if content is None:
                        del actual[path]
                    else:
                        # The file may have changed since it was listed: the id must be that of the content that is
                        # kept.
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
            top = await self._objects.found([name])
            if name not in top:
                raise WorkspaceError(f"there is no checkpoint {checkpoint} here")
            self._remember(checkpoint, await self._files_of(top[name]))
        return self._trees[checkpoint]

    async def _files_of(self, top: bytes) -> Tree:
        """The files of a tree, which is read level by level."""
        tree: dict[str, Kept] = {}
        level = [("", top)]
        while level:
            below: list[tuple[str, bytes]] = []
            for place, content in level:
                for mode, part, held in rows_of(content):
                    path = place + part.decode("utf-8", "surrogateescape")
                    if mode == FOLDER:
                        below.append((f"{path}/", held))
                    else:
                        tree[path] = Kept(mode, held)
            contents = await self._objects.read(held for _, held in below)
            level = [(place, contents[held]) for place, held in below]
        return tree

    def _remember(self, checkpoint: str, tree: Tree) -> None:
        self._trees[checkpoint] = tree
        while len(self._trees) > 6:
            del self._trees[next(iter(self._trees))]


Nested = dict[bytes, "Nested | Kept"]


def _write_folder(folder: Nested, writer: ObjectWriter) -> bytes:
    rows: list[tuple[bytes, bytes]] = []
    for name, held in folder.items():
        if isinstance(held, dict):
            row = b"%b %b\0%b" % (FOLDER.encode(), name, _write_folder(held, writer))
            rows.append((name + b"/", row))  # git's order of folders
        else:
            rows.append((name, b"%b %b\0%b" % (held.mode.encode(), name, held.blob)))
    return writer.add("tree", b"".join(row for _, row in sorted(rows)))


def _nest(tree: Tree) -> Nested:
    top: Nested = {}
    folders: dict[str, Nested] = {"": top}
    for path, kept in tree.items():
        place, _, name = path.rpartition("/")
        _nested_folder(folders, place)[encoded(name)] = kept
    return top


def _nested_folder(folders: dict[str, Nested], place: str) -> Nested:
    if place not in folders:
        above, _, name = place.rpartition("/")
        made: Nested = {}
        _nested_folder(folders, above)[encoded(name)] = made
        folders[place] = made
    return folders[place]


def differing_paths(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """The paths at which one tree has something else than the other, sorted."""
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def _unread(then: Tree, now: Tree, paths: Sequence[str]) -> list[Change]:
    modes = ((path, then.get(path), now.get(path)) for path in paths)
    return [Change(path, None, None, old and old.mode, new and new.mode, unread=True) for path, old, new in modes]


def _on_disk(root: Path, path: str, mode: str) -> bytes | None:
    """None for what is no longer there, or is something else by now."""
    try:
        return os.fsencode((root / path).readlink()) if mode == LINK else read_bytes(path, within=root)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, LeadsOut):
        return None


# A bounded unified diff, with its cut marked.


_LARGEST = 400_000


@dataclass(frozen=True)
class Change:
    """One file before and after; None if it doesn't exist. `unread`: larger than the limit, so its content is
    unknown."""

    path: str
    before: bytes | None
    after: bytes | None
    mode_before: str | None = None
    mode_after: str | None = None
    unread: bool = False

    @property
    def size(self) -> int:
        """The approximate size of its diff in bytes."""
        return abs(_content_size(self.after) - _content_size(self.before)) + 80


def unified(changes: Sequence[Change], limit: int) -> str:
    """The diff of these changes, of at most about `limit` characters; says how many files were left out or cut."""
    parts: list[str] = []
    size = 0
    for number, change in enumerate(changes):
        text = "" if change.unread or size >= limit else "".join(_diff_lines(change))
        if not text:
            parts.append(f"[... diff cut: {len(changes) - number} more changed files ...]\n")
            break
        if size + len(text) > limit:
            left_out = size + len(text) - limit
            text = f"{text[: limit - size]}\n[... diff cut: {left_out} more characters of {change.path} ...]\n"
        parts.append(text)
        size += len(text)
    return "".join(parts)


def _diff_lines(change: Change) -> Iterator[str]:
    path = change.path.encode("utf-8", "replace").decode()
    yield f"diff --git a/{path} b/{path}\n"
    if NESTED in (change.mode_before, change.mode_after):
        what = "new" if change.mode_before is None else "deleted" if change.mode_after is None else "changed"
        yield f"{what}; its content was not kept: it is too large, unreadable, or a repository of its own\n"
        return
    if change.mode_before is None:
        yield f"new file mode {change.mode_after}\n"
    elif change.mode_after is None:
        yield f"deleted file mode {change.mode_before}\n"
    elif change.mode_before != change.mode_after:
        yield f"old mode {change.mode_before}\nnew mode {change.mode_after}\n"
    if change.before == change.after:
        return
    if _is_binary(change.before) or _is_binary(change.after):
        yield f"Binary files differ ({_content_size(change.before)} to {_content_size(change.after)} bytes)\n"
        return
    before, after = _split(change.before), _split(change.after)
    old = "/dev/null" if change.before is None else f"a/{path}"
    new = "/dev/null" if change.after is None else f"b/{path}"
    yield f"--- {old}\n+++ {new}\n"
    for line in changed_lines(before, after):
        if line.endswith("\n"):
            yield line
        else:
            yield f"{line}\n" if line.startswith(("@@ ", "(")) else f"{line}\n\\ No newline at end of file\n"


def _split(content: bytes | None) -> list[str]:
    *lines, rest = (content or b"").decode("utf-8", "replace").split("\n")
    return [f"{line}\n" for line in lines] + ([rest] if rest else [])


def _is_binary(content: bytes | None) -> bool:
    return content is not None and (len(content) > _LARGEST or b"\0" in content[:8192])


def _content_size(content: bytes | None) -> int:
    return len(content or b"")


# Puts files back on the disk: never through a link, never over content that no checkpoint has.


def take_away(root: Path, paths: Iterable[str], failed: list[str]) -> None:
    """Removes files, and the folders that this empties; what can't be removed is added to `failed`."""
    for path in paths:
        try:
            with real_folder(root, path) as folder:
                (folder / _base_name(path)).unlink()
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
            with real_folder(root, path, make=True) as folder:
                target = folder / _base_name(path)
                with contextlib.suppress(OSError):
                    target.rmdir()  # an empty folder in its place holds nobody's content
                if mode == LINK:
                    target.unlink(missing_ok=True)
                    target.symlink_to(os.fsdecode(content))
                else:
                    replace_file(target, content, _permissions(target, mode == EXECUTABLE))
        except OSError as error:
            failed.append(f"{path} ({error.strerror})")


def has_real_folders(root: Path, path: str) -> bool:
    """Whether all folders above the path exist, and none of them is a link."""
    try:
        with real_folder(root, path):
            return True
    except OSError:
        return False


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]


def _permissions(target: Path, executable: bool) -> int | None:
    """The file's present mode, except for the bit that git keeps."""
    try:
        status = target.lstat()
        known = stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        known = None
    if known is None:
        return 0o755 if executable else None
    return known | (known & 0o444) >> 2 if executable else known & ~0o111


def _remove_empty_above(root: Path, path: str) -> None:
    while path := path.rpartition("/")[0]:
        try:
            with real_folder(root, path) as folder:
                (folder / _base_name(path)).rmdir()
        except OSError:
            return
