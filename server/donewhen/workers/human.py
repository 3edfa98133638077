"""The person at the keyboard as the worker: each settled change of the workspace is a turn."""

from __future__ import annotations

from donewhen.core.work import Claim, TurnResult, Usage, WorkerStep
from donewhen.ports import Turn, TurnContext
from donewhen.workers import WorkerParts

WAITING = "waiting for your edits"
MAX_STEPS = 50


class HumanWorker:
    """Waits until the person edited something and the files stayed quiet; waiting costs nothing."""

    name = "human"
    waits_for_person = True

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """Returns after the next settled change of the workspace."""
        context.activity(WAITING)
        tree = await context.settled()
        count = len(tree.changed)
        edited = "edited 1 file" if count == 1 else f"edited {count} files"
        summary = edited if count else "the editor's diagnostics changed"
        steps = tuple(WorkerStep("edit", path) for path in tree.changed[:MAX_STEPS])
        return TurnResult(Claim(), Usage(), steps=steps, summary=summary)


def make(parts: WorkerParts) -> HumanWorker:
    return HumanWorker()
