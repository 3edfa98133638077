"""Commands that compare the attempts of `donewhen run --attempts`, and apply or drop one.

The command line makes them, in processes of its own: here they are read from the record each time, and the engine
opens each attempt's folder for the duration of a command.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from donewhen.core.errors import DoneWhenError, UnknownName, UsageError
from donewhen.lsp.arguments import RunDocument, Strict
from donewhen.lsp.host import Folder
from donewhen.lsp.positions import path_within, required_path
from donewhen.lsp.publisher import snapshot_json
from donewhen.lsp.session import Session
from donewhen.wire.snapshot import wire_time
from donewhen.wire.view import tally

if TYPE_CHECKING:
    from donewhen.extras.attempts.pursuing import Attempts, Group


class AttemptsList(Strict):
    """`id` names the group to compare, else it is the newest. Without `compare` groups are only listed, which opens
    none of their folders."""

    workspace_uri: str | None = None
    id: str | None = None
    compare: bool = True


class OneAttempt(Strict):
    """`id` is of a group, `number` of an attempt in it."""

    id: str
    number: int = Field(ge=1)


class AttemptsDrop(Strict):
    """Without a `number` the whole group."""

    id: str
    number: int | None = Field(default=None, ge=1)


async def compare(session: Session, argument: AttemptsList) -> dict[str, Any]:
    """All groups, the newest first, and how the attempts of one compare: of the named one, else of the newest."""
    roots = session.roots
    if argument.workspace_uri is not None:
        roots = (required_path(argument.workspace_uri, "workspaceUri"),)
    found = [(root, of, group) for root in roots for of in [await _attempts(session, root)] for group in of.groups()]
    found.sort(key=lambda one: one[2].began, reverse=True)
    if argument.id is not None and all(group.id != argument.id for _, _, group in found):
        raise _unknown(argument.id)
    from donewhen.extras.attempts.comparing import (  # lazy: `_attempts` has loaded it in a thread
        document,
        group_view,
        views,
    )

    listed = [
        {
            "id": group.id,
            "workspaceUri": session.texts.uri(root),
            "goal": group.goal_path,
            "startedAt": wire_time(group.began),
            "applied": group.applied,
            "proven": group.proven,
            "view": group_view(group),
        }
        for root, _, group in found
    ]
    named = next(((of, group) for _, of, group in found if argument.id in (None, group.id)), None)
    if named is None or not argument.compare:
        return {"groups": listed, "compared": None}
    of, group = named
    standing = await of.standing(group)
    compared = document(group, standing)
    for row, view in zip(compared["attempts"], views(group, standing), strict=True):
        row["view"] = view
    return {"groups": listed, "compared": compared}


async def changes(session: Session, argument: OneAttempt) -> dict[str, Any]:
    """The files that an attempt changed, by their uris in the workspace; `donewhen.run.document` has their texts."""
    root, attempts, group = await _group(session, argument.id)
    files, _ = await attempts.diff(group, argument.number)
    return {
        "title": f"Changes of attempt {argument.number}: {group.goal_path}",
        "files": [{"uri": session.texts.uri(root / one.path), "before": one.before, "now": one.now} for one in files],
    }


async def attempt_text(session: Session, argument: RunDocument) -> str | None:
    """One of these files before the attempt, or as it left it; None if there is none, or it isn't text."""
    root, attempts, group = await _group(session, argument.attempts)
    path = path_within(root, argument.uri, "the attempts")
    return await attempts.file_text(group, argument.number, path, after=argument.side == "after")


async def apply(session: Session, argument: OneAttempt) -> dict[str, Any]:
    """Brings the changes of an attempt into the workspace, all or none, and checks the goal there: that alone says
    whether it is proven."""
    session.require_trust()
    root, attempts, group = await _group(session, argument.id)
    folder = await session.folder(root)
    files, _ = await attempts.diff(group, argument.number)
    unsaved = [one.path for one in files if session.host.unsaved(root / one.path) is not None]
    if unsaved:
        named = ", ".join(unsaved)
        raise UsageError(f"nothing was changed: {named} has changes that aren't saved. Save or revert them first")
    group, changed = await attempts.apply(group, argument.number, folder.runs)
    done = f"Attempt {argument.number} is applied; {len(changed)} file{'' if len(changed) == 1 else 's'} changed here."
    result = {"changedFiles": [session.texts.uri(root / path) for path in changed]}
    try:
        check, said = await _check_goal(session, folder, attempts, group)
    except DoneWhenError as problem:  # what is written stays written, whatever the check says
        return {**result, "check": None, "message": f"{done} The goal was not checked: {problem.said}."}
    return {**result, "check": check, "message": f"{done} {said}"}


async def _check_goal(session: Session, folder: Folder, attempts: Attempts, group: Group) -> tuple[dict[str, Any], str]:
    """The snapshot of a check of the goal in the workspace, and what it says."""
    view = await folder.runs.check(group.goal_path)
    folder.snapshots.take(view)
    session.views.goal_changed(folder.root, group.goal_path)
    shown = snapshot_json(session, view, folder.root)
    statuses = [one["status"] for one in shown["requirements"]]
    counted = tally(statuses.count("met"), len(statuses), statuses.count("waived"))
    if not shown["complete"]:
        return shown, f"It isn't proven here: {counted}."
    await attempts.proven(group)
    return shown, f"It is proven here: {counted}."


async def drop(session: Session, argument: AttemptsDrop) -> dict[str, Any]:
    """Removes the folders and the records of one attempt, or of all of a group."""
    _, attempts, group = await _group(session, argument.id)
    if argument.number is not None and group.attempt(argument.number) is None:
        raise UnknownName(f"there is no attempt {argument.number} among {group.id}")
    left = await attempts.drop(group, None if argument.number is None else [argument.number])
    return {"left": 0 if left is None else len(left.attempts)}


async def _group(session: Session, group_id: str) -> tuple[Path, Attempts, Group]:
    """A group of one of the client's folders. Raises UnknownName."""
    for root in session.roots:
        attempts = await _attempts(session, root)
        found = next((one for one in attempts.groups() if one.id == group_id), None)
        if found is not None:
            return root, attempts, found
    raise _unknown(group_id)


def _unknown(group_id: str) -> UnknownName:
    return UnknownName(f"there are no attempts {group_id!r} in the workspace folders of this editor")


async def _attempts(session: Session, root: Path) -> Attempts:
    # As the engine: importing what copies and applies would hold the loop for too long.
    await asyncio.to_thread(import_module, "donewhen.extras.attempts.comparing")
    from donewhen.extras.attempts.pursuing import Attempts

    wanted = session.wanted(root)
    settings = wanted.settings()
    where = wanted.state_dir or settings.state_dir
    return Attempts(root, where, settings, opening=session.host.services.open_runs, trusted=wanted.context.trusted)


DOCUMENTS = {"attempt": attempt_text}
"""What gives the text of a document of that kind."""
