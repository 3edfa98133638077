"""Document symbols, links and definitions, and evidence as files that any editor can open."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from lsprotocol import types

from donewhen.core.errors import DoneWhenError
from donewhen.core.verdict import RequirementView
from donewhen.core.words import one_line
from donewhen.goalfile.source import Value
from donewhen.lsp.client import Client
from donewhen.lsp.goal_view import GoalView, goal_view

MAX_NAME = 120


async def symbols(
    client: Client, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
    """`textDocument/documentSymbol`: a tree, or a flat list for clients that don't support trees."""
    goal = await goal_view(client, params.text_document.uri)
    if goal is None:
        return []
    if client.profile.hierarchical_symbols:
        return goal_symbols(goal)
    return [
        types.SymbolInformation(types.Location(goal.uri, one.range), one.name, one.kind)
        for one in requirement_symbols(goal)
    ]


def goal_symbols(goal: GoalView) -> list[types.DocumentSymbol]:
    """The title with its requirements below; the requirements alone if there is no title."""
    children = requirement_symbols(goal)
    title = goal.parsed.title_span
    if title is None:
        return children
    last = max((source.span.end_line for source in goal.parsed.requirements), default=title.end_line)
    whole = types.Range(goal.position(title.start_line, 0), goal.position(max(last, title.end_line)))
    name = one_line(goal.parsed.title, MAX_NAME) or "Goal"
    return [types.DocumentSymbol(name, types.SymbolKind.Module, whole, goal.range(title), children=children)]


def requirement_symbols(goal: GoalView) -> list[types.DocumentSymbol]:
    found: list[types.DocumentSymbol] = []
    for source in goal.parsed.requirements:
        one = goal.status(source)
        name = f"{source.requirement.label} {one_line(source.requirement.text, MAX_NAME)}"
        detail = None if one is None else one.status
        span, selection = goal.range(source.span), goal.range(source.text_span)
        found.append(types.DocumentSymbol(name, types.SymbolKind.Boolean, span, selection, detail=detail))
    return found


# Document links, definitions, and evidence as files that any editor can open.


MAX_MATCHES = 20


async def links(client: Client, params: types.DocumentLinkParams) -> list[types.DocumentLink]:
    """`textDocument/documentLink`."""
    goal = await goal_view(client, params.text_document.uri)
    return [] if goal is None else await asyncio.to_thread(goal_links, goal)


def goal_links(goal: GoalView) -> list[types.DocumentLink]:
    """A link for each named file that exists; for a glob, if it matches exactly one file."""
    found: list[types.DocumentLink] = []
    for source in goal.parsed.requirements:
        for value in (*source.files, *source.problems):
            files = matching(goal.place.root, [value.text], 2)
            if len(files) == 1:
                target = files[0].as_uri()
                found.append(types.DocumentLink(goal.range(value.span), target, tooltip=value.text))
    return found


def matching(root: Path, globs: Sequence[str], limit: int = MAX_MATCHES) -> list[Path]:
    """The files under `root` that match the globs, each once, at most `limit`; no files outside of `root`."""
    found: dict[Path, None] = {}
    for pattern in globs:
        relative = pattern.removeprefix("./").lstrip("/")
        if not relative or ".." in Path(relative).parts:
            continue
        try:
            paths = root.glob(relative) if any(sign in relative for sign in "*?[") else iter((root / relative,))
            found.update(dict.fromkeys(itertools.islice((path for path in paths if path.is_file()), limit)))
        except (OSError, ValueError, NotImplementedError):
            continue
    return list(found)[:limit]


# The evidence of a requirement as files that any editor can open, or as documents of the editor's own.


async def evidence_uris(client: Client, goal: GoalView, one: RequirementView) -> dict[str, str]:
    """Where each evidence that the verdict cites can be read, by id; files that can't be written are left out."""
    folder = client.host.folder_if_open(goal.place.root)
    found: dict[str, str] = {}
    if goal.view is not None and folder is not None:
        run_id = goal.view.state.run_id
        if client.profile.documents:
            return {evidence_id: evidence_document(run_id, evidence_id) for evidence_id in one.evidence_ids}
        for evidence_id in one.evidence_ids:
            with contextlib.suppress(OSError, DoneWhenError):
                file = await folder.runs.evidence_file(run_id, evidence_id)
                found |= {} if file is None else {evidence_id: file.as_uri()}
    return found


def evidence_document(run_id: str, evidence_id: str) -> str:
    """The uri of the editor's own document; its query is the argument of `donewhen.run.document`."""
    shown = {"kind": "evidence", "runId": run_id, "evidenceId": evidence_id}
    return f"donewhen:/{run_id}/{evidence_id}.md?{_quoted_json(shown)}"


def evidence_command(run_id: str, evidence_id: str) -> str:
    """The target of a link in Markdown that opens that document: editors follow no uri of their own there."""
    given = _quoted_json([{"runId": run_id, "evidenceId": evidence_id}])
    return f'command:donewhen.openEvidence?{given} "Open the evidence"'


def _quoted_json(value: object) -> str:
    return quote(json.dumps(value, separators=(",", ":")), safe="")


# Definition: from a requirement to its evidence, and from a named file to that file.


async def definition(client: Client, params: types.DefinitionParams) -> list[types.Location]:
    """`textDocument/definition`: files first if the cursor is on one, else evidence, else files."""
    goal = await goal_view(client, params.text_document.uri)
    if goal is None:
        return []
    source = goal.requirement_at(params.position.line)
    if source is None:
        return []
    values = (*source.files, *source.problems)
    cursor = (params.position.line, goal.column(params.position))
    here: list[Value] = []
    for value in values:
        span = value.span
        if (span.start_line, span.start_column) <= cursor <= (span.end_line, span.end_column):
            here.append(value)
    one, uris = goal.status(source), list[str]()
    if not here and one is not None:
        uris = list((await evidence_uris(client, goal, one)).values())
    if not uris:
        globs = [value.text for value in here or values]
        uris = [path.as_uri() for path in await asyncio.to_thread(matching, goal.place.root, globs)]
    start = types.Position(0, 0)
    return [types.Location(uri, types.Range(start, start)) for uri in uris]
