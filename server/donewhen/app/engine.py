"""The engine for one workspace folder, with everything that it needs."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from donewhen.app.gate import agents_of, runs_of_gate
from donewhen.app.resolver import KnownFacts, Plugged, facts_in, refuse_unready, relocated, resolve
from donewhen.app.rooms import ContainedWork, hidden_folders, limits_of
from donewhen.app.tracing import make_tracer
from donewhen.app.workspace_context import WorkspaceContext, any_plugins
from donewhen.core.agents import variables_of
from donewhen.core.calls import CallRole
from donewhen.core.errors import DoneWhenError, LedgerUnavailable, UsageError
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.evidence import CheckResult, EditorReport, Outcome
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.verdict import panel
from donewhen.core.work import RunWarning
from donewhen.core.workers import WORKERS
from donewhen.engine.api import StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import EngineSetup, Start, SystemClock
from donewhen.evidence.affected import affected_command
from donewhen.evidence.editor import EditorDiagnostics
from donewhen.evidence.probes.reading import WorkspaceProbes
from donewhen.evidence.runner import CommandChecker
from donewhen.evidence.text import Masking
from donewhen.goalfile.files import WorkspaceGoalFiles
from donewhen.ports import Checker, Grants, Judge, Ledger, ModelNotes, Processes, Rooms, Worker, no_editor_to_ask
from donewhen.settings.loading import Settings, retention
from donewhen.store.faults import fault_from_environment
from donewhen.store.folders import (
    TREES,
    kept_folder,
    ledger_file,
    may_be_written,
    private_folder,
    state_folder,
    workspace_folder,
)
from donewhen.store.model_notes import KeptModelNotes
from donewhen.store.sqlite import SqliteLedger
from donewhen.workers import WorkerParts
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.guarded import GuardedFolder
from donewhen.workspace.locks import FileRunLock
from donewhen.workspace.news import folder_news
from donewhen.workspace.objects import STORE, ObjectStore
from donewhen.workspace.people import SystemPeople
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.places import sweep
from donewhen.workspace.rooms.showing import RoomSpec
from donewhen.workspace.rooms.trials import TrialRooms
from donewhen.workspace.runtime import runtime_folder
from donewhen.workspace.sharing import SharedWatcher

if TYPE_CHECKING:
    from donewhen.app.models import FolderModels
    from donewhen.app.plugins import FolderPlugins

CHECK_PREFIX = "check:"
"""The prefix of a check that a plugin brings."""


async def open_engine(
    root: Path,
    state_dir: Path | None,
    settings: Settings | Callable[[], Settings],
    context: WorkspaceContext | None = None,
) -> Supervisor:
    """The runs of one workspace folder. Raises LedgerUnavailable and LedgerTooNew.

    If `settings` is a function, it is called at each start, because an editor's settings change while the folder is
    open. If the state folder can't be written, the existing record can still be read.
    """
    root = root.resolve()  # noqa: ASYNC240  # once, before anything runs
    context, unwritable = context or WorkspaceContext(), None
    try:
        everything = state_folder(state_dir)
        folder = workspace_folder(everything, root)
        bytecode = private_folder(everything / "pycache")
        fault = fault_from_environment(os.environ)
        ledger = await SqliteLedger.open(ledger_file(folder), fault=fault, listen=folder_news)
    except LedgerUnavailable as refusal:
        unwritable, folder = str(refusal), kept_folder(root, state_dir)
        bytecode = folder.parents[1] / "pycache"
        if may_be_written(folder):
            raise
        try:
            ledger = await SqliteLedger.read(ledger_file(folder), unwritable)
        except LedgerUnavailable:
            raise refusal from None
    await asyncio.to_thread(sweep, folder / "rooms")
    for notice in ledger.notices:
        _warn(notice)
    setup = engine_setup(root, folder, bytecode, ledger, settings, context)

    async def closed() -> None:
        if setup.closing is not None:
            await setup.closing()
        await ledger.close()

    return Supervisor(replace(setup, unwritable=unwritable, closing=closed))


def _program_at(root: Path, name: str, search_path: str | None) -> str | None:
    """Where a program is that a command names: on the search path, or at a path from the workspace."""
    if "/" not in name:
        return shutil.which(name, path=search_path)
    try:
        return name if (root / name).is_file() else None
    except (OSError, ValueError):
        return None  # no file can have that name


def engine_setup(
    root: Path,
    folder: Path,
    bytecode: Path,
    ledger: Ledger,
    settings: Settings | Callable[[], Settings],
    context: WorkspaceContext,
    models: FolderModels | None = None,
) -> EngineSetup:
    """The parts of the engine; `folder` is the workspace's own folder in the state folder, `models` replaces the models
    that the settings name."""
    current = _as_function(settings)
    runtime = runtime_folder(context.environment(), folder.parents[1])
    lock = FileRunLock(folder, runtime)
    editor, watching = EditorDiagnostics(context.editor), SharedWatcher()
    processes = SystemProcesses(lock.inherited_descriptors)
    where, kept = (root, folder / "scratch", context.environment), folder / TREES
    contained = ContainedWork(root, folder, processes, lambda: checker.variables(), current, runtime)
    watched = contained.checks((folder / "scratch", bytecode))
    checker = CommandChecker(watched, *where, editor, secrets=context.secrets.values, bytecode=bytecode)
    masking = Masking(context.environment, context.secrets)
    tracer, variables = make_tracer(context.environment(), masking.mask), checker.variables
    opened = [] if models is None else [models]
    notes = KeptModelNotes(folder.parents[1])

    def key(role: CallRole, model: str, options: RunOptions) -> str | None:
        from donewhen.app.keys import key_for  # lazy: most goals are proven without a model

        return key_for(role, model, options, context.environment(), context.secrets, current().own)

    known = KnownFacts(
        facts=facts_in(context.environment),
        environment=context.environment,
        hindrance=contained.why,
        program=lambda name: _program_at(root, name, variables().get("PATH")),
        key=key,
        in_an_editor=context.ask_editor is not no_editor_to_ask,
        measured=lambda model, place: notes.of(model, place).measured,
    )

    def folder_models() -> FolderModels:
        if not opened:
            opened.append(open_models(current, context, folder, masking.mask))
        return opened[0]

    @cache
    def plugins() -> FolderPlugins:
        from donewhen.app.plugins import FolderPlugins  # lazy: commands that only read, and an idle server, need none

        return FolderPlugins(root, folder, current)

    def worker(options: RunOptions) -> Worker:
        passed = passing(options, variables, context.environment, masking)
        options = relocated(options, current())
        return make_worker(options, processes, passed, folder_models, plugins, contained, notes, masking.mask)

    def judge(options: RunOptions) -> Judge | None:
        if options.judging is not None:
            return folder_models().judge(options)
        return plugins().judge(options) if options.judge is not None else None

    async def closed() -> None:
        for one in opened:
            await one.close()
        await asyncio.to_thread(tracer.close)

    return EngineSetup(
        root=root,
        state_folder=folder,
        clock=SystemClock(),
        ledger=ledger,
        lock=lock,
        people=SystemPeople(lock, context.where, agents=partial(agents_of, folder)),
        guard_lock=FileRunLock(folder / "guard"),
        trees=ObjectStore(kept / STORE, None),
        retention=lambda: retention(current()),
        collect_lock=FileRunLock(folder / "collecting"),
        in_use=partial(runs_of_gate, folder),
        tell=_warn,
        workspace=lambda: FolderWorkspace(
            root, kept, watch=context.watch, excluded=(folder.parents[1],), watcher=watching.share
        ),
        glance=lambda: FolderWorkspace(root, kept, watch=False, excluded=(folder.parents[1],)),
        checker=_CheckerWithPlugins(checker, plugins),
        prepare=contained.prepare,
        rooms=_rooms(root, folder, processes, checker, context, bytecode, runtime, current()),
        affected_command=partial(affected_command, root),
        hidden_checks=lambda: {one.name: one.command for one in current().hidden_checks},
        probes=WorkspaceProbes(variables),
        load_goal=WorkspaceGoalFiles(root, lambda: any_plugins(current().approvals, root)).load,
        settle=_settling(checker, current, context, folder_models, plugins, masking.mask, known),
        ready=lambda goal, options: refuse_unready(goal, relocated(options, current()), known),
        worker=worker,
        judge=judge,
        trusted=context.trusted,
        mask=masking.mask,
        unsaved=context.unsaved,
        plugins=lambda options: plugins().of_run(options),
        observe=tracer.on_entry,
        warm=lambda: _warm(current(), folder_models),
        closing=closed,
    )


def _warn(line: str) -> None:
    sys.stderr.write(f"donewhen: {line}\n")


def _as_function(settings: Settings | Callable[[], Settings]) -> Callable[[], Settings]:
    return settings if callable(settings) else lambda: settings


def _warm(settings: Settings, models: Callable[[], FolderModels]) -> None:
    """Loads what calls the configured models, if there are any."""
    agent, judges = settings.pick("model"), panel(settings.pick("judge_model") or "")
    if agent or judges:
        models().warm(
            AgentOptions(agent, settings.pick("api_base")) if agent else None,
            JudgeOptions(judges, settings.pick("judge_api_base")) if judges else None,
        )


def _rooms(
    root: Path,
    folder: Path,
    processes: Processes,
    checker: CommandChecker,
    context: WorkspaceContext,
    bytecode: Path,
    runtime: Path,
    settings: Settings,
) -> Rooms:
    """The rooms where checks are tried: nothing of ours is visible there except the bytecode of other checks."""

    def inside(processes: Processes, root: Path, scratch: Path, written: Path | None) -> CommandChecker:
        return CommandChecker(
            processes,
            root,
            scratch,
            context.environment,
            interpreter=checker.interpreter,
            known_test_runs=checker.known_test_runs,
            secrets=context.secrets.values,
            bytecode=bytecode,
            written=written,
        )

    contained = settings.contains_checks
    network = settings.network or not contained  # that of the checks which trials repeat
    grants = Grants(network=network, reads=(bytecode,), limits=limits_of(settings))
    spec = RoomSpec("layered", root, hidden_folders(folder, runtime), grants, contained)
    return TrialRooms(spec, folder / "rooms", processes, inside, checker.variables)


def open_models(
    settings: Settings | Callable[[], Settings],
    context: WorkspaceContext,
    folder: Path,
    mask: Callable[[str], str] | None = None,
) -> FolderModels:
    """The models of one workspace folder; nothing is started. Verdicts are remembered in `folder`."""
    from donewhen.app.models import FolderModels  # lazy: most goals are proven without a model

    hidden = mask or Masking(context.environment, context.secrets).mask
    return FolderModels(
        context.environment,
        context.secrets,
        _as_function(settings),
        hidden,
        folder / "verdicts",
        ask_editor=context.ask_editor,
    )


def _settling(
    checker: CommandChecker,
    settings: Callable[[], Settings],
    context: WorkspaceContext,
    models: Callable[[], FolderModels],
    plugins: Callable[[], FolderPlugins],
    mask: Callable[[str], str],
    known: KnownFacts,
) -> Callable[[Goal, StartOptions], Start]:
    """`settle` with the interpreter and settings that the editor has at that time."""

    def settled(goal: Goal, options: StartOptions) -> Start:
        checker.select_interpreter(context.interpreter())
        current = settings()
        judged = options.judge_model or goal.judge_model or current.pick("judge_model")
        plugged, warnings, brought = Plugged(), list[RunWarning](), plugins()
        brought.forget()
        if not options.audit or judged is not None:  # else there is neither a worker nor a judge
            found, allowed = brought.survey(), brought.allowances
            remembered = allowed.rules()
            plugged = Plugged(found.names, frozenset(found.workers), frozenset(found.judges), remembered)
            if allowed.problem:
                warnings.append(RunWarning("allowances", allowed.problem))
        start = resolve(goal, options, current, known, plugged)
        if start.options.judging is not None and any(not one.sole_check for one in start.goal.requirements):
            models().warm(None, start.options.judging)
        frozen = replace(start.options, summary=mask(start.options.summary))
        return replace(start, options=frozen, warnings=(*start.warnings, *warnings))

    return settled


def passing(
    options: RunOptions,
    variables: Callable[[], Mapping[str, str]],
    environment: Callable[[], Mapping[str, str]],
    masking: Masking,
) -> Callable[[], Mapping[str, str]]:
    """The variables of a worker: those of checks, and for a command those that its run passes. The values of variables
    that are named one by one are secrets from then on."""
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
    models: Callable[[], FolderModels],
    plugins: Callable[[], FolderPlugins],
    contained: ContainedWork,
    notes: ModelNotes,
    mask: Callable[[str], str],
) -> Worker:
    """The worker that the frozen options name. Raises UsageError that says what to set."""
    kind = WORKERS.get(options.worker or "")
    if kind is None:
        registered = plugins().worker(options)
        if registered is None:
            raise UsageError(
                f"the worker {options.worker} is not available here: it comes from a plugin, or from the "
                "program that started the run"
            )
        return registered

    def served_window() -> int | None:
        from donewhen.app.found_models import window_served  # lazy: only the built-in agent asks

        return window_served(options.agent.model, options.agent.api_base) if options.agent else None

    parts = WorkerParts(
        options,
        environment,
        contained.rooms(options),
        contained.grants(options),
        lambda: contained.processes(options),
        lambda: models().agents(options),
        lambda turn, context: GuardedFolder(context.workspace, processes, environment, turn.token),
        mask,
        notes,
        served_window,
    )
    make = import_module(f"donewhen.workers.{kind.module or kind.name}").make
    return cast("Callable[[WorkerParts], Worker]", make)(parts)


class _CheckerWithPlugins:
    """A `ports.Checker`: `check:NAME` goes to a plugin, everything else is a command."""

    def __init__(self, commands: Checker, plugins: Callable[[], FolderPlugins]) -> None:
        self._commands = commands
        self._plugins = plugins

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        try:
            checker = self._of(check)
        except DoneWhenError as error:
            return CheckResult(check.id, check.command, Outcome.NOT_RUN, str(error))
        return await checker.run(check, timeout=timeout, token=token, test_run=test_run)

    def environment(self, check: Check) -> str:
        try:
            return self._of(check).environment(check)
        except DoneWhenError:
            return self._commands.environment(check)

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return await self._commands.editor_report(requirement)

    def _of(self, check: Check) -> Checker:
        """Who runs it. Raises what opening plugins raises, and UsageError where none of them provides it."""
        if not check.command.lstrip().startswith(CHECK_PREFIX):
            return self._commands
        checker, word = self._plugins().checker(self._commands), check.command.split()[0]
        if word.removeprefix(CHECK_PREFIX) not in checker.checks:
            names = ", ".join(sorted(checker.checks)) or "none"
            raise UsageError(f"no plugin provides the check {word} (available: {names})")
        return checker
