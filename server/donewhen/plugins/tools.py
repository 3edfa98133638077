"""The tools that plugins give to the built-in agent, as it runs them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from donewhen.core.plugging import Halt, ToolOutcome, ToolUse, plain_data
from donewhen.plugins.collecting import Offered
from donewhen.plugins.context import PluginContext
from donewhen.plugins.failing import FAILURES, not_the_plugins, sound_outcome, told
from donewhen.plugins.records import NewTool
from donewhen.plugins.threads import failing_soundly, in_thread
from donewhen.ports import PluginHost, PluginTool, ToolSpec


def plugin_tool(one: Offered[NewTool], essential: frozenset[str]) -> PluginTool:
    """`run` raises Halt, and nothing else for what the tool does: a failure switches its plugin off."""
    tool, plugin = one.record, one.plugin

    async def run(host: PluginHost, use: ToolUse) -> ToolOutcome:
        if plugin in host.off - essential:
            return _refused(plugin, "is switched off for this run, and its tools are gone", tool.name)
        try:
            return _outcome(await _called(tool.run, use.input, PluginContext(plugin, host)), use)
        except Halt as halt:
            halt.plugin, halt.called = plugin, (plugin,)
            raise
        except FAILURES as error:
            if not_the_plugins(error):
                raise
            await host.switch_off(plugin, f"tool {tool.name}", told(error), essential=plugin in essential)
            return _refused(plugin, f"failed: {told(error)}", tool.name)

    return PluginTool(plugin, ToolSpec(tool.name, tool.description, tool.parameters), run)


async def _called(
    run: Callable[[Mapping[str, Any], PluginContext], Any], given: Mapping[str, Any], context: PluginContext
) -> Any:
    """Async tools on the loop, plain ones beside it: neither holds the loop."""
    try:
        with failing_soundly():
            found = run(given, context) if inspect.iscoroutinefunction(run) else await in_thread(run, given, context)
            found = await found if inspect.isawaitable(found) else found
        if isinstance(found, Halt):
            raise found  # returned, it is meant no less
        return found
    except Halt as halt:
        halt.data = plain_data(halt)
        raise


def _outcome(found: object, use: ToolUse) -> ToolOutcome:
    if isinstance(found, ToolOutcome):
        return sound_outcome(found)
    if not isinstance(found, str):
        raise TypeError(f"it returned {found!r}: text or a ToolOutcome is expected")
    return ToolOutcome(found, use.summary or use.tool)


def _refused(plugin: str, why: str, tool: str) -> ToolOutcome:
    return ToolOutcome(f"error: the plugin {plugin} {why}", f"{tool}: the plugin {plugin} failed", ok=False)
