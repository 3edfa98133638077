"""What the agent needs to take a turn: a real folder, real processes, and a context that keeps what it is told."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from donewhen.core.approval import DENIED, NOT_RUN, NOT_WRITTEN, SAID
from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import OverBudget
from donewhen.core.events import AgentOptions, RunOptions
from donewhen.core.evidence import ObservedCommand
from donewhen.core.plugging import ToolOutcome, ToolUse
from donewhen.core.work import Answer, Interrupt, TurnResult, Usage, WorkerStep
from donewhen.ports import Calls, Grants, ModelReply, PluginTool, ToolDoer, Turn, TurnContext
from donewhen.store.model_notes import KeptModelNotes
from donewhen.workers import WorkerParts
from donewhen.workers.agent.worker import AgentWorker
from donewhen.workspace.guarded import GuardedFolder
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.plain import PlainRooms

from .agent_models import Script, ScriptedModel
from .turns import Context, environment, turn

OPTIONS = AgentOptions("scripted/model")


@dataclass
class Files:
    """The part of `ports.Workspace` that the agent uses: every file in the folder is covered."""

    root: Path

    def files(self, globs: Sequence[str] | None = None) -> Sequence[str]:
        found = (path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())
        return sorted(path for path in found if not path.startswith(".git/"))


@dataclass
class Account(Calls):
    """`ports.Calls`: keeps what was begun and ended; `allowed` calls may be made."""

    context: AgentContext
    allowed: int = 1_000_000
    begun: list[str] = field(default_factory=list)
    ended: list[tuple[str, Usage, str | None]] = field(default_factory=list)

    async def begin(self, model: str, prompt: Usage, worst: Usage) -> str:
        if len(self.begun) >= self.allowed:
            raise OverBudget("the budget is spent")
        self.begun.append(model)
        return f"M{len(self.begun)}"

    async def end(self, call_id: str, usage: Usage, message: Message | None = None, error: str | None = None) -> None:
        self.ended.append((call_id, usage, error))
        if message is not None:
            self.context.said.append(message)


Wrapper = Callable[[ToolUse, ToolDoer], Awaitable[ToolOutcome]]


@dataclass
class Host:
    """The part of `ports.PluginHost` that the agent and tools of plugins use."""

    off: frozenset[str] = frozenset()
    failures: list[tuple[str, str, str]] = field(default_factory=list)

    async def switch_off(self, plugin: str, hook: str, reason: str) -> None:
        self.off |= {plugin}
        self.failures.append((plugin, hook, reason))


@dataclass
class AgentContext(Context):
    """`ports.TurnContext` with a conversation. Without `answers` everything is approved."""

    said: list[Message] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    started: list[tuple[str, str]] = field(default_factory=list)
    steps: list[WorkerStep] = field(default_factory=list)
    observed: list[ObservedCommand] = field(default_factory=list)
    compactions: list[tuple[tuple[Message, ...], int]] = field(default_factory=list)
    uses: list[ToolUse] = field(default_factory=list)
    wrap: Wrapper | None = None
    tools: list[PluginTool] = field(default_factory=list)
    host: Host = field(default_factory=lambda: Host())

    def __post_init__(self) -> None:
        self.calls = Account(self)

    @property
    def conversation(self) -> tuple[Message, ...]:
        return tuple(self.said)

    async def use_tool(self, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        self.uses.append(use)
        return await (self.wrap or self.gate)(use, do)

    async def gate(self, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        """A wrapper that asks a person about commands and sensitive files; without `answers` all is approved."""
        if use.tool != "run_command" and not use.sensitive:
            return await do(use)
        title = use.summary.capitalize() + "?"
        asked = Interrupt("", "approval", title, f"tool:{use.tool}", use.tool, use.input, use.preview)
        answer = await self.leave(asked)
        if answer.response in ("approve", "edit"):
            return await do(replace(use, input={**use.input, **(answer.input or {})}))
        said = f"{SAID}\n{answer.text}" if answer.response == "text" else f"{DENIED}: {answer.reason}"
        refusal = NOT_RUN if use.tool == "run_command" else NOT_WRITTEN
        return ToolOutcome(f"{refusal} {said}", f"{use.summary}: not allowed", ok=False)

    async def leave(self, asked: Interrupt) -> Answer:
        self.asked.append(asked)
        return self.answers.pop(0) if self.answers else Answer("approve")

    async def keep(self, message: Message) -> None:
        self.said.append(message)

    async def compact(self, messages: Sequence[Message], dropped: int) -> None:
        self.compactions.append((tuple(messages), dropped))
        self.said[:] = messages

    async def tool_started(self, call: ToolCall, summary: str) -> None:
        self.started.append((call.name, summary))

    async def tool_finished(self, call: ToolCall, step: WorkerStep, message: Message) -> None:
        self.steps.append(step)
        self.said.append(message)

    async def observe(self, command: Coroutine[Any, Any, ObservedCommand]) -> ObservedCommand:
        self.observed.append(await command)
        return self.observed[-1]

    def unsaved(self, path: str) -> str | None:
        return self.held.get(path)


def worker_parts(options: RunOptions, **others: Any) -> WorkerParts:
    """What a worker is made of here: it runs what it runs in no room, and has no model unless it is given."""
    processes = SystemProcesses()

    def files(turn: Turn, context: TurnContext) -> GuardedFolder:
        return GuardedFolder(context.workspace, processes, environment, turn.token)

    parts = WorkerParts(
        options, environment, PlainRooms(processes), Grants(), lambda: processes, lambda: ScriptedModel(()), files,
        lambda text: text, KeptModelNotes(), lambda: None,
    )  # fmt: skip
    return replace(parts, **others)


@dataclass
class Agent:
    """An agent in a folder, with a scripted model and a person."""

    root: Path
    context: AgentContext
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel(()))
    mask: Callable[[str], str] = lambda text: text
    notes: KeptModelNotes = field(default_factory=KeptModelNotes)
    served_window: Callable[[], int | None] = lambda: None

    async def plays(
        self, script: Script, given: Turn | None = None, options: AgentOptions = OPTIONS, **model: Any
    ) -> TurnResult:
        self.model = ScriptedModel(script, **model)
        return await self.worker(options).work(given or turn(), self.context)

    def worker(self, options: AgentOptions = OPTIONS) -> AgentWorker:
        parts = worker_parts(
            RunOptions("agent", agent=options), model=lambda: self.model, mask=self.mask, notes=self.notes,
            served_window=self.served_window,
        )  # fmt: skip
        return AgentWorker(parts)

    def write(self, path: str, text: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    def text(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    @property
    def told(self) -> list[str]:
        """What the tools told the model, in order."""
        return [message.text for message in self.context.said if message.role == "tool"]


def agent_in(root: Path) -> Agent:
    return Agent(root, AgentContext(Files(root)))


def numbered(replies: Callable[[int], ModelReply], count: int) -> Script:
    """`count` replies, each made from its number."""
    return (replies(number) for number in itertools.islice(itertools.count(), count))
