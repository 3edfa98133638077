"""Code actions: repair the file, tick proven requirements, waive, dispute, accept or revert, open the evidence,
start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from lsprotocol import types

from donewhen.core.verdict import RequirementView
from donewhen.engine.api import RunView
from donewhen.goalfile.source import RequirementSource
from donewhen.lsp.client_profile import object_or_empty
from donewhen.lsp.diagnostics import SOURCE
from donewhen.lsp.goal_view import GoalView, goal_view
from donewhen.lsp.lenses import command_about, run_commands
from donewhen.lsp.positions import file_path
from donewhen.lsp.session import Session
from donewhen.lsp.ticking import ticks

QUICK_FIX = types.CodeActionKind.QuickFix
REFACTOR = types.CodeActionKind.Refactor
RUN = "source.donewhen"
"""The kind of actions for the whole goal: editors show no light bulb for it on every line."""
REASON = "decided by a person in the editor"
"""Editors can't ask for text with a code action; clients that can (`clientFeatures.reasons`) add their own."""


async def actions(session: Session, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
    """`textDocument/codeAction`, on goal files and on the code lines that carry our diagnostics."""
    found = finding_actions(params.context.diagnostics, asks=session.profile.reasons)
    goal = await goal_view(session, params.text_document.uri)
    if goal is not None:
        path = file_path(params.text_document.uri)
        ours = session.views.diagnostics.at(path) if path is not None else []
        first, last = params.range.start.line, params.range.end.line
        here = [one for one in ours if one.range.start.line <= last and first <= one.range.end.line]
        found += suggestion_actions(goal.uri, here)
        found += goal_actions(goal, first, last, asks=session.profile.reasons)
        found += run_actions(goal)
    else:
        found += code_line_actions(session, params.context.diagnostics)
    wanted = params.context.only
    kept = [one for one in found if wanted is None or any(_is_kind(one.kind or "", kind) for kind in wanted)]
    return list(kept) if session.profile.action_literals else [one.command for one in kept if one.command is not None]


def goal_actions(goal: GoalView, first: int, last: int, *, asks: bool = False) -> list[types.CodeAction]:
    """The actions for the requirements on these lines, and for all proven ones."""
    found: list[types.CodeAction] = []
    for source in goal.parsed.requirements:
        if source.span.start_line <= last and first <= source.span.end_line:
            found += _requirement_actions(goal, source, asks)
    edits = ticks(goal)
    if edits:
        edit = types.WorkspaceEdit(changes={goal.uri: edits})
        title = "Tick what is proven" if len(edits) > 1 else "Tick the proven requirement"
        found.append(types.CodeAction(title, kind=REFACTOR, edit=edit))
    return found


def run_actions(goal: GoalView) -> list[types.CodeAction]:
    """The actions of the lenses above the title, for editors that show no lenses."""
    return [types.CodeAction(command.title, kind=RUN, command=command) for command in run_commands(goal)]


def suggestion_actions(uri: str, diagnostics: list[types.Diagnostic]) -> list[types.CodeAction]:
    """Replacements for misspelled words in the front matter."""
    found: list[types.CodeAction] = []
    for one in diagnostics:
        suggestion = object_or_empty(one.data).get("suggestion")
        if isinstance(suggestion, str):
            edit = types.WorkspaceEdit(changes={uri: [types.TextEdit(one.range, suggestion)]})
            title = f"Change to “{suggestion}”"
            found.append(types.CodeAction(title, kind=QUICK_FIX, edit=edit, diagnostics=[one], is_preferred=True))
    return found


def finding_actions(diagnostics: object, *, asks: bool = False) -> list[types.CodeAction]:
    """Accept or revert, on the line of an integrity finding."""
    found: list[types.CodeAction] = []
    for one, run_id, finding_id in _ours(diagnostics, "findingId"):
        about = {"runId": run_id, "findingId": finding_id}
        accept = command_about(f"Accept {finding_id}", "donewhen.run.acceptIntegrity", _reasoned(about, asks))
        revert = command_about(f"Revert {finding_id}", "donewhen.run.revert", about)
        found += [_command_action(accept, one), _command_action(revert, one)]
    return found


def code_line_actions(session: Session, diagnostics: object) -> list[types.CodeAction]:
    """The actions for the requirements that lines of code keep from being met."""
    found: dict[tuple[str, str], types.CodeAction] = {}
    for mark, run_id, requirement_id in _ours(diagnostics, "requirementId"):
        runs = [run for folder in session.host.open_folders() if (run := folder.snapshots.of_run(run_id))]
        for run, one in ((each, one) for each in runs for one in each.views if one.requirement_id == requirement_id):
            for action in _standing_actions(str(mark.code), run, one, session.profile.reasons):
                found.setdefault((run_id, action.title), action).diagnostics = [mark]
    return list(found.values())


def _ours(diagnostics: object, about: str) -> Iterator[tuple[types.Diagnostic, str, str]]:
    """Of a client's diagnostics ours that are about such a thing: each with its run, and with what it is about."""
    for one in cast("list[types.Diagnostic]", diagnostics):
        data = object_or_empty(one.data)
        run_id, named = data.get("runId"), data.get(about)
        if one.source == SOURCE and isinstance(run_id, str) and isinstance(named, str):
            yield one, run_id, named


def _requirement_actions(goal: GoalView, source: RequirementSource, asks: bool) -> list[types.CodeAction]:
    one = goal.status(source)
    if one is None or goal.view is None:
        return []
    found = _standing_actions(source.requirement.label, goal.view, one, asks)
    if source.requirement.checks or one.status in ("met", "waived"):
        return found
    # Before the waiver, which comes last, because it would replace a proof.
    about = {"goalUri": goal.uri, "requirementId": source.requirement.id, "check": ""}
    add = command_about(f"Add a check to {source.requirement.label}", "donewhen.goal.amend", about)
    return [*found[:-1], _command_action(add), *found[-1:]]


def _standing_actions(label: str, run: RunView, one: RequirementView, asks: bool) -> list[types.CodeAction]:
    about = {"runId": run.state.run_id, "requirementId": one.requirement_id}
    found: list[types.Command] = []  # read-only actions come first: some editors take the first one for RET
    for evidence_id in one.evidence_ids[:3]:
        given = {"runId": run.state.run_id, "evidenceId": evidence_id, "show": True}
        found.append(command_about(f"Open the evidence {evidence_id}", "donewhen.run.evidence", given))
    if run.state.options.judge is not None and (one.decided_by == "judge" or one.status == "unmet"):
        found.append(command_about(f"Dispute {label}", "donewhen.run.dispute", _reasoned(about, asks)))
    if one.status == "waived":
        undo = {**about, "reason": REASON, "undo": True}
        found.append(command_about(f"Undo the waiver of {label}", "donewhen.run.override", undo))
    elif one.status != "met":
        found.append(command_about(f"Waive {label}", "donewhen.run.override", _reasoned(about, asks)))
    return [_command_action(command) for command in found]


def _command_action(command: types.Command, about: types.Diagnostic | None = None) -> types.CodeAction:
    diagnostics = None if about is None else [about]
    return types.CodeAction(command.title, kind=QUICK_FIX, command=command, diagnostics=diagnostics)


def _reasoned(about: Mapping[str, str], asks: bool) -> Mapping[str, str]:
    return about if asks else {**about, "reason": REASON}


def _is_kind(one: str | types.CodeActionKind, wanted: str | types.CodeActionKind) -> bool:
    """True for the wanted kind and its sub-kinds."""
    kind, asked = (each.value if isinstance(each, types.CodeActionKind) else each for each in (one, wanted))
    return asked == "" or kind == asked or kind.startswith(asked + ".")
