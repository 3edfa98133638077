"""A worker that talks to a model and uses tools, as the built-in agent does, and plugins as plain functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from donewhen.core.calls import Message, ToolCall
from donewhen.core.fold.turn import pending_calls
from donewhen.core.plugging import Halt, Refine, ResumeDirective, ToolOutcome, ToolUse
from donewhen.core.work import Interrupt, TurnResult, Usage, WorkerStep
from donewhen.ports import (
    AuditAhead,
    PluginHost,
    PluginTool,
    Stopping,
    ToolDoer,
    Turn,
    TurnAhead,
    TurnBehind,
    TurnContext,
    VerdictReport,
)
from tests.engine.world import World


def says(text: str, *calls: str) -> Message:
    """A reply of the model, with calls by their ids; a call's id is also its command."""
    return Message("assistant", text, tuple(ToolCall(one, "run", "{}") for one in calls))


@dataclass
class Tooling:
    """Asks its model (a list of replies), does the calls, and asks again until a reply calls nothing."""

    world: World
    replies: list[Message]
    asked: list[int] = field(default_factory=list)
    """Which reply each call to the model got: one that is there twice was paid for twice."""
    effects: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    name: str = "agent"
    waits_for_person: bool = False

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        self.turns.append(turn)
        if turn.resume is None:
            await context.keep(Message("user", turn.feedback or "do it"))
        else:
            await self._pending(turn.resume, context)
        while True:
            reply = await self._ask(context)
            if not reply.calls:
                return TurnResult(summary=reply.text)
            for call in reply.calls:
                await self._do(call, context)

    async def _ask(self, context: TurnContext) -> Message:
        number = sum(one.role == "assistant" for one in context.conversation)
        self.asked.append(number)
        call_id = await context.calls.begin("openai/gpt", Usage(10), Usage(20))
        reply = self.replies[number]
        await context.calls.end(call_id, Usage(10, 5), reply)
        return reply

    async def _pending(self, resume: ResumeDirective, context: TurnContext) -> None:
        for call in pending_calls(context.conversation):
            outcome = resume.completed.get(call.id)
            if outcome is not None:
                await self._told(call, outcome, context)
            elif resume.skip_model_call:
                await self._do(call, context)
            else:
                await self._told(call, ToolOutcome("not done", "not done", ok=False), context)

    async def _do(self, call: ToolCall, context: TurnContext) -> None:
        await context.tool_started(call, call.id)
        outcome = await context.use_tool(ToolUse(call.id, call.name, {"command": call.id}), self._effect)
        await self._told(call, outcome, context)

    async def _effect(self, use: ToolUse) -> ToolOutcome:
        command = str(use.input["command"])
        self.effects.append(command)
        self.world.workspace.edit("a.py", command.encode())
        return ToolOutcome(f"exit 0: {command}", command)

    async def _told(self, call: ToolCall, outcome: ToolOutcome, context: TurnContext) -> None:
        step = WorkerStep(call.name, outcome.summary, outcome.ok)
        await context.tool_finished(call, step, Message("tool", outcome.text, answers=call.id))


Hook = Callable[..., Awaitable[Any]]


@dataclass
class Hooks:
    """`ports.Plugins` of one plugin whose hooks are functions; a hook that isn't given does nothing."""

    name: str = "mine"
    hooks: dict[str, Hook] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def tools(self) -> Sequence[PluginTool]:
        return ()

    async def _call(self, hook: str, default: Any, *given: Any, skip: frozenset[str] = frozenset()) -> Any:
        if hook not in self.hooks or self.name in skip:
            return default
        self.called.append(hook)
        try:
            return await self.hooks[hook](*given)
        except Halt as halt:
            halt.plugin, halt.called = self.name, (self.name,)
            raise

    async def before_turn(
        self, host: PluginHost, turn: TurnAhead, skip: frozenset[str] = frozenset()
    ) -> tuple[str, ...]:
        return await self._call("before_turn", (), host, turn, skip=skip)

    async def after_turn(self, host: PluginHost, turn: TurnBehind, skip: frozenset[str] = frozenset()) -> Refine | None:
        return await self._call("after_turn", None, host, turn, skip=skip)

    async def use_tool(self, host: PluginHost, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        if "use_tool" not in self.hooks:
            return await do(use)
        return await self._call("use_tool", None, host, use, do)

    async def before_audit(self, host: PluginHost, audit: AuditAhead, skip: frozenset[str] = frozenset()) -> None:
        await self._call("before_audit", None, host, audit, skip=skip)

    async def after_verdict(self, host: PluginHost, report: VerdictReport, skip: frozenset[str] = frozenset()) -> None:
        await self._call("after_verdict", None, host, report, skip=skip)

    async def on_stop(self, host: PluginHost, stopping: Stopping, skip: frozenset[str] = frozenset()) -> None:
        await self._call("on_stop", None, host, stopping, skip=skip)

    async def on_resume(self, host: PluginHost, plugin: str, data: Any) -> ResumeDirective:
        return await self._call("on_resume", ResumeDirective(), host, data)


async def gate(host: PluginHost, use: ToolUse, do: ToolDoer) -> ToolOutcome:
    """Asks a person before each call."""
    asked = Interrupt("", "approval", f"Run {use.call_id}?", "tool:run", "run", dict(use.input))
    answer = await host.ask(asked)
    if answer.response != "approve":
        return ToolOutcome(f"not run: {answer.text or answer.reason}", "not run", ok=False)
    return await do(use)
