"""The composition root: the only place that sees every part, and puts them together for one workspace folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from donewhen.config import Settings
from donewhen.core.errors import UsageError
from donewhen.core.events import RunOptions
from donewhen.core.evidence import Problem
from donewhen.core.goal import Goal
from donewhen.engine.api import StartOptions
from donewhen.engine.setup import EngineSetup, Start
from donewhen.settling import settle

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
