"""The commands that only read: one iteration, one file, one evidence, the report."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from donewhen.core.errors import UnknownName, UsageError
from donewhen.lsp.places import locate, required_path
from donewhen.lsp.protocol import ClientSilent
from donewhen.lsp.run_folders import folder_of
from donewhen.regular import read_bytes
from donewhen.wire.patching import patched
from donewhen.wire.plain import plain_evidence, plain_iteration
from donewhen.wire.reports import cited, render

if TYPE_CHECKING:
    from donewhen.lsp import arguments as a
    from donewhen.lsp.session import Session


async def iteration(session: Session, argument: a.RunIteration) -> dict[str, Any]:
    """One iteration in full: the worker's steps, the checks, the verdict, the files."""
    folder = await folder_of(session, argument.run_id)
    detail = await folder.runs.iteration(argument.run_id, argument.number)
    return plain_iteration(detail, argument.run_id, folder.root)


async def file_text(session: Session, argument: a.RunFile) -> dict[str, Any]:
    """A file as it was after that iteration; null if it did not exist or is not text."""
    folder = await folder_of(session, argument.run_id)
    place = locate(required_path(argument.uri, "uri"), (folder.root,))
    if place is None:
        raise JsonRpcInvalidParams("uri: the file is not in the workspace folder of the run")
    return {"text": await folder.runs.file_at(argument.run_id, argument.iteration, place.path)}


async def proposed(session: Session, argument: a.RunProposed) -> dict[str, str | None]:
    """The file that a question asks to change, as it is and as it would be; null where the change isn't about the
    file as it stands. A file that isn't there yet is an empty one."""
    folder = await folder_of(session, argument.run_id)
    view = await folder.runs.view(argument.run_id)
    asked = next((one for one in view.state.interrupts if one.id == argument.interrupt_id), None)
    path = None if asked is None else asked.input.get("path")
    inside = isinstance(path, str) and ".." not in Path(path).parts
    place = locate(folder.root / str(path), (folder.root,)) if inside else None
    if asked is None or place is None:
        return {"before": None, "after": None}
    before = await asyncio.to_thread(_text, place.absolute)
    return {"before": before, "after": None if before is None else patched(before, asked.preview)}


def _text(path: Path) -> str | None:
    try:
        return read_bytes(path).decode()
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


async def activity(session: Session, argument: a.RunActivity) -> dict[str, Any]:
    """What the run did so far, step by step; from then on the client is told what is new, where it follows."""
    from donewhen.wire.steps import step_json

    folder = await folder_of(session, argument.run_id)
    if argument.follow is False:
        session.showing.follow(folder, argument.run_id, None)
        return {"runId": argument.run_id, "steps": []}
    found = await folder.runs.steps(argument.run_id)
    steps = found.steps
    if argument.step_id is not None:
        steps = tuple(one for one in steps if one.id == argument.step_id)
        if not steps:
            raise UnknownName(f"run {argument.run_id} has no step {argument.step_id}, or it is too long ago")
    if argument.follow:
        session.showing.follow(folder, argument.run_id, found.version)
    full = argument.step_id is not None
    return {"runId": argument.run_id, "steps": [step_json(one, folder.root, full=full) for one in steps]}


async def report(session: Session, argument: a.RunReport) -> dict[str, Any]:
    """The receipt, in one of the formats that there are."""
    folder = await folder_of(session, argument.run_id)
    view = await folder.runs.report(argument.run_id)
    found = [await folder.runs.evidence(argument.run_id, name) for name in cited(view)]
    return {"text": render(argument.format, view, folder.root, [one for one in found if one is not None])}


async def answer_in_chat(session: Session, argument: a.RunTell) -> dict[str, Any]:
    """Where a goal stands, in words for a chat."""
    from donewhen.wire.snapshot import snapshot
    from donewhen.wire.view import chat_answer, chat_text

    folder = await folder_of(session, argument.run_id)
    shown = snapshot(folder.board.latest(await folder.runs.view(argument.run_id)), folder.root)
    if argument.form == "model":
        return {"text": chat_text(shown)}
    return {"text": chat_answer(shown, why=argument.form == "why", requirement=argument.requirement)}
