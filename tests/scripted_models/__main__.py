"""`python -m tests.scripted_models SCRIPT`: serves a script until it is told to stop.

Its first line is the base URL. SIGTERM and SIGINT end it, and so does the end of stdin with `--until-stdin-closes`.
The exit code is 1 where the script found something wrong, which stderr then tells; 2 for a script that can't be played.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from donewhen.core.errors import InvalidGoal
from tests.scripted_models.reading import read_script
from tests.scripted_models.server import Exchange, ScriptedModels


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        script = read_script(options.script)
    except InvalidGoal as problem:
        print(problem, file=sys.stderr)
        return 2
    log = _Log(options.log, bodies=options.log_bodies)
    server = ScriptedModels(script, port=options.port, key=options.key, keep_bodies=False, heard=log.write)
    try:
        asyncio.run(_serve(server, options.until_stdin_closes))
    except (OSError, OverflowError) as problem:
        print(f"port {options.port} can't be used: {problem}", file=sys.stderr)
        return 2
    finally:
        log.close()
    for failure in server.failures:
        print(failure, file=sys.stderr)
    return 1 if server.failures else 0


def log_entry(exchange: Exchange, *, bodies: bool = False) -> dict[str, Any]:
    """What a log says of an exchange: sizes in bytes, seconds, `time` since 1970; the body and headers on demand."""
    entry: dict[str, Any] = {
        "time": exchange.time,
        "method": exchange.method,
        "path": exchange.path,
        **_conversation(exchange),
        "received": exchange.received,
        "status": exchange.status,
        "sent": exchange.sent,
        "seconds": round(exchange.seconds, 6),
        "disconnected": exchange.disconnected,
        "failure": exchange.failure,
    }
    return {**entry, "headers": dict(exchange.headers), "body": exchange.body} if bodies else entry


def _conversation(exchange: Exchange) -> dict[str, Any]:
    """Nothing where a prebuilt reply was sent: benchmarks would pay for the parsing."""
    if not exchange.is_parsed:
        return {}
    return {"model": exchange.model, "number": exchange.number, "messages": len(exchange.call.messages)}


class _Log:
    """A file with a JSON object a line; nothing where no file is named."""

    def __init__(self, path: Path | None, *, bodies: bool) -> None:
        self._file: TextIO | None = path.open("a", encoding="utf-8", newline="\n") if path else None
        self._bodies = bodies

    def write(self, exchange: Exchange) -> None:
        if self._file:
            self._file.write(json.dumps(log_entry(exchange, bodies=self._bodies)) + "\n")
            self._file.flush()

    def close(self) -> None:
        if self._file:
            self._file.close()


async def _serve(server: ScriptedModels, until_stdin_closes: bool) -> None:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop(*_: object) -> None:
        loop.call_soon_threadsafe(stopping.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    if until_stdin_closes:
        threading.Thread(target=_wait_for_end, args=(stop,), daemon=True).start()
    async with server:
        print(server.base_url, flush=True)
        await stopping.wait()


def _wait_for_end(then: Callable[[], None]) -> None:
    # Not through the buffer: its lock, held by a thread that reads, breaks the end of the interpreter.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    then()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.scripted_models", description=(__doc__ or "").strip())
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="what the models say: a YAML or JSON file")
    parser.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1; default: a free one")
    parser.add_argument("--key", help="the API key without which requests get status 401")
    parser.add_argument("--log", type=Path, metavar="FILE.jsonl", help="append a line for each exchange")
    parser.add_argument("--log-bodies", action="store_true", help="log the headers and bodies of requests too")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end with whoever holds the other end")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
