"""One model behind the model host: `ports.Model`, with its retries, its account, and what it turned out not to take."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from donewhen.core.calls import CallRole, Message
from donewhen.core.errors import ModelFailed
from donewhen.core.work import Usage
from donewhen.models.abilities import Abilities, parameters
from donewhen.models.catalogue import at_its_provider, facts_of, provider_of
from donewhen.models.failures import meaning, wait_before, was_begun
from donewhen.models.keys import NO_KEY_NEEDED, missing_key, needs_key
from donewhen.models.pricing import Estimator, dollars
from donewhen.models.protocol import Answered, Call, CallFailed, Failure
from donewhen.models.wording import as_calls, in_words
from donewhen.ports import ModelFacts, ModelReply, ModelRequest

ATTEMPTS = 5
_STEPS = 6
"""How often in one call a parameter may be taken back that the model doesn't take."""


class Host(Protocol):
    """What asks once: `ModelHost`."""

    def abilities(self, model: str, api_base: str | None) -> Abilities: ...

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered: ...


class HostedModel:
    """`facts` are the catalogue's where none are given; `custom_price`: their price is the user's own. `key` gives the
    key at each call, so that one that was set meanwhile is used; `mask` hides secrets in what providers say. `sleep`,
    `clock` (epoch seconds) and `jitter` (0 to 1) are for tests."""

    def __init__(
        self,
        name: str,
        host: Host,
        *,
        key: Callable[[], str | None] = lambda: None,
        api_base: str | None = None,
        facts: ModelFacts | None = None,
        custom_price: bool = False,
        role: CallRole = "worker",
        mask: Callable[[str], str] = lambda text: text,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.time,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._name = name
        self._host = host
        self._key = key
        self._api_base = api_base
        self._facts = facts_of(name, api_base) if facts is None else facts
        self._role: CallRole = role
        self._mask = mask
        self._sleep, self._clock, self._jitter = sleep, clock, jitter
        self._provider = provider_of(name)
        self._own_base = at_its_provider(name, api_base)
        self._custom_price = custom_price
        self._abilities = host.abilities(name, api_base)
        self._estimator = Estimator(self._facts, marked=self._marks_prompts)

    @property
    def name(self) -> str:
        return self._name

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    def estimate(self, request: ModelRequest) -> tuple[Usage, Usage]:
        """See `ports.Model`. Tokens are guessed from characters, and after a reply from what that one counted."""
        # What a model doesn't take bounds nothing.
        bounded = self._abilities.limit != "none" or request.max_tokens is None
        return self._estimator.estimate(request if bounded else replace(request, max_tokens=None))

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """See `ports.Model`: five attempts within about a minute. One that was cut off counts as its prompt."""
        attempt, steps, lost = 1, 0, Usage()
        while True:
            call = self._call(request)
            try:
                answered = await self._host.ask(call, _growing(on_text))
                break
            except CallFailed as failed:
                if steps < _STEPS and self._steps_down(failed.failure, request, call):
                    steps += 1
                    continue
                said = meaning(failed.failure, self._mask, self._name, self._provider, self._role, self._api_base)
                if was_begun(failed.failure):
                    lost += self.estimate(request)[0]
                if attempt >= ATTEMPTS or not said.again:
                    said.error.usage = lost
                    raise said.error from None
                self._abilities.without_stream(failed.failure)
                await self._sleep(wait_before(attempt, failed.failure, self._clock(), self._jitter()))
                attempt += 1
        self._abilities.streamed = self._abilities.streamed or call.stream
        reply = self._reply(request, answered)
        reply = replace(reply, usage=reply.usage + lost)
        if on_text is not None and request.stream and not call.stream:
            on_text(reply.message.text)
        return reply

    def _steps_down(self, failure: Failure, request: ModelRequest, call: Call) -> bool:
        if not call.stream and self._abilities.without_whole(failure):
            return True
        return self._abilities.step_down(failure, request)

    def _call(self, request: ModelRequest) -> Call:
        sent = request if self._abilities.tools else in_words(request)
        return Call(
            model=self._name,
            messages=tuple(sent.messages),
            key=self._key_now(),
            api_base=self._api_base,
            parameters=parameters(sent, self._abilities),
            marks=_marks(sent) if self._marks_prompts else (),
            stream=(sent.stream or not self._abilities.whole) and self._abilities.stream,
            timeout=sent.timeout,
        )

    def _key_now(self) -> str | None:
        key = self._key()
        if not key and self._own_base and needs_key(self._provider):
            raise ModelFailed(missing_key(self._name, self._provider, self._role), "auth")
        return key or (NO_KEY_NEEDED if self._api_base else None)

    @property
    def _marks_prompts(self) -> bool:
        """Only Claude at Anthropic, Bedrock and Vertex AI wants its prompt caches marked; other endpoints may refuse a
        request that is."""
        if self._provider == "anthropic":
            return True
        return (self._provider or "").startswith(("bedrock", "vertex_ai")) and "claude" in self._name.lower()

    def _reply(self, request: ModelRequest, answered: Answered) -> ModelReply:
        self._estimator.learn(request, answered.input_tokens)
        given, taken = self._estimator.counted(request, answered)
        cached = min(max(answered.cached_tokens, 0), given)
        usage = Usage(given, taken, cached, self._cost(answered, given, taken, cached))
        message = answered.message if self._abilities.tools else as_calls(answered.message, request.tools)
        return ModelReply(message, usage, _finish(answered.finish, message))

    def _cost(self, answered: Answered, given: int, taken: int, cached: int) -> float | None:
        """By the user's own price, else as litellm reckons where the provider counted, else by the catalogue's."""
        known = answered.cost is not None and answered.cost >= 0 and answered.input_tokens > 0
        if known and self._own_base and not self._custom_price:
            return answered.cost
        return dollars(self._facts.price, given, taken, cached)


def _finish(said: str, message: Message) -> str:
    """Not every server says that it stopped for a tool."""
    if said in ("stop", "tool_calls", "function_call"):
        return "tool_calls" if message.calls else "stop"
    return said


def _marks(request: ModelRequest) -> tuple[int, ...]:
    """The system message, which outlives a compaction, and the last stable message."""
    if request.stable < 1:
        return ()
    # A message that only calls tools has no text to mark.
    texts = [index for index, one in enumerate(request.messages[: request.stable]) if one.text]
    ends = texts[:1] if request.messages[0].role == "system" else []
    return tuple(sorted({*ends, *texts[-1:]}))


def _growing(on_text: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Hears what is new, tells the whole so far."""
    if on_text is None:
        return None
    whole = ""

    def add(text: str) -> None:
        nonlocal whole
        whole += text
        on_text(whole)

    return add
