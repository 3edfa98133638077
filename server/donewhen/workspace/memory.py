"""A workspace in memory, with the behaviour of the one on disk: for tests, and for goals without files."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from donewhen.core.errors import OtherRevision, WorkspaceError
from donewhen.ports import TreeState
from donewhen.workspace.attribution import ClientSaves, Outputs
from donewhen.workspace.checkpoints import Change, Content, differing_paths, put_back, unified
from donewhen.workspace.ignoring import Coverage, IgnoreRules
from donewhen.workspace.manifest import EXECUTABLE, FILE, FileEntry, Manifest, stat_key
from donewhen.workspace.settling import Notifier, Quiet, wait_settled

_UNOPENED = Manifest({})


class MemoryWorkspace:
    """A `ports.Workspace` over a dict of bytes by path. `edit` changes a file and wakes the waiters in `settled`.

    `ignored` are rules in the syntax of .gitignore, `tracked` the paths that count in spite of them; `root` names a
    folder that need not exist. `now` gives the epoch seconds that files are stamped with.
    """

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        *,
        root: Path = Path("/memory"),
        ignored: str = "",
        tracked: Sequence[str] = (),
        quiet: Quiet | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._now = now
        self._files = {path: Content(FILE, data) for path, data in (files or {}).items()}
        self._times: dict[str, float] = {}
        self._ignored = ignored
        self._tracked = tuple(tracked)
        self._coverage: Coverage | None = None
        self._quiet = quiet or Quiet(gather=0.0)
        self._outputs = Outputs()
        self._saves = ClientSaves()
        self._handed = _UNOPENED
        self._found = self._handed
        self._notifier = Notifier()
        self._checkpoints: dict[str, dict[str, Content]] = {}
        self._remembered: dict[str, tuple[Manifest, Outputs, Coverage]] = {}
        self._base: Manifest | None = None

    def again(self) -> MemoryWorkspace:
        """The same files, opened again: with a revision, named files and declared outputs of its own."""
        other = copy.copy(self)  # the storage of the files is shared
        other._coverage = other._base = None
        other._handed = other._found = _UNOPENED
        other._outputs = Outputs()
        return other

    @property
    def root(self) -> Path:
        return self._root

    def edit(self, path: str, data: bytes | None, *, by: str = "worker", executable: bool = False) -> None:
        """Writes a file, or deletes it if `data` is None. `by="person"` is a save in the editor."""
        if data is None:
            self._files.pop(path, None)
        else:
            self._files[path] = Content(EXECUTABLE if executable else FILE, data)
            if by == "person":
                self._saves.note(path, data.decode("utf-8", "replace"))
        self._times[path] = self._now()
        self._notifier.notify()

    def read(self, path: str) -> bytes | None:
        """A file's bytes, covered or not; None if it is absent."""
        held = self._files.get(path)
        return None if held is None else held.data

    # ------------------------------------------------------------------------------- revision

    @property
    def notices(self) -> tuple[tuple[str, str], ...]:
        return ()

    async def open(self, named: Sequence[str], frozen: str | None = None) -> TreeState:
        rules = IgnoreRules()
        rules.add("", self._ignored)
        digest = rules.freeze()
        self._coverage = Coverage(rules, self._tracked, named, ())
        first = self._found is _UNOPENED
        self._found = Manifest(self._found.folders, digest)
        self._update_manifest()
        return self._hand_out(self._found if first else self._handed)

    async def name(self, named: Sequence[str]) -> None:
        self._coverage = self._open_coverage().renamed(named)
        self._update_manifest()

    async def current(self) -> TreeState:
        await asyncio.sleep(0)  # a caller that asks repeatedly lets others run, too
        self._update_manifest()
        return self._hand_out(self._handed)

    async def confirm(self) -> TreeState:
        return await self.current()

    async def settled(self) -> TreeState:
        self._open_coverage()
        base = self._handed
        await wait_settled(self._settling_look, base, self._notifier, self._quiet, lambda: False)
        return self._hand_out(base)

    async def moved(self) -> TreeState:
        self._open_coverage()
        await wait_settled(self._settling_look, self._handed, self._notifier, Quiet(0.0, 0.0, 0.0), lambda: False)
        return self._hand_out(self._handed)

    async def remember(self, name: str) -> None:
        self._remembered[name] = (self._handed, Outputs(self._outputs.written), self._open_coverage())
        self._base = self._handed

    async def recall(self, name: str, revision: str, named: Sequence[str], frozen: str) -> TreeState:
        kept = self._remembered.get(name)
        if kept is None or kept[0].revision != revision:
            return await self.open(named)
        self._base = self._handed = self._found = kept[0]
        self._outputs, self._coverage = Outputs(kept[1].written), kept[2]
        self._update_manifest()
        return self._hand_out(self._handed)

    def departed(self) -> tuple[str, ...] | None:
        return None if self._base is None else self._handed.changed_since(self._base)

    async def _settling_look(self) -> Manifest:
        self._update_manifest()
        return self._found

    def _hand_out(self, since: Manifest) -> TreeState:
        self._handed = self._found
        return TreeState(self._handed.revision, self._handed.changed_since(since))

    def _update_manifest(self) -> None:
        covers = self._open_coverage().covers
        entries: dict[str, FileEntry | None] = dict.fromkeys(path for path, _ in self._found.items())
        entries |= {path: self._memory_entry(path) for path in self._files if covers(path)}
        self._found = self._found.with_entries(entries)

    def _memory_entry(self, path: str) -> FileEntry | None:
        if path not in self._files or not self._open_coverage().covers(path):
            return None
        mode, data = self._files[path]
        digest = hashlib.sha256(data).digest()
        return self._outputs.attributed(path, FileEntry(mode, digest, digest, digest[:20], stat_key(len(data))))

    def _open_coverage(self) -> Coverage:
        if self._coverage is None:
            raise WorkspaceError("the workspace was not opened: open it first")
        return self._coverage

    # ---------------------------------------------------------------------------------- files

    def files(self, globs: Sequence[str] | None = None) -> Sequence[str]:
        return self._handed.paths() if globs is None else self._handed.matching(globs)

    def digest(self, path: str) -> str | None:
        entry = self._handed.get(path)
        return None if entry is None else entry.digest.hex()

    def volatile(self, check_id: str, paths: Sequence[str]) -> Sequence[str]:
        coverage = self._open_coverage()
        entries, refused = self._outputs.declare(check_id, paths, coverage.may_be_output, self._memory_entry)
        self._found = self._found.with_entries(entries)
        return refused

    # ---------------------------------------------------------------------------- checkpoints

    async def checkpoint(self) -> str:
        covered = self._covered()
        whole = hashlib.sha1(repr(sorted(covered.items())).encode(), usedforsecurity=False).hexdigest()
        self._checkpoints[whole] = covered
        return whole

    async def restore(
        self, checkpoint: str, paths: Sequence[str] | None = None, keep: Sequence[str] = ()
    ) -> Sequence[str]:
        then = self._tree(checkpoint)
        wanted = [path for path in differing_paths(then, self._covered()) if paths is None or path in paths]
        wanted = [path for path in wanted if path not in keep]
        for path in wanted:
            mode, data = then.get(path, (FILE, None))
            self.edit(path, data, executable=mode == EXECUTABLE)
        return tuple(wanted)

    async def commit(self) -> str | None:
        return None

    async def changed_between(self, before: str, after: str | None, *, revision: str | None = None) -> Sequence[str]:
        self._refuse_other(after, revision)
        return tuple(differing_paths(self._tree(before), self._tree(after)))

    async def file_at(self, checkpoint: str, path: str) -> bytes | None:
        held = self._tree(checkpoint).get(path)
        return None if held is None else held.data

    async def lay(self, checkpoint: str, paths: Sequence[str], target: Path) -> Sequence[str]:
        tree, failed = self._tree(checkpoint), list[str]()
        put_back(target, [(path, tree[path].mode, tree[path].data) for path in paths if path in tree], failed)
        if failed:
            raise WorkspaceError(f"not written: {'; '.join(failed)}")
        return tuple(path for path in paths if path not in tree)

    async def diff(self, before: str, after: str | None, limit: int = 60_000, *, revision: str | None = None) -> str:
        self._refuse_other(after, revision)
        then, now = self._tree(before), self._tree(after)
        changes: list[Change] = []
        for path in differing_paths(then, now):
            old, new = then.get(path), now.get(path)
            changes.append(Change(path, old and old.data, new and new.data, old and old.mode, new and new.mode))
        return unified(changes, limit)

    def _refuse_other(self, after: str | None, revision: str | None) -> None:
        self._update_manifest()
        if after is None and revision is not None and self._found.revision != revision:
            raise OtherRevision

    def _tree(self, checkpoint: str | None) -> dict[str, Content]:
        if checkpoint is None:
            return self._covered()
        if checkpoint not in self._checkpoints:
            raise WorkspaceError(f"there is no checkpoint {checkpoint} here")
        return self._checkpoints[checkpoint]

    def _covered(self) -> dict[str, Content]:
        covers = self._open_coverage().covers
        return {path: held for path, held in self._files.items() if covers(path)}

    # ----------------------------------------------------------------------------- authorship

    def saved_by_client(self, path: str, text: str) -> None:
        self._saves.note(path, text)

    def is_persons(self, path: str) -> bool:
        data = self.read(path)
        return data is not None and self._saves.holds(path, data)

    def changed_after(self, at: float, paths: Sequence[str]) -> Sequence[str]:
        return tuple(path for path in paths if self._times.get(path, 0.0) > at)

    async def close(self) -> None:
        """Every waiter in `settled` gets a WorkspaceError."""
        self._coverage = None
        self._notifier.notify()
