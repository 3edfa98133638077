"""The account of calls to models (`ports.Calls`): on record before and after each, within the budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from donewhen.core.calls import BudgetReached, CallFinished, CallRole, CallStarted, Message
from donewhen.core.errors import OverBudget
from donewhen.core.state import RunState
from donewhen.core.work import Usage
from donewhen.engine.active import ActiveRun
from donewhen.ports import Left


class CallAccount:
    """The calls of one run's worker or judge."""

    def __init__(self, run: ActiveRun, role: CallRole) -> None:
        self._run = run
        self._role: CallRole = role

    def left(self) -> Left:
        """See `ports.Budgeted`."""
        state = self._run.state
        limits, ahead = state.goal.limits, Usage()
        for worst in (*(call.worst for call in state.open_calls.values()), *self._ahead()):
            ahead += worst
        spent = state.spent + ahead
        usd = None if limits.budget is None or spent.usd is None else limits.budget - spent.usd
        return Left(None if limits.token_budget is None else limits.token_budget - spent.tokens, usd)

    def _ahead(self) -> Sequence[Usage]:
        """Calls that are about to be put on record."""
        run = self._run
        return [worst for key, worst in run.reserved.items() if key not in run.state.open_calls]

    async def begin(self, model: str, prompt: Usage, worst: Usage) -> str:
        """See `ports.Calls`. Calls under way count as their worst case."""
        run = self._run
        # Counted before anything is awaited, so that of several calls that begin at once each sees the others.
        ahead = sum(self._ahead(), worst)
        reason = beyond_budget(run.state, ahead)
        if reason is not None:
            if run.state.unaffordable is None:
                await run.append(BudgetReached(reason))
            raise OverBudget(reason)
        call_id = run.call_id()
        run.reserved[call_id] = worst
        try:
            # The result is what must last; an intent that is lost with the power was not followed by one.
            await run.append(CallStarted(call_id, self._role, model, prompt, worst), durable=False)
        finally:
            del run.reserved[call_id]
        if self._role == "worker":
            run.streams(call_id)
        return call_id

    async def end(self, call_id: str, usage: Usage, message: Message | None = None, error: str | None = None) -> None:
        mask = self._run.parts.mask
        said = None if error is None else mask(error)
        kept = None
        if message is not None and self._role == "worker":
            wanted = tuple(replace(call, arguments=mask(call.arguments)) for call in message.calls)
            kept = replace(message, text=mask(message.text), calls=wanted)
        # Where tools are to run, the intent of the first one takes this to disk too.
        await self._run.append(CallFinished(call_id, usage, kept, said), durable=kept is None or not kept.calls)


def beyond_budget(state: RunState, worst: Usage) -> str | None:
    """Why a call may not be made, None if it may."""
    limits = state.goal.limits
    ahead = worst
    for call in state.open_calls.values():
        ahead += call.worst
    spent = state.spent
    if limits.token_budget is not None and spent.tokens + ahead.tokens > limits.token_budget:
        return (
            f"the budget of {limits.token_budget:,} tokens could be passed: {spent.tokens:,} are used, "
            f"and the next call may take {ahead.tokens:,}"
        )
    if limits.budget is None:
        return None
    if ahead.usd is None:
        return (
            f"the budget of ${limits.budget:.2f} can't be kept: the price of a model is unknown. "
            "Set its price in your settings, or a token budget instead"
        )
    if state.known_usd + ahead.usd > limits.budget:
        return (
            f"the budget of ${limits.budget:.2f} could be passed: ${state.known_usd:.4f} is spent, "
            f"and the next call may cost ${ahead.usd:.4f}"
        )
    return None
