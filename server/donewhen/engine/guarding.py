"""A goal on guard: its checks run again after edits, as in a run of worker `human`, beside no run."""

from __future__ import annotations

import asyncio

from donewhen.core.errors import DoneWhenError, LedgerError
from donewhen.core.events import GuardLifted, Warned
from donewhen.core.work import Actor
from donewhen.engine.active import ActiveRun
from donewhen.engine.audits import audit
from donewhen.engine.watching import amend_if_edited, watched
from donewhen.ports import TreeState, Workspace

QUIET = 0.15
WAITS = 10
"""How many times to wait until the files settle; after that they are looked at as they are."""


async def quiet(workspace: Workspace) -> TreeState:
    """The workspace once it stayed the same for a moment."""
    tree = await workspace.current()
    for _ in range(WAITS):
        await asyncio.sleep(QUIET)
        later = await workspace.current()
        if later.revision == tree.revision:
            break
        tree = later
    return tree


async def prove_again(run: ActiveRun, by: Actor) -> None:
    """Puts on record what changed, and audits until every check has a result at the current revision. `by` is who
    changed files until now; from here on it is a person."""
    try:
        tree = await run.parts.workspace.current()
        # What changed since the result: looks in between have taken note of it already.
        await run.noticed(TreeState(tree.revision, tuple(run.parts.workspace.departed() or ())), by)
        await amend_if_edited(run)
        if _goal_file_gone(run):
            await run.append(GuardLifted(f"the goal file {run.state.goal.path} is gone"))
        while run.state.guard is not None and run.state.audit_due:
            await watched(run, audit(run, run.state.iteration))
    except LedgerError:
        raise
    except (DoneWhenError, OSError) as error:
        await run.append(Warned("guard", f"what is on guard could not be proven again: {error}"))


def _goal_file_gone(run: ActiveRun) -> bool:
    path = run.state.goal.path
    return path is not None and run.parts.workspace.digest(path) is None
