"""What is left of a result: the workspace of a run that nobody pursues, compared with what the run last saw."""

from __future__ import annotations

import contextlib
import hashlib

from donewhen.core.errors import WorkspaceError
from donewhen.core.freshness import Present
from donewhen.core.state import RunState
from donewhen.engine.watching import named_globs
from donewhen.ports import TreeState, Workspace


def result_name(state: RunState) -> str:
    """The name under which the workspace is remembered with a run's result: each goal has one of its newest run, and
    one of its newest audit."""
    goal = hashlib.sha256((state.goal.path or "").encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{state.mode}-{goal}"


def comparable(state: RunState) -> bool:
    """True for a run that isn't being pursued and whose result is about files."""
    return not state.active and state.goal.about == "workspace"


async def remember(state: RunState, workspace: Workspace) -> None:
    """Keeps what the result was made of. It can be compared without, by reading everything."""
    if comparable(state):
        with contextlib.suppress(OSError):
            await workspace.remember(result_name(state))


async def recalled(state: RunState, workspace: Workspace) -> Present:
    """Opens a workspace as the run had it, and compares. Raises WorkspaceError if it can't be read."""
    globs = named_globs(state.goal)
    return present_of(await workspace.recall(result_name(state), state.revision, globs, state.run_id), workspace)


def present_of(tree: TreeState, workspace: Workspace) -> Present:
    """The workspace as it was just looked at."""
    departed = workspace.departed()
    return Present(tree.revision, None if departed is None else tuple(departed))


async def glanced(state: RunState, workspace: Workspace) -> Present | None:
    """One look. None if the folder can't be read."""
    try:
        return await recalled(state, workspace)
    except WorkspaceError:
        return None
    finally:
        await workspace.close()
