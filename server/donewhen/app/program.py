"""The engine for one run of a program: with a workspace as for any front end, without one in memory. Two runs never
share state.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from donewhen.app.resolver import KnownFacts, judge_identity, refuse_unknown_price
from donewhen.app.tracing import make_tracer
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.approval import Approve
from donewhen.core.calls import Message
from donewhen.core.errors import AlreadyRunning, GoalFileError, UsageError
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.evidence import CheckResult, EditorReport, ObservedCommand, Outcome
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import AddressingFact, IntegrityFacts
from donewhen.core.summary import unkept_budgets, unlimited_warnings
from donewhen.core.verdict import same_model
from donewhen.core.work import RunWarning
from donewhen.engine.api import StartOptions
from donewhen.engine.setup import EngineSetup, Start, SystemClock
from donewhen.evidence.text import Masking
from donewhen.judges.alone import judge_goal
from donewhen.ports import Checker, Judge, Ledger, Owner, Plugins, Worker, Workspace
from donewhen.settings.loading import Settings, load_settings
from donewhen.settings.table import Choices
from donewhen.store.faults import fault_from_environment
from donewhen.store.folders import ledger_file, private_folder, state_folder, workspace_folder
from donewhen.store.memory import MemoryLedger
from donewhen.store.sqlite import SqliteLedger
from donewhen.workers.callables.judges import HearingJudge
from donewhen.workers.callables.validators import NOTHING, Validator, ValidatorChecker
from donewhen.workers.callables.workers import PromptTemplate
from donewhen.workspace.memory import MemoryWorkspace

if TYPE_CHECKING:
    from donewhen.core.evidence import Observation
    from donewhen.core.verdict import GoalVerdict
    from donewhen.plugins.calling import PluggyPlugins

T = TypeVar("T")
KEPT_ENTRIES = 2_000
"""How many of the latest entries a run in memory keeps besides the first."""
NO_WORKSPACE = "commands run in a workspace, and this run has none: give workspace=FOLDER"


@dataclass(frozen=True, slots=True)
class RunParts:
    """What a program starts a run with. `workspace` None: the goal is about the worker's response, and no file is read
    or written. `durable`: the run outlives the process (with a workspace only).

    `goal` and `worker` may be None for a run that is resumed. Options instead of a worker or a judge mean the built-in
    agent, or a model as the judge; `secrets` are the keys for them, by the variable that each key replaces.
    `template` replaces the retry prompt. `attended`: somebody answers questions. `agent` is the second argument of
    validators, `extras` are further keywords for them, `strict`: a validator that returns no verdict ends the run.
    `plugins` are objects with hooks (docs/plugins.md). `said` is the conversation so far; the judge of a goal about a
    response sees it as claims.
    """

    goal: Goal | None
    worker: Worker | AgentOptions | None
    judge: Judge | JudgeOptions | None = None
    validators: Mapping[str, Validator] = field(default_factory=dict[str, Validator])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    agent: Any = None
    extras: Mapping[str, Any] = field(default_factory=dict[str, Any])
    strict: bool = False
    workspace: Path | None = None
    durable: bool = True
    state_dir: Path | None = None
    preserve_context: bool = True
    template: PromptTemplate | None = None
    approve: Approve = "deny"
    plugins: Sequence[object] = ()
    attended: bool = False
    said: Callable[[], Sequence[Message]] | None = None

    @property
    def start(self) -> Start:
        """The parameters of the run's start. Raises UsageError without a goal or a worker."""
        if self.goal is None or self.worker is None:
            raise UsageError("a run starts with a goal and a worker")
        judging = self.judge if isinstance(self.judge, JudgeOptions) else None
        agent = self.worker if isinstance(self.worker, AgentOptions) else None
        options = RunOptions(
            worker="agent" if isinstance(self.worker, AgentOptions) else self.worker.name,
            judge=judge_name(self.judge),
            approve=self.approve,
            preserve_context=self.preserve_context,
            agent=agent,
            judging=judging,
            attended=self.attended,
            askable=self.attended,
            metered=agent is not None,
            trials=self.workspace is not None,
        )
        if self.goal.limits.budget is not None and (agent is not None or judging is not None):
            refuse_unknown_price(self.goal.limits.budget, options, user_settings(self.state_dir), KnownFacts())
        warnings = (
            *unlimited_warnings(self.goal.limits),
            *_not_independent(agent, judging and judging.models),
            *unkept_budgets(self.goal.limits, options),
        )
        return Start(self.goal, options, warnings, accepted="auto")


@dataclass(frozen=True, slots=True)
class Assembled:
    """The engine of one run, whose maker closes its ledger, and the checker that knows the response."""

    setup: EngineSetup
    checker: ValidatorChecker


async def assembled(parts: RunParts) -> Assembled:
    """Starts nothing yet. Raises UsageError for parts that can't work together, LedgerUnavailable."""
    return await (_in_memory(parts) if parts.workspace is None else _in_folder(parts, parts.workspace))


async def _in_memory(parts: RunParts) -> Assembled:
    mask = Masking(environment, parts.secrets).mask
    ledger = MemoryLedger(keep=KEPT_ENTRIES)
    checker = _checker(parts, NoCommands())
    judge, closing = model_judge(parts.judge, mask, parts.secrets)
    if judge is not None and parts.said is not None:
        judge = HearingJudge(judge, parts.said)
    root = Path("/")
    space = MemoryWorkspace()  # only one, so that a resumed run finds its checkpoints
    setup = EngineSetup(
        of_program=True,
        root=root,
        state_folder=root,
        clock=SystemClock(),
        ledger=ledger,
        lock=SoleRunLock(),
        workspace=lambda: space,
        checker=checker,
        probes=NoProbes(),
        load_goal=_no_goal_file,
        settle=_no_settling,
        worker=_worker_of(parts, checker),
        judge=lambda _: judge,
        mask=mask,
        observe=make_tracer(os.environ, mask).on_entry,
        closing=closing,
    )
    return Assembled(_complete(setup, parts, opened_plugins(parts)), checker)


async def _in_folder(parts: RunParts, root: Path) -> Assembled:
    """Uses the same parts as the editor and the command line."""
    # Lazy: a run without a workspace needs nothing that works on one.
    from donewhen.app.engine import engine_setup, open_models

    if not root.is_dir():  # noqa: ASYNC240  # once, before anything runs
        raise UsageError(f"workspace must be a folder: {root} is not one")
    settings = user_settings(parts.state_dir)
    context = WorkspaceContext(environment=environment, secrets=parts.secrets, where="program")
    everything = state_folder(settings.state_dir)
    folder = workspace_folder(everything, root)
    ledger: Ledger = MemoryLedger(keep=KEPT_ENTRIES)
    if parts.durable:
        ledger = await SqliteLedger.open(ledger_file(folder), fault=fault_from_environment(os.environ))
    models = open_models(settings, context, folder)
    base = engine_setup(root, folder, private_folder(everything / "pycache"), ledger, settings, context, models)
    plugins = opened_plugins(parts, folder)
    commands = base.checker
    if plugins is not None and plugins.checks:
        from donewhen.plugins.checks import PluginChecker  # lazy: as plugins are

        commands = PluginChecker(plugins.checks, commands, root)
    checker = _checker(parts, commands)
    setup = replace(base, checker=checker, worker=_worker_of(parts, checker, base.worker), of_program=True)
    judge = parts.judge
    if judge is not None and not isinstance(judge, JudgeOptions):
        setup = replace(setup, judge=_always(judge))
    return Assembled(_complete(setup, parts, plugins), checker)


def _checker(parts: RunParts, commands: Checker) -> ValidatorChecker:
    return ValidatorChecker(
        parts.validators,
        commands,
        response=NOTHING,
        agent=parts.agent,
        extras=parts.extras,
        awaits_response=True,
        strict=parts.strict,
    )


def _worker_of(
    parts: RunParts, checker: ValidatorChecker, agent: Callable[[RunOptions], Worker] | None = None
) -> Callable[[RunOptions], Worker]:
    """The caller's worker, whose responses the validators get; `agent` makes the built-in one."""
    given = parts.worker
    if given is not None and not isinstance(given, AgentOptions):
        followed = checker.following(given)
        return _always(followed)

    def made(options: RunOptions) -> Worker:
        if agent is None:
            raise UsageError("the built-in agent works on files: give workspace=FOLDER")
        if options.worker == "callable":
            raise UsageError("the run's worker is a callable, which only the program has: give it as worker")
        return checker.following(agent(options))

    return made


def _complete(setup: EngineSetup, parts: RunParts, found: PluggyPlugins | None) -> EngineSetup:
    """Adds the caller's retry prompt, and exactly these plugins."""
    retry = parts.template.prompt_text if parts.template is not None else None

    def plugins(options: RunOptions) -> Plugins | None:
        missing = set(options.plugins) - set(found.names if found is not None else ())
        if missing:
            raise UsageError(f"this run began with the plugin {', '.join(sorted(missing))}: give it in plugins")
        return found

    return replace(setup, retry_prompt=retry, plugins=plugins)


def opened_plugins(parts: RunParts, folder: Path | None = None) -> PluggyPlugins | None:
    """The plugins that the caller gave, and the approval gate if the worker has tools; None without any. Plugins that
    happen to be installed are not used."""
    gated = parts.workspace is not None and uses_tools(parts.worker)
    if not parts.plugins and not gated:
        return None
    # Lazy: few programs give plugins, and a callable has no tools.
    from donewhen.app.plugins import approval_gate
    from donewhen.plugins.opening import open_plugins
    from donewhen.workers.tools import TOOLS

    gate = [approval_gate(parts.workspace, folder)] if gated and parts.workspace is not None else []
    return open_plugins(parts.plugins, installed=False, last=gate, known_tools=TOOLS, workspace=parts.workspace)


def uses_tools(worker: object) -> bool:
    """Whether a worker can make tool calls through the server: a callable without a `context` can't."""
    return worker is None or getattr(worker, "uses_tools", True)


def model_judge(
    judge: Judge | JudgeOptions | None, mask: Callable[[str], str], secrets: Mapping[str, str]
) -> tuple[Judge | None, Callable[[], Any] | None]:
    """A judge that can be asked, and a function that ends its models. Its verdicts aren't kept anywhere."""
    if not isinstance(judge, JudgeOptions):
        return judge, None
    from donewhen.app.models import FolderModels  # lazy: a callable that judges needs no models

    models = FolderModels(environment, secrets, lambda: user_settings(None), mask)
    return models.judge_alone(judge), models.close


async def ask_judge(
    judge: Judge | JudgeOptions | None,
    goal: Goal | str,
    evidence: Sequence[Observation] | None,
    *,
    messages: Sequence[Mapping[str, Any]] | None,
    files: Mapping[str, str] | None,
    secrets: Mapping[str, str],
) -> GoalVerdict:
    """The judge's answer outside of any run; see `judges.alone.judge_goal`. Raises UsageError without a judge."""
    asked, closing = model_judge(judge, Masking(environment, secrets).mask, secrets)
    if asked is None:
        raise UsageError("a judge is needed: a model's name, a JudgeConfig or a callable")
    try:
        return await judge_goal(asked, goal, evidence, messages=messages, files=files)
    finally:
        if closing is not None:
            await closing()


def judge_name(judge: Judge | JudgeOptions | None) -> str | None:
    """The judge's name, as the run's record keeps it."""
    if judge is None:
        return None
    return judge_identity(judge) if isinstance(judge, JudgeOptions) else judge.identity


def user_settings(state_dir: Path | None) -> Settings:
    """The prices and places in the user's own settings: nothing else from them, and nothing that a workspace
    contains."""
    read = load_settings({}, os.environ, None)
    return Settings(given=Choices(state_dir=state_dir or read.state_dir), prices=read.prices)


def environment() -> Mapping[str, str]:
    """The variables that runs and models see. The caller's Python is on the path as if its environment were activated:
    first if it has one, else last. An environment in the workspace comes before it."""
    variables = dict(os.environ)
    entries = [one for one in variables.get("PATH", os.defpath).split(os.pathsep) if one]
    own = str(Path(sys.executable).parent)
    if own not in entries:
        entries = [own, *entries] if sys.prefix != sys.base_prefix else [*entries, own]
    return {**variables, "PATH": os.pathsep.join(entries)}


def _not_independent(agent: AgentOptions | None, judges: Sequence[str] | None) -> Sequence[RunWarning]:
    """Warns if the judge is the worker's own model, which is allowed."""
    if agent is None or not any(same_model(agent.model, one) for one in judges or ()):
        return ()
    message = f"worker and judge are the same model ({agent.model}), which tends to believe itself"
    return (RunWarning("not_independent", message),)


def _always(value: T) -> Callable[[RunOptions], T]:
    return lambda options: value


def _no_settling(goal: Goal, options: StartOptions) -> Start:
    raise UsageError("a library run is started with its own options")


# ------------------------------------------------------- what stands in for a workspace that isn't there


class SoleRunLock:
    """`ports.RunLock` of one session: it has one run at a time, and no other process can reach it."""

    def __init__(self) -> None:
        self._owner: Owner | None = None

    def acquire(self, run_id: str, token: str) -> None:
        if self._owner is not None:
            raise AlreadyRunning(self._owner.run_id)
        self._owner = Owner(run_id, 0, 0.0, token)

    def release(self) -> None:
        self._owner = None

    def owner(self) -> Owner | None:
        return self._owner

    def last_owner(self) -> Owner | None:
        return None

    async def until_gone(self, owner: Owner) -> None:
        await asyncio.Event().wait()  # it is this process

    def inherited_descriptors(self) -> tuple[int, ...]:
        return ()

    async def end_leftovers(self, token: str) -> int:
        return 0


class NoCommands:
    """`ports.Checker` for runs in which no command can run."""

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        return CheckResult(check.id, check.command, Outcome.NOT_RUN, NO_WORKSPACE)

    def environment(self, check: Check) -> str:
        return ""

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return EditorReport(requirement.id, forwarded=False)


class NoProbes:
    """`ports.Probes` for runs without files to read facts from."""

    async def facts(self, goal: Goal, workspace: Workspace) -> IntegrityFacts:
        return IntegrityFacts()

    async def started(self, goal: Goal, workspace: Workspace) -> Mapping[str, tuple[str, ...]]:
        return {check.id: (check.command,) for check in goal.checks}

    async def addressing(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None = None,
        commands: Sequence[ObservedCommand] = (),
    ) -> tuple[AddressingFact, ...]:
        return ()


def _no_goal_file(path: str) -> Goal:
    raise GoalFileError(f"the goal file {path} is not in a workspace: give workspace=FOLDER")
