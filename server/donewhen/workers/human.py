"""The person at the keyboard as the worker: each settled change of the workspace is a turn."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from donewhen.core.work import Claim, TurnResult, Usage, WorkerStep
from donewhen.ports import Turn, TurnContext
from donewhen.workers import WorkerParts

WAITING = "waiting for your edits"
MAX_STEPS = 50
_DONE = (("edit", "edited"), ("delete", "deleted"))


class HumanWorker:
    """Waits until the person edited something and the files stayed quiet; waiting costs nothing."""

    name = "human"
    waits_for_person = True

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """Returns after the next settled change of the workspace."""
        context.activity(WAITING)
        tree = await context.settled()
        steps = await asyncio.to_thread(_steps, context.workspace.root, tree.changed)
        counted = [(word, sum(step.kind == kind for step in steps)) for kind, word in _DONE]
        done = ", ".join(f"{word} {f'{count} files' if count > 1 else '1 file'}" for word, count in counted if count)
        summary = done or "the editor's diagnostics changed"
        return TurnResult(Claim(), Usage(), steps=steps[:MAX_STEPS], summary=summary)


def _steps(root: Path, changed: Sequence[str]) -> tuple[WorkerStep, ...]:
    return tuple(WorkerStep("edit" if os.path.lexists(root / path) else "delete", path) for path in changed)


def make(parts: WorkerParts) -> HumanWorker:
    return HumanWorker()
