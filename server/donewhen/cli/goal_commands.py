"""`init` and `check`: a goal drafted, a workspace audited."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from donewhen.cli.calling import Call, refuse_missing_sandbox
from donewhen.cli.display import Display, display_for
from donewhen.cli.goal_argument import goal_path, say_problems, the_goal, write_draft
from donewhen.cli.outcome import PAUSED_BY_CTRL_C, exit_code
from donewhen.cli.signals import ending_signals
from donewhen.cli.terminal import OutputClosed
from donewhen.engine.api import Runs, RunView


def init(call: Call) -> int:
    """Drafts GOAL.md; refuses where there is one."""
    objective = " ".join(call.arguments.objective).strip()
    detected = call.services.detect(call.root)
    path = write_draft(call, objective, call.root / "GOAL.md")
    if call.json:
        checks = [{"command": check.command, "why": check.why} for check in detected]
        call.terminal.document({"goalUri": path.as_uri(), "path": str(path), "checks": checks})
        return 0
    call.terminal.result(f"drafted {path}")
    for check in detected:
        call.terminal.result(f"  check: {check.command} ({check.why})")
    if not detected:
        call.terminal.say("no checks were detected: add requirements such as - [ ] `COMMAND` passes")
    call.terminal.say("edit it, then: donewhen run")
    return 0


async def check(call: Call) -> int:
    """One audit; 0 where everything is proven, 1 where something is not."""
    refuse_missing_sandbox(call)
    named = call.arguments.goal
    path = goal_path(named, call.root) if named else the_goal(call.root)
    say_problems(call, path)
    display = display_for(call)
    async with call.runs() as runs:
        view = await _audit(runs, path, display, shown=call.terminal.live and not call.json)
    if view is None:
        return PAUSED_BY_CTRL_C
    with suppress(OutputClosed):  # the exit code is an answer too
        display.finish(view)
    if not call.json and exit_code(view.state):
        call.terminal.say(f"receipt: donewhen report {view.state.run_id}")
    return exit_code(view.state)


async def _audit(runs: Runs, path: str, display: Display, *, shown: bool) -> RunView | None:
    """None where a signal ended it."""

    def changed(view: RunView) -> None:
        if view.state.mode == "audit" and view.state.goal.path == path:
            display.show(view)

    unsubscribe = runs.subscribe(changed) if shown else _nothing
    with ending_signals() as ending:
        auditing = asyncio.ensure_future(runs.check(path))
        signalled = asyncio.create_task(ending.wait())
        try:
            await asyncio.wait({auditing, signalled}, return_when=asyncio.FIRST_COMPLETED)
            return auditing.result() if auditing.done() else None
        finally:
            unsubscribe()
            auditing.cancel()
            signalled.cancel()
            await asyncio.gather(auditing, signalled, return_exceptions=True)


def _nothing() -> None:
    return
