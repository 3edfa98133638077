"""What a worker may use during its turn (`ports.TurnContext`)."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from donewhen.core.calls import ConversationCompacted, Message, MessageKept, ToolCall, ToolFinished, ToolStarted
from donewhen.core.events import EvidenceRecorded
from donewhen.core.evidence import Evidence, ObservedCommand
from donewhen.core.feedback import keep_ends
from donewhen.core.plugging import ToolOutcome, ToolUse
from donewhen.core.work import Answer, Interrupt, WorkerStep
from donewhen.engine.active import ActiveRun, turn_stream
from donewhen.engine.calling import CallAccount
from donewhen.engine.editor import settled_or_proven
from donewhen.ports import PluginHost, PluginTool, ToolDoer, TreeState, Workspace

MAX_OBSERVED = 6_000
"""Characters of a command's output that are kept as evidence: head and tail."""


class Context:
    """Implements `ports.TurnContext` for one turn of one run."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        self.calls = CallAccount(run, "worker")
        run.streams(turn_stream(run.state.iteration))

    @property
    def workspace(self) -> Workspace:
        return self._run.parts.workspace

    @property
    def conversation(self) -> tuple[Message, ...]:
        return self._run.state.conversation

    def activity(self, line: str) -> None:
        self._run.say(line)

    def stream(self, text: str, *, whole: bool = False) -> None:
        self._run.stream(text, whole=whole)

    @property
    def hints(self) -> Sequence[str]:
        return self._run.state.hints

    async def settled(self) -> TreeState:
        tree = await settled_or_proven(self._run)
        await self._run.noticed(tree, self._by)
        return tree

    async def ask(self, interrupt: Interrupt) -> Answer:
        return await self._run.ask(interrupt)

    async def use_tool(self, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        """What ran inside its wrappers is remembered: a wrapper that halts afterwards doesn't make it run again."""
        run = self._run
        if run.parts.plugins is None:
            return await do(use)

        async def done(given: ToolUse) -> ToolOutcome:
            outcome = await do(given)
            run.completed[use.call_id] = outcome
            return outcome

        outcome = await run.parts.plugins.use_tool(run.host, use, done)
        run.completed.pop(use.call_id, None)
        return outcome

    @property
    def tools(self) -> Sequence[PluginTool]:
        return self._run.parts.plugins.tools if self._run.parts.plugins is not None else ()

    @property
    def host(self) -> PluginHost:
        return self._run.host

    def inherited_descriptors(self) -> tuple[int, ...]:
        return self._run.parts.descriptors()

    def unsaved(self, path: str) -> str | None:
        return self._run.parts.unsaved(path)

    async def keep(self, message: Message) -> None:
        masked = replace(message, text=self._run.parts.mask(message.text))
        await self._run.append(MessageKept(masked), durable=False)

    async def compact(self, messages: Sequence[Message], dropped: int) -> None:
        await self._run.append(ConversationCompacted(tuple(messages), dropped))

    async def tool_started(self, call: ToolCall, summary: str) -> None:
        await self._run.append(ToolStarted(call.id, call.name, self._run.parts.mask(summary)))
        self._run.streams(call.id)

    async def tool_finished(self, call: ToolCall, step: WorkerStep, message: Message) -> None:
        """The result goes to disk with the next intent or reply: until then the turn would run again anyway."""
        mask = self._run.parts.mask
        shown = replace(step, summary=mask(step.summary))
        await self._run.append(ToolFinished(call.id, shown, replace(message, text=mask(message.text))), durable=False)

    async def observe(self, command: Coroutine[Any, Any, ObservedCommand]) -> ObservedCommand:
        run = self._run
        await run.look(self._by)
        before, turn = run.state.revision, run.state.turns_ended
        seen = await command
        await run.look(self._by)
        mask = run.parts.mask
        kept = replace(seen, command=mask(seen.command), output=keep_ends(mask(seen.output), MAX_OBSERVED))
        evidence = Evidence(run.evidence_id(), before, run.state.revision, turn, kept)
        await run.append(EvidenceRecorded(evidence), durable=False)
        return seen

    @property
    def _by(self) -> Any:
        return "person" if self._run.state.waits_for_person else "worker"
