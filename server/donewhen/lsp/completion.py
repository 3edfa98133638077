"""Completion: front-matter keys and values, detected checks, file globs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from lsprotocol import types

from donewhen.goalfile.complete import CompletionChoice, completions
from donewhen.goalfile.detect import detect
from donewhen.goalfile.files import walk_files
from donewhen.lsp.client import Client
from donewhen.lsp.goal_view import GoalView, goal_view

KINDS: Mapping[str, types.CompletionItemKind] = {
    "key": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.Value,
    "check": types.CompletionItemKind.Function,
    "command": types.CompletionItemKind.Function,
    "file": types.CompletionItemKind.File,
    "folder": types.CompletionItemKind.Folder,
}


async def completion(client: Client, params: types.CompletionParams) -> types.CompletionList | None:
    """`textDocument/completion`; computed in a thread, since it reads the workspace."""
    goal = await goal_view(client, params.text_document.uri)
    text = None if goal is None else client.texts.text(goal.place.absolute)
    if goal is None or text is None:
        return None
    line, column, root = params.position.line, goal.column(params.position), goal.place.root
    found = await asyncio.to_thread(
        lambda: completions(text, line, column, detected=detect(root), files=walk_files(root))
    )
    return types.CompletionList(is_incomplete=False, items=[_item(goal, one) for one in found])


def _item(goal: GoalView, one: CompletionChoice) -> types.CompletionItem:
    return types.CompletionItem(
        label=one.label,
        kind=KINDS.get(one.kind, types.CompletionItemKind.Text),
        detail=one.detail or None,
        filter_text=one.insert,
        text_edit=types.TextEdit(goal.range(one.span), one.insert),
    )
