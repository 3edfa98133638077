"""The composition root: the only place that sees every part, and puts them together for one workspace folder."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.config import Settings
from donewhen.core.acts import Where
from donewhen.core.agents import variables_of
from donewhen.core.errors import LedgerUnavailable, UsageError
from donewhen.core.events import RunOptions
from donewhen.core.goal import Goal
from donewhen.core.work import RunWarning
from donewhen.engine.api import StartOptions
from donewhen.engine.setup import EngineSetup, Start
from donewhen.settling import Knowledge, Plugged, facts_in, settle

if TYPE_CHECKING:
    from donewhen.composition_models import FolderModels
    from donewhen.composition_plugins import FolderPlugins
    from donewhen.composition_rooms import ContainedWork
    from donewhen.engine.runs import Supervisor
    from donewhen.evidence.masking import Masking
    from donewhen.evidence.runner import CommandChecker
    from donewhen.ports import EditorView, Ledger, Processes, Rooms, Worker
    from donewhen.ports.tracing import Tracer

UNAVAILABLE_WORKERS = {
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
    unsaved: Callable[[str], str | None] = lambda path: None
    """The text that an editor holds for a file, where that differs from what is on disk (A20)."""
    where: Where | None = None
    """From where people act through this process; None: from a terminal where it has one, else it is a program."""
    editor: Callable[[], EditorView | None] = lambda: None
    """What an editor shows of the folder now; None where no client forwards its diagnostics."""


async def open_engine(
    root: Path,
    state_dir: Path | None,
    settings: Settings | Callable[[], Settings],
    around: Surroundings | None = None,
) -> Supervisor:
    """The runs of one workspace folder. Raises LedgerUnavailable and LedgerTooNew.

    An editor's settings change while the folder is open: then `settings` is asked at each start. Where the state folder
    can't be written, what is on record there can still be read.
    """
    from donewhen.engine.runs import Supervisor
    from donewhen.store.faults import fault_from_environment
    from donewhen.store.folders import (
        kept_folder,
        ledger_file,
        may_be_written,
        private_folder,
        state_folder,
        workspace_folder,
    )
    from donewhen.store.sqlite import SqliteLedger

    root = root.resolve()  # noqa: ASYNC240  # once, before anything runs
    around, unwritable = around or Surroundings(), None
    try:
        everything = state_folder(state_dir)
        folder = workspace_folder(everything, root)
        bytecode = private_folder(everything / "pycache")
        ledger = await SqliteLedger.open(ledger_file(folder), fault=fault_from_environment(os.environ))
    except LedgerUnavailable as refusal:
        unwritable, folder = str(refusal), kept_folder(root, state_dir)
        bytecode = folder.parents[1] / "pycache"
        if may_be_written(folder):
            raise
        try:
            ledger = await SqliteLedger.read(ledger_file(folder), unwritable)
        except LedgerUnavailable:
            raise refusal from None
    for notice in ledger.notices:
        sys.stderr.write(f"donewhen: {notice}\n")
    setup = engine_setup(root, folder, bytecode, ledger, settings, around)
    return Supervisor(replace(setup, unwritable=unwritable))


def engine_setup(
    root: Path,
    folder: Path,
    bytecode: Path,
    ledger: Ledger,
    settings: Settings | Callable[[], Settings],
    around: Surroundings,
    models: FolderModels | None = None,
) -> EngineSetup:
    """The parts of the engine; `folder` is the workspace's own inside the state folder, `models` stands in for those
    that the settings name."""
    from donewhen.composition_lazy import LazyGoalFiles, LazyProbes
    from donewhen.composition_plugins import CheckerWithPlugins, FolderPlugins
    from donewhen.composition_rooms import ContainedWork
    from donewhen.engine.clock import SystemClock
    from donewhen.evidence.editor import EditorDiagnostics
    from donewhen.evidence.masking import Masking
    from donewhen.evidence.runner import CommandChecker
    from donewhen.tracing import make_tracer
    from donewhen.workspace.folder import FolderWorkspace
    from donewhen.workspace.locks import FileRunLock
    from donewhen.workspace.people import SystemPeople
    from donewhen.workspace.processes import SystemProcesses
    from donewhen.workspace.runtime import runtime_folder
    from donewhen.workspace.sharing import SharedWatcher

    runtime = runtime_folder(around.environment(), folder.parents[1])
    lock = FileRunLock(folder, runtime)
    editor, watching = EditorDiagnostics(around.editor), SharedWatcher()
    processes = SystemProcesses(lock.inherited_descriptors)
    where, kept = (root, folder / "scratch", around.environment), folder / "checkpoints"
    current = settings if callable(settings) else lambda: settings
    contained = ContainedWork(root, folder, processes, lambda: checker.variables(), current, runtime)
    watched = contained.checks((folder / "scratch", bytecode))
    checker = CommandChecker(watched, *where, editor, secrets=around.secrets.values, bytecode=bytecode)
    masking = Masking(around.environment, around.secrets)
    models = models or open_models(settings, around, folder, masking.mask)
    plugins = FolderPlugins(root, folder, settings if callable(settings) else lambda: settings)
    tracer, variables = make_tracer(around.environment(), masking.mask), checker.variables
    settled = _settling(checker, settings, around, models, plugins, masking.mask, contained)
    return EngineSetup(
        root=root,
        state_folder=folder,
        clock=SystemClock(),
        ledger=ledger,
        lock=lock,
        people=SystemPeople(lock, runtime, around.where),
        guard_lock=FileRunLock(folder / "guard"),
        workspace=lambda: FolderWorkspace(
            root, kept, watch=around.watch, excluded=(folder.parents[1],), watcher=watching.share
        ),
        glance=lambda: FolderWorkspace(root, kept, watch=False, excluded=(folder.parents[1],)),
        checker=CheckerWithPlugins(root, checker, plugins),
        prepare=contained.prepare,
        rooms=_rooms(folder, processes, checker, around, bytecode, runtime, network=_network_of_trials(current())),
        hidden_checks=lambda: {
            one.name: one.command for one in (settings() if callable(settings) else settings).hidden_checks
        },
        probes=LazyProbes(variables),
        goal_files=LazyGoalFiles(root, plugins.there),
        settle=settled,
        worker=lambda options: make_worker(
            options, processes, passing(options, variables, around.environment, masking), models, plugins, contained
        ),
        judge=lambda options: models.judge(options) or plugins.judge(options),
        trusted=around.trusted,
        mask=masking.mask,
        unsaved=around.unsaved,
        plugins=plugins.of_run,
        observe=tracer.on_entry,
        closing=lambda: _closed(models, tracer),
    )


def _network_of_trials(settings: Settings) -> bool:
    """They reach what the checks reach that they repeat."""
    return settings.network or not settings.contains_checks


def _rooms(
    folder: Path,
    processes: Processes,
    checker: CommandChecker,
    around: Surroundings,
    bytecode: Path,
    runtime: Path,
    *,
    network: bool,
) -> Rooms:
    """Where checks are tried: nothing of ours is in sight there but the bytecode of other checks."""
    from donewhen.composition_rooms import hidden_folders
    from donewhen.evidence.runner import CommandChecker
    from donewhen.workspace.rooms.choosing import BestRooms
    from donewhen.workspace.rooms.mounting import Mounts

    def inside(processes: Processes, root: Path, scratch: Path, written: Path | None) -> CommandChecker:
        return CommandChecker(
            processes,
            root,
            scratch,
            around.environment,
            interpreter=checker.interpreter,
            known_test_runs=checker.known_test_runs,
            secrets=around.secrets.values,
            bytecode=bytecode,
            written=written,
        )

    mounts = Mounts(hidden=hidden_folders(folder, runtime), cached=(bytecode,), network=network)
    return BestRooms(folder / "rooms", processes, inside, checker.variables, mounts)


async def _closed(models: FolderModels, tracer: Tracer) -> None:
    await models.close()
    await asyncio.to_thread(tracer.close)


def open_models(
    settings: Settings | Callable[[], Settings],
    around: Surroundings,
    folder: Path,
    mask: Callable[[str], str] | None = None,
) -> FolderModels:
    """The models of one workspace folder; nothing is started. `folder` is where verdicts are remembered."""
    from donewhen.composition_models import FolderModels
    from donewhen.evidence.masking import Masking

    hidden = mask or Masking(around.environment, around.secrets).mask
    current = settings if callable(settings) else lambda: settings
    return FolderModels(around.environment, around.secrets, current, hidden, folder / "verdicts")


def _settling(
    checker: CommandChecker,
    settings: Settings | Callable[[], Settings],
    around: Surroundings,
    models: FolderModels,
    plugins: FolderPlugins,
    mask: Callable[[str], str],
    contained: ContainedWork,
) -> Callable[[Goal, StartOptions], Start]:
    """`settle` with what the editor has selected and set by then."""

    known = Knowledge(facts=facts_in(around.environment), environment=around.environment, hindrance=contained.why)

    def settled(goal: Goal, options: StartOptions) -> Start:
        checker.select_interpreter(around.interpreter())
        current = settings() if callable(settings) else settings
        judged = options.judge_model or goal.judge_model or current.pick("judge_model")
        plugged, warnings = _plugged(plugins, needless=options.audit and judged is None)
        start = settle(goal, options, current, known, plugged)
        if start.options.judging is not None and any(not one.sole_check for one in start.goal.requirements):
            models.warm()
        frozen = replace(start.options, summary=mask(start.options.summary))
        return replace(start, options=frozen, warnings=(*start.warnings, *warnings))

    return settled


def _plugged(plugins: FolderPlugins, *, needless: bool) -> tuple[Plugged, tuple[RunWarning, ...]]:
    """What plugins bring to a run that starts now, and what to warn of. `needless`: nobody works, and nobody judges."""
    plugins.forget()
    if needless:
        return Plugged(), ()
    found = plugins.survey()
    remembered = plugins.remembered()
    problem = plugins.problem
    warnings = (RunWarning("allowances", problem),) if problem else ()
    return Plugged(found.names, frozenset(found.workers), frozenset(found.judges), remembered), warnings


def passing(
    options: RunOptions,
    variables: Callable[[], Mapping[str, str]],
    environment: Callable[[], Mapping[str, str]],
    masking: Masking,
) -> Callable[[], Mapping[str, str]]:
    """The variables of a worker: those of checks, and for a command those that its run passes. The values of those that
    are named one by one are secrets from then on."""
    if not options.pass_env:
        return variables

    def all_of_them() -> dict[str, str]:
        passed = variables_of(options.pass_env, environment())
        masking.hide(value for name, value in passed.items() if name in options.pass_env)
        return {**variables(), **passed}

    return all_of_them


def make_worker(
    options: RunOptions,
    processes: Processes,
    environment: Callable[[], Mapping[str, str]],
    models: FolderModels | None = None,
    plugins: FolderPlugins | None = None,
    contained: ContainedWork | None = None,
) -> Worker:
    """The worker that the frozen options name. Raises UsageError with what to set."""
    from donewhen.composition_rooms import Anywhere

    name, where = options.worker, contained or Anywhere(processes)
    rooms, grants = where.rooms(options), where.grants(options)
    if name == "human":
        from donewhen.workers.human import HumanWorker

        return HumanWorker()
    if name == "command":
        from donewhen.workers.command import CommandWorker

        if not options.worker_command:
            raise UsageError("worker command needs the command to run: --worker-command 'my-agent --prompt {prompt}'")
        return CommandWorker(options.worker_command, rooms, environment, grants=grants)
    if name == "agent" and models is not None:
        return models.agent(options, processes, environment, rooms, grants)
    if name == "scripted":
        from donewhen.workers.scripted import ScriptedWorker

        if not options.script:
            raise UsageError("worker scripted needs a recording: --script FILE")
        return ScriptedWorker.load(Path(options.script), where.processes(options), environment)
    registered = plugins.worker(options) if plugins is not None and name not in UNAVAILABLE_WORKERS else None
    if registered is not None:
        return registered
    raise UsageError(
        UNAVAILABLE_WORKERS.get(
            name or "", f"the worker {name} is not here: a plugin brings it, or the program that started the run"
        )
    )
