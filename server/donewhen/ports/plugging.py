"""Plugins as the engine sees them, and the engine as plugins see it. See `donewhen.ports`.

`donewhen.plugins` implements `Plugins` on pluggy; the engine implements `PluginHost`, one per run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from donewhen.core.events import EndStatus, RunOptions
from donewhen.core.goal import Goal
from donewhen.core.plugging import PluginState, Refine, ResumeDirective, ToolOutcome, ToolUse
from donewhen.core.verdict import RequirementView
from donewhen.core.work import Answer, Interrupt, TurnResult
from donewhen.ports.models import ToolSpec

ToolDoer = Callable[[ToolUse], Awaitable[ToolOutcome]]
"""Does a tool call, with the input that it is given."""


@dataclass(frozen=True, slots=True)
class TurnAhead:
    """A worker's turn that is about to begin. `feedback` is what it will be told, None in the first iteration."""

    iteration: int
    goal: Goal
    views: tuple[RequirementView, ...]
    feedback: str | None


@dataclass(frozen=True, slots=True)
class TurnBehind:
    """A worker's turn that just ended. `refinements` counts how often it was refined already."""

    iteration: int
    goal: Goal
    result: TurnResult
    refinements: int


@dataclass(frozen=True, slots=True)
class AuditAhead:
    """An audit that is about to begin; `iteration` is 0 for the baseline."""

    iteration: int
    goal: Goal


@dataclass(frozen=True, slots=True)
class VerdictReport:
    """Where every requirement stands after an audit or the judge's answer. `proven`: nothing is left to prove."""

    iteration: int
    goal: Goal
    views: tuple[RequirementView, ...]
    proven: bool


@dataclass(frozen=True, slots=True)
class Stopping:
    """The run is about to end so."""

    status: EndStatus
    reason: str
    iteration: int


class PluginHost(Protocol):
    """What the engine offers to the plugins of one run."""

    @property
    def run_id(self) -> str: ...

    @property
    def goal(self) -> Goal: ...

    @property
    def options(self) -> RunOptions: ...

    @property
    def off(self) -> frozenset[str]:
        """The plugins that failed in this run: they are no longer called."""
        ...

    @property
    def root(self) -> str:
        """The workspace folder."""
        ...

    def activity(self, line: str) -> None: ...

    def state_of(self, plugin: str) -> PluginState | None: ...

    async def keep_state(self, plugin: str, state: PluginState | None) -> None:
        """On record before it returns; a value that is not JSON raises ValueError."""
        ...

    async def ask(self, interrupt: Interrupt) -> Answer:
        """Opens an interrupt (its id is assigned) and waits for a person's answer, however long."""
        ...

    async def switch_off(self, plugin: str, hook: str, reason: str, *, essential: bool = False) -> None:
        """A plugin failed: it is on record, shown as a warning, and not called again in this run. Without an
        `essential` one (the approval gate) the run pauses."""
        ...


@dataclass(frozen=True, slots=True)
class PluginTool:
    """A tool that a plugin gives to the built-in agent. `run` may raise Halt; any other exception is the plugin's
    failure."""

    plugin: str
    spec: ToolSpec
    run: Callable[[PluginHost, ToolUse], Awaitable[ToolOutcome]]


class Plugins(Protocol):
    """The plugins of one run, called in their order. Each call may raise Halt, with `plugin` and `called` set. `skip`
    are plugins that are not called: they were before the run was halted at this hook. A plugin that fails is switched
    off through the host and does not disturb the others; PluginConflict where two want to decide the same."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def tools(self) -> Sequence[PluginTool]: ...

    async def before_turn(
        self, host: PluginHost, turn: TurnAhead, skip: frozenset[str] = frozenset()
    ) -> tuple[str, ...]:
        """What the plugins add to what the worker is told, in their order."""
        ...

    async def after_turn(
        self, host: PluginHost, turn: TurnBehind, skip: frozenset[str] = frozenset()
    ) -> Refine | None: ...

    async def use_tool(self, host: PluginHost, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        """A tool call through all wrappers, the first plugin outermost."""
        ...

    async def before_audit(self, host: PluginHost, audit: AuditAhead, skip: frozenset[str] = frozenset()) -> None: ...

    async def after_verdict(
        self, host: PluginHost, report: VerdictReport, skip: frozenset[str] = frozenset()
    ) -> None: ...

    async def on_stop(self, host: PluginHost, stopping: Stopping, skip: frozenset[str] = frozenset()) -> None: ...

    async def on_resume(self, host: PluginHost, plugin: str, data: Any) -> ResumeDirective:
        """What the halting plugin says. Raises UsageError if it can't be asked, or its `on_resume` failed."""
        ...
