"""The workspace on disk: one manifest, replaced whenever the watcher or a walk finds a change."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from donewhen.core.errors import OtherRevision, WorkspaceError
from donewhen.core.words import listed
from donewhen.ports import TreeState
from donewhen.regular import read_bytes
from donewhen.workspace.attribution import ClientSaves, Outputs, changed_after
from donewhen.workspace.checkpoints import Checkpoints, Content
from donewhen.workspace.ignoring import Coverage, IgnoreRules
from donewhen.workspace.manifest import NESTED, FileEntry, Manifest
from donewhen.workspace.remembered import keep_result, keep_rules, load_result, load_rules
from donewhen.workspace.repository import Repository, committed, find_repository
from donewhen.workspace.scanning import Scanner, read_entry
from donewhen.workspace.settling import Notifier, Quiet, wait_settled
from donewhen.workspace.shielding import shielded
from donewhen.workspace.watching import NoWatcher, Watcher, watcher_for

# The files that this process prints to: `donewhen run --json > out.jsonl` must not mistake its own output for work.


STANDARD = (1, 2)


def own_streams(root: Path, descriptors: tuple[int, ...] = STANDARD) -> tuple[str, ...]:
    """The paths, relative to `root`, of the regular files inside it that this process's stdout and stderr go to, found
    by device and inode. A pipe, such as to `tee`, doesn't reveal what is behind it."""
    top = root.resolve()
    with contextlib.suppress(psutil.Error):
        opened = [Path(one.path) for one in psutil.Process().open_files()]
        return tuple(
            place.relative_to(top).as_posix()
            for place in dict.fromkeys(opened)
            if place.is_relative_to(top) and any(_is_open_as(place, descriptor) for descriptor in descriptors)
        )
    return ()


def _is_open_as(place: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(place.stat(), os.fstat(descriptor))
    except OSError:
        return False


# The workspace itself.


_UNOPENED = Manifest({})

_LISTED = 5


class FolderWorkspace:
    """A `ports.Workspace` on a folder; `state` is a folder outside of it where it keeps checkpoints. Opening the
    workspace makes it, if the folder that it is in is there, and nothing else does.

    `watch=False` is never notified: every look is a walk. `quiet` says how long content must stay the same to be
    settled. `excluded` names more of our own folders that may be inside it and are not part of it, `streams` the files
    that this process prints to: no process that continues the run counts them either. `warning` says why changes are
    noticed late, if they are; `not_captured` names the files that the last checkpoint left out: files that are too
    large or unreadable, nested repositories.
    """

    def __init__(
        self,
        root: Path,
        state: Path,
        *,
        watch: bool = True,
        quiet: Quiet | None = None,
        excluded: Sequence[Path] = (),
        watcher: Callable[[Path, Path], Watcher] = watcher_for,
        streams: Callable[[Path], Sequence[str]] = own_streams,
    ) -> None:
        self._root = root.absolute()
        self._state = state.absolute()
        self._excluded = (self._state, *excluded)
        self._streams = streams
        self._watched = watch
        self._watcher: Watcher = watcher(self._root, self._state) if watch else NoWatcher()
        self._quiet = quiet or Quiet()
        self._outputs = Outputs()
        self._saves = ClientSaves()
        self._manifest = _UNOPENED
        self._git_lock: Path | None = None
        self._handed = self._manifest
        self._coverage: Coverage | None = None
        self._scanner: Scanner | None = None
        self._checkpoints: Checkpoints | None = None
        self._base: Manifest | None = None
        self._watching = self._unsure = False
        self._one_at_a_time = asyncio.Lock()
        self._notifier = Notifier()

    @property
    def root(self) -> Path:
        return self._root

    @property
    def warning(self) -> str | None:
        """Why changes are noticed late, and what to do about it."""
        return self._watcher.warning

    @property
    def not_captured(self) -> tuple[str, ...]:
        """What the last checkpoint left out: files that are too large or can't be read, nested repositories."""
        return self._checkpoints.not_captured if self._checkpoints else ()

    @property
    def notices(self) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        if self.warning is not None:
            found.append(("watching", self.warning))
        if self.not_captured:
            found.append(("not_captured", f"can't be put back by revert: {listed(self.not_captured, _LISTED)}"))
        return tuple(found)

    # ------------------------------------------------------------------------------- revision

    async def open(self, named: Sequence[str], frozen: str | None = None) -> TreeState:
        return await shielded(self._open_tree(named, frozen))

    async def name(self, named: Sequence[str]) -> None:
        await shielded(self._cover_named(named))

    async def current(self) -> TreeState:
        await asyncio.sleep(0)  # a caller that asks repeatedly lets others run, too
        await shielded(self._update())
        return self._hand_out()

    async def confirm(self) -> TreeState:
        await shielded(self._update(everywhere=True))
        return self._hand_out()

    async def settled(self) -> TreeState:
        base = self._handed
        await wait_settled(
            self._settling_look, base, self._notifier, self._quiet, lambda: self._watcher.polls, self._git_writes
        )
        return self._hand_out(base)

    async def moved(self) -> TreeState:
        at_once = Quiet(0.0, 0.0, self._quiet.gather, self._quiet.poll)
        await wait_settled(self._settling_look, self._handed, self._notifier, at_once, lambda: self._watcher.polls)
        return self._hand_out()

    def _git_writes(self) -> bool:
        try:
            # A time that is yet to come is that of another clock, and says as little as one that is long past.
            return self._git_lock is not None and abs(time.time() - self._git_lock.stat().st_mtime) < self._quiet.git
        except OSError:
            return False

    async def _settling_look(self) -> Manifest:
        await shielded(self._update())
        return self._manifest

    async def remember(self, name: str) -> None:
        coverage = self._coverage
        if coverage is not None:
            place, kept, written = self._state / "results", self._handed, self._outputs.written
            await asyncio.to_thread(keep_result, place, name, kept, coverage, written)
            self._base = kept

    async def recall(self, name: str, revision: str, named: Sequence[str], frozen: str) -> TreeState:
        return await shielded(self._recall(name, revision, named, frozen))

    def departed(self) -> tuple[str, ...] | None:
        return None if self._base is None else self._handed.changed_since(self._base)

    async def _recall(self, name: str, revision: str, named: Sequence[str], frozen: str) -> TreeState:
        kept = await asyncio.to_thread(load_result, self._state / "results", name, revision)
        if kept is None:
            rules = await asyncio.to_thread(load_rules, self._rules_place, frozen)
            return await self._open_tree(named, None if rules is None else frozen)
        async with self._one_at_a_time:
            # A workspace that only compares doesn't read git's index.
            repository = await self._repository_of_root() if self._watched else None
            self._outputs = Outputs(kept.written)
            streams = kept.frozen.streams.union(self._streams(self._root))
            inside = _places_inside(self._root, self._excluded)
            scanner = self._use(Coverage(kept.frozen.rules, kept.frozen.tracked, kept.named, inside, streams))
            self._watch_and_keep(repository)
            self._manifest = self._handed = self._base = kept.manifest
            self._replace(await asyncio.to_thread(self._first_walk, scanner, kept.frozen.rules))
            return self._hand_out()

    async def _repository_of_root(self) -> Repository | None:
        if not self._root.is_dir():
            raise WorkspaceError(f"{self._root} is not a folder: open an existing one")
        return await find_repository(self._root)

    def _watch_and_keep(self, repository: Repository | None) -> None:
        if not self._watching:
            with contextlib.suppress(OSError):  # whoever keeps something in it says why that isn't possible
                self._state.mkdir(exist_ok=True)
            self._watcher.start(self._notifier.notify)
            self._watching = True
        self._checkpoints = Checkpoints(self._root, self._state, repository.objects if repository else None)
        self._git_lock = repository.lock if repository else None

    async def _open_tree(self, named: Sequence[str], frozen: str | None) -> TreeState:
        async with self._one_at_a_time:
            repository = await self._repository_of_root()
            kept = await asyncio.to_thread(load_rules, self._rules_place, frozen) if frozen else None
            rules = kept.rules if kept else IgnoreRules(above=repository.above if repository else ())
            tracked = kept.tracked if kept else frozenset(repository.tracked if repository else ())
            # Files that another process of the run printed to stay out, too.
            known = kept.streams if kept else frozenset[str]()
            streams = known.union(self._streams(self._root))
            scanner = self._use(Coverage(rules, tracked, named, _places_inside(self._root, self._excluded), streams))
            self._watch_and_keep(repository)
            first = self._manifest is _UNOPENED
            self._replace(await asyncio.to_thread(self._first_walk, scanner, rules))
            if frozen and (kept is None or streams != known):
                await asyncio.to_thread(keep_rules, self._rules_place, frozen, scanner.coverage)
            return self._hand_out(self._manifest if first else None)

    @property
    def _rules_place(self) -> Path:
        return self._state / "rules"

    def _first_walk(self, scanner: Scanner, rules: IgnoreRules) -> Manifest:
        self._watcher.take()
        manifest = scanner.sieve(Manifest(scanner.walk(self._manifest).folders, rules.freeze()))
        _ = manifest.revision
        return manifest

    async def _cover_named(self, named: Sequence[str]) -> None:
        async with self._one_at_a_time:
            if self._coverage is None or tuple(named) == self._coverage.named:
                return
            scanner, known = self._use(self._coverage.renamed(named)), self._manifest

            def walk() -> Manifest:
                manifest = scanner.sieve(scanner.walk(known, self._watcher.take().paths))
                _ = manifest.revision
                return manifest

            self._replace(await asyncio.to_thread(walk))

    async def _update(self, *, everywhere: bool = False) -> None:
        async with self._one_at_a_time:
            scanner = self._open_scanner()
            if not (await self._watcher.drain() or everywhere or self._unsure):
                return
            everywhere, self._unsure = everywhere or self._unsure, True
            self._replace(await asyncio.to_thread(self._walk_changed, scanner, self._manifest, everywhere))
            self._unsure = False  # a failed look loses the hints it took, so the next look is a walk

    def _walk_changed(self, scanner: Scanner, known: Manifest, everywhere: bool) -> Manifest:
        """Runs in the worker thread and computes everything there that would block the loop."""
        hints = self._watcher.take()
        look = scanner.walk if everywhere or hints.everything else scanner.look
        manifest = look(known, hints.paths)
        _ = manifest.revision
        return manifest

    def _replace(self, manifest: Manifest) -> None:
        # A check's output may have been declared during the look at the disk.
        manifest = self._outputs.recounted(manifest)
        if manifest is not self._manifest:
            self._manifest = manifest
            self._notifier.notify()

    def _use(self, coverage: Coverage) -> Scanner:
        self._coverage = coverage
        self._scanner = Scanner(self._root, coverage, self._watcher.watch, self._outputs.attributed)
        return self._scanner

    def _open_scanner(self) -> Scanner:
        if self._scanner is None:
            raise WorkspaceError("the workspace was not opened: open it first")
        return self._scanner

    def _hand_out(self, since: Manifest | None = None) -> TreeState:
        before, self._handed = self._handed, self._manifest
        return TreeState(self._handed.revision, self._handed.changed_since(since or before))

    # ---------------------------------------------------------------------------------- files

    def files(self, globs: Sequence[str] | None = None) -> Sequence[str]:
        return self._handed.paths() if globs is None else self._handed.matching(globs)

    def digest(self, path: str) -> str | None:
        entry = self._handed.get(path)
        return None if entry is None or entry.mode == NESTED else entry.digest.hex()

    def read(self, path: str) -> bytes | None:
        try:
            place = self._root / path
            return os.fsencode(place.readlink()) if place.is_symlink() else read_bytes(path, within=self._root)
        except OSError:
            return None

    def volatile(self, check_id: str, paths: Sequence[str]) -> Sequence[str]:
        coverage = self._coverage
        may: Callable[[str], bool] = (lambda path: False) if coverage is None else coverage.may_be_output
        entries, refused = self._outputs.declare(check_id, paths, may, self._entry_on_disk)
        self._replace(self._manifest.with_entries(entries))
        return refused

    def _entry_on_disk(self, path: str) -> FileEntry | None:
        covers = self._coverage is not None and self._coverage.covers(path)
        return read_entry(self._open_scanner().full(path)) if covers else None

    # ---------------------------------------------------------------------------- checkpoints

    async def checkpoint(self) -> str:
        await shielded(self._update(everywhere=True))
        return await shielded(self._open_checkpoints().keep(self._manifest))

    async def restore(
        self, checkpoint: str, paths: Sequence[str] | None = None, keep: Sequence[str] = ()
    ) -> Sequence[str]:
        await shielded(self._update(everywhere=True))
        changed = await shielded(self._open_checkpoints().restore(checkpoint, self._manifest, paths, keep))
        await shielded(self._update(everywhere=True))
        return changed

    async def commit(self) -> str | None:
        return await committed(self._root, frozenset(self._handed.paths()))

    async def changed_between(self, before: str, after: str | None, *, revision: str | None = None) -> Sequence[str]:
        manifest = await self._compared(after, revision)
        return await self._open_checkpoints().changed_between(before, after, manifest)

    async def file_at(self, checkpoint: str, path: str) -> bytes | None:
        return await self._open_checkpoints().file_at(checkpoint, path)

    async def kept_at(self, checkpoint: str, path: str) -> Content | None:
        """What was there at that time; None if nothing was. Raises WorkspaceError for what was not captured."""
        return await self._open_checkpoints().content_at(checkpoint, path)

    async def lay(self, checkpoint: str, paths: Sequence[str], target: Path) -> Sequence[str]:
        return await shielded(self._open_checkpoints().lay(checkpoint, paths, target))

    async def diff(self, before: str, after: str | None, limit: int = 60_000, *, revision: str | None = None) -> str:
        manifest = await self._compared(after, revision)
        return await self._open_checkpoints().diff(before, after, manifest, limit)

    async def _compared(self, after: str | None, revision: str | None) -> Manifest:
        """The present tree; the disk is looked at if a checkpoint is compared with the present."""
        if after is None:
            await shielded(self._update(everywhere=True))
        manifest = self._manifest
        if after is None and revision is not None and manifest.revision != revision:
            raise OtherRevision
        return manifest

    def _open_checkpoints(self) -> Checkpoints:
        self._open_scanner()
        assert self._checkpoints is not None  # opened together with the scanner
        return self._checkpoints

    # ----------------------------------------------------------------------------- authorship

    def saved_by_client(self, path: str, text: str) -> None:
        self._saves.note(path, text)
        self._notifier.notify()  # an editor may say so sooner than the system

    def is_persons(self, path: str) -> bool:
        try:
            # What was never saved isn't read: a worker may have changed thousands of files.
            return path in self._saves and self._saves.holds(path, read_bytes(path, within=self._root))
        except OSError:
            return False

    def changed_after(self, at: float, paths: Sequence[str]) -> Sequence[str]:
        return changed_after(self._root, at, paths)

    async def close(self) -> None:
        """Stops watching; every waiter in `settled` gets a WorkspaceError."""
        self._watcher.close()
        self._watching, self._scanner = False, None
        self._notifier.notify()


def _places_inside(root: Path, places: Sequence[Path]) -> tuple[str, ...]:
    top = root.resolve()
    inside = [place.resolve() for place in places if place.resolve().is_relative_to(top)]
    return tuple(place.relative_to(top).as_posix() for place in inside if place != top)
