"""The tools of the built-in agent: what a model may ask for, and what it is told then."""

from __future__ import annotations

from collections.abc import Mapping

from donewhen.ports import ToolSpec
from donewhen.workers.tools.commands import RUN_COMMAND
from donewhen.workers.tools.editing import EDIT_FILE
from donewhen.workers.tools.listing import LIST_FILES, SEARCH
from donewhen.workers.tools.reading import READ_FILE
from donewhen.workers.tools.report import REPORT
from donewhen.workers.tools.tool import Tool
from donewhen.workers.tools.writing import WRITE_FILE

TOOLS: Mapping[str, Tool] = {
    tool.name: tool for tool in (RUN_COMMAND, READ_FILE, LIST_FILES, SEARCH, WRITE_FILE, EDIT_FILE, REPORT)
}
SPECS: tuple[ToolSpec, ...] = tuple(tool.spec() for tool in TOOLS.values())
