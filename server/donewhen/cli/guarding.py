"""`guard`: a goal that is complete, kept so as long as this goes on."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from donewhen.cli.calling import Call
from donewhen.cli.display import Display, display_for
from donewhen.cli.goal_argument import goal_path
from donewhen.cli.outcome import COMPLETE, NOT_COMPLETE
from donewhen.cli.signals import Ending, ending_signals
from donewhen.cli.terminal import OutputClosed
from donewhen.engine.api import Runs, RunView


async def guard(call: Call) -> int:
    """Shows what is on guard until a signal, or until the guard is lifted; 0 where everything is proven then."""
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
            call.terminal.say(f"on guard: {first.state.goal.title}; edit and save, Ctrl-C ends it")
        display = display_for(call)
        try:
            with ending_signals() as ending:
                await _shown(runs, run_id, display, ending)
            last = await runs.view(run_id)
        finally:
            if run_id not in known:  # who set it before wants it to go on
                await runs.guard(False, run_id=run_id)
        with suppress(OutputClosed):
            display.finish(last)
        return COMPLETE if all(one.status in ("met", "waived") for one in last.views) else NOT_COMPLETE


async def _shown(runs: Runs, run_id: str, display: Display, ending: Ending) -> None:
    """Shows every change, until a signal comes or somebody else lifts the guard."""
    changes: asyncio.Queue[RunView] = asyncio.Queue()
    unsubscribe = runs.subscribe(lambda view: changes.put_nowait(view) if view.state.run_id == run_id else None)
    signalled = asyncio.create_task(ending.wait())
    try:
        changes.put_nowait(await runs.view(run_id))
        await runs.watch()
        while not signalled.done():
            coming = asyncio.ensure_future(changes.get())
            await asyncio.wait({coming, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            view = coming.result()
            with suppress(OutputClosed):
                display.show(view)
            if view.state.guard is None:
                return
    finally:
        unsubscribe()
        signalled.cancel()
        await asyncio.gather(signalled, return_exceptions=True)
