"""Puts the engine together for one run of a library caller. Two runs never share state (A5)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from donewhen.core.calls import Message
from donewhen.core.errors import UsageError
from donewhen.core.events import AgentOptions, Approve, Entry, RunOptions
from donewhen.core.goal import Goal
from donewhen.core.summary import unkept_budgets
from donewhen.core.work import RunWarning
from donewhen.engine.api import StartOptions
from donewhen.engine.clock import SystemClock
from donewhen.engine.setup import EngineSetup, Start
from donewhen.evidence.validators import NOTHING, Validator
from donewhen.library.checking import ResponseChecker
from donewhen.library.goals import unlimited_warnings
from donewhen.library.judging import HearingJudge, JudgeConfig
from donewhen.library.memory import NoCommands, NoGoalFiles, NoProbes, SoleRunLock
from donewhen.library.sessions import Session
from donewhen.library.workers import AgentConfig, PromptTemplate
from donewhen.ports import Checker, Judge, Ledger, Plugins, Worker
from donewhen.store.memory import MemoryLedger
from donewhen.workspace.memory import MemoryWorkspace

if TYPE_CHECKING:
    from donewhen.config import Settings
    from donewhen.plugins.calling import PluggyPlugins

T = TypeVar("T")
KEPT_ENTRIES = 2_000
"""Of a run in memory, the latest entries that are kept besides the first."""


@dataclass(frozen=True, slots=True)
class RunParts:
    """What a library caller puts a run together of. `workspace` None: the goal is about the worker's response, and
    nothing is read or written. `durable`: the run outlives the process (with a workspace only).

    `goal` and `worker` may be None for a run that is resumed. `template` replaces the retry prompt (C6). `attended`:
    somebody answers questions. `agent` is what validators get as their second argument, `extras` are further keywords
    for them, `strict`: one that returns no verdict ends the run. `plugins` are objects with hooks (docs/plugins.md).
    """

    goal: Goal | None
    worker: Worker | AgentConfig | None
    judge: Judge | JudgeConfig | None = None
    validators: Mapping[str, Validator] = field(default_factory=dict[str, Validator])
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
    """The conversation so far, which the judge of a goal about a response is shown as claims."""

    @property
    def start(self) -> Start:
        """The run as it will start. Raises UsageError without a goal or a worker."""
        if self.goal is None or self.worker is None:
            raise UsageError("a run starts with a goal and a worker")
        judging = self.judge.options if isinstance(self.judge, JudgeConfig) else None
        agent = self.worker if isinstance(self.worker, AgentConfig) else None
        options = RunOptions(
            worker="agent" if isinstance(self.worker, AgentConfig) else self.worker.name,
            judge=judge_name(self.judge),
            approve=self.approve,
            preserve_context=self.preserve_context,
            agent=None if agent is None else _agent_options(agent),
            judging=judging,
            attended=self.attended,
            askable=self.attended,
            metered=agent is not None,
            trials=self.workspace is not None,
        )
        if self.goal.limits.budget is not None and (agent is not None or judging is not None):
            from donewhen.settling import Knowledge, refuse_unknown_price

            if (known := Knowledge()).installed():
                refuse_unknown_price(self.goal.limits.budget, options, user_settings(self.state_dir), known)
        warnings = (
            *unlimited_warnings(self.goal.limits),
            *_not_independent(agent, judging and judging.models),
            *unkept_budgets(self.goal.limits, options),
        )
        return Start(self.goal, options, warnings, accepted="auto")


async def open_session(parts: RunParts) -> Session:
    """Nothing is started yet. Raises UsageError for parts that can't work together, LedgerUnavailable."""
    return await (_in_memory(parts) if parts.workspace is None else _in_folder(parts, parts.workspace))


async def _in_memory(parts: RunParts) -> Session:
    from donewhen.evidence.masking import Masking

    secrets = secrets_of(parts)
    mask = Masking(environment, secrets).mask
    ledger = MemoryLedger(keep=KEPT_ENTRIES)
    checker = _checker(parts, NoCommands())
    judge, closing = model_judge(parts.judge, mask, secrets)
    if judge is not None and parts.said is not None:
        judge = HearingJudge(judge, parts.said)
    root = Path("/")
    space = MemoryWorkspace()  # one: a run that goes on finds its checkpoints
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
        goal_files=NoGoalFiles(),
        settle=_no_settling,
        worker=_worker_of(parts, checker),
        judge=lambda _: judge,
        mask=mask,
        observe=_tracer(mask),
        closing=closing,
    )
    return Session(_complete(setup, parts, opened_plugins(parts)), checker, ledger, parts.judge)


async def _in_folder(parts: RunParts, root: Path) -> Session:
    """The same parts as for the editor and the command line (`composition.engine_setup`)."""
    from donewhen.composition import Surroundings, engine_setup, open_models
    from donewhen.store.folders import private_folder, state_folder, workspace_folder

    if not root.is_dir():  # noqa: ASYNC240  # once, before anything runs
        raise UsageError(f"workspace must be a folder: {root} is none")
    settings = user_settings(parts.state_dir)
    around = Surroundings(environment=environment, secrets=secrets_of(parts), where="program")
    everything = state_folder(settings.state_dir)
    folder = workspace_folder(everything, root)
    ledger = await _ledger(parts, folder)
    models = open_models(settings, around, folder)
    base = engine_setup(root, folder, private_folder(everything / "pycache"), ledger, settings, around, models)
    plugins = opened_plugins(parts, folder)
    checker = _checker(parts, _with_checks(base.checker, plugins, root))
    setup = replace(base, checker=checker, worker=_worker_of(parts, checker, base.worker), of_program=True)
    judge = parts.judge
    if judge is not None and not isinstance(judge, JudgeConfig):
        setup = replace(setup, judge=_always(judge))
    return Session(_complete(setup, parts, plugins), checker, ledger, judge)


async def _ledger(parts: RunParts, folder: Path) -> Ledger:
    if not parts.durable:
        return MemoryLedger(keep=KEPT_ENTRIES)
    from donewhen.store.faults import fault_from_environment
    from donewhen.store.folders import ledger_file
    from donewhen.store.sqlite import SqliteLedger

    return await SqliteLedger.open(ledger_file(folder), fault=fault_from_environment(os.environ))


def _checker(parts: RunParts, commands: Checker) -> ResponseChecker:
    return ResponseChecker(
        parts.validators,
        commands,
        response=NOTHING,
        agent=parts.agent,
        extras=parts.extras,
        awaits_response=True,
        strict=parts.strict,
    )


def _with_checks(commands: Checker, plugins: PluggyPlugins | None, root: Path) -> Checker:
    if plugins is None or not plugins.checks:
        return commands
    from donewhen.plugins.checks import PluginChecker

    return PluginChecker(plugins.checks, commands, root)


def _worker_of(
    parts: RunParts, checker: ResponseChecker, agent: Callable[[RunOptions], Worker] | None = None
) -> Callable[[RunOptions], Worker]:
    """The caller's worker, whose responses the validators get; `agent` makes the built-in one."""
    given = parts.worker
    if given is not None and not isinstance(given, AgentConfig):
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
    """With the caller's retry prompt, and with these plugins and no others."""
    retry = parts.template.text if parts.template is not None else None

    def plugins(options: RunOptions) -> Plugins | None:
        missing = set(options.plugins) - set(found.names if found is not None else ())
        if missing:
            raise UsageError(f"this run began with the plugin {', '.join(sorted(missing))}: give it in plugins")
        return found

    return replace(setup, retry_prompt=retry, plugins=plugins)


def opened_plugins(parts: RunParts, folder: Path | None = None) -> PluggyPlugins | None:
    """The plugins that the caller gave, and the approval gate where the worker has tools; None without any. Nothing is
    taken from what happens to be installed."""
    gated = parts.workspace is not None and uses_tools(parts.worker)
    if not parts.plugins and not gated:
        return None
    from donewhen.plugins.opening import open_plugins
    from donewhen.workers.tools import TOOLS

    gate: list[object] = []
    if gated and parts.workspace is not None:
        from donewhen.composition_plugins import approval_gate

        gate.append(approval_gate(parts.workspace, folder))
    known = frozenset(TOOLS)
    return open_plugins(parts.plugins, installed=False, last=gate, known_tools=known, workspace=parts.workspace)


def uses_tools(worker: object) -> bool:
    """Whether a worker can make tool calls through the server: a callable without a `context` can not."""
    return worker is None or getattr(worker, "uses_tools", True)


def model_judge(
    judge: Judge | JudgeConfig | None, mask: Callable[[str], str], secrets: Mapping[str, str]
) -> tuple[Judge | None, Callable[[], Any] | None]:
    """A judge that can be asked, and what ends the models that it uses. Its verdicts aren't kept anywhere."""
    if not isinstance(judge, JudgeConfig):
        return judge, None
    from donewhen.composition_models import FolderModels
    from donewhen.judges.llm import LlmJudge
    from donewhen.judges.panel import PanelJudge

    options = judge.options
    models = FolderModels(environment, secrets, lambda: user_settings(None), mask, Path("/"))
    members = [
        LlmJudge(models.model("judge", name, options.api_base), options, mask=mask, member=number)
        for number, name in enumerate(options.models)
    ]
    return (members[0] if len(members) == 1 else PanelJudge(members, options.rule)), models.close


def judge_name(judge: Judge | JudgeConfig | None) -> str | None:
    """Who judges, as a run keeps it."""
    if judge is None:
        return None
    if not isinstance(judge, JudgeConfig):
        return judge.identity
    from donewhen.settling import judge_identity

    return judge_identity(judge.options)


def secrets_of(parts: RunParts) -> Mapping[str, str]:
    """The keys that the caller gave, by the variable that they stand in for."""
    agent = parts.worker.api_key if isinstance(parts.worker, AgentConfig) else None
    return {**({"DONEWHEN_API_KEY": agent} if agent else {}), **judge_secrets(parts.judge)}


def judge_secrets(judge: Judge | JudgeConfig | None) -> Mapping[str, str]:
    """As `secrets_of`, for the judge alone."""
    key = judge.api_key if isinstance(judge, JudgeConfig) else None
    return {"DONEWHEN_JUDGE_API_KEY": key} if key else {}


def user_settings(state_dir: Path | None) -> Settings:
    """What the user's own settings say of prices and places: nothing else of them, and nothing that a workspace
    holds."""
    from donewhen.config import Choices, Settings, load_settings

    read = load_settings({}, os.environ, None)
    return Settings(given=Choices(state_dir=state_dir or read.state_dir), prices=read.prices)


def environment() -> Mapping[str, str]:
    """The variables that runs and models see. The caller's Python is found as if its environment was activated: first
    where it has one, last otherwise. An environment in the workspace comes before it."""
    variables = dict(os.environ)
    entries = [one for one in variables.get("PATH", os.defpath).split(os.pathsep) if one]
    own = str(Path(sys.executable).parent)
    if own not in entries:
        entries = [own, *entries] if sys.prefix != sys.base_prefix else [*entries, own]
    return {**variables, "PATH": os.pathsep.join(entries)}


def _agent_options(agent: AgentConfig) -> AgentOptions:
    return AgentOptions(
        agent.model, agent.api_base, agent.temperature, agent.window, agent.tool_calls, agent.turn_tokens
    )


def _not_independent(agent: AgentConfig | None, judges: Sequence[str] | None) -> Sequence[RunWarning]:
    """C14."""
    from donewhen.core.independence import same_model

    if agent is None or not any(same_model(agent.model, one) for one in judges or ()):
        return ()
    message = f"worker and judge are the same model ({agent.model}), which tends to believe itself"
    return (RunWarning("not_independent", message),)


def _always(value: T) -> Callable[[RunOptions], T]:
    return lambda options: value


def _no_settling(goal: Goal, options: StartOptions) -> Start:
    raise UsageError("a library run is started with its own options")


def _tracer(mask: Callable[[str], str]) -> Callable[[str, Entry], None]:
    from donewhen.tracing import make_tracer

    return make_tracer(os.environ, mask).on_entry
