"""A tool call through the wrappers of all plugins: each has its say before, after, or instead of it.

What is sure, whatever a wrapper does: the tool runs at most once; it doesn't run at all where a wrapper failed before
it; and what it did is what counts where a wrapper failed after it.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from donewhen.core.plugging import Halt, ToolOutcome, ToolUse
from donewhen.plugins.context import PluginContext
from donewhen.plugins.failing import FAILURES, not_the_plugins, sound_outcome, switch_off, told
from donewhen.plugins.registering import Hook
from donewhen.ports import PluginHost, ToolDoer


class Wrapping:
    """The wrappers of one run. Essential ones are asked even where they failed before: nothing goes past them."""

    def __init__(self, hooks: Sequence[Hook], essential: frozenset[str]) -> None:
        self._hooks = hooks
        self._essential = essential

    async def use(self, host: PluginHost, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        return await self._layer(0, host, use, do)

    async def _layer(self, number: int, host: PluginHost, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        if number == len(self._hooks):
            return await do(use)
        hook = self._hooks[number]

        async def inner(given: ToolUse) -> ToolOutcome:
            return await self._layer(number + 1, host, given, do)

        if hook.plugin in host.off - self._essential:
            return await inner(use)
        passage = Passage(use, inner)
        try:
            return await _wrapped(hook, passage, PluginContext(hook.plugin, host), use)
        except Halt as halt:
            if halt is not passage.error:
                halt.plugin = hook.plugin
                halt.called = tuple(one.plugin for one in self._hooks[: number + 1])
            raise
        except WrapperFailed as failure:
            await switch_off(host, hook, str(failure), self._essential)
            return passage.outcome_without(hook.plugin)


class WrapperFailed(Exception):
    """A wrapper raised, or answered what is not an answer."""


class Passage:
    """The one way from a wrapper to the tool: open once, and only while the wrapper runs."""

    def __init__(self, use: ToolUse, inner: ToolDoer) -> None:
        self._use = own(use)
        self._inner = inner
        self._closed = False
        self._doing: asyncio.Future[ToolOutcome] | None = None
        self.error: BaseException | None = None
        """What came out of the tool, or of a wrapper further inside: it passes, whoever it meets."""
        self.misused = ""

    async def proceed(self, use: ToolUse) -> ToolOutcome:
        self._check(use)
        use = own(use)  # what a person gives leave for stays as they saw it, whatever the wrapper does with its own
        if use.input != self._use.input and use.preview == self._use.preview:
            use = replace(use, preview="", summary="")  # they tell of another call: nobody gives leave by them
        self._doing = asyncio.ensure_future(self._inner(use))
        return await self._doing

    def _check(self, use: object) -> None:
        if self._closed:
            raise RuntimeError("`proceed` was called after the wrapper had returned")
        if self._doing is not None:
            self.misused = "`proceed` was called twice: a tool call is made once"
            raise RuntimeError(self.misused)
        if not isinstance(use, ToolUse):
            raise TypeError(f"`proceed` was given {use!r}: it takes the ToolUse, changed or not")
        if (use.call_id, use.tool) != (self._use.call_id, self._use.tool):
            raise ValueError(f"`proceed` was given a call of {use.tool}: a wrapper may change the input, not the tool")

    async def close(self) -> bool:
        """False if the wrapper left while the tool was still at work: it is waited for."""
        self._closed = True
        if self._doing is None:
            return True
        left = self._doing.done()
        await self._ended(self._doing)
        if not self._doing.cancelled():
            self.error = self._doing.exception()
        return left

    async def abandon(self) -> None:
        """The call was cancelled: nothing of it goes on behind."""
        self._closed = True
        if self._doing is not None and not self._doing.done():
            self._doing.cancel()
            await asyncio.wait([self._doing])

    async def _ended(self, doing: asyncio.Future[ToolOutcome]) -> None:
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError:
            await self.abandon()
            raise

    def outcome_without(self, plugin: str) -> ToolOutcome:
        """What counts where the wrapper can't be listened to."""
        if self._doing is None:
            return ToolOutcome(f"error: the plugin {plugin} failed: not done", f"not done: {plugin} failed", ok=False)
        if self._doing.cancelled():
            said = f"error: the plugin {plugin} failed and cut this off: it may have been done in part"
            return ToolOutcome(said, f"cut off: {plugin} failed", ok=False)
        return self._doing.result()


def own(use: ToolUse) -> ToolUse:
    """The call with an input that nobody else can change."""
    return replace(use, input=copy.deepcopy(use.input))


async def _wrapped(hook: Hook, passage: Passage, context: PluginContext, use: ToolUse) -> ToolOutcome:
    """The wrapper's outcome, or what came out of the tool, or WrapperFailed."""
    found: Any = None
    failure: BaseException | None = None
    try:
        found = await hook.call(use=use, proceed=passage.proceed, context=context)
    except FAILURES as error:
        failure = error
    except BaseException:
        await passage.abandon()
        raise
    waited = await passage.close()
    if passage.error is not None:
        raise passage.error
    if passage.misused or not waited:
        raise WrapperFailed(passage.misused or "it returned while the tool was still at work") from failure
    if failure is not None:
        if isinstance(failure, Halt) or not_the_plugins(failure):
            raise failure
        raise WrapperFailed(told(failure)) from failure
    try:
        return sound_outcome(found)
    except TypeError as error:
        raise WrapperFailed(str(error)) from error
