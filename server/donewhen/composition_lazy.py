"""Parts of the engine that are imported when they are first used: an idle server does without them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from donewhen.core.evidence import CheckResult, ObservedCommand
    from donewhen.core.goal import Goal
    from donewhen.core.integrity import AddressingFact, IntegrityFacts
    from donewhen.ports import GoalFiles, Probes, Workspace


class LazyGoalFiles:
    """`ports.GoalFiles` of one workspace: Markdown and YAML cost 3 MB."""

    def __init__(self, root: Path, plugged: Callable[[], bool]) -> None:
        self._root = root
        self._plugged = plugged
        self._real: GoalFiles | None = None

    def load(self, path: str) -> Goal:
        if self._real is None:
            from donewhen.goalfile.files import WorkspaceGoalFiles

            self._real = WorkspaceGoalFiles(self._root, self._plugged)
        return self._real.load(path)


class LazyProbes:
    """`ports.Probes`; `environment` gives the variables that checks run with."""

    def __init__(self, environment: Callable[[], Mapping[str, str]]) -> None:
        self._environment = environment
        self._real: Probes | None = None

    async def facts(self, goal: Goal, workspace: Workspace) -> IntegrityFacts:
        return await (await self._probes()).facts(goal, workspace)

    async def started(self, goal: Goal, workspace: Workspace) -> Mapping[str, tuple[str, ...]]:
        return await (await self._probes()).started(goal, workspace)

    async def addressing(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None = None,
        commands: Sequence[ObservedCommand] = (),
    ) -> tuple[AddressingFact, ...]:
        return await (await self._probes()).addressing(goal, workspace, results, since, commands)

    async def _probes(self) -> Probes:
        """Imported in a thread: that takes longer than the loop may be held."""
        if self._real is None:
            module = await asyncio.to_thread(import_module, "donewhen.evidence.probes")
            self._real = self._real or cast("Probes", module.WorkspaceProbes(self._environment))
        return self._real
