"""Code lenses and inlay hints: the actions for the run, each requirement's status, and its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from donewhen.core.proof import guardable
from donewhen.goalfile.source import RequirementSource
from donewhen.lsp.client import Client
from donewhen.lsp.goal_view import GoalView, goal_view
from donewhen.wire.snapshot import snapshot
from donewhen.wire.view import repair_lens

GUARD = "Guard"
RESUME = "donewhen.run.resume"
_WHOLE = ("running", "waiting", "complete", "cancelled")
"""Of a run that nothing has to repair: a snapshot of it would be made at every edit for nothing."""


async def lenses(client: Client, params: types.CodeLensParams) -> list[types.CodeLens]:
    """`textDocument/codeLens`."""
    goal = await goal_view(client, params.text_document.uri)
    return [] if goal is None else goal_lenses(goal, repairs=client.profile.views)


def goal_lenses(goal: GoalView, *, repairs: bool = False) -> list[types.CodeLens]:
    """All lenses of a goal file, from top to bottom. In an untrusted workspace none of them executes anything.
    `repairs`: the client has a command for each repair of a view."""
    title = goal.parsed.title_span
    line = title.start_line if title is not None else 0
    top = types.Range(goal.position(line, 0), goal.position(line, 0))
    commands = run_commands(goal)
    found = [types.CodeLens(top, command) for command in (_repairing(goal, commands) if repairs else commands)]
    for source in goal.parsed.requirements:
        found += _requirement_lenses(goal, source)
    return found


def run_commands(goal: GoalView) -> list[types.Command]:
    """The present commands for the goal. In an untrusted workspace none of them executes anything."""
    if goal.parsed.goal is None:
        return []
    start = command_about("Start", "donewhen.run.start", {"goalUri": goal.uri})
    check = command_about("Check now", "donewhen.goal.check", {"goalUri": goal.uri})
    view = goal.view
    if view is None or view.state.mode == "audit":
        found = [start, check]
    else:
        run = {"runId": view.state.run_id}
        pause = command_about("Pause", "donewhen.run.pause", run)
        go_on = "Take over" if view.take_over else "Resume"
        if view.state.calls.trouble is not None:
            go_on = f"{view.state.calls.trouble.headline.capitalize()} · {go_on}"
        resume = command_about(go_on, RESUME, run)
        stop = command_about("Stop", "donewhen.run.stop", run)
        if view.state.active:
            found = [check, pause, stop]
        elif not view.state.lifecycle.ended:  # paused, interrupted, or halted by a plugin
            found = [resume, check, stop]
        else:
            found = [start, check]
            if guardable(view.state):
                title = GUARD if view.state.guard is None else "Lift guard"
                found.append(command_about(title, "donewhen.run.guard", {**run, "on": view.state.guard is None}))
        if view.state.interrupts and not view.state.lifecycle.ended:
            # First, because nothing else continues before the answer.
            asked = {**run, "interruptId": view.state.interrupts[0].id}
            found = [command_about("Answer", "donewhen.run.answer", asked), *found]
    executing = ("donewhen.run.start", "donewhen.goal.check", RESUME, "donewhen.run.answer")
    return [one for one in found if goal.trusted or not (one.command in executing or one.title == GUARD)]


def command_about(title: str, name: str, about: Mapping[str, Any]) -> types.Command:
    """A command of the server or the client with its one argument."""
    return types.Command(title, name, arguments=[dict(about)])


def _repairing(goal: GoalView, commands: list[types.Command]) -> list[types.Command]:
    """With what repairs a run that stands still, before that it goes on."""
    view = goal.view
    if view is None or not goal.trusted or view.state.status in _WHOLE:
        return commands
    lens = repair_lens(snapshot(view, goal.place.root))
    if lens is None:
        return commands
    title, action = lens
    at = next((number for number, one in enumerate(commands) if one.command == RESUME), 0)
    before, after = commands[:at], commands[at:]
    if after and after[0].command == RESUME:
        after[0].title = "Resume"
        after = after[1:] if action == "resume" else after
    about = {"runId": view.state.run_id, "goalUri": goal.uri}
    return [*before, command_about(title, f"donewhen.{action}", about), *after]


def _requirement_lenses(goal: GoalView, source: RequirementSource) -> list[types.CodeLens]:
    """The status, once, with the first evidence; one more lens for each further one. Ids are for the hover."""
    one = goal.status(source)
    if one is None or goal.view is None:
        return []
    line = source.text_span.start_line
    where = types.Range(goal.position(line, 0), goal.position(line, 0))
    parts = [one.status.capitalize()]
    # An active run proves it again; otherwise somebody has to ask for that.
    parts += ["was met"] if one.status == "stale" and not one.renewing else []
    parts += [goal.view.state.decider("judge")] if one.decided_by == "judge" else []
    parts += ["flaky"] if one.flaky else []
    parts += ["being proven again"] if one.renewing else []
    if not one.evidence_ids:
        return [types.CodeLens(where, types.Command(" · ".join(parts), ""))]
    found: list[types.CodeLens] = []
    for number, evidence_id in enumerate(one.evidence_ids[:3], 1):
        title = " · ".join([*parts, "Evidence"]) if number == 1 else f"Evidence {number}"
        given = {"runId": goal.view.state.run_id, "evidenceId": evidence_id, "show": True}
        found.append(types.CodeLens(where, command_about(title, "donewhen.run.evidence", given)))
    return found


# Inlay hints: each requirement's status at the end of its line.


SIGNS = {"met": "✓", "waived": "~", "unmet": "✗", "stale": "…", "unverified": "?", "regressed": "✗"}


async def hints(client: Client, params: types.InlayHintParams) -> list[types.InlayHint]:
    """`textDocument/inlayHint`."""
    goal = await goal_view(client, params.text_document.uri)
    return [] if goal is None else goal_hints(goal, params.range.start.line, params.range.end.line)


def goal_hints(goal: GoalView, first: int, last: int) -> list[types.InlayHint]:
    """The hints on the lines from `first` to `last`, both included."""
    found: list[types.InlayHint] = []
    for source in goal.parsed.requirements:
        one = goal.status(source)
        line = source.text_span.end_line
        if one is not None and first <= line <= last:
            text = f"{SIGNS[one.status]} {one.status}" + (" …" if one.renewing else "")
            hint = types.InlayHint(goal.position(line), text, padding_left=True, tooltip=one.reason or None)
            found.append(hint)
    return found
