"""One run in memory from its start to where it stands still, for loops about a response."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from donewhen.core.errors import DoneWhenError
from donewhen.core.state import RunState
from donewhen.library.assembling import RunParts, open_session
from donewhen.library.handles import OnInterrupt, answered
from donewhen.library.sessions import Session


async def stood(parts: RunParts, kept: Callable[[RunState], None]) -> RunState:
    """The run's state at its end. `kept` is given the last state whatever happens, also where this is cancelled: then
    the run is cancelled first (A3)."""
    session = await open_session(parts)
    try:
        await session.start(parts.start)
        try:
            return await came_to_rest(session)
        finally:
            kept(session.state)
    finally:
        await session.close()


async def came_to_rest(session: Session, on_interrupt: OnInterrupt | None = None) -> RunState:
    """The run's state once it goes no further. Questions go to `on_interrupt`; without it nobody is there to be asked,
    and a run that waits for a person is paused. Cancelled, it ends the run, and spends nothing more (A3)."""
    try:
        while True:
            state = await session.standstill()
            if not state.active:
                return state
            if on_interrupt is not None:
                await answered(session, state.interrupts[0], on_interrupt)
                continue
            asked = "; ".join(one.title for one in state.interrupts)
            await session.runs.pause(state.run_id, f"nobody is there to be asked: {asked}", "run")
    except asyncio.CancelledError:
        await _cancelled(session)
        raise


async def _cancelled(session: Session) -> None:
    """Stops the run, although whoever waited for it is being cancelled, and maybe again meanwhile."""
    stopping = asyncio.ensure_future(session.runs.stop(session.state.run_id, "the caller was cancelled"))
    while not stopping.done():
        with contextlib.suppress(asyncio.CancelledError, DoneWhenError):
            await asyncio.shield(stopping)
    with contextlib.suppress(DoneWhenError):
        stopping.result()
