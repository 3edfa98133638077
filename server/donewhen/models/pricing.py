"""Money and tokens: what a call may cost before it is made, and what it cost afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from donewhen.core.calls import Message
from donewhen.core.errors import ModelFailed
from donewhen.core.words import byte_length
from donewhen.core.work import Usage
from donewhen.models.protocol import Answered
from donewhen.ports import Calls, Left, Model, ModelFacts, ModelReply, ModelRequest, Price

_MILLION = 1_000_000
_BYTES_PER_TOKEN = 3.0
_MARGIN = 1.1
_UNLEARNED = 0.5
"""Tokens per byte at worst, until a reply gives a better figure: digits and other scripts need more than prose."""
_PER_MESSAGE = 6
_ENOUGH_TO_LEARN = 2_000
_REPLY_UNKNOWN = 16_384
_CACHE_WRITE = 1.25
"""Anthropic's price for input that it writes to its cache, relative to the price of input."""


class Estimator:
    """Estimates tokens from bytes: a third, more than English text or code ever needs, until a reply counts better."""

    def __init__(self, facts: ModelFacts, *, marked: bool = False) -> None:
        self._facts = facts
        self._marked = marked
        self._tokens_per_byte = 1 / _BYTES_PER_TOKEN
        self._tools: tuple[object, int] = (None, 0)
        self._measured: tuple[object, int, int] = (None, 0, 0)
        """The messages that were measured last, how many they were, and their bytes."""
        self._learned = False

    def estimate(self, request: ModelRequest) -> tuple[Usage, Usage]:
        """The cost of the prompt, and the cost of the whole call at worst."""
        given = self._prompt(request)
        worst = round(given * _MARGIN) if self._learned else max(round(self._bytes(request) * _UNLEARNED), given)
        reply = request.max_tokens or self._facts.max_output or _REPLY_UNKNOWN
        if self._facts.window is not None:
            reply = min(reply, max(self._facts.window - given, 1))
        price = self._facts.price
        factor = _CACHE_WRITE if self._marked and request.stable else 1.0
        return (
            Usage(given, 0, 0, None if price is None else given * price.input / _MILLION),
            Usage(worst, reply, 0, None if price is None else _at(price, worst * factor, reply)),
        )

    def token_counts(self, request: ModelRequest, answered: Answered) -> tuple[int, int]:
        """Tokens of prompt and reply: the provider's counts, else estimates, since zero would be wrong, and a negative
        count would raise a budget."""
        given, taken = answered.input_tokens, answered.output_tokens
        if taken <= 0:
            taken = round(_message_bytes(answered.message) / _BYTES_PER_TOKEN)
        return given if given > 0 else self._prompt(request), taken

    def learn(self, request: ModelRequest, input_tokens: int) -> None:
        """Learns from a reply's token count for its prompt; later estimates use it."""
        size = self._bytes(request)
        if input_tokens > 0 and size >= _ENOUGH_TO_LEARN:
            self._tokens_per_byte = min(1.0, max(1 / 8, input_tokens / size))
            self._learned = True

    def _prompt(self, request: ModelRequest) -> int:
        return round(self._bytes(request) * self._tokens_per_byte) + _PER_MESSAGE * len(request.messages)

    def _bytes(self, request: ModelRequest) -> int:
        """Messages are measured once for a call, which asks several times, before it and after it; tools once for all
        calls that have the same."""
        known, count, size = self._measured
        if known is not request.messages or count != len(request.messages):
            size = sum(_message_bytes(one) for one in request.messages)
            self._measured = (request.messages, len(request.messages), size)
        if self._tools[0] is not request.tools:
            specs = [byte_length(one.name) + byte_length(one.description) for one in request.tools]
            schemas = [len(json.dumps(one.parameters)) for one in request.tools]
            self._tools = (request.tools, sum(specs) + sum(schemas))
        return size + self._tools[1] + (0 if request.schema is None else len(json.dumps(request.schema)))


def dollars(price: Price | None, given: int, taken: int, cached: int) -> float | None:
    """The cost of a call at a price; None if the price is unknown."""
    if price is None:
        return None
    saved = 0.0 if price.cached is None else min(cached, given) * (price.input - price.cached) / _MILLION
    return _at(price, given, taken) - saved


def _at(price: Price, given: float, taken: float) -> float:
    return (given * price.input + taken * price.output) / _MILLION


def _message_bytes(message: Message) -> int:
    size = byte_length(message.text)
    for call in message.calls:
        size += byte_length(call.name) + byte_length(call.arguments)
    return size


# One call to a model with its account: recorded before and after, and not made if it could exceed a budget.


LEAST_REPLY = 1_000
"""Tokens: a reply that must be shorter than this isn't worth asking for."""


async def ask(
    model: Model, request: ModelRequest, calls: Calls, on_text: Callable[[str], None] | None = None
) -> ModelReply:
    """The model's reply, limited to what is left of the budget. Raises OverBudget before the call, ModelFailed after
    it. If the call is cut off, it stays open in the account, which then counts its prompt."""
    request = within(model, request, calls.left())
    prompt, worst = model.estimate(request)
    call_id = await calls.begin(model.name, prompt, worst)
    request = replace(request, on_failed_try=partial(calls.retried, call_id))
    try:
        reply = await model.complete(request, on_text)
    except ModelFailed as failure:
        await calls.end(call_id, failure.usage, error=str(failure))
        raise
    await calls.end(call_id, reply.usage, reply.message)
    return reply


def within(model: Model, request: ModelRequest, left: Left) -> ModelRequest:
    """The request with a reply limited to what is left, if that is enough for a reply at all."""
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
