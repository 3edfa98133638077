"""A host for plugins, in memory, and what they are called with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from donewhen.core.events import RunOptions
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.plugging import PluginState, ToolOutcome, ToolUse
from donewhen.core.work import Answer, Claim, Interrupt, TurnResult
from donewhen.plugins.calling import PluggyPlugins
from donewhen.plugins.opening import open_plugins
from donewhen.ports import AuditAhead, Stopping, TurnAhead, TurnBehind, VerdictReport

GOAL = Goal("A goal", "Make it work.", (Requirement("r-1", 1, "it works", (Check.of("true"),)),))
AHEAD = TurnAhead(1, GOAL, (), None)
BEHIND = TurnBehind(1, GOAL, TurnResult(Claim("finished", "done")), 0)
AUDIT = AuditAhead(1, GOAL)
REPORT = VerdictReport(1, GOAL, (), proven=False)
STOPPING = Stopping("complete", "all is proven", 1)


@dataclass
class MemoryHost:
    """`ports.PluginHost`, with what was asked of it."""

    run_id: str = "run-1"
    goal: Goal = GOAL
    options: RunOptions = field(default_factory=lambda: RunOptions("agent"))
    root: str = "/somewhere"
    states: dict[str, PluginState] = field(default_factory=dict[str, PluginState])
    failed: list[tuple[str, str, str, bool]] = field(default_factory=list[tuple[str, str, str, bool]])
    asked: list[Interrupt] = field(default_factory=list[Interrupt])
    answers: list[Answer] = field(default_factory=list[Answer])
    lines: list[str] = field(default_factory=list[str])
    kept: int = 0
    failure: Exception | None = None
    """Raised by `keep_state`."""

    @property
    def off(self) -> frozenset[str]:
        return frozenset(plugin for plugin, *_ in self.failed)

    def activity(self, line: str) -> None:
        self.lines.append(line)

    def state_of(self, plugin: str) -> PluginState | None:
        return self.states.get(plugin)

    async def keep_state(self, plugin: str, state: PluginState | None) -> None:
        if self.failure is not None:
            raise self.failure
        self.kept += 1
        if state is None:
            self.states.pop(plugin, None)
        else:
            self.states[plugin] = PluginState(state.version, json.loads(json.dumps(state.value, allow_nan=False)))

    async def ask(self, interrupt: Interrupt) -> Answer:
        self.asked.append(interrupt)
        return self.answers.pop(0)

    async def switch_off(self, plugin: str, hook: str, reason: str, *, essential: bool = False) -> None:
        self.failed.append((plugin, hook, reason, essential))


@dataclass
class Hands:
    """A tool that notes what it was asked to do."""

    done: list[ToolUse] = field(default_factory=list[ToolUse])

    async def do(self, use: ToolUse) -> ToolOutcome:
        self.done.append(use)
        return ToolOutcome(f"did {dict(use.input)}", "did it")


def use_of(tool: str = "run_command", call_id: str = "c1", **given: object) -> ToolUse:
    return ToolUse(call_id, tool, given)


def opened(*sources: object, off: Sequence[str] = (), known_tools: Sequence[str] = ()) -> PluggyPlugins:
    return open_plugins(sources, installed=False, off=off, known_tools=known_tools)
