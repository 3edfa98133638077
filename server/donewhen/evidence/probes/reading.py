"""Reads what the proof rests on apart from the files that trials divide, and text that addresses the judge."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
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
        root, variables = workspace.root, dict(self._environment())

        def read() -> IntegrityFacts:
            commands = started_commands(root, goal)
            folders = sorted({command.folder for command in commands} | {""})
            return IntegrityFacts(
                goal_file=_goal_file(root, goal, goal_digest),
                protected=tuple(FileFact(path, digest) for path, digest in sorted(protected.items())),
                programs=self._disk.programs(root, commands, variables),
                environment=self._disk.startup_files(root, folders, variables),
                settings=(*self._disk.settings(variables), *self._disk.runner_packages(root, folders)),
                protect=goal.protect,
            )

        return await asyncio.to_thread(read)

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


def _goal_file(root: Path, goal: Goal, known_digest: str) -> FileFact | None:
    if goal.path is None:
        return None
    digest = text = ""
    with contextlib.suppress(OSError):
        data = read_bytes(goal.path, _LARGEST, within=root)
        digest = hashlib.sha256(data).hexdigest()
        text = data.decode("utf-8", "replace")[:_SHOWN]
    return FileFact(goal.path, known_digest or digest, text)
