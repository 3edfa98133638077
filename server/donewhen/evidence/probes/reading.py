"""Reads what the proof rests on apart from the files that trials divide, and text that addresses the judge."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.core.evidence import CheckResult, ObservedCommand
from donewhen.core.goal import Goal
from donewhen.core.integrity import AddressingFact, FileFact, IntegrityFacts
from donewhen.evidence.probes.programs import Environment
from donewhen.evidence.tasks import started_commands
from donewhen.ports import Workspace
from donewhen.regular import read_bytes

if TYPE_CHECKING:
    from donewhen.evidence.addressing import Addressing


_LARGEST = 1_000_000  # bytes of a goal file
_SHOWN = 8_000  # characters of it that are kept


class WorkspaceProbes:
    """Implements `ports.Probes`. `environment` gives the variables that checks run with.

    Virtual environments and programs, which no revision covers, are looked at on disk with bounded work. Nothing holds
    the event loop.
    """

    def __init__(self, environment: Callable[[], Mapping[str, str]]) -> None:
        self._environment = environment
        self._disk = Environment()
        self._addressing: Addressing | None = None

    async def facts(self, goal: Goal, workspace: Workspace) -> IntegrityFacts:
        # Copied on the loop: the workspace's own state is never read from another thread.
        protected = {p: workspace.digest(p) or "" for p in workspace.files(goal.protect)} if goal.protect else {}
        goal_digest = (workspace.digest(goal.path) or "") if goal.path else ""
        view = _View(workspace.root, protected, goal_digest, dict(self._environment()))
        return await asyncio.to_thread(self._integrity_facts, goal, view)

    async def started(self, goal: Goal, workspace: Workspace) -> Mapping[str, tuple[str, ...]]:
        commands = await asyncio.to_thread(started_commands, workspace.root, goal)
        found = {check.id: [check.command] for check in goal.checks}
        for command in commands:
            found[command.check_id].append(" ".join(command.segment.words))
        return {check_id: tuple(lines) for check_id, lines in found.items()}

    async def addressing(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None = None,
        commands: Sequence[ObservedCommand] = (),
    ) -> tuple[AddressingFact, ...]:
        if self._addressing is None:
            from donewhen.evidence.addressing import Addressing  # lazy: an idle server's memory

            self._addressing = Addressing()
        return await self._addressing.facts(goal, workspace, results, since, commands)

    def _integrity_facts(self, goal: Goal, view: _View) -> IntegrityFacts:
        commands = started_commands(view.root, goal)
        folders = sorted({command.folder for command in commands} | {""})
        return IntegrityFacts(
            goal_file=_goal_file(goal, view),
            protected=tuple(FileFact(path, digest) for path, digest in sorted(view.protected.items())),
            programs=self._disk.programs(view.root, commands, view.environment),
            environment=self._disk.startup_files(view.root, folders, view.environment),
            settings=(
                *self._disk.settings(view.environment),
                *self._disk.runner_packages(view.root, folders),
            ),
            protect=goal.protect,
        )


@dataclass(frozen=True, slots=True)
class _View:
    """The workspace at one moment, for a thread to read."""

    root: Path
    protected: Mapping[str, str]
    goal_digest: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


def _goal_file(goal: Goal, view: _View) -> FileFact | None:
    if goal.path is None:
        return None
    data = _bytes(view.root, goal.path)
    digest = hashlib.sha256(data).hexdigest() if data is not None else ""
    text = "" if data is None else data.decode("utf-8", "replace")[:_SHOWN]
    return FileFact(goal.path, view.goal_digest or digest, text)


def _bytes(root: Path, path: str) -> bytes | None:
    try:
        return read_bytes(path, _LARGEST, within=root)
    except OSError:
        return None
