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
    return call.serve(
        ServeOptions(
            tcp=_port(given.tcp) if given.tcp is not None else None,
            state_dir=call.state_dir,
            client_process_id=_process_id(given.client_process_id or ""),
        )
    )


def _process_id(text: str) -> int | None:
    """None for a text that can't be a process id; a client also sends its id in `initialize`."""
    number = int(text) if text.isdecimal() and len(text) <= len(str(MAX_PROCESS_ID)) else 0
    return number if 0 < number <= MAX_PROCESS_ID else None


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise UsageError(f"--tcp takes a port from 0 to {MAX_PORT}; it is {text!r}")
    return int(text)
