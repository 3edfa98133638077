"""An audit: the bound checks that need a result, run by the server itself, and the integrity of the proof.

Checks write files. A result counts only for a revision at which it both began and ended, so a check that changed
files runs again, alone, until it changes nothing (a snapshot, a build) or until what it writes each time is known to
be its own output (docs/architecture.md, "Checks that write files"). Of a long test run, those tests that a change
affects are run first.
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
from donewhen.core.evidence import AffectedRun, CheckResult, Evidence, ObservedCommand
from donewhen.core.goal import Check
from donewhen.core.integrity import BY_A_PERSON, STOOD_THERE, IntegrityFinding, compare, moved, shown_addressing
from donewhen.core.proof import needed_checks, needed_editor_reports
from donewhen.core.questions import MAX_DIFF, MAX_DIFFS, finding_diff
from donewhen.core.state import RunState
from donewhen.core.words import quoted
from donewhen.engine.active import MAX_PATHS, ActiveRun
from donewhen.engine.halting import before_audit, report
from donewhen.engine.tasks import cancel_all, side_by_side
from donewhen.engine.watching import read_editor, watched, withdraw_questions
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
            await _run_affected_first(run, checks)
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


# After a person's edit: the tests that it may affect run before the whole check, and say early what is unmet.
#
# They prove nothing (`core/proof.py` takes only a failure from them), cost no iteration, and are left out wherever they
# can't be worth it: where the whole check is quick anyway, where no command can be made of the check's, where they
# write files that count. Another save ends them, and they begin again with what it changed.


WORTH_AFFECTED_FIRST = 2.0
"""Seconds that the whole check took at least."""
AFFECTED_PART = 0.5
"""The most that they may take of what the whole check took: it waits for them."""
MAX_AFFECTED_RUNS = 3
"""How often they run, since saves have them begin again; after that the whole check runs."""


async def _run_affected_first(run: ActiveRun, checks: Sequence[Check]) -> None:
    """Runs what these checks have of affected tests, and puts it on record."""
    if not (run.state.options.affected_first and run.state.persons_work):
        return
    if all(_slow_result(run, one) is None for one in checks):
        return
    for _ in range(MAX_AFFECTED_RUNS):
        revision = run.state.revision
        changed = sorted(run.touched)
        commands = await asyncio.to_thread(_affected_commands, run, checks, changed)
        if not commands:
            return
        step = _run_affected_tests(run, commands, changed)
        # On guard somebody watches already. Elsewhere nobody does while checks run.
        await (step if run.state.guard is not None else watched(run, step))
        if run.state.revision == revision:
            return


def _slow_result(run: ActiveRun, check: Check) -> CheckResult | None:
    """The last result of a check whose affected tests are worth a run of their own; None: they aren't."""
    record = run.state.check(check.id)
    if record.latest is None or check.kind != "command" or check.expected_exit or check.id in run.no_affected:
        return None
    if record.latest.fresh(run.state.revision):
        return None  # it has run for these files already
    return record.result if record.result is not None and record.result.seconds >= WORTH_AFFECTED_FIRST else None


def _affected_commands(
    run: ActiveRun, checks: Sequence[Check], changed: Sequence[str]
) -> list[tuple[Check, CheckResult, str]]:
    found: list[tuple[Check, CheckResult, str]] = []
    for check in checks:
        last = _slow_result(run, check)
        if last is not None and (command := run.parts.setup.affected_command(last, changed)):
            found.append((check, last, command))
    return found


async def _run_affected_tests(
    run: ActiveRun, commands: Sequence[tuple[Check, CheckResult, str]], changed: Sequence[str]
) -> None:
    """Side by side, until all have ended or files change."""
    places = asyncio.Semaphore(max(1, run.state.options.parallel_checks))
    run.set_activity("running the tests that the last edit may affect")

    async def one(check: Check, last: CheckResult, command: str) -> None:
        async with places:
            await _record_affected_run(run, check, last, command, changed)

    step = asyncio.ensure_future(side_by_side(one(*each) for each in commands))
    moved = asyncio.ensure_future(_next_revision(run))
    try:
        await asyncio.wait({step, moved}, return_when=asyncio.FIRST_COMPLETED)
        if step.done():
            step.result()
    finally:
        await cancel_all(moved, step)
        await asyncio.gather(step, return_exceptions=True)  # what it raised while it ended is nobody's error
        run.set_activity(None)


async def _next_revision(run: ActiveRun) -> None:
    revision = run.state.revision
    while run.state.revision == revision and not run.failed:
        await run.changed(run.state.sequence)


async def _record_affected_run(
    run: ActiveRun, check: Check, last: CheckResult, command: str, changed: Sequence[str]
) -> None:
    before, turn = run.state.revision, run.state.turns_ended
    limit = min(run.state.goal.limits.check_timeout, last.seconds * AFFECTED_PART)
    # Under a name of its own: what is known of how the whole check reports stays as it is.
    narrower = Check(f"{check.id}-affected", command)
    result = await run.parts.setup.checker.run(narrower, timeout=limit, token=run.token, test_run=True)
    await run.record_tree(await run.parts.workspace.current(), "person")
    if run.state.revision != before:
        run.no_affected.add(check.id)
    observed = AffectedRun(check.id, check.command, replace(result, check_id=check.id), tuple(changed[:MAX_PATHS]))
    await run.record(observed, before, turn=turn)
