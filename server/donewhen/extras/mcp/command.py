"""`mcp`: the server of the Model Context Protocol, which owns standard input and output until it ends."""

from __future__ import annotations

from importlib.util import find_spec

from donewhen.cli.calling import Call
from donewhen.core.errors import UsageError
from donewhen.installation import how_to_get


async def mcp(call: Call) -> int:
    """Serves the workspace's goal as MCP tools. Raises UsageError where the extra is missing, or a person typed it."""
    if call.terminal.interactive:
        raise UsageError(
            "`donewhen mcp` is started by an agent, which speaks with it on standard input: name it among the agent's "
            "MCP servers (docs/how-to/mcp.md)"
        )
    if find_spec("mcp") is None:
        raise UsageError(f"`donewhen mcp` needs the mcp extra: {how_to_get('mcp')}")
    from donewhen.extras.mcp.server import Served, serve  # lazy: the package may not be there

    return await serve(
        call.services, Served(call.root, call.state_dir, call.settings, bool(call.arguments.allow_write))
    )
