"""One call of the command line, from its arguments to its exit code; every error ends here as one line."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import cast

from donewhen.app.services import Services
from donewhen.cli.calling import Call, ServeOptions, call_of
from donewhen.cli.outcome import COMPLETE, CRASHED, PAUSED_BY_CTRL_C, USAGE, error_code, error_text
from donewhen.cli.parser import PERFORMED_BY, build, parse
from donewhen.cli.terminal import OutputClosed, Terminal, process_terminal
from donewhen.core.errors import DoneWhenError, out_of_memory
from donewhen.extras import COMMANDS as OF_EXTRAS
from donewhen.extras import part_of

Command = Callable[[Call], int | Awaitable[int]]


def main(
    argv: Sequence[str],
    services: Services,
    serve: Callable[[ServeOptions], int],
    *,
    terminal: Terminal | None = None,
    user_file: Path | None = None,
    log_folder: Path | None = None,
) -> int:
    """Runs one command and returns its exit code (protocol.md). `argv` is without the program's name; `serve` is the
    language server. The user's own settings and logs are in the platform's standard places, unless other places are
    named."""
    terminal = terminal or process_terminal()
    try:
        code = _called(argv, services, serve, terminal, user_file)
    except DoneWhenError as error:
        terminal.message(f"donewhen: error: {error_text(error)}")
        code = error_code(error)
    except OutputClosed:
        code = COMPLETE
    except KeyboardInterrupt:
        code = PAUSED_BY_CTRL_C
    except SystemExit as done:  # --help and --version
        code = done.code if isinstance(done.code, int) else COMPLETE
    except Exception as defect:  # noqa: BLE001  # the last line of defence: a defect is one line too
        code = _crashed(defect, terminal, argv, log_folder)
    finally:
        _leave_output(terminal)
    # Agents take 2 for "go on": a hook that can't answer must not hold one for ever.
    return min(code, 1) if "gate" in argv and not {"install", "uninstall"} & set(argv) else code


def _called(
    argv: Sequence[str],
    services: Services,
    serve: Callable[[ServeOptions], int],
    terminal: Terminal,
    user_file: Path | None,
) -> int:
    arguments = parse(argv)
    if arguments.command is None:
        terminal.message(build(())[0].format_help().rstrip())
        return USAGE
    call = call_of(arguments, terminal, services, serve, user_file)
    call.warn_about_settings()
    if (extra := OF_EXTRAS.get(arguments.command)) is not None:
        command = cast(Command, part_of(extra, "command", arguments.command))
    else:
        module, _, function = PERFORMED_BY[arguments.command].rpartition(".")
        command = cast(Command, getattr(import_module(f"donewhen.cli.{module}"), function))
    if not inspect.iscoroutinefunction(command):
        return cast(int, command(call))
    return asyncio.run(command(call))


def _leave_output(terminal: Terminal) -> None:
    """The interpreter flushes standard output when it ends, and would complain about a closed pipe."""
    try:
        terminal.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), terminal.stdout.fileno())


def _crashed(defect: Exception, terminal: Terminal, argv: Sequence[str], folder: Path | None) -> int:
    if refused := out_of_memory(defect):
        logging.getLogger("asyncio").disabled = True  # what it reports of other tasks is the same
        terminal.message(f"donewhen: crashed: {refused}")
        return CRASHED
    if terminal.environ.get("DONEWHEN_DEBUG") == "1":
        terminal.message("".join(traceback.format_exception(defect)).rstrip())
    log = _logged(defect, argv, folder)
    where = f"details are in {log}" if log else "set DONEWHEN_DEBUG=1 to see where"
    terminal.message(f"donewhen: crashed: {type(defect).__name__}: {defect}; {where}")
    return CRASHED


def _logged(defect: Exception, argv: Sequence[str], folder: Path | None) -> Path | None:
    from platformdirs import user_log_path  # lazy: only a crash needs it

    try:
        folder = folder or user_log_path("donewhen", appauthor=False, ensure_exists=True)
        log = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        command = argv[0] if argv else ""
        log.write_text(f"donewhen {command}\n" + "".join(traceback.format_exception(defect)), encoding="utf-8")
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None
    return log
