"""One model behind a transport: `ports.Model`, with its retries, its account, and what it turned out not to take."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, cast

from donewhen.core.calls import CallRole, Message, ToolCall
from donewhen.core.errors import ModelFailed
from donewhen.core.trouble import FailedTry, TroubleKind
from donewhen.core.work import Usage
from donewhen.models.catalogue import at_its_provider, cost_of, facts_of, provider_of
from donewhen.models.failures import (
    asked_wait,
    is_about_length,
    is_about_tools,
    meaning,
    tries_for,
    wait_before,
    was_begun,
)
from donewhen.models.keys import NO_KEY_NEEDED, missing_key, named_variables, needs_key
from donewhen.models.pricing import Estimator, dollars
from donewhen.models.protocol import Answered, Call, CallFailed, Failure
from donewhen.models.replies import new_id
from donewhen.ports import ModelFacts, ModelReply, ModelRequest, ToolSpec

_STEPS = 6
"""How often one call may be repeated without a parameter that the model doesn't take."""


SILENCE = 300.0
"""Seconds in which nothing comes, unless the settings say otherwise."""
SLOWEST_READING = 20.0
"""Tokens of a prompt that a machine of the person's own reads in a second, at least."""


class Transport(Protocol):
    """Makes single attempts: `hosting.ModelHost` through litellm, `direct.clients.DirectClients` through the official
    clients, `models.editor` through the editor, `routing.Routes` whichever way is right."""

    def warm(self, model: str, api_base: str | None) -> None:
        """Starts in the background what the first call to this model would wait for."""
        ...

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
        """`on_text` receives new text. Raises CallFailed if the call failed, ModelFailed if nothing can be asked this
        way. Cancelling takes effect at once and closes the connection."""
        ...


class HostedModel:
    """`facts` come from the catalogue unless given; `custom_price` means that their price is the user's own. `key`
    returns the key at each call, so that a new key takes effect; `mask` hides secrets in providers' messages.
    `abilities` are what is known of the same model from before; `silence` is how many seconds a call may be silent.
    `sleep`, `clock` (epoch seconds) and `jitter` (0 to 1) are for tests."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        *,
        key: Callable[[], str | None] = lambda: None,
        api_base: str | None = None,
        facts: ModelFacts | None = None,
        custom_price: bool = False,
        role: CallRole = "worker",
        mask: Callable[[str], str] = lambda text: text,
        abilities: Abilities | None = None,
        silence: float = SILENCE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.time,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._name = name
        self._transport = transport
        self._key = key
        self._api_base = api_base
        self._facts = facts_of(name, api_base) if facts is None else facts
        self._role: CallRole = role
        self._mask = mask
        self._silence = silence
        self._sleep, self._clock, self._jitter = sleep, clock, jitter
        self._provider = provider_of(name)
        self._own_base = at_its_provider(name, api_base)
        self._custom_price = custom_price
        self._with_v1 = False
        """Whether /v1 was added to the address that was given."""
        self._abilities = Abilities() if abilities is None else abilities
        self._estimator = Estimator(self._facts, marked=self._marks_prompts)

    @property
    def name(self) -> str:
        return self._name

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    def estimate(self, request: ModelRequest) -> tuple[Usage, Usage]:
        """See `ports.Model`. Tokens are estimated from characters, and after a reply from the count in that reply."""
        # A limit that the model doesn't take bounds nothing.
        bounded = self._abilities.limit != "none" or request.max_tokens is None
        return self._estimator.estimate(request if bounded else replace(request, max_tokens=None))

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """See `ports.Model`: as often as the cause is worth (`failures.TRIES`). A try that was cut off counts as its
        prompt."""
        tried, steps, lost = Counter[TroubleKind](), 0, Usage()
        while True:
            call = self._call(request)
            try:
                answered = await self._transport.ask(call, _growing(on_text))
                break
            except CallFailed as failed:
                if steps < _STEPS and self._abilities.step_down(failed.failure, request, stream=call.stream):
                    steps += 1
                    continue
                asked = asked_wait(failed.failure, self._clock())
                said = meaning(
                    failed.failure, self._mask, self._name, self._provider, self._role, self._api_base,
                    call.timeout, asked or 0.0,
                )  # fmt: skip
                if was_begun(failed.failure):
                    lost += self.estimate(request)[0]
                tried[said.kind] += 1
                tries = tries_for(said.kind, answered=self._abilities.answered, asked=asked or 0.0)
                if await self._tries_v1(said, request):
                    continue
                if tried[said.kind] >= tries:
                    said.usage = lost
                    raise said from None
                self._abilities.without_stream(failed.failure)
                wait = wait_before(tried[said.kind], failed.failure, asked, self._jitter())
                if request.on_failed_try is not None:
                    trouble = said.trouble(self._role, self._name)
                    await request.on_failed_try(FailedTry(trouble, tried[said.kind] + 1, tries, wait))
                await self._sleep(wait)
        self._abilities.answered = True
        self._abilities.streamed = self._abilities.streamed or call.stream
        reply = self._reply(request, answered, lost)
        if on_text is not None and request.stream and not call.stream:
            on_text(reply.message.text)
        return reply

    async def _tries_v1(self, said: ModelFailed, request: ModelRequest) -> bool:
        """Most addresses end in /v1, and it is often left out: after a 404 it is tried, once, and said."""
        given = self._api_base
        if said.kind != "wrong_address" or said.status != 404 or not given or self._with_v1:
            return False
        base = given.rstrip("/")
        if base.endswith("/v1"):
            return False
        self._with_v1, self._api_base = True, f"{base}/v1"
        told = f"{given} answers 404, so {self._api_base} is asked: add /v1 to the address"
        if request.on_failed_try is not None:
            trouble = replace(said.trouble(self._role, self._name), said=told)
            await request.on_failed_try(FailedTry(trouble, 2, 2, 0.0))
        return True

    def _call(self, request: ModelRequest) -> Call:
        sent = request if self._abilities.tools else in_words(request)
        silence = self._silence if sent.timeout is None else sent.timeout
        # A small machine may need longer to read the prompt, and nothing comes meanwhile.
        reading = 0.0 if self._own_base else self.estimate(request)[0].input_tokens / SLOWEST_READING
        key = self._key()
        if not key and self._own_base and needs_key(self._provider):
            variables = named_variables(self._provider, self._role)
            raise ModelFailed(missing_key(self._name), "key_missing", typed=f": set {variables}")
        return Call(
            model=self._name,
            messages=tuple(sent.messages),
            key=key or (NO_KEY_NEEDED if self._api_base else None),
            api_base=self._api_base,
            parameters=parameters(sent, self._abilities),
            marks=_marks(sent) if self._marks_prompts else (),
            stream=(sent.stream or not self._abilities.whole) and self._abilities.stream,
            timeout=silence + reading,
            silence=silence,
        )

    @property
    def _marks_prompts(self) -> bool:
        """Only Claude at Anthropic, Bedrock and Vertex AI needs cache marks in its prompts; other endpoints may refuse
        requests with them."""
        if self._provider == "anthropic":
            return True
        return (self._provider or "").startswith(("bedrock", "vertex_ai")) and "claude" in self._name.lower()

    def _reply(self, request: ModelRequest, answered: Answered, lost: Usage) -> ModelReply:
        """What was answered, and what it cost with the tries that were lost. Raises ModelFailed where the provider
        held it back."""
        self._estimator.learn(request, answered.input_tokens)
        given, taken = self._estimator.token_counts(request, answered)
        cached = min(max(answered.cached_tokens, 0), given)
        # By the person's own price, else by all of the catalogue's rates.
        cost = dollars(self._facts.price, given, taken, cached)
        if self._own_base and not self._custom_price:
            catalogued = cost_of(self._name, given, taken, cached, answered.written_tokens)
            cost = cost if catalogued is None else catalogued
        message = answered.message if self._abilities.tools else as_calls(answered.message, request.tools)
        finish = answered.finish
        if finish in ("stop", "tool_calls", "function_call"):  # not every server says that it stopped for a tool
            finish = "tool_calls" if message.calls else "stop"
        usage = Usage(given, taken, cached, cost) + lost
        if finish == "content_filter" and not message.text.strip() and not message.calls:
            withheld = ModelFailed(
                f"{self._name} refused the request: a filter of its provider held back the answer", "refused"
            )
            withheld.usage = usage
            raise withheld
        return ModelReply(message, usage, finish)


def _marks(request: ModelRequest) -> tuple[int, ...]:
    """The system message, which survives a compaction, and the last stable message."""
    if request.stable < 1:
        return ()
    # A message that only calls tools has no text to mark.
    texts = [index for index, one in enumerate(request.messages[: request.stable]) if one.text]
    ends = texts[:1] if request.messages[0].role == "system" else []
    return tuple(sorted({*ends, *texts[-1:]}))


def _growing(on_text: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Receives new text and passes on the whole text so far."""
    if on_text is None:
        return None
    whole = ""

    def add_text(text: str) -> None:
        nonlocal whole
        whole += text
        on_text(whole)

    return add_text


# What a model turned out not to take: the first request uses everything, and later ones less if the model refuses.


Format = Literal["json_schema", "json_object", "none"]
Limit = Literal["max_tokens", "max_completion_tokens", "none"]

_FORMATS: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "none", "none": "none"}
_LIMITS: Mapping[Limit, Limit] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "none",
    "none": "none",
}
EMPTY = "EmptyReplyError"
"""The type of a failure without any reply."""
UNSAID = "UnprocessableError"
"""The type of a failure that doesn't give its reason: then the parameters are left out one after another."""

_ABOUT_FORMAT = re.compile(
    r"response_?format|output_?(?:config|format)|json_?schema|json_?object|json mode|structured output|guided|grammar"
    r"|schema",
    re.IGNORECASE,
)
_ABOUT_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)
_ABOUT_LIMIT = re.compile(r"max_(?:completion_|output_|new_)?tokens", re.IGNORECASE)
_TOO_LARGE = re.compile(r"too large|at most|exceed", re.IGNORECASE)
_IN_COMPLETION = re.compile(r"[1-9]\d* (?:tokens )?(?:in|for) the completion", re.IGNORECASE)
_UNREADABLE = {None, 500}
_REFUSALS = {400, 404, 415, 422, 501}


@dataclass(slots=True)
class Abilities:
    """What may still be sent to one model at one address. Replies are always parsed strictly, so a step down loses no
    safety."""

    format: Format = "json_schema"
    limit: Limit = "max_tokens"
    temperature: bool = True
    tools: bool = True
    stream: bool = True
    streamed: bool = False
    """True once a stream has arrived."""
    whole: bool = True
    answered: bool = False
    """True once it has answered at all."""

    def step_down(self, failure: Failure, request: ModelRequest, *, stream: bool) -> bool:
        """True if the call is worth another try, since something that the provider complains about was sent and is now
        left out, or since only a stream may get a reply, and one is now requested."""
        # A server may support only streams: then streams are requested from now on.
        if not stream and self.whole and self.streamed and failure.status in _UNREADABLE:
            self.whole = False
            return True
        if request.tools and self.tools and is_about_tools(failure):
            self.tools = False
            return True
        if failure.status not in _REFUSALS or (is_about_length(failure) and not _limit_too_large(failure)):
            return False
        if request.schema is not None and self.format != "none" and _says(failure, _ABOUT_FORMAT):
            self.format = _FORMATS[self.format]
        elif request.temperature is not None and self.temperature and _says(failure, _ABOUT_TEMPERATURE):
            self.temperature = False
        elif request.max_tokens is None or self.limit == "none":
            return False
        elif _limit_too_large(failure):
            self.limit = "none"
        elif _says(failure, _ABOUT_LIMIT):
            self.limit = _LIMITS[self.limit]
        else:
            return False
        return True

    def without_stream(self, failure: Failure) -> None:
        """A server that returns nothing for a stream may have sent a complete reply: from now on no stream is
        requested."""
        if failure.type == EMPTY:
            self.stream = False


def parameters(request: ModelRequest, abilities: Abilities) -> dict[str, Any]:
    """The request's parameters in litellm's form, limited to what the model takes."""
    found: dict[str, Any] = {}
    if request.tools:
        found["tools"] = [
            {
                "type": "function",
                "function": {"name": one.name, "description": one.description, "parameters": dict(one.parameters)},
            }
            for one in request.tools
        ]
    if request.schema is not None and abilities.format == "json_schema":
        answer = {"name": "answer", "schema": dict(request.schema), "strict": True}
        found["response_format"] = {"type": "json_schema", "json_schema": answer}
    elif request.schema is not None and abilities.format == "json_object":
        found["response_format"] = {"type": "json_object"}
    if request.temperature is not None and abilities.temperature:
        found["temperature"] = request.temperature
    if request.max_tokens is not None and abilities.limit != "none":
        found[abilities.limit] = request.max_tokens
    return found


def _says(failure: Failure, about: re.Pattern[str]) -> bool:
    said = f"{failure.message} {failure.code}"
    if failure.type == UNSAID or about.search(said):
        return True
    reasons = (_ABOUT_FORMAT, _ABOUT_TEMPERATURE, _ABOUT_LIMIT, _TOO_LARGE)
    return failure.status == 422 and not any(one.search(said) for one in reasons)


def _limit_too_large(failure: Failure) -> bool:
    """True if not the prompt is too long, but the allowed reply on top of it."""
    said = failure.message
    return bool(_IN_COMPLETION.search(said) or (_ABOUT_LIMIT.search(said) and _TOO_LARGE.search(said)))


# Tools in words, for models without tool calls: an action object stands for a call.


_HOW = """\
You work with tools. To use one, reply with a single JSON object and nothing else:
{"say": "one line on what you do", "tool": "<name>", "arguments": {...}}
Its result comes as the next message. The tools, each with the JSON schema of its arguments:"""
_RESULT = "Result of the tool:\n"
_FENCE = re.compile(r"```(?:json)?\s*+(?=\{)")


def in_words(request: ModelRequest) -> ModelRequest:
    """The same request without tool calls: the text describes the tools and asks for the call. It is not streamed,
    because nobody wants to watch the object grow."""
    if not request.tools:
        return request
    action: dict[str, Any] = {
        "type": "object",
        "properties": {
            "say": {"type": "string"},
            "tool": {"type": "string", "enum": [one.name for one in request.tools]},
            "arguments": {"type": "object"},
        },
        "required": ["tool", "arguments"],
    }
    schema = action if request.schema is None else {"type": "object"}
    tools = [f"- {one.name}: {one.description}\n  {json.dumps(dict(one.parameters))}" for one in request.tools]
    told = "\n".join([_HOW, *tools])
    messages = [_worded(one) for one in request.messages]
    # The tools become a part of the system message, which stays the same from call to call.
    if messages and messages[0].role == "system":
        messages[0] = replace(messages[0], text=f"{messages[0].text}\n\n{told}")
    else:
        messages.insert(0, Message("system", told))
    stable = request.stable + len(messages) - len(request.messages) if request.stable else 0
    return replace(request, messages=messages, tools=(), schema=schema, stream=False, stable=stable)


def as_calls(message: Message, tools: Sequence[ToolSpec]) -> Message:
    """The message with the call that its action object stands for; unchanged if it has none."""
    if message.calls or (found := _object_in_reply(message.text)) is None:
        return message
    name, arguments = found.get("tool"), found.get("arguments", {})
    if name not in {one.name for one in tools}:
        return message
    text = found.get("say")
    call = ToolCall(new_id(), name, json.dumps(arguments, ensure_ascii=False))
    return Message("assistant", text if isinstance(text, str) else "", (call,))


def _worded(message: Message) -> Message:
    if message.role == "tool":
        return Message("user", _RESULT + message.text)
    if not message.calls:
        return message
    said: list[str] = []
    for call in message.calls:
        arguments: Any = call.arguments
        with suppress(ValueError):
            arguments = json.loads(call.arguments)
        action = {"say": message.text, "tool": call.name, "arguments": arguments}
        said.append(json.dumps(action, ensure_ascii=False))
    return Message("assistant", "\n".join(said))


def _object_in_reply(text: str) -> Mapping[str, Any] | None:
    """The object that a text is, or that it has in a code fence: up to the fence's first end, else up to the last one,
    since an object may contain a fence."""
    candidates = [text]
    if opened := _FENCE.search(text):
        inside = text[opened.end() :]
        candidates += [inside.partition("```")[0], inside.rpartition("```")[0]]
    for candidate in candidates:
        with suppress(ValueError):
            found = json.loads(candidate)
            if isinstance(found, dict):
                return cast(Mapping[str, Any], found)
    return None
