"""Watching the workspace while a step runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from donewhen.core.errors import DoneWhenError, GoalFileError
from donewhen.core.events import EvidenceRecorded, GoalAmended, InterruptAnswered, Requested, Warned
from donewhen.core.evidence import EditorReport, Evidence
from donewhen.core.fold.dispatch import takes_judge
from donewhen.core.goal import Goal, Requirement
from donewhen.core.proof import assess, undecidable
from donewhen.core.resume import goal_gone
from donewhen.core.state import RunState
from donewhen.core.work import Actor
from donewhen.engine.active import ActiveRun
from donewhen.engine.tasks import cancel_all
from donewhen.ports import TreeState

T = TypeVar("T")


async def watched(run: ActiveRun, step: Coroutine[Any, Any, T], by: Actor = "person") -> T:
    """Does a step, and records what changes in the workspace meanwhile as done by `by`."""
    run.walked = False
    beside = (partial(_record_changes, run, by), partial(follow_editor, run))
    watches = [asyncio.ensure_future(_beside(one)) for one in beside]
    try:
        return await step
    finally:
        await cancel_all(*watches)


async def _beside(watch: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """What it can't read, or put on record, the step finds too, and says."""
    with contextlib.suppress(DoneWhenError, OSError):
        await watch()


async def _record_changes(run: ActiveRun, by: Actor) -> None:
    while True:
        tree = await run.parts.workspace.settled()
        changed = await run.record_tree(tree, by)
        await amend_if_saved(run, changed, by)


async def amend_if_saved(run: ActiveRun, changed: tuple[str, ...], by: Actor) -> None:
    """A person's save of the goal file amends the goal; a worker's edit of it never does (it is a finding)."""
    path = run.state.goal.path
    if path is None or path not in changed:
        return
    if by == "person" or run.parts.workspace.is_persons(path):
        await amend(run, path)


async def amend_if_edited(run: ActiveRun) -> None:
    """Where the step that noticed the edit ended before it had read the goal."""
    if run.goal_edited and run.state.goal.path is not None:
        await amend(run, run.state.goal.path)


async def amend(run: ActiveRun, path: str) -> None:
    """Takes the goal file as it is now; a file that can't be used changes nothing, its diagnostics say why."""
    run.goal_edited = False
    try:
        goal = run.parts.setup.load_goal(path)
    except GoalFileError as error:
        if not goal_file_gone(run):
            await run.append(
                Warned(
                    "goal_file",
                    (f"the goal file can't be used, so the run continues with the goal that it has: {error}"),
                )
            )
        else:
            await _follow_renamed(run)
        return
    if not same_goal(run.state, goal):
        await _amend_goal(run, goal)


async def _amend_goal(run: ActiveRun, goal: Goal) -> None:
    await run.append(GoalAmended(goal))
    on_guard = run.state.guard is not None  # where no judge is asked
    if run.parts.judge is None and run.state.options.judge is not None and not on_guard:
        run.parts = replace(run.parts, judge=run.parts.setup.judge(run.state.options))
    await run.parts.workspace.name(named_globs(run.state.goal))


async def take_accepted_goal(run: ActiveRun) -> None:
    """A changed goal file that a person accepted is the goal."""
    for known in run.state.present_findings:
        if known.accepted and known.finding.kind == "goal_file" and not known.finding.standing:
            await amend(run, known.finding.path)


def goal_file_gone(run: ActiveRun) -> bool:
    """True if the goal file, as the workspace was last looked at, is gone."""
    path = run.state.goal.path
    return path is not None and run.state.mode == "pursue" and run.parts.workspace.digest(path) is None


async def _follow_renamed(run: ActiveRun) -> None:
    """The goal under its new name, where exactly one file that came holds the same; else the run pauses."""
    found = [goal for path in sorted(run.touched) if (goal := _same_goal_in(run, path)) is not None]
    if len(found) == 1:
        await _amend_goal(run, found[0])
    elif run.state.active:
        await run.append(Requested("pause", goal_gone(run.state.goal.path)))


def _same_goal_in(run: ActiveRun, path: str) -> Goal | None:
    if not path.endswith(".md") or run.parts.workspace.digest(path) is None:
        return None
    try:
        goal = run.parts.setup.load_goal(path)
    except GoalFileError:
        return None
    return goal if same_goal(run.state, goal) else None


def same_goal(state: RunState, goal: Goal) -> bool:
    """True if a goal file says what the run pursues, whatever boxes are ticked in it."""
    if takes_judge(state, goal):
        return False
    return goal == state.goal or (goal.requirements == state.goal.requirements and _same_text(state, goal))


def _same_text(state: RunState, goal: Goal) -> bool:
    fields = ("title", "objective", "protect", "proof", "may_change", "guard")
    same = all(getattr(goal, name) == getattr(state.goal, name) for name in fields)
    # More of them may be explicit in the run: those that its start set.
    return same and goal.limits == state.file_limits and goal.explicit_limits <= state.goal.explicit_limits


def _looked_at(requirement: Requirement) -> list[str]:
    """`**` or `*.py` means what the editor shows of the project, not everything that git ignores."""
    return [glob for glob in requirement.problems if not set("*?[") & set(glob.partition("/")[0])]


def named_globs(goal: Goal) -> tuple[str, ...]:
    """The files that count even where git ignores them: those that requirements name, and the goal file."""
    globs = [glob for requirement in goal.requirements for glob in (*requirement.files, *_looked_at(requirement))]
    return tuple(dict.fromkeys([*([goal.path] if goal.path else []), *globs, *goal.protect, *goal.proof]))


# Records what the editor reports: in audits, and while a run waits, whenever it differs.


async def read_editor(run: ActiveRun, requirements: Sequence[Requirement]) -> None:
    """Records the reports of these requirements, once the editor's tools had time for the current text."""
    if not requirements:
        return
    run.set_activity("waiting for the editor's diagnostics")
    settled = await run.parts.setup.editor_activity.quiet()
    run.set_activity(None)
    for requirement in requirements:
        report = await run.parts.setup.checker.editor_report(requirement)
        await _record_report(run, report if settled else replace(report, settled=False))


async def renew_editor(run: ActiveRun) -> bool:
    """Records the reports that differ from those on record; True if one of them passes now and didn't before.

    One that is in doubt is left: what is on record was seen of the files as they are on the disk.
    """
    watched = [one for one in run.state.goal.requirements if one.problems and one.id in run.state.evidence.editor]
    if not watched or not await run.parts.setup.editor_activity.quiet():
        return False
    passes = False
    for requirement in watched:
        known = run.state.evidence.editor[requirement.id].observation
        report = await run.parts.setup.checker.editor_report(requirement)
        if report.doubt or not isinstance(known, EditorReport) or _same(known, report):
            continue
        await _record_report(run, report)
        passes = passes or (report.passed and not known.passed)
    await withdraw_questions(run)
    return passes


async def follow_editor(run: ActiveRun) -> None:
    """Renews the reports at all news, until it is cancelled, or the end of the turn is due: something passes now, and
    either all is proven or the judge is to be asked."""
    activity = run.parts.setup.editor_activity
    while True:
        seen = activity.count
        passes = await renew_editor(run)
        if passes and run.state.turn is not None and (run.state.options.judge is not None or _all_met(run)):
            return
        await activity.after(seen)


async def settled_or_proven(run: ActiveRun) -> TreeState:
    """The next settled change of the workspace; or what there is, once the editor's word is what was missing."""
    settled = asyncio.ensure_future(run.parts.workspace.settled())
    follow = asyncio.ensure_future(follow_editor(run))
    try:
        await asyncio.wait({settled, follow}, return_when=asyncio.FIRST_COMPLETED)
        if settled.done():
            return settled.result()
        follow.result()
    finally:
        await cancel_all(settled, follow)
    return await run.parts.workspace.current()


async def withdraw_questions(run: ActiveRun) -> None:
    """Closes the questions about requirements that only a person could decide before the editor said more."""
    for requirement in run.state.goal.requirements:
        if not requirement.problems or undecidable(run.state, requirement):
            continue
        for interrupt in run.state.interrupts:
            if interrupt.about == f"requirement:{requirement.id}":
                await run.append(InterruptAnswered(interrupt.id, None, reason="the editor's diagnostics decide it now"))


async def _record_report(run: ActiveRun, report: EditorReport) -> None:
    revision = run.state.revision
    await run.append(EvidenceRecorded(Evidence(run.evidence_id(), revision, revision, run.state.turns_ended, report)))


def _same(known: EditorReport, report: EditorReport) -> bool:
    """True if no more than the number of files that are open differs."""
    return replace(known, files=report.files) == report


def _all_met(run: ActiveRun) -> bool:
    return all(view.status in ("met", "waived") for view in assess(run.state))
