"""Makes many packs of kept trees few, and removes what no tree that is still needed holds.

Whatever the moment at which this is cut off, all content that is needed is in a finished pack: a new pack is on the
disk before an old one goes. What a crash leaves behind is content that is kept twice, until the next time.

A pack goes only once its content was read: what can't be read now, such as a file that another program has locked,
ends this, and a pack whose index is damaged is left for whoever can repair it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Folded
from donewhen.regular import read_text
from donewhen.workspace.manifest import NESTED
from donewhen.workspace.objects import FOLDER, LOCK, PRUNED, RECENT, STORE, Packs, held, rows_of, whole_index_of

SMALL = 16 * 1024 * 1024
"""Bytes: larger packs are left alone where only small ones are folded."""
RECENT_SECONDS = 7 * 86_400.0
"""How long a tree is needed, once it was kept, that no run names. It takes a moment until one does."""
RECENT_BYTES = 256 * 1024
_FREE_WITHIN = 2.0

Step = Callable[[str], None]
"""Called with what has just been done: tests inject a crash there."""


class FoldingTrees:
    """The trees that the runs of one workspace kept below `state` (ports.KeptTrees)."""

    def __init__(self, state: Path, *, step: Step = lambda done: None, now: Callable[[], float] = time.time) -> None:
        self._store = state / STORE
        self._folder = self._store / "objects" / "pack"
        self._step = step
        self._now = now

    def packs(self) -> int:
        return sum(1 for _ in self._folder.glob("*.idx"))

    async def fold(self, *, all_of_them: bool = False) -> Folded:
        """Copies the content of small packs, or of all, into one."""
        return await asyncio.to_thread(self._fold, all_of_them)

    async def prune(self, needed: Collection[str]) -> Folded:
        """Removes what neither these trees hold nor those that were kept lately. Raises WorkspaceError if trees are
        being kept all the time meanwhile."""
        return await asyncio.to_thread(self._prune, needed)

    # ------------------------------------------------------------------------------------ in a worker thread

    def _fold(self, all_of_them: bool) -> Folded:
        before = self._packs_on_disk()
        self._clean()
        chosen = [pack for pack, size in self._finished(before) if all_of_them or size < SMALL]
        if len(chosen) > 1:
            fresh = self._copy(chosen, None)
            self._step("folded")
            self._remove(chosen, fresh)
        try:
            big = (self._store / RECENT).stat().st_size > RECENT_BYTES
        except OSError:
            big = False
        if big:
            with held(self._store / LOCK, shared=False, within=_FREE_WITHIN):
                self._mark(self._recent())
        return self._gain(before)

    def _prune(self, needed: Collection[str]) -> Folded:
        before = self._packs_on_disk()
        if not before:
            return Folded()
        self._clean()
        old = [pack for pack, _ in self._finished(before)]
        there = {name for pack in old for name, _ in whole_index_of(pack.with_suffix(".idx"))}
        reader = _Reader(self._folder, there)
        wanted = reader.held_by([*_ids(needed), *_ids(self._recent())])
        if there <= wanted:
            return Folded()
        fresh = self._copy(old, wanted)
        self._step("copied what is needed")
        # For a moment, nobody keeps trees. What was kept while the above was copied may hold content of an old pack.
        with held(self._store / LOCK, shared=False, within=_FREE_WITHIN):
            recent = self._recent()
            late = reader.held_by(_ids(recent)) - wanted
            if late & there:
                fresh |= self._copy(old, late)
            self._step("copied what came meanwhile")
            self._mark(recent)
            self._step("marked")
            self._remove(old, fresh)
        return self._gain(before)

    def _copy(self, packs: Iterable[Path], wanted: set[bytes] | None) -> set[Path]:
        """Copies these objects, or all, of these packs into a new one, which is on the disk afterwards. Returns it: it
        has the name of an old one if that holds the same."""
        with Packs(self._folder).writing() as writer:
            for pack in packs:
                for name, record in _records(pack):
                    if wanted is None or name in wanted:
                        writer.copy(name, record)
        if writer.pack is None:
            return set()
        for path in (writer.pack, writer.pack.with_suffix(".idx"), self._folder):
            _synced(path)
        return {writer.pack}

    def _remove(self, packs: Iterable[Path], fresh: set[Path]) -> None:
        """The index first: a pack counts as long as it has one."""
        for pack in packs:
            if pack in fresh:
                continue
            for path in (pack.with_suffix(".idx"), pack):
                with contextlib.suppress(OSError):  # on Windows, while somebody reads it: the next time then
                    path.unlink()
                self._step(f"removed {path.suffix}")

    def _clean(self) -> None:
        """Removes packs whose index a crash removed or never let come to be."""
        for pack in self._folder.glob("*.pack"):
            with contextlib.suppress(OSError):
                if not pack.with_suffix(".idx").exists() and pack.stat().st_mtime < self._now() - 3600:
                    pack.unlink()
        Packs(self._folder).clean()

    def _mark(self, recent: Mapping[str, float]) -> None:
        kept = {tree: at for tree, at in recent.items() if at > self._now() - RECENT_SECONDS}
        text = "".join(f"{int(at)} {tree}\n" for tree, at in kept.items())
        for name, content in ((RECENT, text), (PRUNED, f"{int(self._now())}\n")):
            fresh = self._store / f"{name}.new"
            fresh.write_text(content, "ascii")
            fresh.replace(self._store / name)

    def _recent(self) -> Mapping[str, float]:
        """The trees that were kept lately, with the time; a line that isn't whole says nothing."""
        try:
            lines = read_text(self._store / RECENT, "ascii", "replace").splitlines()
        except OSError:
            return {}
        found: dict[str, float] = {}
        for line in lines:
            at, _, tree = line.partition(" ")
            if at.isdecimal() and len(tree) == 40 and float(at) > self._now() - RECENT_SECONDS:
                found[tree] = float(at)
        return found

    def _finished(self, listed: Mapping[Path, int]) -> list[tuple[Path, int]]:
        """The packs that count, with their sizes. Raises OSError."""
        found: list[tuple[Path, int]] = []
        for path, size in listed.items():
            index = path.with_suffix(".idx")
            if path.suffix == ".pack" and index in listed:
                with contextlib.suppress(WorkspaceError):  # an index that is not whole
                    next(whole_index_of(index), None)
                    found.append((path, size))
        return found

    def _packs_on_disk(self) -> dict[Path, int]:
        found: dict[Path, int] = {}
        for path in sorted(self._folder.glob("pack-*")):
            with contextlib.suppress(OSError):
                found[path] = path.stat().st_size
        return found

    def _gain(self, before: Mapping[Path, int]) -> Folded:
        after = self._packs_on_disk()
        return Folded(len(before) - len(after), sum(before.values()) - sum(after.values()))


class _Reader:
    """Finds what trees hold, each read once. `there` are the objects that are known to be kept."""

    def __init__(self, folder: Path, there: Collection[bytes]) -> None:
        self._packs = Packs(folder)
        self._there = there
        self._known: dict[bytes, tuple[list[bytes], list[bytes]]] = {}

    def held_by(self, trees: Iterable[bytes]) -> set[bytes]:
        """The ids of these trees and of all that is below them. A tree that was lost holds nothing. Raises OSError and
        WorkspaceError for one that is there, and can't be read."""
        found: set[bytes] = set()
        waiting = list(trees)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            folders, files = self._rows(name)
            found.update(files)
            waiting += folders
        return found

    def _rows(self, name: bytes) -> tuple[list[bytes], list[bytes]]:
        if name not in self._known:
            content = self._packs.found(name)
            if content is None and name in self._there and name not in self._packs:
                raise WorkspaceError(
                    f"a pack of checkpoints could not be read, so nothing was removed: tree {name.hex()}"
                )
            rows = [(mode, held) for mode, _, held in rows_of(content or b"") if mode != NESTED]
            self._known[name] = (
                [held for mode, held in rows if mode == FOLDER],
                [held for mode, held in rows if mode != FOLDER],
            )
        return self._known[name]


def _records(pack: Path) -> Iterator[tuple[bytes, bytes]]:
    """The objects of a pack as they stand in it."""
    places = sorted((at, name) for name, at in whole_index_of(pack.with_suffix(".idx")))
    if not places:
        return
    ends = [at for at, _ in places[1:]] + [pack.stat().st_size - 20]
    with pack.open("rb") as file:
        for (at, name), end in zip(places, ends, strict=True):
            file.seek(at)
            yield name, file.read(end - at)


def _ids(trees: Iterable[str]) -> list[bytes]:
    return [bytes.fromhex(tree) for tree in trees if len(tree) == 40]


def _synced(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # no folder can be opened there
    descriptor = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
