"""After a person's edit: the tests that it may affect run before the whole check, and say early what is unmet.

They prove nothing (`core/proof.py` takes only a failure from them), cost no iteration, and are left out wherever they
can't be worth it: where the whole check is quick anyway, where no command can be made of the check's, where they write
files that count. Another save ends them, and they begin again with what it changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from donewhen.core.evidence import AffectedRun, CheckResult
from donewhen.core.goal import Check
from donewhen.engine.active import MAX_PATHS, ActiveRun
from donewhen.engine.tasks import cancel_all
from donewhen.engine.watching import watched

WORTH_IT = 2.0
"""Seconds that the whole check took at least."""
PART = 0.5
"""The most that they may take of what the whole check took: it waits for them."""
MAX_TIMES = 3
"""How often saves may have them begin again; after that the whole check runs."""


async def run_affected(run: ActiveRun, checks: Sequence[Check]) -> None:
    """Runs what these checks have of affected tests, and puts it on record."""
    if not (run.state.options.affected_first and run.state.persons_work):
        return
    if all(_slow_result(run, one) is None for one in checks):
        return
    for _ in range(MAX_TIMES):
        revision = run.state.revision
        changed = sorted(run.touched)
        commands = await asyncio.to_thread(_commands, run, checks, changed)
        if not commands:
            return
        step = _all(run, commands, changed)
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
    return record.result if record.result is not None and record.result.seconds >= WORTH_IT else None


def _commands(run: ActiveRun, checks: Sequence[Check], changed: Sequence[str]) -> list[tuple[Check, CheckResult, str]]:
    found: list[tuple[Check, CheckResult, str]] = []
    for check in checks:
        last = _slow_result(run, check)
        if last is not None and (command := run.parts.setup.affected_command(last, changed)):
            found.append((check, last, command))
    return found


async def _all(run: ActiveRun, commands: Sequence[tuple[Check, CheckResult, str]], changed: Sequence[str]) -> None:
    """Side by side, until all have ended or files change."""
    places = asyncio.Semaphore(max(1, run.state.options.parallel_checks))
    run.set_activity("running the tests that the last edit may affect")

    async def one(check: Check, last: CheckResult, command: str) -> None:
        async with places:
            await _run_affected(run, check, last, command, changed)

    tasks = [asyncio.ensure_future(one(*each)) for each in commands]
    together, moved = asyncio.gather(*tasks), asyncio.ensure_future(_next_revision(run))
    try:
        await asyncio.wait({together, moved}, return_when=asyncio.FIRST_COMPLETED)
        if together.done():
            together.result()
    finally:
        await cancel_all(moved, *tasks)
        await asyncio.gather(together, return_exceptions=True)
        run.set_activity(None)


async def _next_revision(run: ActiveRun) -> None:
    revision = run.state.revision
    while run.state.revision == revision and not run.failed:
        await run.changed(run.state.sequence)


async def _run_affected(run: ActiveRun, check: Check, last: CheckResult, command: str, changed: Sequence[str]) -> None:
    before, turn = run.state.revision, run.state.turns_ended
    limit = min(run.state.goal.limits.check_timeout, last.seconds * PART)
    # Under a name of its own: what is known of how the whole check reports stays as it is.
    narrower = Check(f"{check.id}-affected", command)
    result = await run.parts.setup.checker.run(narrower, timeout=limit, token=run.token, test_run=True)
    await run.record_tree(await run.parts.workspace.current(), "person")
    if run.state.revision != before:
        run.no_affected.add(check.id)
    observed = AffectedRun(check.id, check.command, replace(result, check_id=check.id), tuple(changed[:MAX_PATHS]))
    await run.record(observed, before, turn=turn)
