"""The engine for one workspace folder, with everything that it needs."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from donewhen.app.gate import agents_of, runs_of_gate
from donewhen.app.resolver import KnownFacts, Plugged, facts_in, refuse_unready, relocated, resolve
from donewhen.app.rooms import ContainedWork, hidden_folders
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
from donewhen.ports import Checker, Judge, Ledger, Processes, Rooms, Worker, no_editor_to_ask
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
from donewhen.workspace.folding import FoldingTrees
from donewhen.workspace.guarded import GuardedFolder
from donewhen.workspace.locks import FileRunLock
from donewhen.workspace.news import folder_news
from donewhen.workspace.people import SystemPeople
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.choosing import BestRooms
from donewhen.workspace.rooms.mounting import Mounts
from donewhen.workspace.rooms.places import sweep
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
    made = _FolderParts(root, folder, bytecode, settings, context, models)
    current, where, watching = made.current, (root, folder / TREES), SharedWatcher()
    tracer = make_tracer(context.environment(), made.mask)

    async def closed() -> None:
        await made.close()
        await asyncio.to_thread(tracer.close)

    return EngineSetup(
        root=root,
        state_folder=folder,
        clock=SystemClock(),
        ledger=ledger,
        lock=made.lock,
        people=SystemPeople(made.lock, context.where, agents=partial(agents_of, folder)),
        guard_lock=FileRunLock(folder / "guard"),
        trees=FoldingTrees(folder / TREES),
        retention=lambda: retention(current()),
        collect_lock=FileRunLock(folder / "collecting"),
        in_use=partial(runs_of_gate, folder),
        tell=_warn,
        workspace=lambda: FolderWorkspace(
            *where, watch=context.watch, excluded=(folder.parents[1],), watcher=watching.share
        ),
        glance=lambda: FolderWorkspace(*where, watch=False, excluded=(folder.parents[1],)),
        checker=_CheckerWithPlugins(made.checker, lambda: made.plugins),
        prepare=made.contained.prepare,
        rooms=made.rooms(),
        affected_command=partial(affected_command, root),
        hidden_checks=lambda: {one.name: one.command for one in current().hidden_checks},
        probes=WorkspaceProbes(made.checker.variables),
        load_goal=WorkspaceGoalFiles(root, lambda: any_plugins(current().approvals, root)).load,
        settle=made.settle,
        ready=lambda goal, options: refuse_unready(goal, relocated(options, current()), made.known),
        worker=made.worker,
        judge=made.judge,
        trusted=context.trusted,
        mask=made.mask,
        unsaved=context.unsaved,
        plugins=lambda options: made.plugins.of_run(options),
        observe=tracer.on_entry,
        warm=made.warm,
        closing=closed,
    )


class _FolderParts:
    """What the engine of one workspace folder is made of. Plugins and models are opened when they are first needed:
    commands that only read, an idle server and most goals need neither."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        bytecode: Path,
        settings: Settings | Callable[[], Settings],
        context: WorkspaceContext,
        models: FolderModels | None,
    ) -> None:
        self._root, self._folder, self._bytecode, self._context = root, folder, bytecode, context
        self._models = models
        self.current = _as_function(settings)
        self._runtime = runtime_folder(context.environment(), folder.parents[1])
        self.lock = FileRunLock(folder, self._runtime)
        self._processes = SystemProcesses(self.lock.inherited_descriptors)
        self.contained = ContainedWork(
            root, folder, self._processes, lambda: self.checker.variables(), self.current, self._runtime
        )
        scratch = folder / "scratch"
        self.checker = CommandChecker(
            self.contained.checks((scratch, bytecode)),
            root,
            scratch,
            context.environment,
            EditorDiagnostics(context.editor),
            secrets=context.secrets.values,
            bytecode=bytecode,
        )
        self._masking = Masking(context.environment, context.secrets)
        self.mask = self._masking.mask
        self._notes = KeptModelNotes(folder.parents[1])
        self.known = KnownFacts(
            facts=facts_in(context.environment),
            environment=context.environment,
            hindrance=self.contained.why,
            program=lambda name: _program_at(root, name, self.checker.variables().get("PATH")),
            key=self._key,
            in_an_editor=context.ask_editor is not no_editor_to_ask,
            measured=lambda model, place: self._notes.of(model, place).measured,
        )

    async def close(self) -> None:
        if self._models is not None:
            await self._models.close()

    @cached_property
    def plugins(self) -> FolderPlugins:
        from donewhen.app.plugins import FolderPlugins

        return FolderPlugins(self._root, self._folder, self.current)

    @property
    def models(self) -> FolderModels:
        if self._models is None:
            self._models = open_models(self.current, self._context, self._folder, self.mask)
        return self._models

    def _key(self, role: CallRole, model: str, options: RunOptions) -> str | None:
        from donewhen.app.keys import key_for

        return key_for(role, model, options, self._context.environment(), self._context.secrets, self.current().own)

    def warm(self) -> None:
        """Loads what calls the configured models, if there are any."""
        settings = self.current()
        agent, judges = settings.pick("model"), panel(settings.pick("judge_model") or "")
        if agent or judges:
            self.models.warm(
                AgentOptions(agent, settings.pick("api_base")) if agent else None,
                JudgeOptions(judges, settings.pick("judge_api_base")) if judges else None,
            )

    def rooms(self) -> Rooms:
        """The rooms where checks are tried: nothing of ours is visible there except the bytecode of other checks."""

        def inside(processes: Processes, root: Path, scratch: Path, written: Path | None) -> CommandChecker:
            return CommandChecker(
                processes,
                root,
                scratch,
                self._context.environment,
                interpreter=self.checker.interpreter,
                known_test_runs=self.checker.known_test_runs,
                secrets=self._context.secrets.values,
                bytecode=self._bytecode,
                written=written,
            )

        settings, hidden = self.current(), hidden_folders(self._folder, self._runtime)
        contained = settings.contains_checks
        network = settings.network or not contained  # that of the checks which trials repeat
        mounts = Mounts(hidden=hidden, cached=(self._bytecode,), network=network, contained=contained)
        return BestRooms(self._folder / "rooms", self._processes, inside, self.checker.variables, mounts)

    def settle(self, goal: Goal, options: StartOptions) -> Start:
        """See `EngineSetup`: with the interpreter and settings that the editor has at that time."""
        self.checker.select_interpreter(self._context.interpreter())
        current = self.current()
        judged = options.judge_model or goal.judge_model or current.pick("judge_model")
        plugged, warnings, brought = Plugged(), list[RunWarning](), self.plugins
        brought.forget()
        if not options.audit or judged is not None:  # else there is neither a worker nor a judge
            found, allowed = brought.survey(), brought.allowances
            remembered = allowed.rules()
            plugged = Plugged(found.names, frozenset(found.workers), frozenset(found.judges), remembered)
            if allowed.problem:
                warnings.append(RunWarning("allowances", allowed.problem))
        start = resolve(goal, options, current, self.known, plugged)
        if start.options.judging is not None and any(not one.sole_check for one in start.goal.requirements):
            self.models.warm(None, start.options.judging)
        frozen = replace(start.options, summary=self.mask(start.options.summary))
        return replace(start, options=frozen, warnings=(*start.warnings, *warnings))

    def judge(self, options: RunOptions) -> Judge | None:
        if options.judging is not None:
            return self.models.judge(options)
        return self.plugins.judge(options) if options.judge is not None else None

    def worker(self, chosen: RunOptions) -> Worker:
        """The worker that the frozen options name. Raises UsageError that says what to set."""
        variables, options = self._passed(chosen), relocated(chosen, self.current())
        kind = WORKERS.get(options.worker or "")
        if kind is None:
            registered = self.plugins.worker(options)
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
            variables,
            self.contained.rooms(options),
            self.contained.grants(options),
            lambda: self.contained.processes(options),
            lambda: self.models.agents(options),
            lambda turn, context: GuardedFolder(context.workspace, self._processes, variables, turn.token),
            self.mask,
            self._notes,
            served_window,
        )
        make = import_module(f"donewhen.workers.{kind.module or kind.name}").make
        return cast("Callable[[WorkerParts], Worker]", make)(parts)

    def _passed(self, options: RunOptions) -> Callable[[], Mapping[str, str]]:
        """The variables of a worker: those of checks, and for a command those that its run passes. The values of
        variables that are named one by one are secrets from then on."""
        if not options.pass_env:
            return self.checker.variables

        def all_of_them() -> dict[str, str]:
            passed = variables_of(options.pass_env, self._context.environment())
            self._masking.hide(value for name, value in passed.items() if name in options.pass_env)
            return {**self.checker.variables(), **passed}

        return all_of_them


def _warn(line: str) -> None:
    sys.stderr.write(f"donewhen: {line}\n")


def _as_function(settings: Settings | Callable[[], Settings]) -> Callable[[], Settings]:
    return settings if callable(settings) else lambda: settings


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
