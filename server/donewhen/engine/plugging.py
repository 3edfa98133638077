"""What the plugins of one run may use (`ports.PluginHost`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from donewhen.core.events import Event, PauseRequested, RunOptions
from donewhen.core.goal import Goal
from donewhen.core.plugging import PluginOff, PluginState, PluginStateSet
from donewhen.core.state import RunState
from donewhen.core.work import Answer, Interrupt


class HostedRun(Protocol):
    """A run, as far as its plugins reach it."""

    @property
    def run_id(self) -> str: ...

    @property
    def state(self) -> RunState: ...

    def say(self, activity: str | None) -> None: ...

    async def append(self, event: Event, *, durable: bool = True) -> RunState: ...

    async def ask(self, interrupt: Interrupt) -> Answer: ...


class RunHost:
    """Implements `ports.PluginHost` on one run."""

    def __init__(self, run: HostedRun, root: Path, mask: Callable[[str], str]) -> None:
        self._run = run
        self._root = root
        self._mask = mask

    @property
    def run_id(self) -> str:
        return self._run.run_id

    @property
    def goal(self) -> Goal:
        return self._run.state.goal

    @property
    def options(self) -> RunOptions:
        return self._run.state.options

    @property
    def off(self) -> frozenset[str]:
        return frozenset(self._run.state.plugins_off)

    @property
    def root(self) -> str:
        return str(self._root)

    def activity(self, line: str) -> None:
        self._run.say(line)

    def state_of(self, plugin: str) -> PluginState | None:
        return self._run.state.plugin_states.get(plugin)

    async def keep_state(self, plugin: str, state: PluginState | None) -> None:
        if state is not None:
            json.dumps(state.value, allow_nan=False)
        if self.state_of(plugin) != state:
            await self._run.append(PluginStateSet(plugin, state))

    async def ask(self, interrupt: Interrupt) -> Answer:
        return await self._run.ask(interrupt)

    async def switch_off(self, plugin: str, hook: str, reason: str, *, essential: bool = False) -> None:
        said = self._mask(reason)
        if plugin not in self.off:
            await self._run.append(PluginOff(plugin, hook, said))
        if essential and self._run.state.pause_requested is None:
            pause = f"the plugin {plugin}, which this run can't continue without, failed in {hook}: {said}"
            await self._run.append(PauseRequested(pause))
