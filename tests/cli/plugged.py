"""`donewhen` as it is, with one plugin in memory: `office`. Run as a process by the tests of both front ends.

What it does before a turn, the title of the goal says: `Halt`, `Stop` (a halt that can't be resumed), `Approve`,
`Question`, or nothing. `Start` in the title has the start accepted first. What it is told goes to `answers.jsonl`,
beside the workspace.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from donewhen.app.engine import engine_setup
from donewhen.app.services import Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.cli.calling import ServeOptions
from donewhen.cli.main import main
from donewhen.core.errors import UsageError
from donewhen.core.goal import Goal
from donewhen.core.plugging import Halt, PluginState, Refine, ResumeDirective, ToolOutcome, ToolUse
from donewhen.core.work import Interrupt, InterruptKind
from donewhen.engine.api import Runs, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import Start
from donewhen.lsp.server import serve
from donewhen.ports import AuditAhead, PluginHost, PluginTool, Stopping, ToolDoer, TurnAhead, TurnBehind, VerdictReport
from donewhen.settings.loading import Settings
from donewhen.store.folders import ledger_file, private_folder, state_folder, workspace_folder
from donewhen.store.sqlite import SqliteLedger

NAME = "office"
SUMMARY = "The worker is a command.\nAt most 10 iterations.\nChecks execute what the worker wrote."


class Office:
    """`ports.Plugins` of this one plugin."""

    names: tuple[str, ...] = (NAME,)
    tools: Sequence[PluginTool] = ()

    async def before_turn(
        self, host: PluginHost, turn: TurnAhead, skip: frozenset[str] = frozenset()
    ) -> tuple[str, ...]:
        title = turn.goal.title
        if NAME in skip or host.state_of(NAME) is not None:
            return ()
        if "Halt" in title or "Stop" in title:
            halt = Halt("the office is closed", {"ticket": 7}, resumable="Halt" in title)
            halt.plugin, halt.called = NAME, (NAME,)
            raise halt
        if "Approve" in title or "Question" in title:
            told = await host.ask(_interrupt("approval" if "Approve" in title else "question"))
            _append(host, asdict(told))
            await host.keep_state(NAME, PluginState(1, value=True))
        return ()

    async def after_turn(self, host: PluginHost, turn: TurnBehind, skip: frozenset[str] = frozenset()) -> Refine | None:
        return None

    async def use_tool(self, host: PluginHost, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        return await do(use)

    async def before_audit(self, host: PluginHost, audit: AuditAhead, skip: frozenset[str] = frozenset()) -> None:
        return

    async def after_verdict(self, host: PluginHost, report: VerdictReport, skip: frozenset[str] = frozenset()) -> None:
        return

    async def on_stop(self, host: PluginHost, stopping: Stopping, skip: frozenset[str] = frozenset()) -> None:
        return

    async def on_resume(self, host: PluginHost, plugin: str, data: Any) -> ResumeDirective:
        if not isinstance(data, dict) or "open" not in data:
            raise UsageError(f'{plugin} wants to be told whether it is open: {{"open": true}}')
        _append(host, data)
        return ResumeDirective()


def _interrupt(kind: InterruptKind) -> Interrupt:
    about = f"plugin:{NAME}"
    if kind == "question":
        return Interrupt("", kind, "Which colour?", about)
    return Interrupt("", kind, "Run `push`?", about, "run_command", {"command": "push"}, "push", remembers=True)


def _append(host: PluginHost, told: Any) -> None:
    with (Path(host.root).parent / "answers.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


async def opened(
    root: Path, state_dir: Path | None, settings: Settings | Callable[[], Settings], context: WorkspaceContext
) -> Runs:
    """The engine as `app.engine.open_engine` makes it, with the plugin."""
    everything = state_folder(state_dir)
    folder = workspace_folder(everything, root)
    ledger = await SqliteLedger.open(ledger_file(folder))
    setup = engine_setup(root, folder, private_folder(everything / "pycache"), ledger, settings, context)

    def settle(goal: Goal, options: StartOptions) -> Start:
        start = setup.settle(goal, options)
        summary = SUMMARY if "Start" in goal.title else ""
        accepted = "auto" if summary and start.options.approve != "ask" else None
        return replace(start, options=replace(start.options, summary=summary), accepted=accepted)

    return Supervisor(replace(setup, plugins=lambda options: Office(), settle=settle))


def served(options: ServeOptions) -> int:
    return asyncio.run(serve(plugged_services(), state_dir=options.state_dir))


def plugged_services() -> Services:
    return Services(open_runs=opened)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], plugged_services(), served))
