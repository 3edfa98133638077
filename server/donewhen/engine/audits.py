"""An audit: the bound checks that need a result, run by the server itself, and the integrity of the proof.

Checks write files. A result counts only for a revision at which it both began and ended, so a check that changed
files runs again, alone, until it changes nothing (a snapshot, a build) or until what it writes each time is known to
be its own output (docs/architecture.md, "Checks that write files").
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from donewhen.core.errors import LedgerError, WorkspaceError
from donewhen.core.events import (
    Abandoned,
    AuditFinished,
    AuditStarted,
    BaselineTaken,
    CheckStarted,
)
from donewhen.core.evidence import Evidence, ObservedCommand
from donewhen.core.goal import Check
from donewhen.core.integrity import BY_A_PERSON, STOOD_THERE, IntegrityFinding, compare, moved, shown_addressing
from donewhen.core.proof import needed_checks, needed_editor_reports
from donewhen.core.questions import MAX_DIFF, MAX_DIFFS, finding_diff
from donewhen.core.state import RunState
from donewhen.core.words import quoted
from donewhen.engine.active import ActiveRun
from donewhen.engine.affected import run_affected
from donewhen.engine.halting import before_audit, report
from donewhen.engine.tasks import side_by_side
from donewhen.engine.watching import read_editor, withdraw_questions
from donewhen.ports import TreeState, Workspace

MAX_ROUNDS = 6


async def audit(run: ActiveRun, iteration: int) -> None:
    """One audit. If it is cut off, it isn't counted; what it had found by then is kept."""
    if not await before_audit(run, iteration):
        return
    state = run.state
    persons = state.persons_work or state.mode == "audit" or state.turns_ended == 0
    # What worker `human` saved was just heard of; the walk comes before `complete`.
    await run.look("person" if persons else "check", everywhere=not run.walked and not state.persons_work)
    finished = False
    try:
        # Cut off while this is on its way to the record, it is there all the same.
        await run.append(AuditStarted(iteration, run.state.revision))
        await _prove(run)
        findings = await _integrity(run)
        finished = True
    except LedgerError:
        finished = True  # nothing can be put on record: whoever resumes the run finds the audit cut off
        raise
    finally:
        run.set_activity(None)
        if not finished:
            await run.append(Abandoned("audit", "it was cut off"))
    await run.append(AuditFinished(iteration, run.state.revision, findings))
    await withdraw_questions(run)
    await report(run)


async def _prove(run: ActiveRun) -> None:
    """Rounds of checks, until every one has a result at the current revision, or can't get one."""
    first = True
    for _ in range(MAX_ROUNDS):
        checks = list(needed_checks(run.state))
        if first:
            known = {check.id for check in checks}
            for check in run.state.goal.checks:
                result = run.state.check(check.id).result
                # Made in another environment than it would run in now.
                other = result is not None and result.environment != run.parts.setup.checker.environment(check)
                if other and check.id not in known:
                    checks.append(check)
        reports = needed_editor_reports(run.state)
        if not checks and not reports:
            return
        if first:
            await run_affected(run, checks)
            await _run_side_by_side(run, checks)
        else:
            for check in checks:
                with _shown_running(run, [], check):
                    await run_check(run, check, alone=True)
        await read_editor(run, reports)
        first = False


async def _run_side_by_side(run: ActiveRun, checks: Sequence[Check]) -> None:
    places = asyncio.Semaphore(max(1, run.state.options.parallel_checks))
    running: list[str] = []

    async def one(check: Check) -> None:
        async with places:
            with _shown_running(run, running, check):
                await run_check(run, check, alone=len(checks) == 1)

    await side_by_side(one(check) for check in checks)


@contextmanager
def _shown_running(run: ActiveRun, running: list[str], check: Check) -> Generator[None]:
    """Reports what is running: of several commands the one that began first, because it is the one being waited for."""
    running.append(check.command)
    _show_running(run, running)
    try:
        yield
    finally:
        running.remove(check.command)
        _show_running(run, running)


def _show_running(run: ActiveRun, running: Sequence[str]) -> None:
    if running:
        run.set_activity(f"running {quoted(running, 1)}")


async def run_check(run: ActiveRun, check: Check, *, alone: bool) -> Evidence:
    """One run of one check, within an audit or outside of it. Alone, what changes is its own doing and is declared its
    output; side by side only what was so declared before."""
    parts, state, workspace = run.parts, run.state, run.parts.workspace
    before, turn = state.revision, state.turns_ended
    await run.append(CheckStarted(check.id, before), durable=False)  # what it is a part of is on disk
    there = None if turn else frozenset(workspace.files())
    result = await parts.setup.checker.run(
        check,
        timeout=state.goal.limits.check_timeout,
        token=run.token,
        test_run=state.check(check.id).is_test_run,
    )
    tree = await workspace.current()
    known = run.outputs.setdefault(check.id, set())
    written = [path for path in tree.changed if alone or path in known]
    if written:
        refused = set(workspace.volatile(check.id, written))
        known.update(path for path in written if path not in refused)
        again = await workspace.current()
        tree = TreeState(again.revision, tuple(dict.fromkeys((*tree.changed, *again.changed))))
    await run.record_tree(tree, "person" if run.state.persons_work else "check")
    if there is not None:
        came = (path for path in workspace.files() if path not in there)
        run.made_at_start.update(path for path in came if not workspace.is_persons(path))
    return await run.record(result, before, turn=turn)


def _nothing_to_guard(state: RunState) -> bool:
    """True if no file can stand between the goal and its proof: it has no file, no command, nothing protected and
    no judge who reads files."""
    goal = state.goal
    commands = any(check.kind == "command" for check in goal.checks)
    return goal.path is None and not commands and not goal.protect and state.options.judge is None


async def _integrity(run: ActiveRun) -> tuple[IntegrityFinding, ...]:
    """The differences between the proof that was agreed on and the one that runs now."""
    state = run.state
    if _nothing_to_guard(state):
        return ()
    results = state.check_results
    if state.mode == "audit" or state.persons_work:
        # Nothing is compared: an audit has no baseline, and what worker `human` changes is the person's.
        if state.options.judge is None:
            return ()
        facts = await run.parts.setup.probes.addressing(state.goal, run.parts.workspace, results)
        return shown_addressing(facts, state.goal.path, BY_A_PERSON if state.waits_for_person else STOOD_THERE)
    now = await run.parts.setup.probes.facts(state.goal, run.parts.workspace)
    if state.options.judge is not None:
        commands = [e.observation for e in state.evidence.commands if isinstance(e.observation, ObservedCommand)]
        addressing = await run.parts.setup.probes.addressing(
            state.goal, run.parts.workspace, results, since=state.files.first_checkpoint, commands=commands
        )
        now = replace(now, addressing=addressing)
    baseline = state.files.baseline
    if baseline is None:
        await run.append(BaselineTaken(now), durable=False)
        return compare(now, now)  # what was there already is only shown
    if state.files.person_paths:
        baseline = moved(baseline, now, state.files.person_paths)
        await run.append(BaselineTaken(baseline), durable=False)
    return await _with_diffs(run, compare(baseline, now))


async def _with_diffs(run: ActiveRun, findings: Sequence[IntegrityFinding]) -> tuple[IntegrityFinding, ...]:
    """The findings with what happened to their files, so that whoever is asked sees it."""
    workspace, left = run.parts.workspace, MAX_DIFFS
    made: dict[tuple[str, str], str] = {}
    found: list[IntegrityFinding] = []
    for finding in findings:
        before = run.state.tree_before(finding)
        if before is None or not finding.path or finding.standing:
            found.append(finding)
            continue
        key = (before.tree, finding.path)
        if key not in made:
            made[key] = await _diff(workspace, *key, min(MAX_DIFF, left))
            left -= len(made[key])
        found.append(replace(finding, diff=run.parts.setup.mask(made[key])))
    return tuple(found)


async def _diff(workspace: Workspace, before: str, path: str, limit: int) -> str:
    try:
        old = await workspace.file_at(before, path)
        return await asyncio.to_thread(lambda: finding_diff(path, old, workspace.read(path), limit))
    except (WorkspaceError, OSError):  # a tree that can no longer be read: the finding stands without its diff
        return ""
