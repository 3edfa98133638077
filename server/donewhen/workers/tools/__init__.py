"""The tools of the built-in agent: what a model may call, and the results that it gets."""

from __future__ import annotations

from collections.abc import Mapping

from donewhen.ports import TurnContext
from donewhen.workers.tools.commands import RUN_COMMAND
from donewhen.workers.tools.plugged import PluggedTool
from donewhen.workers.tools.reading import LIST_FILES, READ_FILE, SEARCH
from donewhen.workers.tools.report import REPORT
from donewhen.workers.tools.tool import Tool
from donewhen.workers.tools.writing import EDIT_FILE, WRITE_FILE

TOOLS: Mapping[str, Tool] = {
    tool.name: tool for tool in (RUN_COMMAND, READ_FILE, LIST_FILES, SEARCH, WRITE_FILE, EDIT_FILE, REPORT)
}


def offered(context: TurnContext) -> Mapping[str, Tool | PluggedTool]:
    """The tools of one turn by name: the built-in ones, then those of the plugins that are not switched off. No
    plugin's takes the place of another."""
    tools: dict[str, Tool | PluggedTool] = dict(TOOLS)
    for tool in context.tools:
        if tool.plugin not in context.host.off:
            tools.setdefault(tool.spec.name, PluggedTool(tool))
    return tools
