"""Halts and hooks: where plugins stop the loop, and where it resumes."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from donewhen.core.errors import UsageError
from donewhen.core.events import Warned
from donewhen.core.plugging import Halt, Halted, HaltResumed, ResumeDirective, RunHalted, Stage
from donewhen.core.proof import assess, proven
from donewhen.core.state import Resuming
from donewhen.core.work import TurnResult
from donewhen.engine.active import ActiveRun
from donewhen.engine.api import HaltAnswer
from donewhen.ports import AuditAhead, Stopping, VerdictReport

WORKER = "worker"
"""Who halted, where the worker itself did: there is no plugin to ask about going on."""
STOPS_WITHIN = 2.0
"""Seconds that plugins have to handle the end of a run that was stopped or crashed."""


async def halted(run: ActiveRun, halt: Halt, stage: Stage, result: TurnResult | None = None) -> None:
    """Puts a halt on record: with what ran although its wrapper halted, and the plugins that were called by then."""
    completed = dict(run.completed)
    run.completed.clear()
    mask = run.parts.setup.mask
    kept = Halted(
        halt.plugin or WORKER,
        mask(halt.reason) or "no reason was given",
        halt.data,
        halt.resumable,
        stage,
        halt.called,
        result,
        {key: replace(one, text=mask(one.text), summary=mask(one.summary)) for key, one in completed.items()},
        tuple(mask(note) for note in halt.notes),
    )
    await run.append(RunHalted(kept))


def called_at(resuming: Resuming | None, stage: Stage) -> frozenset[str]:
    """The plugins whose hook was called before the run halted there: they are not called again."""
    return frozenset(resuming.halt.called) if resuming is not None and resuming.halt.stage == stage else frozenset()


async def before_audit(run: ActiveRun, iteration: int) -> bool:
    """Tells the plugins that an audit is about to begin; False if one of them halted the loop."""
    plugins = run.parts.plugins
    if plugins is None:
        return True
    ahead = AuditAhead(iteration, run.state.goal)
    try:
        await plugins.before_audit(run.host, ahead, called_at(run.state.plugins.resuming, "before_audit"))
    except Halt as halt:
        await halted(run, halt, "before_audit")
        return False
    return True


async def report(run: ActiveRun, skip: frozenset[str] = frozenset()) -> None:
    """Tells the plugins where every requirement stands now."""
    plugins = run.parts.plugins
    if plugins is None:
        return
    state = run.state
    found = VerdictReport(state.iteration, state.goal, assess(state), proven(state))
    try:
        await plugins.after_verdict(run.host, found, skip)
    except Halt as halt:
        await halted(run, halt, "after_verdict")


async def resume_reporting(run: ActiveRun) -> None:
    """A run that halted after a verdict: the plugins that had not heard of it by then do now."""
    skip = called_at(run.state.plugins.resuming, "after_verdict")
    if skip:
        await report(run, skip)


async def stopping(run: ActiveRun, end: Stopping) -> bool:
    """Tells the plugins that the run is about to end; False if one of them halts it instead. Stop means stop: what
    was cancelled or crashed ends, whatever they say, and at once."""
    plugins = run.parts.plugins
    if plugins is None:
        return True
    final = end.status in ("cancelled", "crashed")
    before = run.state.sequence
    try:
        async with asyncio.timeout(STOPS_WITHIN if final else None):
            await plugins.on_stop(run.host, end, called_at(run.state.plugins.resuming, "on_stop"))
    except Halt as halt:
        if final or not halt.resumable:
            return True
        await halted(run, halt, "on_stop")
        return False
    except TimeoutError:
        await run.append(
            Warned("plugin_slow", (f"plugins took longer than {STOPS_WITHIN:g} s to handle the end of the run"))
        )
    lifecycle = run.state.lifecycle
    # Where somebody stopped or paused the run meanwhile, that comes first.
    asked = lifecycle.stop_requested is not None or lifecycle.pause_requested is not None
    return final or run.state.sequence == before or not asked


async def resume_halted(run: ActiveRun, answer: HaltAnswer | None) -> None:
    """Asks the plugin that halted how to go on, and puts that on record. Raises UsageError if it can't be asked."""
    halt = run.state.plugins.halt
    if halt is None:
        if answer is not None and (answer.plugin is not None or answer.data is not None):
            raise UsageError(f"run {run.run_id} was not halted by a plugin: resume it without data for one")
        return
    if answer is not None and answer.plugin not in (None, halt.plugin):
        raise UsageError(f"run {run.run_id} was halted by {halt.plugin}, not by {answer.plugin}")
    directive = ResumeDirective()
    if halt.plugin != WORKER:
        plugins = run.parts.plugins
        if plugins is None or halt.plugin not in plugins.names:
            raise UsageError(
                f"run {run.run_id} was halted by the plugin {halt.plugin}, which is not available now: install it "
                "again or name it in your settings, then resume; or stop the run"
            )
        directive = await plugins.on_resume(run.host, halt.plugin, None if answer is None else answer.data)
    await run.append(HaltResumed(halt.plugin, directive))
