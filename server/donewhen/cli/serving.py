"""`serve`: the language server, which owns standard input and output until it ends."""

from __future__ import annotations

from donewhen.cli.calling import Call, ServeOptions
from donewhen.core.errors import UsageError

STARTED_BY_AN_EDITOR = (
    "`donewhen serve` is started by an editor, which speaks with it on standard input (docs/editors.md). "
    "To try it by hand, give it a port: donewhen serve --tcp 7000"
)
"""What a person reads in a terminal, and who gave it an input that is no editor's."""
MAX_PORT = 65_535
MAX_PROCESS_ID = 2**31 - 1


def serve(call: Call) -> int:
    """Runs the language server; it owns standard input and output until it ends."""
    given = call.arguments
    if call.terminal.interactive and given.tcp is None and not given.stdio:
        raise UsageError(STARTED_BY_AN_EDITOR)
    port: str | None = given.tcp
    if port is not None and (not port.isdecimal() or int(port) > MAX_PORT):
        raise UsageError(f"--tcp takes a port from 0 to {MAX_PORT}; it is {port!r}")
    # A text that can't be a process id counts for nothing: a client also sends its id in `initialize`.
    client = given.client_process_id or ""
    number = int(client) if client.isdecimal() and len(client) <= len(str(MAX_PROCESS_ID)) else 0
    return call.serve(
        ServeOptions(
            tcp=int(port) if port is not None else None,
            state_dir=call.state_dir,
            client_process_id=number if 0 < number <= MAX_PROCESS_ID else None,
        )
    )
