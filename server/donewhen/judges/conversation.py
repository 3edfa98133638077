"""One conversation with a judge's model: looks, the reply, and at most one correction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

from donewhen.core.calls import Message, ToolCall
from donewhen.core.events import JudgeOptions
from donewhen.core.words import byte_length
from donewhen.judges import prompts
from donewhen.judges.excerpts import fitted
from donewhen.judges.reply import InvalidReply, NoObject, only_object, same, strict_json
from donewhen.judges.tools import JudgeTools
from donewhen.models.pricing import ask
from donewhen.ports import Calls, Model, ModelReply, ModelRequest, ToolSpec

T = TypeVar("T")
MAX_REPLY = 400_000
MAX_OUTPUT = 16_000
"""Tokens of one reply, including its reasoning: this bounds what a call can cost."""
_LEAST_LOOK = 700


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """What a reply must look like. An object with any of the keys `marks` can be meant; `read` checks it (raises
    InvalidReply), and `fault` says what is wrong with a reply that can still be used if it isn't corrected."""

    instructions: str
    schema: Mapping[str, Any]
    marks: frozenset[str]
    read: Callable[[Mapping[str, Any]], T]
    fault: Callable[[T], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class ConversationResult(Generic[T]):
    """How a conversation ended: `value` is None if no reply could be used, and `problem` says why. `raw` is the reply
    as JSON."""

    value: T | None
    problem: str = ""
    raw: str = ""


@dataclass(slots=True)
class Conversation(Generic[T]):
    """`room` is what may be added to the first messages, in bytes. Without `tools`, no tool is offered."""

    model: Model
    options: JudgeOptions
    calls: Calls
    form: Form[T]
    room: int
    tools: JudgeTools | None = None
    messages: list[Message] = field(default_factory=list[Message])
    looks: int = 0
    corrected: bool = False

    async def run(self, first: Sequence[Message]) -> ConversationResult[T]:
        """Asks until a reply can be used, or one correction was made. Raises ModelFailed, OverBudget."""
        self.messages = list(first)
        for _ in range(self.options.calls + 4):
            reply = await self._ask_model()
            if self.tools is not None and any(call.name != prompts.GIVE_VERDICT for call in reply.message.calls):
                await self._answer_looks(reply.message, self.tools)
                continue
            result = self._read_reply(reply)
            if self.corrected or (result.value is not None and not result.problem):
                return result
            self._correct(reply.message, result.problem)
        return ConversationResult(None, "it only looked, and gave no verdict")

    async def _ask_model(self) -> ModelReply:
        tools: tuple[ToolSpec, ...] = ()
        if self.tools is not None:
            own = prompts.give_verdict(self.form.schema)
            tools = (*prompts.LOOKING_TOOLS, own) if self._may_look() else (own,)
        request = ModelRequest(
            tuple(self.messages),
            tools,
            None if tools else self.form.schema,  # several providers refuse both together, or then never call a tool
            self.options.temperature,
            min(MAX_OUTPUT, self.model.facts.max_output or MAX_OUTPUT),
            stream=True,  # so that its silence is limited, not its whole reply
            stable=2 if tools else 0,  # a judge with tools is called several times, others hardly ever
        )
        return await ask(self.model, request, self.calls)

    def _may_look(self) -> bool:
        return self.looks < self.options.calls and self.room >= _LEAST_LOOK

    async def _answer_looks(self, message: Message, tools: JudgeTools) -> None:
        """Answers every call of the message; a verdict in it is ignored, because it was given before the look."""
        self._add(
            replace(message, text=fitted(message.text, 1_000), calls=tuple(_bounded_call(c) for c in message.calls))
        )
        for call in message.calls:
            if call.name == prompts.GIVE_VERDICT:
                text = prompts.VERDICT_ALONE
            elif not self._may_look():
                text = prompts.NO_LOOKS_LEFT if self.looks >= self.options.calls else prompts.NO_ROOM_LEFT
            else:
                share = max(self.room // (self.options.calls - self.looks), min(self.room, 6_000))
                self.looks += 1
                text = await tools.answer(call, share - 120)
                if not self._may_look():
                    text = f"{text}\n{prompts.NO_LOOKS_LEFT}"
            self._add(Message("tool", text, answers=call.id))

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        self.room -= byte_length(message.text) + sum(byte_length(call.arguments) + 60 for call in message.calls)

    def _read_reply(self, reply: ModelReply) -> ConversationResult[T]:
        try:
            found = self._only_object(reply)
            value = self.form.read(found)
        except InvalidReply as error:
            return ConversationResult(None, str(error))
        return ConversationResult(value, self.form.fault(value), json.dumps(found, sort_keys=True))

    def _only_object(self, reply: ModelReply) -> Mapping[str, Any]:
        """The one object in the reply, from a tool call or from text; if both hold one, they must agree."""
        if reply.finish == "length":
            raise InvalidReply("it was cut off before its end")
        message = reply.message
        if len(message.text) + sum(len(call.arguments) for call in message.calls) > MAX_REPLY:
            raise InvalidReply("it is far too long")
        given = [strict_json(call.arguments) for call in message.calls if call.name == prompts.GIVE_VERDICT]
        if len(given) != len(message.calls):
            raise InvalidReply("it calls a tool that was not offered")
        if not given:
            return only_object(message.text, self.form.marks)
        first: object = given[0]
        if any(not same(one, first) for one in given) or not isinstance(first, Mapping):
            raise InvalidReply(f"call `{prompts.GIVE_VERDICT}` once, with one object")
        found = cast("Mapping[str, Any]", first)
        try:
            said = only_object(message.text, self.form.marks)
        except NoObject:
            return found
        if not same(said, found):
            raise InvalidReply("its text and its tool call differ")
        return found

    def _correct(self, message: Message, problem: str) -> None:
        self.corrected = True
        text = prompts.CORRECTION.format(problem=problem, form=self.form.instructions)
        room = max(self.room - byte_length(text) - 200, 400)
        self._add(
            replace(
                message,
                text=fitted(message.text or "(nothing)", room // 2),
                calls=tuple(_bounded_call(c, room // 2) for c in message.calls),
            )
        )
        for call in message.calls[:-1]:
            self._add(Message("tool", "Not taken.", answers=call.id))
        last = message.calls[-1:]
        self._add(Message("tool", text, answers=last[0].id) if last else Message("user", text))


def _bounded_call(call: ToolCall, room: int = 2_000) -> ToolCall:
    """The call as it is kept in the conversation: overlong values are left out."""
    return call if byte_length(call.arguments) <= room else replace(call, arguments="{}")
