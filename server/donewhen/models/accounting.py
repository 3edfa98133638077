"""One call to a model with its account: on record before and after, and not made where a budget could be passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from donewhen.core.errors import ModelFailed
from donewhen.ports import Budgeted, Calls, Left, Model, ModelReply, ModelRequest

LEAST_REPLY = 1_000
"""Tokens: a reply that may not be longer isn't worth asking for."""


async def ask(
    model: Model, request: ModelRequest, calls: Calls, on_text: Callable[[str], None] | None = None
) -> ModelReply:
    """The model's reply, no longer than what is left of a budget allows. Raises OverBudget before the call, ModelFailed
    after it. Cut off, the call stays open in the account, which then counts its prompt."""
    if isinstance(calls, Budgeted):
        request = within(model, request, calls.left())
    prompt, worst = model.estimate(request)
    call_id = await calls.begin(model.name, prompt, worst)
    try:
        reply = await model.complete(request, on_text)
    except ModelFailed as failure:
        await calls.end(call_id, failure.usage, error=str(failure))
        raise
    await calls.end(call_id, reply.usage, reply.message)
    return reply


def within(model: Model, request: ModelRequest, left: Left) -> ModelRequest:
    """The request with its reply bounded by what is left, where that is enough for a reply at all."""
    _, worst = model.estimate(request)
    allowed = worst.output_tokens
    if left.tokens is not None:
        allowed = min(allowed, left.tokens - worst.input_tokens)
    price = model.facts.price
    if left.usd is not None and worst.usd is not None and price is not None and price.output > 0:
        beyond = max(0.0, worst.usd - left.usd)
        allowed = min(allowed, worst.output_tokens - int(beyond * 1_000_000 / price.output) - (1 if beyond else 0))
    if allowed >= worst.output_tokens or allowed < LEAST_REPLY:
        return request
    return replace(request, max_tokens=allowed)
