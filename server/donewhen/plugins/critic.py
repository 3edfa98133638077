"""A critic: reviews what the worker returned, and sends it back to work within the same turn."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from donewhen.plugins import PluginContext, Refine, TurnBehind, hookimpl, in_thread

Ask = Callable[[TurnBehind], str | None] | Callable[[TurnBehind], Awaitable[str | None]]


class Critic:
    """`ask(turn)` returns feedback, or nothing if the turn is good enough; plain (then it runs in a thread) or async.
    After `max_refinements` the turn is left as it is: the goal's own loop decides what is proven."""

    def __init__(self, ask: Ask, max_refinements: int = 3, name: str = "critic") -> None:
        if max_refinements < 0:
            raise ValueError(f"max_refinements must be 0 or more; it is {max_refinements!r}")
        self.name = name
        self._ask = ask
        self._most = max_refinements

    @hookimpl
    async def after_turn(self, turn: TurnBehind, context: PluginContext) -> Refine | None:
        """Skips a turn that failed, or in which the worker says that it is stuck: that is not for a critic."""
        if turn.result.error is not None or turn.result.claim.state != "finished" or turn.refinements >= self._most:
            return None
        context.activity("asking the critic")
        found = await in_thread(self._ask, turn)
        feedback = await found if inspect.isawaitable(found) else found
        return Refine(feedback) if feedback and feedback.strip() else None
