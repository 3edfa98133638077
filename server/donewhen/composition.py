"""The composition root: the only place that sees every part, and puts them together for one workspace folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from donewhen.config import Settings, goal_with_settings
from donewhen.core.errors import UsageError
from donewhen.core.events import RunOptions
from donewhen.core.evidence import Problem
from donewhen.core.goal import Goal
from donewhen.core.integrity import baseline_warnings
from donewhen.core.work import RunWarning
from donewhen.engine.api import LimitChanges, StartOptions
from donewhen.engine.runs import changed_limits
from donewhen.engine.setup import EngineSetup, Start

if TYPE_CHECKING:
    from donewhen.engine.runs import Supervisor
    from donewhen.evidence.runner import CommandChecker
    from donewhen.ports import Judge, Ledger, Processes, Worker

UNAVAILABLE_WORKERS = {
    "agent": "worker agent needs a model, which this version can't use yet: use human, command or scripted",
    "acp": "worker acp is not available in this version: use command to run an agent's own command line",
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the front end knows of the place that runs happen in.

    `environment` is that of whoever started Done When, `interpreter` is asked for the Python that the editor
    has selected at each start, `trusted`
    is asked before anything is executed.
    """

    environment: Callable[[], Mapping[str, str]] = lambda: dict(os.environ)
    interpreter: Callable[[], Path | None] = lambda: None
    trusted: Callable[[], bool] = lambda: True
    watch: bool = True
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])


async def open_engine(
    root: Path,
    state_dir: Path | None,
    settings: Settings | Callable[[], Settings],
    around: Surroundings | None = None,
) -> Supervisor:
    """The runs of one workspace folder. Raises LedgerUnavailable and LedgerTooNew.

    An editor's settings change while the folder is open: then `settings` is asked at each start.
    """
    from donewhen.engine.runs import Supervisor
    from donewhen.store.faults import fault_from_environment
    from donewhen.store.folders import ledger_file, private_folder, state_folder, workspace_folder
    from donewhen.store.sqlite import SqliteLedger

    root = root.resolve()  # noqa: ASYNC240  # once, before anything runs
    everything = state_folder(state_dir)
    folder = workspace_folder(everything, root)
    ledger = await SqliteLedger.open(ledger_file(folder), fault=fault_from_environment(os.environ))
    for notice in ledger.notices:
        sys.stderr.write(f"donewhen: {notice}\n")
    bytecode = private_folder(everything / "pycache")
    return Supervisor(engine_setup(root, folder, bytecode, ledger, settings, around or Surroundings()))


def engine_setup(
    root: Path,
    folder: Path,
    bytecode: Path,
    ledger: Ledger,
    settings: Settings | Callable[[], Settings],
    around: Surroundings,
) -> EngineSetup:
    """The parts of the engine; `folder` is the workspace's own inside the state folder."""
    from donewhen.composition_lazy import LazyGoalFiles, LazyProbes
    from donewhen.engine.clock import SystemClock
    from donewhen.evidence.editor import EditorDiagnostics
    from donewhen.evidence.masking import Masker
    from donewhen.evidence.runner import CommandChecker
    from donewhen.workspace.folder import FolderWorkspace
    from donewhen.workspace.locks import FileRunLock
    from donewhen.workspace.processes import SystemProcesses

    lock = FileRunLock(folder)
    processes = SystemProcesses(lock.inherited_descriptors)
    editor = EditorDiagnostics()
    checker = CommandChecker(
        processes,
        root,
        folder / "scratch",
        around.environment,
        editor,
        secrets=around.secrets.values,
        bytecode=bytecode,
    )
    settled = _settling(checker, settings, around)
    return EngineSetup(
        root=root,
        state_folder=folder,
        clock=SystemClock(),
        ledger=ledger,
        lock=lock,
        workspace=lambda: FolderWorkspace(
            root, folder / "checkpoints", watch=around.watch, excluded=(folder.parents[1],)
        ),
        checker=checker,
        probes=LazyProbes(checker.variables),
        goal_files=LazyGoalFiles(root),
        settle=settled,
        worker=lambda options: make_worker(options, processes, checker.variables),
        judge=no_judge,
        trusted=around.trusted,
        mask=lambda text: Masker.of(around.environment(), around.secrets.values()).mask(text),
        forward_diagnostics=lambda path, number, found: editor.forward(path, number, cast("Sequence[Problem]", found)),
    )


def _settling(
    checker: CommandChecker, settings: Settings | Callable[[], Settings], around: Surroundings
) -> Callable[[Goal, StartOptions], Start]:
    """`settle` with what the editor has selected and set by then."""

    def settled(goal: Goal, options: StartOptions) -> Start:
        checker.select_interpreter(around.interpreter())
        return settle(goal, options, settings() if callable(settings) else settings)

    return settled


def settle(goal: Goal, options: StartOptions, settings: Settings) -> Start:
    """The goal with its limits settled and the options frozen, in the order of docs/protocol.md: what a person says
    now, then flags and environment, the goal file, workspace and user settings, defaults."""
    given, configured = settings.given, settings.configured
    settled, notes = goal_with_settings(goal, settings)
    limits = changed_limits(settled.limits, options.limits)
    explicit = settled.explicit_limits | _named(options.limits)
    settled = replace(settled, limits=limits, explicit_limits=explicit)
    chosen = RunOptions(
        worker=options.worker or given.worker or settled.worker or configured.worker or "human",
        approve=options.approve or given.approve or configured.approve or "deny",
        worker_command=options.worker_command or given.worker_command or configured.worker_command,
        script=options.script or given.script or configured.script,
    )
    warnings = [RunWarning(note.code, note.message) for note in (*settings.warnings, *notes)]
    known = {warning.code for warning in warnings}
    warnings += [*baseline_warnings(settled), *(one for one in _unlimited(settled, chosen) if one.code not in known)]
    return Start(settled, chosen, tuple(dict.fromkeys(warnings)))


def _named(changes: LimitChanges) -> frozenset[str]:
    names = ("max_iterations", "timeout", "budget", "token_budget")
    return frozenset(name for name in names if getattr(changes, name) is not None)


def _unlimited(goal: Goal, options: RunOptions) -> list[RunWarning]:
    """`unlimited` is the only way to have no limit, and shows a warning; for worker `human` it is the default."""
    names = {"max_iterations": "iterations", "timeout": "time"}
    open_ones = [word for name, word in names.items() if getattr(goal.limits, name) is None]
    if not open_ones or options.worker == "human":
        return []
    return [RunWarning("unlimited", f"this run has no limit of {' and '.join(open_ones)}")]


def make_worker(options: RunOptions, processes: Processes, environment: Callable[[], Mapping[str, str]]) -> Worker:
    """The worker that the frozen options name. Raises UsageError with what to set."""
    name = options.worker
    if name == "human":
        from donewhen.workers.human import HumanWorker

        return HumanWorker()
    if name == "command":
        from donewhen.workers.command import CommandWorker

        if not options.worker_command:
            raise UsageError("worker command needs the command to run: --worker-command 'my-agent --prompt {prompt}'")
        return CommandWorker(options.worker_command, processes, environment)
    if name == "scripted":
        from donewhen.workers.scripted import ScriptedWorker

        if not options.script:
            raise UsageError("worker scripted needs a recording: --script FILE")
        return ScriptedWorker.load(Path(options.script), processes, environment)
    raise UsageError(UNAVAILABLE_WORKERS.get(name or "", f"unknown worker {name}: human, command or scripted"))


def no_judge(options: RunOptions) -> Judge | None:
    """Without a model nobody judges: what no check decides is asked of a person."""
    return None
