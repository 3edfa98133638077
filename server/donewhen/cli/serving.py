"""`serve`, and `mcp` once there is one."""

from __future__ import annotations

from donewhen.cli.calling import Call
from donewhen.cli.services import ServeOptions
from donewhen.core.errors import UsageError

MAX_PORT = 65_535


def serve(call: Call) -> int:
    """The language server; it owns standard input and output until it ends."""
    given = call.arguments
    process_id = given.client_process_id
    return call.services.serve(
        ServeOptions(
            tcp=_port(given.tcp) if given.tcp is not None else None,
            state_dir=call.state_dir,
            client_process_id=int(process_id) if process_id and process_id.isdecimal() else None,
        )
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise UsageError(f"--tcp takes a port from 0 to {MAX_PORT}; it is {text!r}")
    return int(text)


def mcp(call: Call) -> int:
    raise UsageError("`donewhen mcp` is not available in this version")
