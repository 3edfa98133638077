"""One call of the command line: its arguments, its streams, and the runs that it opens."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.app.services import Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.cli.terminal import Terminal
from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.extras import provided
from donewhen.settings.loading import Settings, load_settings
from donewhen.settings.table import OWN

if TYPE_CHECKING:  # the engine's records cost start-up time, which `serve` must not pay
    from donewhen.engine.api import Runs, RunView


OF_THE_RECORD = frozenset({"status", "list", "report", "gc", "pause", "stop"})
"""Commands that need no workspace folder, as long as its runs are on record."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How the language server listens: on loopback if `tcp` is a port, else on standard input and output."""

    tcp: int | None = None
    state_dir: Path | None = None
    client_process_id: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A command's input. `root` is the workspace folder, absolute; `serve` is the language server."""

    arguments: argparse.Namespace
    terminal: Terminal
    services: Services
    serve: Callable[[ServeOptions], int]
    root: Path
    settings: Settings

    @property
    def json(self) -> bool:
        return bool(getattr(self.arguments, "json", False))

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked here."""
        return self.terminal.interactive and not self.json

    @property
    def state_dir(self) -> Path | None:
        named = self.settings.state_dir
        return named.resolve() if named is not None else None

    def typed_here(self, command: str, workspace: Path | None = None) -> str:
        """A command to type next, where this one was typed: it names the same folders, or that other workspace."""
        given = vars(self.arguments)
        named = {
            "--workspace": workspace or (self.root if given.get("workspace") else None),
            "--state-dir": self.state_dir if given.get("state_dir") else None,
        }
        places = (f" {option} {shlex.quote(str(place))}" for option, place in named.items() if place is not None)
        return command + "".join(places)

    def resuming(self, run_id: str) -> str:
        """The command that goes on with a run of this workspace: its own where an extra made that folder."""
        resumed_by = provided("resumed_by")
        found: tuple[str, Path] | None = None if resumed_by is None else resumed_by(self.root)
        words, workspace = found or (f"resume {run_id}", None)
        return self.typed_here(f"donewhen {words}", workspace)

    @asynccontextmanager
    async def runs(
        self, root: Path | None = None, state_dir: Path | None = None, interpreter: Path | None = None
    ) -> AsyncGenerator[Runs]:
        """The runs of the workspace; closing ends what this process still supervises."""
        place = (root or self.root, state_dir or self.state_dir)
        runs = await self.services.open_runs(*place, self.settings, WorkspaceContext(interpreter=lambda: interpreter))
        try:
            yield runs
        finally:
            await runs.close("the command ended")

    def show(self, view: RunView) -> None:
        """Prints a snapshot as one JSON document."""
        self.terminal.result(snapshot_text(view, self.root))

    def say_no_run(self) -> None:
        self.terminal.message(f"there is no run in {self.root}")

    async def confirmed(self, question: str) -> bool:
        """Whether the person says yes; enter is a no."""
        self.terminal.message(question)
        return (await self.terminal.lines.next() or "").strip().casefold() in ("y", "yes")

    def warn_about_settings(self) -> None:
        """For commands without a run that would show them among its own warnings."""
        if self.arguments.command in ("run", "resume", "check", "demo"):
            return
        for warning in self.settings.warnings:
            self.terminal.message(f"donewhen: warning: {warning.message}")


def snapshot_text(view: RunView, root: Path) -> str:
    from donewhen.wire.snapshot import snapshot  # lazy: pydantic costs start-up time

    return snapshot(view, root).model_dump_json(by_alias=True)


def call_of(
    arguments: argparse.Namespace,
    terminal: Terminal,
    services: Services,
    serve: Callable[[ServeOptions], int],
    user_file: Path | None = None,
) -> Call:
    """Finds the workspace and reads all settings. Raises UsageError and InvalidGoal."""
    root = workspace_of(getattr(arguments, "workspace", None), terminal.environ)
    flags = {name: _one_text(value) for name, value in vars(arguments).items() if name in OWN}
    asked = terminal.interactive and not getattr(arguments, "json", False)
    if arguments.command == "serve":
        settings = _server_settings(flags, terminal, user_file)
    else:
        settings = load_settings(flags, terminal.environ, root, user_file=user_file, terminal=asked)
    call = Call(arguments, terminal, services, serve, root, settings)
    if root.is_dir():
        return call
    # The record can be read after its folder is gone; nothing can be done in it.
    gone = not root.exists() and services.has_record(root, call.state_dir)
    if gone and arguments.command in OF_THE_RECORD:
        return call
    if gone:
        raise UsageError(f"the workspace {root} is gone: only its record is left, for `list` and `report`")
    raise UsageError(f"the workspace {root} is not a folder: give one with --workspace")


def _one_text(value: str | list[str] | None) -> str | None:
    """Joins the values of an option that may be repeated."""
    return ",".join(value) if isinstance(value, list) else value


def _server_settings(flags: Mapping[str, str | None], terminal: Terminal, user_file: Path | None) -> Settings:
    """No workspace is known before the editor names it, and a mistake in a file must not stop the server."""
    try:
        return load_settings(flags, terminal.environ, None, user_file=user_file)
    except InvalidGoal as bad:
        terminal.message(f"donewhen: warning: {bad}")
        return load_settings(flags, {}, None, user_file=Path(os.devnull))


def workspace_of(flag: str | None, environ: Mapping[str, str]) -> Path:
    """The workspace folder: --workspace, else DONEWHEN_WORKSPACE, else the current one. It may no longer exist."""
    named = flag or environ.get("DONEWHEN_WORKSPACE") or "."
    try:
        return (_here(environ) / Path(named).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as problem:
        raise UsageError(f"the workspace {named} can't be found ({problem}): give one with --workspace") from problem


def _here(environ: Mapping[str, str]) -> Path:
    """The current folder; if it was deleted, the shell still knows its name."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(environ.get("PWD", "."))
