"""What a judge may look at (`ports.AuditContext`): the workspace as it was at one revision."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from donewhen.core.errors import OtherRevision, WorkspaceError
from donewhen.core.events import EvidenceRecorded
from donewhen.core.evidence import Evidence, Observation
from donewhen.core.goal import Check
from donewhen.engine.active import ActiveRun
from donewhen.engine.audits import run_check
from donewhen.engine.calling import CallAccount
from donewhen.ports import Workspace

T = TypeVar("T")
TRIES = 3
LARGEST = 50_000_000
"""Bytes of a file that is read for a judge: more is not text that anybody judges."""


class RevisionView:
    """The present files, each of them only as far as its content is the one that the revision names: what changed
    since can't be read, and the verdict is dropped then anyway."""

    def __init__(self, run: ActiveRun, revision: str) -> None:
        self._run = run
        self._revision = revision
        self._changed: Sequence[str] | None = None
        self._diff: str | None = None
        self._one_at_a_time = asyncio.Lock()
        """What a check writes must be told from what another one does: nobody looks at the files meanwhile."""
        self.calls = CallAccount(run, "judge")

    @property
    def root(self) -> str:
        return str(self._run.parts.workspace.root)

    def activity(self, line: str) -> None:
        self._run.say(line)

    def files(self) -> Sequence[str]:
        return self._run.parts.workspace.files()

    async def changed(self) -> Sequence[str]:
        workspace, base, revision = self._run.parts.workspace, self._run.state.first_checkpoint, self._revision
        if base is None:
            return ()
        async with self._one_at_a_time:
            if self._changed is None:
                self._changed = await self._compared(lambda: workspace.changed_between(base, None, revision=revision))
            return tuple(sorted(self._changed or ()))

    async def diff(self) -> str:
        workspace, base, revision = self._run.parts.workspace, self._run.state.first_checkpoint, self._revision
        if base is None:
            return ""
        async with self._one_at_a_time:
            if self._diff is None:
                self._diff = await self._compared(lambda: workspace.diff(base, None, revision=revision))
            return self._diff or ""

    async def _compared(self, compare: Callable[[], Awaitable[T]]) -> T | None:
        """None if the files aren't those of the revision: the judge goes on without. That they moved is on record
        then, and what it says is dropped; where they came back at once, it is tried again."""
        for _ in range(TRIES):
            with contextlib.suppress(OtherRevision):
                return await compare()
            await self._run.look("person" if self._run.state.waits_for_person else "check")
            if self._run.state.revision != self._revision:
                break
        return None

    async def read(self, path: str) -> bytes:
        workspace = self._run.parts.workspace
        digest = workspace.digest(path)
        if digest is None:
            raise WorkspaceError(f"{path} is not a file of this workspace that the revision covers")
        content, found = await asyncio.to_thread(_read, workspace, path)
        link = _link(workspace, path)
        if link is not None:
            raise WorkspaceError(f"{path} is a link to {link}: read that, as far as the revision covers it")
        if content is None or found != digest:
            raise WorkspaceError(f"{path} has changed since the audit: judge what you have")
        return content

    async def record(self, observation: Observation) -> Evidence:
        run = self._run
        # What is shown holds for the revision that it is shown of; if the files moved on since, it is not fresh.
        evidence = Evidence(run.evidence_id(), self._revision, self._revision, run.state.turns_ended, observation)
        await run.append(EvidenceRecorded(evidence), durable=False)
        return evidence

    async def run_check(self, check: Check) -> Evidence:
        async with self._one_at_a_time:
            return await run_check(self._run, check)


def _link(workspace: Workspace, path: str) -> str | None:
    """What a link names, relative to the workspace where that is inside. The revision has its text, not its target."""
    place = workspace.root / path
    if not place.is_symlink():
        return None
    target, root = place.resolve(), workspace.root.resolve()
    return target.relative_to(root).as_posix() if target.is_relative_to(root) else "a place outside of the workspace"


def _read(workspace: Workspace, path: str) -> tuple[bytes | None, str]:
    """A file and the digest of its content. Blocks: for a thread, since both take long for a large one."""
    with contextlib.suppress(OSError):
        if (workspace.root / path).stat().st_size > LARGEST:
            raise WorkspaceError(f"{path} is too large to be shown: more than {LARGEST // 1_000_000} MB")
    content = workspace.read(path)
    return content, "" if content is None else hashlib.sha256(content).hexdigest()
