"""The built-in agent: a model that works on the workspace with tools. What it says is a claim, never evidence."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed, NoModel, WorkerFailed, WorkspaceError
from donewhen.core.events import AgentOptions
from donewhen.core.feedback import keep_ends
from donewhen.core.fold.turn import pending_calls
from donewhen.core.hints import hint_message
from donewhen.core.plugging import ResumeDirective, ToolOutcome
from donewhen.core.work import Claim, TurnResult, Usage
from donewhen.models.pricing import ask
from donewhen.ports import LiveRoom, ModelReply, Turn, TurnContext
from donewhen.workers import WorkerParts
from donewhen.workers.activity import activity_line, turn_room, without_control
from donewhen.workers.agent.actions import Habit, looks_like_call
from donewhen.workers.agent.compaction import arguments_of, call_of
from donewhen.workers.agent.dispatch import NO_OUTCOMES, ToolRunner
from donewhen.workers.agent.window import AgentConversation, Opening, shortened
from donewhen.workers.prompt import (
    HALTED,
    NUDGE_ACTION,
    NUDGE_CUT,
    NUDGE_EMPTY,
    NUDGE_LOOP,
    NUDGE_RESUMED,
    agent_refinement,
    agent_system,
    agent_task,
    begins_turn,
)
from donewhen.workers.tools import offered
from donewhen.workers.tools.tool import LARGEST_RESULT, SMALLEST_RESULT, VERSION, ToolContext

MAX_CLAIM = 10_000
MAX_FRUITLESS = 3
"""Replies in a row that are cut off before they do anything; two that are empty."""

NOTHING = "the model answered nothing"
ONLY_WRITES = (
    "the model writes down tool calls as text, and makes none, asked for actions under a schema too: set a model that "
    "can call tools, or serve it with its tool parser"
)
TOO_LONG = (
    "the goal does not fit into the model's window even without the conversation: shorten it, or set a model with a "
    "larger window"
)


class AgentWorker:
    """Asks the model what to do, does it, and tells it the outcome, until it reports or a limit is reached. Raises
    NoModel without a model."""

    name = "agent"
    waits_for_person = False

    def __init__(self, parts: WorkerParts) -> None:
        if parts.options.agent is None:
            raise NoModel
        self._parts = parts
        self._options = parts.options.agent
        self._model = parts.model()
        self._habit = Habit(self._model, parts.notes, self._options.api_base)
        self._asked_server = False

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """One turn. Raises WorkerFailed if the model can't be asked or answers nothing, OverBudget where it may not
        be asked again."""
        parts, options = self._parts, self._options
        if not options.window:
            # What the model's own server tells, or once told, is truer than a catalogue.
            if not self._asked_server:
                self._asked_server = True
                self._habit.note_window(await asyncio.to_thread(parts.served_window))
            options = replace(options, window=self._habit.window)
        async with turn_room(parts.rooms, parts.grants, turn) as room:
            tools = offered(context)
            specs = tuple(tool.spec for tool in tools.values())
            full = Opening(self._system(turn, context, room, short=False), specs)
            short = Opening(self._system(turn, context, room, short=True), tuple(map(shortened, specs)))
            conversation = AgentConversation(full, short, context, options, self._model.facts)
            files = parts.files(turn, context)
            largest = min(max(conversation.largest_result, SMALLEST_RESULT), LARGEST_RESULT)
            tool_context = ToolContext(turn, context, files, room, parts.environment, largest, mask=parts.mask)
            self._habit.resumed(context.conversation)
            runner = ToolRunner(tool_context, tools, options.tool_calls)
            playing = _AgentTurn(self._habit, options, conversation, tool_context, context, runner)
            return await playing.play(turn)

    def _system(self, turn: Turn, context: TurnContext, room: LiveRoom, *, short: bool) -> Message:
        """Masked; the rest of what is said is masked as it is kept."""
        grants = self._parts.grants if room.contained else None
        system = agent_system(turn, context.workspace.root, grants, short=short)
        return replace(system, text=self._parts.mask(system.text))


def make(parts: WorkerParts) -> AgentWorker:
    return AgentWorker(parts)


@dataclass(slots=True)
class _AgentTurn:
    """One turn: the model's replies, and what is done about each."""

    _habit: Habit
    _options: AgentOptions
    _conversation: AgentConversation
    _tool_context: ToolContext
    _context: TurnContext
    _runner: ToolRunner
    _tokens: int = 0
    _fruitless: int = 0
    _asked_for_action: bool = False

    async def play(self, turn: Turn) -> TurnResult:
        claim = await self._begin_turn(turn)
        limit = self._options.turn_tokens
        while claim is None:
            if self._tokens >= limit:
                spent = f"it used {self._tokens:,} tokens, and its limit is {limit:,}"
                claim = Claim("finished", f"The turn was ended: {spent}.")
                break
            reply = await self._reply()
            if reply.message.calls:
                self._fruitless = 0
                self._habit.heard()
                claim = await self._do(reply.message.calls)
            else:
                claim = await self._without_calls(reply.message.text.strip(), cut=reply.finish == "length")
        text = keep_ends(claim.text, MAX_CLAIM)
        prefix = "" if claim.state == "finished" else f"{claim.state}: "
        return TurnResult(
            Claim(claim.state, text),
            Usage(),
            response_digest=hashlib.sha256(f"{claim.state}\0{claim.text}".encode("utf-8", "replace")).hexdigest(),
            steps=tuple(self._runner.steps),
            summary=activity_line(prefix + text.strip().partition("\n")[0]),
        )

    async def _begin_turn(self, turn: Turn) -> Claim | None:
        """Tells the model what the turn is about, or resumes it where it stopped; returns the claim that ends it, if
        that does."""
        goes_on = turn.resume is not None and bool(self._context.conversation)
        if goes_on or turn.refinement:
            await _restore_seen_files(self._tool_context)
        if turn.resume is not None and goes_on:
            return await self._resume(turn.resume)
        await self._conversation.begin(agent_refinement(turn) if turn.refinement else agent_task(turn))
        return None

    async def _resume(self, directive: ResumeDirective) -> Claim | None:
        """Makes the calls that have no answer yet, and no others; the model is not asked again for what it has already
        said."""
        restored = directive.restore_message
        await self._conversation.resume(
            replace(restored, text=self._tool_context.mask(restored.text)) if restored else None
        )
        pending = pending_calls(self._context.conversation)
        if directive.skip_model_call:
            return await self._do(pending, directive.completed) if pending else self._last_word()
        claim: Claim | None = None
        for call in pending:
            if call.id in directive.completed:
                claim = (await self._runner.run([call], directive.completed)).claim or claim
            else:
                await self._runner.answer_undone(call, HALTED)
        if claim is None and self._last_word() is not None:
            await self._context.keep(Message("user", NUDGE_RESUMED))
        return claim

    def _last_word(self) -> Claim | None:
        """The end of a turn whose model has already reported."""
        last = self._context.conversation[-1]
        said = last.text.strip() if last.role == "assistant" and not last.calls else ""
        return Claim("finished", said) if said and not looks_like_call(said, self._runner.names) else None

    async def _do(self, calls: Sequence[ToolCall], completed: Mapping[str, ToolOutcome] = NO_OUTCOMES) -> Claim | None:
        """Makes the calls; returns the claim that ends the turn, or None to continue."""
        done = await self._runner.run(calls, completed)
        if done.looping and done.claim is None:
            await self._context.keep(Message("user", NUDGE_LOOP))
        return done.claim

    async def _without_calls(self, text: str, *, cut: bool) -> Claim | None:
        """A reply in words ends the turn, unless it is empty, was cut off, or may be from a model that doesn't call
        tools: then it is asked once more, as an action. A call that is only written down never ends it as a report."""
        written = bool(text) and not cut and looks_like_call(text, self._runner.names)
        if text and not cut and not written:
            if self._habit.acted or self._asked_for_action:
                return Claim("finished", text)
            await self._ask_for_action()
            return None
        self._fruitless += 1
        if self._fruitless >= (MAX_FRUITLESS if cut or text else 2):
            if not text and not cut and not self._runner.steps:
                why = f"{self._habit.model.name} answers nothing at all: check how it is served, or set another model"
                raise self._failed(ModelFailed(why, "malformed"))
            why = "the model's replies are cut off before they do anything" if cut else ONLY_WRITES if text else NOTHING
            raise WorkerFailed(why)
        if written:
            await self._ask_for_action()
        else:
            await self._context.keep(Message("user", NUDGE_CUT if cut else NUDGE_EMPTY))
        return None

    async def _ask_for_action(self) -> None:
        self._asked_for_action = True
        self._habit.by_actions = True
        await self._context.keep(Message("user", NUDGE_ACTION))

    async def _reply(self) -> ModelReply:
        """The model's next reply; a prompt that was too long for it is shortened once."""
        try:
            return await self._ask_model()
        except ModelFailed as failure:
            if failure.kind != "too_long":
                raise self._failed(failure) from failure
            self._habit.note_window(window := failure.window)
        await self._conversation.shrink(window)
        try:
            return await self._ask_model()
        except ModelFailed as failure:
            raise self._failed(failure) from failure

    def _failed(self, failure: ModelFailed) -> WorkerFailed:
        trouble = failure.trouble("worker", self._habit.model.name)
        if trouble.kind == "too_long":
            trouble = replace(trouble, said=f"{TOO_LONG}: {failure}")
        return WorkerFailed(trouble.said, trouble=trouble)

    async def _ask_model(self) -> ModelReply:
        for hint in self._context.hints:
            await self._context.keep(hint_message(hint))
        request = await self._conversation.request()
        reading = self._habit.model.estimate(request)[0].input_tokens
        self._context.activity(f"thinking (reading {reading:,} tokens)")

        def show_text(text: str) -> None:
            self._context.stream(without_control(text), whole=True)

        reply = await ask(self._habit.model, request, self._context.calls, show_text)
        self._conversation.heard(reply)
        self._tokens += reply.usage.tokens
        return reply


async def _restore_seen_files(context: ToolContext) -> None:
    """Makes the context of a turn that goes on know the version of each file that the model has seen last, as the
    answers to its calls say: what is another one by now is not written before it was shown."""
    conversation = context.turn_context.conversation
    begun = max((at for at, message in enumerate(conversation) if begins_turn(message)), default=-1)
    open_calls: list[ToolCall] = []
    seen: dict[str, str] = {}
    for message in conversation[begun + 1 :]:
        if message.calls:
            open_calls = list(message.calls)
        elif message.role == "tool" and open_calls:
            arguments = arguments_of(call_of(message, open_calls)) or {}
            if found := VERSION.search(message.text.partition("\n")[0]):
                seen[str(arguments.get("path", ""))] = found[1]
    for name, version in seen.items():
        with suppress(WorkspaceError):
            path = context.files.path(name)
            file = await context.files.read(path)
            same = file is not None and file.digest.startswith(version)
            context.known[path] = file.digest if file is not None and same else version
