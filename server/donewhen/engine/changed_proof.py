"""Which proof files a worker has changed so far: reported during the run, before trials say what that means."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from donewhen.core.errors import WorkspaceError
from donewhen.core.integrity_facts import ChangedProof, first_change
from donewhen.core.proof_files import ProofFiles
from donewhen.engine.active import ActiveRun

MOST = 200
"""Files that are looked into after a turn; of more, the names are told."""


async def note_changed_proof(run: ActiveRun, changed: Collection[str]) -> None:
    """Brings `run.changed_proof` up to date after a turn that changed these paths."""
    state, workspace = run.state, run.parts.workspace
    base = state.first_checkpoint
    if not state.options.trials or base is None:
        return
    try:
        if run.changed_proof is None:  # this process has seen none of the turns before
            changed = await workspace.changed_between(base, None)
        known = run.changed_proof or ChangedProof()
        files = ProofFiles.of(state.goal)
        proof = [
            path
            for path in sorted({*known.lines, *known.gone, *known.unread, *changed})
            if files.standing(path).side == "proof" and path != state.goal.path and not files.changeable(path)
        ]
        run.changed_proof = await _looked_into(run, base, [path for path in proof if path not in state.agreed])
    except WorkspaceError:
        return  # trials report what they can't compare either


async def _looked_into(run: ActiveRun, base: str, paths: list[str]) -> ChangedProof:
    workspace = run.parts.workspace
    lines, came, gone = dict[str, int](), set[str](), list[str]()
    for path in paths[:MOST]:
        before, now = await workspace.file_at(base, path), await asyncio.to_thread(workspace.read, path)
        if before == now:
            continue
        if now is None:
            gone.append(path)
            continue
        if before is None:
            came.add(path)
        lines[path] = first_change((before or b"").decode("utf-8", "replace"), now.decode("utf-8", "replace"))
    return ChangedProof(lines, frozenset(came), tuple(gone), tuple(paths[MOST:]))
