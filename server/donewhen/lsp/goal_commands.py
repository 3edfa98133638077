"""The commands about goal files: draft one, detect checks, audit, clear."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from donewhen.app.agents import found_agents
from donewhen.app.services import Adviser
from donewhen.app.workspace_context import plugins_there
from donewhen.core import markdown
from donewhen.core.errors import DoneWhenError, GoalFileError, UsageError, WorkspaceError
from donewhen.core.work import Usage
from donewhen.engine.api import StartOptions
from donewhen.goalfile.amend import add_check, name_judge
from donewhen.goalfile.draft import draft, draft_notes, draft_path
from donewhen.goalfile.files import goal_name
from donewhen.goalfile.objectives import Problem, Seen, ShownTest, likely
from donewhen.goalfile.parse import parse
from donewhen.goalfile.preflight import hints_of
from donewhen.goalfile.survey import FoundCheck, Survey
from donewhen.lsp import arguments as a
from donewhen.lsp.positions import FilePlace, is_goal_file, required_path
from donewhen.lsp.progress import with_progress
from donewhen.lsp.publisher import snapshot_json
from donewhen.lsp.session import Session
from donewhen.wire.plain import spent_json

_RECENT = 120.0
"""How many seconds the result of a trial stays worth mentioning in a draft."""


async def set_goal(session: Session, argument: a.GoalSet) -> dict[str, Any]:
    """Drafts a goal file that does not exist yet, and starts it if requested."""
    if argument.start:
        session.require_trust()
    if not argument.objective.strip():
        raise JsonRpcInvalidParams("objective: say what is wanted")
    root = _root(session, argument.workspace_uri, argument.goal_uri)
    if argument.goal_uri is not None:
        path = required_path(argument.goal_uri, "goalUri")
        if not is_goal_file(path):
            raise JsonRpcInvalidParams("goalUri: a goal file is named GOAL.md or *.goal.md")
    else:
        path = await asyncio.to_thread(draft_path, root, argument.objective)
    if await asyncio.to_thread(path.exists):
        raise _never_overwritten(path)
    found = await _draft_survey(session, root, argument)
    objective, advice = argument.objective, Advice[str]()
    if argument.requirements is None and not argument.start:
        title, failed = "Asking {model} for requirements", "No requirements were proposed"
        advice = await _ask_adviser(
            session, root, title, failed, lambda adviser: adviser.propose(objective, found.commands)
        )
    judged = session.wanted(root).settings().pick("judge_model") is not None
    said, model = argument.requirements or advice.said, advice.model
    text = draft(objective, found.commands, said, judged=judged, proposed_by=model, worker=argument.worker)
    # A person's choice is complete, and a run, or a check, reads it from the disk.
    picked = argument.checks is not None or argument.worker is not None
    await _create(session, path, text, on_disk=argument.start or picked)
    notes = draft_notes(text, found, judged=judged, proposed_by=model, requirements=said)
    result: dict[str, Any] = {"goalUri": session.texts.uri(path), "notes": notes, **cost_of(advice.spent)}
    if argument.start:
        place = session.place(path)
        folder = await session.folder(place.root)
        async with session.host.turn():
            result["runId"] = (await folder.runs.start(place.path, StartOptions())).state.run_id
    return result


async def detect_checks(session: Session, argument: a.GoalDetect) -> dict[str, Any]:
    """The possible checks of this folder. No check is run, unless that is requested and the workspace is trusted.
    Checks that can't run here are offered, but not suggested."""
    root = _root(session, argument.workspace_uri, None)
    tries = argument.try_checks and session.host.trusted
    found = await session.wanted(root).survey(session.host.services, tries=tries)
    if tries:
        session.tried[root] = (time.monotonic(), found)
    # `worker` is an agent's name as a worker, `install` says how to get it.
    agents = [
        {"worker": one.preset, "name": one.name, "found": one.program is not None, "install": one.install}
        for one in await asyncio.to_thread(found_agents, os.environ)
    ]
    return {"checks": [_detected(check) for check in found.checks], "agents": agents}


def _detected(check: FoundCheck) -> dict[str, Any]:
    why = check.why if check.left_out is None else f"{check.why}; {check.left_out}"
    return {
        "command": check.command,
        "why": why,
        "suggested": check.drafted,
        "leftOut": check.left_out,
        "standing": check.standing,
        "reason": check.reason or None,
        "seconds": check.seconds,
        "state": _state(check, why),
    }


def _state(check: FoundCheck, why: str) -> str:
    """A check's present state and its origin, on one line."""
    took = "" if check.seconds is None else f" · {check.seconds:.1f} s"
    if check.standing == "green":
        return f"passes now{took} · {why}"
    if check.standing == "red":
        return f"fails now: {check.reason or why}{took}"
    return why if check.standing is None else f"slow: {check.reason or why}"


async def propose_goals(session: Session, argument: a.GoalPropose) -> dict[str, Any]:
    """What a person is likely to want, the most particular first, with the checks that are known to decide it."""
    problems = [Problem(one.path, one.line, one.message) for one in argument.problems]
    fixed, test = argument.problem, argument.test
    seen = Seen(
        argument.selection,
        argument.line,
        argument.clipboard,
        problems,
        Problem(fixed.path, fixed.line, fixed.message) if fixed is not None else None,
        ShownTest(test.name, test.id, test.path, test.message) if test is not None else None,
    )
    found = await asyncio.to_thread(likely, seen, _root(session, argument.workspace_uri, None))
    return {"proposals": [dataclasses.asdict(one) for one in found]}


async def _draft_survey(session: Session, root: Path, argument: a.GoalSet) -> Survey:
    """The checks of the draft, with their state as far as it is known."""
    if argument.checks is None:
        # A run that starts now begins with an audit of all checks.
        return await _surveyed(session, root, tries=argument.try_checks and not argument.start)
    at, tried = session.tried.pop(root, (0.0, None))
    if tried is None or time.monotonic() - at > _RECENT:
        tried = await _surveyed(session, root, tries=False)
    return tried.picked([one for one in argument.checks if one.strip()])


async def _surveyed(session: Session, root: Path, *, tries: bool) -> Survey:
    """The checks of the folder, with those of a draft tried, until the person stops that."""
    services, wanted = session.host.services, session.wanted(root)
    untried = await wanted.survey(services, tries=False)
    if not tries or not session.host.trusted or not untried.commands:
        return untried
    title = "Trying the checks of the draft"
    return await with_progress(session, title, wanted.survey(services, tries=True)) or untried


async def amend_goal(session: Session, argument: a.GoalAmend) -> dict[str, Any]:
    """Adds a check or names a judge in the goal file, in the editor. A run in progress takes it up once the file is
    saved."""
    if (argument.check is None) == (argument.judge_model is None):
        raise JsonRpcInvalidParams("one of check and judgeModel is required")
    place = goal_place(session, argument.goal_uri)
    parsed = await session.parsed(place.absolute, place.path)
    text = session.texts.text(place.absolute)
    if parsed is None or text is None:
        raise UsageError(f"{place.path} can't be read")
    if argument.judge_model is not None:
        edit = name_judge(parsed, argument.judge_model)
    else:
        edit = add_check(parsed, argument.requirement_id, argument.check or "")
    span, texts = edit.span, session.texts
    start = (span.start_line, texts.character(place.absolute, span.start_line, span.start_column))
    end = (span.end_line, texts.character(place.absolute, span.end_line, span.end_column))
    uri = texts.uri(place.absolute)
    changed = types.TextEdit(types.Range(types.Position(*start), types.Position(*end)), edit.text)
    params = types.ApplyWorkspaceEditParams(types.WorkspaceEdit(changes={uri: [changed]}), "Amend goal")
    result = await session.server.workspace_apply_edit_async(params) if session.profile.apply_edit else None
    if result is None or not result.applied:
        raise UsageError(f"the editor did not change {place.path}; add the line yourself: {edit.text.strip()}")
    return {"goalUri": uri}


async def check_goal(session: Session, argument: a.GoalUri) -> dict[str, Any]:
    session.require_trust()
    place = goal_place(session, argument.goal_uri)
    folder = await session.folder(place.root)
    async with session.host.turn():
        view = await folder.runs.check(place.path)
    folder.snapshots.take(view)
    session.views.goal_changed(place.root, place.path)
    return snapshot_json(session, view, place.root)


async def clear_goal(session: Session, argument: a.GoalUri) -> None:
    place = goal_place(session, argument.goal_uri)
    folder = await session.folder(place.root)
    await folder.runs.forget(place.path)
    folder.snapshots.forget(place.path)
    session.views.goal_changed(place.root, place.path)


def _root(session: Session, workspace_uri: str | None, goal_uri: str | None) -> Path:
    """The named folder, else the goal file's, else the first of the workspace."""
    if workspace_uri is not None:
        return required_path(workspace_uri, "workspaceUri")
    if goal_uri is not None:
        return session.place(required_path(goal_uri, "goalUri")).root
    if not session.roots:
        raise UsageError("no folder is open: open one, or name it as workspaceUri")
    return session.roots[0]


async def _create(session: Session, path: Path, text: str, *, on_disk: bool) -> None:
    """Uses the editor if it can create files; writes to the disk if it can't, or if a run starts from the file now."""
    if await asyncio.to_thread(path.exists):
        raise _never_overwritten(path)
    profile = session.profile
    if not on_disk and profile.apply_edit and profile.create_files and await _by_editor(session, path, text):
        return
    try:
        await asyncio.to_thread(_write_new, path, text)
    except FileExistsError:
        raise _never_overwritten(path) from None
    except OSError as problem:
        raise WorkspaceError(f"{path.name} can't be written: {problem.strerror or problem}") from problem


async def _by_editor(session: Session, path: Path, text: str) -> bool:
    start, uri = types.Position(0, 0), path.as_uri()
    create = types.CreateFile(uri, options=types.CreateFileOptions(ignore_if_exists=True))
    document = types.OptionalVersionedTextDocumentIdentifier(uri)
    insert = types.TextDocumentEdit(document, [types.TextEdit(types.Range(start, start), text)])
    edit = types.WorkspaceEdit(document_changes=[create, insert])
    params = types.ApplyWorkspaceEditParams(edit, "Set goal")
    result = await session.answered(session.server.workspace_apply_edit_async(params))
    return result is not None and result.applied


def _never_overwritten(path: Path) -> UsageError:
    return UsageError(f"{path.name} already exists, and is never overwritten")


def _write_new(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", newline="") as file:
        file.write(text)


# The goal file that a command names.


def goal_place(session: Session, uri: str) -> FilePlace:
    """The goal file that a command names: any `.md`. Raises JsonRpcInvalidParams for anything else."""
    path = required_path(uri, "goalUri")
    if path.suffix.lower() != ".md":
        raise JsonRpcInvalidParams(
            f"goalUri: {path.name} is not a goal file: name a GOAL.md, a *.goal.md or another .md file"
        )
    session.texts.named(uri)
    return session.place(path)


# A model's help with a goal before a run: proposed requirements, and hints.


SaidT = TypeVar("SaidT")


async def preflight(session: Session, argument: a.GoalUri) -> dict[str, Any]:
    """`donewhen.goal.preflight`: hints on the goal file as the editor shows it. Nothing is started."""
    place = goal_place(session, argument.goal_uri)
    text = session.texts.text(place.absolute)
    if text is None:
        raise UsageError(f"{place.path} can't be read")
    parsed = parse(text, path=place.path, name=goal_name(place.path), plugged=plugins_there)
    if parsed.errors:
        raise GoalFileError(parsed.errors[0].message)
    title, failed = "Asking {model} for hints", "The model gave no hints"
    advice = await _ask_adviser(session, place.root, title, failed, lambda adviser: adviser.hints(text))
    hints = [*hints_of(parsed), *advice.said]
    told = [{"requirementId": h.requirement_id, "number": h.number, "message": h.message} for h in hints]
    return {"hints": told, **cost_of(advice.spent)}


def cost_of(spent: Usage | None) -> dict[str, Any]:
    """The field `cost` of a result; absent if no model was asked."""
    return {} if spent is None else {"cost": spent_json(spent)}


@dataclass(slots=True)
class Advice(Generic[SaidT]):
    """What `model` said. `spent` is None if it was not asked, and also counts calls that failed or were cancelled."""

    said: Sequence[SaidT] = ()
    model: str | None = None
    spent: Usage | None = None


async def _ask_adviser(
    session: Session,
    root: Path,
    title: str,
    failed: str,
    ask: Callable[[Adviser], Coroutine[Any, Any, Sequence[SaidT]]],
) -> Advice[SaidT]:
    """Nothing, and no model, if none is configured, the workspace isn't trusted, or the model can't be asked, which is
    reported with what `failed`; nothing if the person cancelled it."""
    advice: Advice[SaidT] = Advice()
    if not session.host.trusted:
        return advice
    try:
        async with session.wanted(root).open_adviser(session.host.services) as adviser:
            if adviser is None:
                return advice
            advice.model = adviser.model
            try:
                advice.said = await with_progress(session, title.format(model=adviser.model), ask(adviser)) or ()
            finally:
                advice.spent = adviser.spent
    except DoneWhenError as problem:
        advice.model = None
        # It contains a provider's text, which VS Code would turn into links.
        session.show_message(types.MessageType.Warning, markdown.prose(f"{failed}: {problem.said}"))
    return advice
