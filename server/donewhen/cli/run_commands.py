"""`run`, `resume` and `guard`: pursuing a goal, and keeping it complete."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from donewhen.app.starting import limit_changes, start_options
from donewhen.cli.calling import Call
from donewhen.cli.display import Display, display_for
from donewhen.cli.formatting import one_line, plain
from donewhen.cli.goal_argument import (
    GoalVerb,
    Objective,
    Verb,
    goal_path,
    say_problems,
    say_undecided,
    surveyed,
    understand,
    write_draft,
)
from donewhen.cli.outcome import COMPLETE, NOT_COMPLETE
from donewhen.cli.person_commands import ASKED
from donewhen.cli.pursuing import Pursuit
from donewhen.cli.record_commands import newest, readable, show_status
from donewhen.cli.terminal import OutputClosed, ending_signals
from donewhen.core.errors import AlreadyRunning, NoModel, UsageError
from donewhen.core.proof import undecidable
from donewhen.core.resume import resumable
from donewhen.core.state import RunState
from donewhen.core.verdict import panel
from donewhen.core.workers import WORKERS
from donewhen.engine.api import HaltAnswer, Runs, RunView, StartOptions
from donewhen.extras import EXTRAS, part_of

EXAMPLE = '{"approved": true}'


async def run(call: Call) -> int:
    """Pursues a goal until its end, a pause, or Ctrl-C."""
    meant = understand(call.arguments.goal, call.root)
    if isinstance(meant, GoalVerb):
        return await _verb(call, meant.verb)
    options = checked_options(call)
    instead = next(
        (one for one in EXTRAS if one.extends == "run" and part_of(one, "arguments", "asked")(call.arguments)), None
    )
    if isinstance(meant, Objective):
        # Before anything is drafted: a goal that isn't written yet names no model.
        worker = options.worker or call.settings.configured.worker
        if worker == "agent" and call.settings.pick("model") is None:
            raise NoModel
    else:
        say_problems(call, meant.path)
    if instead is not None:
        pursue = part_of(instead, "command", "run")
        if isinstance(meant, Objective):
            async with call.runs() as runs:
                return await pursue(call, await _drafted(call, runs, meant), options)
        return await pursue(call, meant.path, options)
    async with call.runs() as runs:
        path = await _drafted(call, runs, meant) if isinstance(meant, Objective) else meant.path

        async def begin() -> RunView:
            view = await runs.start(path, options)
            _say_what_to_know(call, view)
            return view

        return await Pursuit(call, runs, display_for(call)).follow(begin())


async def _drafted(call: Call, runs: Runs, objective: Objective) -> str:
    """The goal file drafted for the objective; if it could not be pursued, nothing is left behind."""
    for summary in await runs.summaries():
        if summary.status in ("running", "waiting") and (await runs.view(summary.run_id)).state.active:
            raise AlreadyRunning(summary.run_id)
    drafted, notes = write_draft(call, objective.text, await surveyed(call))
    call.terminal.message(f"drafted {drafted}")
    for note in notes:
        call.terminal.message(f"  {one_line(note, 500)}")
    path = drafted.relative_to(call.root).as_posix()
    say_problems(call, path)
    return path


async def resume(call: Call) -> int:
    """Continues a run, with raised limits if given."""
    options, halt = resume_options(call), halt_answer(call)
    async with call.runs() as runs:
        await _refuse_other_models(call, runs)
        resumed = runs.resume(call.arguments.run_id, limit_changes(call.settings), options, halt)
        return await Pursuit(call, runs, display_for(call)).follow(resumed)


def halt_answer(call: Call) -> HaltAnswer | None:
    """The answer for the plugin that halted a run; None if there is none. Raises UsageError."""
    text, plugin = call.arguments.data, call.arguments.plugin
    if text is None:
        return HaltAnswer(plugin) if plugin is not None else None
    try:
        return HaltAnswer(plugin, json.loads(text, parse_constant=_no_number))
    except (ValueError, RecursionError) as bad:
        raise UsageError(f"--data must be JSON, such as --data '{EXAMPLE}' or --data '\"text\"': {bad}") from bad


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def resume_options(call: Call) -> StartOptions:
    """The options of `resume`: a run keeps its worker, and keeps approval only if a person says so again. Raises
    UsageError."""
    approve = call.settings.given.approve
    options = start_options(call.settings, askable=call.interactive and approve != "deny")
    sandbox = call.settings.given.sandbox or ("on" if call.settings.sandbox == "on" else None)
    return replace(
        options, worker=None, worker_command=None, agent_command=None, script=None, approve=approve, sandbox=sandbox
    )


async def _refuse_other_models(call: Call, runs: Runs) -> None:
    """A run keeps its models and its judge; variables that name others are for new runs. Raises UsageError."""
    model = getattr(call.arguments, "model", None)
    judges = panel(getattr(call.arguments, "judge_model", None) or "")
    state = await _to_resume(call, runs)
    if state is None:
        return
    agent, judging = state.options.agent, state.options.judging
    if model and model != (agent.model if agent is not None else None):
        was = f"works with {agent.model}" if agent is not None else f"has the worker {state.options.worker}"
        raise UsageError(f"run {state.run_id} {was} and keeps it: leave --model out, or start a new run")
    if judges and judges != (judging.models if judging is not None else None):
        was = f"is judged by {state.options.judge}" if judging is not None else "has no judge"
        raise UsageError(
            f"run {state.run_id} {was}, and that can't change: leave --judge-model out, or start a new run"
        )


async def _to_resume(call: Call, runs: Runs) -> RunState | None:
    """The run that `resume` would continue; None if there is none, because the engine reports that better."""
    run_id = call.arguments.run_id
    if run_id is not None:
        return (await runs.view(run_id)).state
    for summary in readable(call, await runs.summaries()):
        state = (await runs.view(summary.run_id)).state
        if resumable(state) or (state.mode == "pursue" and state.active):
            return state
    return None


def checked_options(call: Call) -> StartOptions:
    """The options of `run`, complete and possible. Raises UsageError."""
    options = start_options(call.settings, askable=call.interactive)
    for kind in WORKERS.values():
        if options.worker is None and kind.needs and getattr(call.settings.given, kind.needs.setting):
            options = replace(options, worker=kind.name)
    kind = WORKERS.get(options.worker or "")
    if kind is None:
        return options
    if kind.needs and not getattr(options, kind.needs.setting):
        raise UsageError(f"the worker {kind.name!r} needs its {kind.needs.what}: {kind.needs.how}")
    return options


async def _verb(call: Call, verb: Verb) -> int:
    """`/goal status|pause|resume|stop|clear` for the newest run of the workspace."""
    if verb == "status":
        return await show_status(call, None)
    async with call.runs() as runs:
        if verb == "resume":
            resumed = runs.resume(None, limit_changes(call.settings), resume_options(call))
            return await Pursuit(call, runs, display_for(call)).follow(resumed)
        view = await newest(call, runs)
        if view is None:
            raise UsageError(f"there is no run in {call.root}: nothing to {verb}")
        if verb == "clear":
            await runs.forget(view.state.goal.path or "")
            call.terminal.message(f"{view.state.goal.path}: results of ended runs are no longer shown")
            return 0
        asked = runs.pause if verb == "pause" else runs.stop
        after = await asked(view.state.run_id, ASKED)
        call.show(after) if call.json else call.terminal.result(f"{after.state.run_id} {after.state.status}")
        return 0


def _say_what_to_know(call: Call, view: RunView) -> None:
    """As a run begins: that the person is its worker, what nothing decides, and what is already accepted."""
    state = view.state
    if state.options.worker == "human" and state.active:
        if call.settings.given.worker is None and state.goal.worker is None:
            call.terminal.message("no worker is set and no model is configured: you are the worker (--worker human)")
        call.terminal.message("edit and save; the goal is checked after each change (Ctrl-C pauses)")
    if state.options.judge is None:
        # Better now than when everything else is done.
        waived = state.waived
        labels = [one.label for one in state.goal.requirements if undecidable(state, one) and one.id not in waived]
        say_undecided(call, labels, state.goal.path or "the goal")
    if state.options.summary and state.started is not None:  # questions show their own summary
        call.terminal.message(plain(state.options.summary))


# `guard`: keeps a complete goal complete as long as this command runs.


async def guard(call: Call) -> int:
    """Shows what is on guard until a signal, or until the guard is lifted; 0 if everything is proven then."""
    named = call.arguments.goal
    path = goal_path(named, call.root) if named else None
    async with call.runs() as runs:
        if call.arguments.off:
            view = await runs.guard(False, goal_path=path)
            call.show(view) if call.json else call.terminal.result(f"{view.state.run_id} is not on guard")
            return 0
        known = {view.state.run_id for view in await runs.views(compare=False) if view.state.guard is not None}
        first = await runs.guard(True, goal_path=path)
        run_id = first.state.run_id
        if not call.json:
            call.terminal.message(f"on guard: {first.state.goal.title}; edit and save, Ctrl-C ends it")
        display = display_for(call)
        try:
            with ending_signals() as ending:
                await runs.watch()
                await ending.unless_set(_show_guarded(runs, run_id, display))
            last = await runs.view(run_id)
        finally:
            if run_id not in known:  # whoever set it earlier wants it to continue
                await runs.guard(False, run_id=run_id)
        with suppress(OutputClosed):
            display.finish(last)
        return COMPLETE if all(one.status in ("met", "waived") for one in last.views) else NOT_COMPLETE


async def _show_guarded(runs: Runs, run_id: str, display: Display) -> None:
    """Shows every change, until somebody lifts the guard. Raises RecordGone."""
    async for view in runs.follow(run_id, guarded=True):
        with suppress(OutputClosed):
            display.show(view)
