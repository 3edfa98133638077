"""A cache of tool results: the same call is not repeated while its result can't have changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase

from donewhen.plugins import PluginContext, ToolDoer, ToolOutcome, ToolUse, hookimpl


@dataclass
class Entry:
    """One result. `lasting`: it depends on nothing that a tool or a turn changes."""

    key: str
    text: str
    summary: str
    lasting: bool = False


@dataclass
class Kept:
    """The results kept with the run, the oldest first."""

    entries: list[Entry] = field(default_factory=list[Entry])


class ToolCache:
    """Keeps the results of tools without effects with the run, so that they survive a restart.

    `tools` (names, `*` matches) read the workspace: their results hold until any other tool is called, or the next turn
    begins; a change from outside in the middle of a turn isn't noticed. Leave `read_file` out: the built-in agent
    writes only files that it has read, and must see the read. The results of `lasting` tools depend on their input
    alone and hold for the whole run. Only successful results are kept, at most `entries` and `characters` of them.
    """

    def __init__(
        self,
        tools: Sequence[str] = ("list_files", "search"),
        *,
        lasting: Sequence[str] = (),
        entries: int = 64,
        characters: int = 40_000,
        name: str = "tool-cache",
    ) -> None:
        self.name = name
        self._tools, self._lasting = tuple(tools), tuple(lasting)
        self._entries, self._characters = entries, characters
        self._changing = asyncio.Lock()
        self._effects = 0
        """Grows with every possible change of the workspace: a result from before a change is not kept."""

    @hookimpl
    async def before_turn(self, context: PluginContext) -> None:
        await self._forget(context)

    @hookimpl
    async def wrap_tool(self, use: ToolUse, proceed: ToolDoer, context: PluginContext) -> ToolOutcome:
        lasting = _matches(use.tool, self._lasting)
        if not lasting and not _matches(use.tool, self._tools):
            # All results are forgotten before the effect, so that a crash in the middle leaves nothing stale, and
            # again after it, for results that arrived in between.
            await self._forget(context)
            try:
                return await proceed(use)
            finally:
                await self._forget(context)
        key = json.dumps([use.tool, dict(use.input)], sort_keys=True, default=repr)
        known = next((one for one in _kept_entries(context).entries if one.key == key), None)
        if known is not None:
            return ToolOutcome(known.text, f"{known.summary} (cached)")
        before = self._effects
        outcome = await proceed(use)
        if outcome.ok and outcome.claim is None:
            await self._keep_entry(Entry(key, outcome.text, outcome.summary, lasting), before, context)
        return outcome

    async def _forget(self, context: PluginContext) -> None:
        self._effects += 1
        async with self._changing:
            kept = _kept_entries(context)
            lasting = [one for one in kept.entries if one.lasting]
            if len(lasting) != len(kept.entries):
                await context.set_state(asdict(Kept(lasting)))

    async def _keep_entry(self, entry: Entry, before: int, context: PluginContext) -> None:
        async with self._changing:
            if before != self._effects and not entry.lasting:
                return
            entries = [one for one in _kept_entries(context).entries if one.key != entry.key]
            entries.append(entry)
            sizes = [len(one.key) + len(one.text) + len(one.summary) for one in entries]
            while entries and (len(entries) > self._entries or sum(sizes) > self._characters):
                entries.pop(0)
                sizes.pop(0)
            await context.set_state(asdict(Kept(entries)))


def _kept_entries(context: PluginContext) -> Kept:
    return context.get_state(Kept, default=Kept())


def _matches(tool: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)
