"""What a plugin may use in a hook."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from donewhen.core.events import RunOptions
from donewhen.core.goal import Goal
from donewhen.core.work import Answer, Interrupt, InterruptKind
from donewhen.plugins.stating import Upgrade, plain_state, read_state
from donewhen.ports import PluginHost

T = TypeVar("T")
D = TypeVar("D")


class PluginContext:
    """One plugin in one run: its name, facts about the run, its own state, and a way to ask a person.

    The state belongs to this plugin in this run: other plugins, and other runs, have their own.
    """

    def __init__(self, name: str, host: PluginHost) -> None:
        self._name = name
        self._host = host
        self._loop = asyncio.get_running_loop()

    @property
    def name(self) -> str:
        return self._name

    @property
    def run_id(self) -> str:
        return self._host.run_id

    @property
    def goal(self) -> Goal:
        return self._host.goal

    @property
    def options(self) -> RunOptions:
        """The settings that were frozen when the run started."""
        return self._host.options

    @property
    def root(self) -> Path:
        """The workspace folder."""
        return Path(self._host.root)

    def activity(self, line: str) -> None:
        """Reports what the plugin is doing, in one line, to everybody who watches the run. Callable from any thread."""
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:  # called from a thread
            here = False
        if here:
            self._host.activity(line)
        else:
            self._loop.call_soon_threadsafe(self._host.activity, line)

    def get_state(self, kind: type[T], *, default: D, version: int = 1, upgrade: Upgrade | None = None) -> T | D:
        """What this plugin keeps with the run, as `kind`: a dataclass, TypedDict, pydantic model or JSON type;
        `default` if it keeps nothing. A state of an older version goes through `upgrade(version, value)` first.
        Raises StateError if it has another shape, or was kept by a newer version of the plugin."""
        state = self._host.state_of(self._name)
        return default if state is None else read_state(self._name, state, kind, version, upgrade)

    async def set_state(self, value: object, version: int = 1) -> None:
        """Keeps `value` with the run, in place of the previous value; it is on disk when this returns, and survives a
        restart. Raises StateError if it is not JSON, or too long."""
        await self._host.keep_state(self._name, plain_state(self._name, value, version))

    async def clear_state(self) -> None:
        await self._host.keep_state(self._name, None)

    async def ask(
        self,
        title: str,
        *,
        kind: InterruptKind = "question",
        tool: str | None = None,
        input: Mapping[str, Any] | None = None,
        preview: str = "",
        remembers: bool = False,
    ) -> Answer:
        """Asks a person and waits for the answer without a limit; the wait doesn't count as the run's time. An
        `approval` is about `tool` with `input`; `remembers` says whether a yes may be kept for the run or workspace."""
        about = f"tool:{tool}" if tool else f"plugin:{self._name}"
        asked = Interrupt(
            "", kind, title, about=about, tool=tool, input=dict(input or {}), preview=preview, remembers=remembers
        )
        return await self._host.ask(asked)
