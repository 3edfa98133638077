"""The commands about runs: what they are shown as, and what steers them. `features.COMMANDS` has the table of all."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from donewhen.core.acts import ActOutcome
from donewhen.core.errors import UnknownName, UnknownRun, UsageError
from donewhen.core.work import Answer
from donewhen.engine.api import HaltAnswer, LimitChanges, RunView, StartOptions
from donewhen.extras import EXTRAS, part_of
from donewhen.lsp import arguments as a
from donewhen.lsp.arguments import read
from donewhen.lsp.goal_commands import goal_place
from donewhen.lsp.host import Folder
from donewhen.lsp.positions import locate, path_within, required_path
from donewhen.lsp.protocol import ClientSilent
from donewhen.lsp.publisher import client_snapshot, snapshot_json
from donewhen.lsp.session import Session
from donewhen.regular import read_bytes
from donewhen.wire.patching import patched
from donewhen.wire.plain import plain_evidence, plain_iteration, plain_tests, step_json
from donewhen.wire.reports import receipt
from donewhen.wire.snapshot import snapshot
from donewhen.wire.view import chat_answer, chat_text, children_of, question_document

# Which workspace folder a run belongs to.


async def folder_of(session: Session, run_id: str) -> Folder:
    """The folder whose ledger has the run: visible folders first. Raises UnknownRun."""
    for folder in session.host.open_folders():
        if folder.snapshots.of_run(run_id) is not None:
            return folder
    for folder in await session.all_folders():
        if any(summary.run_id == run_id for summary in await folder.runs.summaries()):
            return folder
    raise UnknownRun(f"there is no run {run_id} in the workspace folders of this editor")


# The commands that only read: one iteration, one file, one evidence, the report.


async def iteration(session: Session, argument: a.RunIteration) -> dict[str, Any]:
    """One iteration in full: the worker's steps, the checks, the verdict, the files."""
    folder = await folder_of(session, argument.run_id)
    detail = await folder.runs.iteration(argument.run_id, argument.number)
    return plain_iteration(detail, argument.run_id, folder.root)


async def file_text(session: Session, argument: a.RunFile) -> dict[str, Any]:
    """A file as it was after that iteration; null if it did not exist or is not text."""
    folder = await folder_of(session, argument.run_id)
    path = path_within(folder.root, argument.uri, "the run")
    return {"text": await folder.runs.file_at(argument.run_id, argument.iteration, path)}


async def changes(session: Session, argument: a.OfRun) -> dict[str, Any]:
    """The files that are not as they were before the run's first turn."""
    folder = await folder_of(session, argument.run_id)
    found = await folder.runs.changes(argument.run_id)
    uris = [(session.texts.uri(folder.root / one.path), one) for one in found]
    return {"files": [{"uri": uri, "before": one.before, "now": one.now} for uri, one in uris]}


async def proposed(session: Session, argument: a.RunProposed) -> dict[str, str | None]:
    """The file that a question asks to change, before and after; null if the change doesn't apply to the file as it is.
    A file that doesn't exist yet is empty."""
    folder = await folder_of(session, argument.run_id)
    view = await folder.runs.view(argument.run_id)
    asked = next((one for one in view.state.interrupts if one.id == argument.interrupt_id), None)
    path = None if asked is None else asked.input.get("path")
    inside = isinstance(path, str) and ".." not in Path(path).parts
    place = locate(folder.root / str(path), (folder.root,)) if inside else None
    if asked is None or place is None:
        return {"before": None, "after": None}
    before = await asyncio.to_thread(_text_on_disk, place.root, place.path)
    return {"before": before, "after": None if before is None else patched(before, asked.preview)}


def _text_on_disk(root: Path, path: str) -> str | None:
    try:
        return read_bytes(path, within=root).decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        return None


async def evidence(session: Session, argument: a.RunEvidence) -> dict[str, Any]:
    """The evidence in full, and the uri of its read-only file."""
    folder = await folder_of(session, argument.run_id)
    found = await folder.runs.evidence(argument.run_id, argument.evidence_id)
    if found is None:
        raise UnknownName(f"run {argument.run_id} has no evidence {argument.evidence_id}")
    file = await folder.runs.evidence_file(argument.run_id, argument.evidence_id)
    document = plain_evidence(found)
    document["uri"] = None if file is None else file.as_uri()
    if argument.show and file is not None and session.profile.show_document:
        try:
            await session.server.window_show_document_async(types.ShowDocumentParams(file.as_uri(), take_focus=True))
        except ClientSilent as problem:
            raise UsageError(f"the evidence is in {file}, but the editor did not open it: {problem}") from problem
    return document


async def tests(session: Session, argument: a.RunTests) -> dict[str, Any]:
    """What a requirement's checks ran and printed."""
    folder = await folder_of(session, argument.run_id)
    # What the client was shown last, whose evidence it asks for; the workspace needn't be looked at again.
    view = folder.snapshots.of_run(argument.run_id) or await folder.runs.view(argument.run_id)
    one = next((one for one in view.views if one.requirement_id == argument.requirement_id), None)
    if one is None:
        raise UnknownName(f"run {argument.run_id} has no requirement {argument.requirement_id}")
    found = [await folder.runs.evidence(argument.run_id, name) for name in one.evidence_ids]
    return plain_tests([each for each in found if each is not None], lambda path: session.texts.uri(folder.root / path))


async def activity(session: Session, argument: a.RunActivity) -> dict[str, Any]:
    """What the run has done so far, step by step; with `follow`, the client then gets every new step."""
    folder = await folder_of(session, argument.run_id)
    if argument.follow is False:
        session.views.follow(folder, argument.run_id, None)
        return {"runId": argument.run_id, "steps": []}
    found = await folder.runs.steps(argument.run_id)
    full = argument.step_id is not None
    steps = [one for one in found.steps if not full or one.id == argument.step_id]
    if full and not steps:
        raise UnknownName(f"run {argument.run_id} has no step {argument.step_id}, or it is too long ago")
    if argument.follow:
        session.views.follow(folder, argument.run_id, found.version)
    return {"runId": argument.run_id, "steps": [step_json(one, folder.root, full=full) for one in steps]}


async def report(session: Session, argument: a.RunReport) -> dict[str, Any]:
    """The receipt, in one of the available formats."""
    folder = await folder_of(session, argument.run_id)
    return {"text": await receipt(folder.runs, argument.run_id, argument.format, folder.root)}


async def document(session: Session, argument: a.RunDocument) -> dict[str, Any]:
    """The text of one document; null where it is of a question that has been answered, or of a change that doesn't
    apply. A file that did not exist is empty."""
    run_id = argument.run_id
    match argument.kind:
        case "evidence":
            # Its file; as JSON where there is none, or it can't be read.
            folder = await folder_of(session, run_id)
            file = await folder.runs.evidence_file(run_id, argument.evidence_id)
            text = None if file is None else await asyncio.to_thread(_text_on_disk, file.parent, file.name)
            if text:
                return {"text": text}
            named = {"runId": run_id, "evidenceId": argument.evidence_id}
            found = await evidence(session, read(a.RunEvidence, named))
            return {"text": f"```json\n{json.dumps(found, indent=2)}\n```\n"}
        case "file":
            named = {"runId": run_id, "iteration": argument.iteration, "uri": argument.uri}
            return {"text": (await file_text(session, read(a.RunFile, named)))["text"] or ""}
        case "report":
            return await report(session, read(a.RunReport, {"runId": run_id}))
        case "step":
            found = await activity(session, read(a.RunActivity, {"runId": run_id, "stepId": argument.step_id}))
            return {"text": found["steps"][0]["diff" if argument.diff else "text"]}
        case "proposed":
            named = {"runId": run_id, "interruptId": argument.interrupt_id}
            return {"text": (await proposed(session, read(a.RunProposed, named)))[argument.side]}
        case "interrupt":
            folder = await folder_of(session, run_id)
            run = snapshot(await folder.runs.view(run_id), folder.root)
            asked = next((one for one in run.interrupts if one.id == argument.interrupt_id), None)
            return {"text": None if asked is None else question_document(run.title, asked)}
        case kind:
            for one in EXTRAS:
                if one.editor and (text_of := part_of(one, "editor", "DOCUMENTS").get(kind)) is not None:
                    return {"text": await text_of(session, argument) or ""}
            raise JsonRpcInvalidParams(f"kind: this server has no documents of the kind {kind!r}")


async def answer_in_chat(session: Session, argument: a.RunTell) -> dict[str, Any]:
    """Where a goal stands, in words for a chat."""
    folder = await folder_of(session, argument.run_id)
    shown = snapshot(folder.snapshots.latest(await folder.runs.view(argument.run_id)), folder.root)
    if argument.form == "model":
        return {"text": chat_text(shown)}
    return {"text": chat_answer(shown, why=argument.form == "why", requirement=argument.requirement)}


# The commands that steer a run.


async def start(session: Session, argument: a.RunStart) -> dict[str, Any]:
    session.require_trust()
    place = goal_place(session, argument.goal_uri)
    folder = await session.folder(place.root)
    async with session.host.turn():
        view = await folder.runs.start(place.path, StartOptions(worker=argument.worker, limits=argument.changes))
    return {"runId": view.state.run_id}


async def pause(session: Session, argument: a.RunLimits) -> dict[str, Any]:
    _refuse_limits(argument)
    folder = await folder_of(session, argument.run_id)
    return shown_run(session, folder, await folder.runs.pause(argument.run_id, "paused by a person"))


async def stop(session: Session, argument: a.RunLimits) -> dict[str, Any]:
    _refuse_limits(argument)
    folder = await folder_of(session, argument.run_id)
    return shown_run(session, folder, await folder.runs.stop(argument.run_id, "stopped by a person"))


async def resume(session: Session, argument: a.RunResume) -> dict[str, Any]:
    """Continues the run; the data for a plugin goes to the one that halted it."""
    session.require_trust()
    folder = await folder_of(session, argument.run_id)
    limits = argument.changes
    told = argument.plugin is not None or argument.data is not None
    halt = HaltAnswer(argument.plugin, argument.data) if told else None
    options = StartOptions(limits=limits, askable=True)  # a person who resumes it in an editor can be asked
    return shown_run(session, folder, await folder.runs.resume(argument.run_id, limits, options, halt))


async def answer(session: Session, argument: a.RunAnswer) -> dict[str, Any]:
    """An empty text is an answer too; without a text there is none. Without a response, the question is asked again."""
    session.require_trust()
    if argument.response is None:
        folder = await folder_of(session, argument.run_id)
        view = await folder.runs.view(argument.run_id)
        session.views.interrupts.ask_again(folder, view, argument.interrupt_id)
        return shown_run(session, folder, view)
    if argument.response == "text" and argument.text is None:
        raise JsonRpcInvalidParams("text: it is required where the response is text; it may be empty")
    folder = await folder_of(session, argument.run_id)
    remember = argument.remember or ""
    given = Answer(argument.response, argument.text or "", argument.input, argument.reason or "", remember)
    return shown_run(session, folder, await folder.runs.answer(argument.run_id, argument.interrupt_id, given))


async def override(session: Session, argument: a.RunOverride) -> dict[str, Any]:
    folder = await folder_of(session, argument.run_id)
    view = await folder.runs.waive(argument.run_id, argument.requirement_id, argument.reason, undo=argument.undo)
    return shown_run(session, folder, view)


async def dispute(session: Session, argument: a.RunDispute) -> dict[str, Any]:
    session.require_trust()
    folder = await folder_of(session, argument.run_id)
    view = await folder.runs.dispute(argument.run_id, argument.requirement_id, argument.reason)
    return shown_run(session, folder, view)


async def hint(session: Session, argument: a.RunHint) -> dict[str, Any]:
    """Says something to the worker without being asked."""
    folder = await folder_of(session, argument.run_id)
    when = await folder.runs.hint(argument.run_id, argument.text)
    return {"when": when, "message": _READ[when]} if session.profile.views else {"when": when}


_READ = {
    "nextCall": "The agent reads your hint before its next call to the model.",
    "nextTurn": "The worker reads your hint at the start of its next turn.",
    "resume": "The worker reads your hint when the run is resumed.",
}


async def accept_integrity(session: Session, argument: a.RunAcceptIntegrity) -> dict[str, Any]:
    if (argument.finding_id is None) != argument.all:
        raise JsonRpcInvalidParams("findingId: it is required, unless all is true")
    folder = await folder_of(session, argument.run_id)
    view = await folder.runs.accept(argument.run_id, argument.finding_id, argument.reason, undo=argument.undo)
    return shown_run(session, folder, view)


async def revert(session: Session, argument: a.RunRevert) -> dict[str, Any]:
    """Reverts either the files of an iteration, or the subject of an integrity finding."""
    session.require_trust()
    folder = await folder_of(session, argument.run_id)
    if argument.finding_id is not None:
        if argument.iteration is not None or argument.uris is not None:
            raise JsonRpcInvalidParams("findingId goes with runId and force alone")
        outcome = await folder.runs.revert_finding(argument.run_id, argument.finding_id, force=argument.force)
        if outcome.kept:
            session.views.interrupts.offer_overwrite(folder, argument.run_id, argument.finding_id, outcome.kept)
        return _revert_document(folder, outcome)
    if argument.iteration is None:
        raise JsonRpcInvalidParams("iteration: it is required, unless findingId is given")
    paths = None if argument.uris is None else [_workspace_path(folder, uri) for uri in argument.uris]
    outcome = await folder.runs.revert(argument.run_id, argument.iteration, paths, force=argument.force)
    return _revert_document(folder, outcome)


async def guard(session: Session, argument: a.RunGuard) -> dict[str, Any]:
    """Starts, or ends, proving a complete run again after each edit."""
    if argument.on:
        session.require_trust()
    if (argument.run_id is None) == (argument.goal_uri is None):
        raise JsonRpcInvalidParams("one of runId and goalUri is required")
    if argument.run_id is not None:
        folder, goal_path = await folder_of(session, argument.run_id), None
    else:
        place = goal_place(session, argument.goal_uri or "")
        folder, goal_path = await session.folder(place.root), place.path
    view = await folder.runs.guard(argument.on, run_id=argument.run_id, goal_path=goal_path)
    return shown_run(session, folder, view)


async def status(session: Session, argument: a.RunStatus) -> dict[str, Any]:
    """Newest first; the newest run and audit of one goal, or of every goal."""
    if argument.run_id is not None:
        folder = await folder_of(session, argument.run_id)
        read = folder.runs.report if argument.all_iterations else folder.runs.view
        return {"snapshots": [shown_run(session, folder, await read(argument.run_id))], "unreadable": []}
    path, folders = None, None
    if argument.goal_uri is not None:
        place = goal_place(session, argument.goal_uri)
        path, folders = place.path, [await session.folder(place.root)]
    folders = folders or await session.all_folders()
    found = [(folder, view) for folder in folders for view in await folder.runs.views(path)]
    found.sort(key=lambda pair: pair[1].state.started_at, reverse=True)
    unreadable: list[dict[str, Any]] = []
    for folder in folders:
        for one in await folder.runs.summaries():
            if one.unreadable is not None and path in (None, one.goal_path):
                goal = session.texts.uri(folder.root / one.goal_path) if one.goal_path else None
                unreadable.append({"runId": one.run_id, "title": one.title, "goalUri": goal, "reason": one.unreadable})
    return {"snapshots": [shown_run(session, folder, view) for folder, view in found], "unreadable": unreadable}


async def children(session: Session, argument: a.RunChildren) -> dict[str, Any]:
    """What stands under a row of a run's tree. A snapshot holds no earlier iterations: they are read for this."""
    folder = await folder_of(session, argument.run_id)
    earlier = argument.node.startswith(f"run/{argument.run_id}/iterations/")
    view = await (folder.runs.report if earlier else folder.runs.view)(argument.run_id)
    run = client_snapshot(session, folder.snapshots.latest(view), folder.root)
    return {"children": [one.model_dump(mode="json", by_alias=True) for one in children_of(run, argument.node)]}


# ------------------------------------------------------------------------------------- what they need


def shown_run(session: Session, folder: Folder, view: RunView) -> dict[str, Any]:
    return snapshot_json(session, folder.snapshots.latest(view), folder.root)


def _refuse_limits(argument: a.RunLimits) -> None:
    if argument.changes != LimitChanges():
        raise UsageError("limits change when a run is resumed: pause it, then resume it with the new ones")


def _workspace_path(folder: Folder, uri: str) -> str:
    place = locate(required_path(uri, "uris"), (folder.root,))
    if place is None:
        raise JsonRpcInvalidParams(f"uris: {uri!r} is not in the workspace folder of the run")
    return place.path


def _revert_document(folder: Folder, outcome: ActOutcome) -> dict[str, Any]:
    """The files as uris, as everywhere else in the protocol."""
    return {
        "changedFiles": [(folder.root / path).as_uri() for path in outcome.changed],
        "kept": [(folder.root / path).as_uri() for path in outcome.kept],
    }
