"""One call to a model with its account: on record before and after, and not made where a budget could be passed."""

from __future__ import annotations

from collections.abc import Callable

from donewhen.core.errors import ModelFailed
from donewhen.ports import Calls, Model, ModelReply, ModelRequest


async def ask(
    model: Model, request: ModelRequest, calls: Calls, on_text: Callable[[str], None] | None = None
) -> ModelReply:
    """The model's reply. Raises OverBudget before the call, ModelFailed after it. Cut off, the call stays open in the
    account, which then counts its prompt."""
    prompt, worst = model.estimate(request)
    call_id = await calls.begin(model.name, prompt, worst)
    try:
        reply = await model.complete(request, on_text)
    except ModelFailed as failure:
        await calls.end(call_id, failure.usage, error=str(failure))
        raise
    await calls.end(call_id, reply.usage, reply.message)
    return reply
