"""Which proof files a worker has changed so far: told while a run is on, before trials say what that means."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from donewhen.core.errors import WorkspaceError
from donewhen.core.integrity_facts import first_change
from donewhen.core.proof_files import ProofFiles
from donewhen.engine.active import ActiveRun

MOST = 200
"""Files that are told: who changes more has moved everything."""


async def note_changed_proof(run: ActiveRun, changed: Collection[str]) -> None:
    """Brings `run.changed_proof` up to date after a turn that changed these paths."""
    state, workspace = run.state, run.parts.workspace
    base = state.first_checkpoint
    if not state.options.trials or base is None:
        return
    try:
        if run.changed_proof is None:  # this process has seen none of the turns before
            changed = await workspace.changed_between(base, None)
        known = run.changed_proof or {}
        files = ProofFiles.of(state.goal)
        proof = [
            path
            for path in sorted({*known, *changed})
            if files.standing(path).side == "proof" and path != state.goal.path and not files.changeable(path)
        ]
        found = {path: await _first_change(run, base, path) for path in proof[:MOST] if path not in state.agreed}
    except WorkspaceError:
        return  # what trials can't compare either, they tell
    run.changed_proof = {path: line for path, line in found.items() if line is not None}


async def _first_change(run: ActiveRun, base: str, path: str) -> int | None:
    """The line that differs first, 0-based; None for a file that came, is gone, or is as it was."""
    workspace = run.parts.workspace
    before, now = await workspace.file_at(base, path), await asyncio.to_thread(workspace.read, path)
    if before is None or now is None or before == now:
        return None
    return first_change(before.decode("utf-8", "replace"), now.decode("utf-8", "replace"))
