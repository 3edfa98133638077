"""What is read of runs: views of goals, iterations, steps, files as they were, evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from donewhen.core.errors import no_such_run
from donewhen.core.evidence import Evidence
from donewhen.engine.api import ChangedFile, RunSteps, RunView
from donewhen.engine.records import in_pieces, kept_after
from donewhen.engine.registry import Registry
from donewhen.engine.results import committed_as, comparable
from donewhen.engine.steps import Followers, Steps
from donewhen.ports import RunSummary

MAX_DIFF = 1_000_000
"""Bytes: what a person reads, or another program, of all that a run changed."""


class Reading:
    """The part of `engine.api.Runs` that changes nothing."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._records = registry.records
        self._ledger = registry.setup.ledger
        self._followers = Followers(lambda: Steps(registry.setup.root, registry.setup.mask))

    async def views(self, goal_path: str | None = None, *, compare: bool = True) -> Sequence[RunView]:
        registry = self._registry
        await registry.find_dead()
        found: list[RunView] = []
        for state in await self._records.newest():
            if goal_path is not None and state.goal.path != goal_path:
                continue
            if registry.cleared(state) and not state.active:
                continue
            found.append(await (registry.view(state.run_id) if compare else registry.known_view(state.run_id)))
        return found

    async def standing(self) -> Mapping[str, RunView]:
        return {view.state.run_id: view for view in await self.views()}

    async def summaries(self) -> Sequence[RunSummary]:
        await self._registry.find_dead()
        return await self._records.summaries()

    async def steps(self, run_id: str, after: int = 0) -> RunSteps:
        steps, reading = self._followers.of(run_id)
        async with reading:
            entries = await self._ledger.entries(run_id, steps.sequence)
            if not entries and steps.sequence == 0:
                raise no_such_run(run_id)
            async for entry in in_pieces(entries):
                steps.take(entry)
            run = self._registry.active.get(run_id)
            if run is not None:
                steps.look(run)
            if steps.edited:
                live = (await self._registry.known_view(run_id)).state.active
                async with self._registry.opened(run_id) as workspace:
                    await steps.work_out(workspace, live=live)
            return steps.since(after)

    async def file_at(self, run_id: str, iteration: int, path: str) -> str | None:
        kept = kept_after(await self._records.state(run_id), iteration)
        async with self._registry.opened(run_id) as workspace:
            data = await workspace.file_at(kept.tree, path)
        return None if data is None else data.decode("utf-8", errors="replace")

    async def changes(self, run_id: str) -> Sequence[ChangedFile]:
        first = kept_after(await self._records.state(run_id), 0).tree
        async with self._registry.opened(run_id) as workspace:
            changed = await workspace.changed_between(first, None)
            present = frozenset(workspace.files())
            # What is not there now was there before, or it would not differ: of what is too large there is no content.
            return [
                ChangedFile(
                    path, path not in present or await workspace.file_at(first, path) is not None, path in present
                )
                for path in changed
            ]

    async def diff(self, run_id: str) -> str:
        first = kept_after(await self._records.state(run_id), 0).tree
        async with self._registry.opened(run_id) as workspace:
            return await workspace.diff(first, None, MAX_DIFF)

    async def evidence(self, run_id: str, evidence_id: str) -> Evidence | None:
        await self._records.state(run_id)
        return await self._ledger.evidence(run_id, evidence_id)

    async def report(self, run_id: str) -> RunView:
        return await self._registry.as_now(await self._records.in_full(run_id))

    async def commit(self, run_id: str) -> str | None:
        state = await self._records.state(run_id)
        glance = self._registry.setup.glance
        if glance is None or not comparable(state):
            return None
        return await committed_as(state, glance())
