"""A plugin's tool as the agent offers it: its arguments are checked, its failure is the plugin's, not the turn's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from donewhen.core.errors import WorkspaceError
from donewhen.core.plugging import Halt, ToolOutcome
from donewhen.ports import PluginTool, ToolSpec
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.tool import (
    Arguments,
    CallPreview,
    Invocation,
    ToolContext,
    fitting,
    refused,
)


@dataclass(frozen=True, slots=True)
class PluggedTool:
    """A tool that a plugin registered, used as `Tool` is."""

    tool: PluginTool

    @property
    def name(self) -> str:
        return self.tool.spec.name

    @property
    def spec(self) -> ToolSpec:
        return self.tool.spec

    def line(self, arguments: Arguments) -> str:
        """Its name and what it is called with."""
        return activity_line(f"{self.name} {json.dumps(dict(arguments), default=repr)}")

    async def preview(self, context: ToolContext, arguments: Arguments) -> CallPreview:
        """Nobody but the plugin knows what it will do."""
        return CallPreview()

    def checked(self, given: Arguments) -> Arguments:
        """The arguments where they fit the schema's first level; the rest is the plugin's to check. Raises
        WrongArguments."""
        return fitting(self.spec.parameters, given)

    async def run(self, context: ToolContext, invocation: Invocation) -> ToolOutcome:
        """Runs it. Raises Halt, in its plugin's name; whatever else it raises switches the plugin off."""
        line = self.line(invocation.arguments)
        if self.tool.plugin in context.turn_context.host.off:
            return refused(f"{self.name} is switched off, because its plugin failed: do without it", line)
        context.turn_context.activity(line)
        try:
            given = cast("object", await self.tool.run(context.turn_context.host, invocation.use))
            if not isinstance(given, ToolOutcome) or not isinstance(cast("object", given.text), str):
                raise TypeError(f"it returned {type(given).__name__}, not a ToolOutcome with text")
            return given
        except Halt as halt:
            halt.plugin = halt.plugin or self.tool.plugin
            raise
        except WorkspaceError:
            raise
        except Exception as error:  # noqa: BLE001  # a plugin that fails does not take the run down
            reason = f"the tool {self.name} failed: {type(error).__name__}: {error}"
            await context.turn_context.host.switch_off(self.tool.plugin, "register_tool", reason)
            return refused(f"{reason}. It is switched off: do without it", line)
