"""Checks, integrity, workers and judges. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from donewhen.core.calls import Message, ToolCall
from donewhen.core.evidence import CheckResult, EditorReport, Evidence, Observation, ObservedCommand
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import AddressingFact, IntegrityFacts
from donewhen.core.plugging import ResumeDirective, ToolOutcome, ToolUse
from donewhen.core.trouble import FailedTry
from donewhen.core.verdict import RequirementView, Verdict
from donewhen.core.work import UNKNOWN, Answer, Claim, Interrupt, TurnResult, Usage, WorkerStep
from donewhen.ports.folder import TreeState, Workspace
from donewhen.ports.plugging import PluginHost, PluginTool, ToolDoer


class Checker(Protocol):
    """Runs checks; the only maker of check results. Cancelling ends every process that it started."""

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        """One run of one check. Never raises for what a check does: that is an outcome. `token` marks every child
        process (environment variable DONEWHEN_RUN_TOKEN). `test_run`: it once reported a test, and stays a test run."""
        ...

    def environment(self, check: Check) -> str:
        """Digest of what it would run in: program, variables, platform; part of the cache key."""
        ...

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        """What the editor's own diagnostics say about the files of `requirement.problems`."""
        ...


class Probes(Protocol):
    """Reads the facts that integrity is judged by."""

    async def facts(self, goal: Goal, workspace: Workspace) -> IntegrityFacts:
        """What there is now, but for `addressing`."""
        ...

    async def started(self, goal: Goal, workspace: Workspace) -> Mapping[str, tuple[str, ...]]:
        """The command lines that each check starts now, by its id: its own, and those of the tasks and scripts that it
        names."""
        ...

    async def addressing(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None = None,
        commands: Sequence[ObservedCommand] = (),
    ) -> tuple[AddressingFact, ...]:
        """The text that addresses the judge, which only matters where there is one. `since` is the checkpoint before
        the worker's first turn, `commands` are those that the worker ran through the server: with them, what came up
        is told from what stood there."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """What a worker is given for one iteration. `feedback` is None in the first."""

    run_id: str
    iteration: int
    goal: Goal
    views: tuple[RequirementView, ...]
    feedback: str | None
    token: str
    answers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What plugins add to what the worker is told."""
    refinement: int = 0
    """Above 0: the same turn goes on, `feedback` is a critic's, and the worker's context is as it left it."""
    resume: ResumeDirective | None = None
    """The turn was halted or suspended and goes on where it stood: `context.conversation` holds what was said, no model
    call is repeated, no tool that ran runs again."""
    preserve_context: bool = True
    """True: a worker with a conversation goes on with it. False: it starts from its original one and the latest
    feedback; files stay as they are."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of the budgets, calls under way taken off at their worst case; None: there is no such budget."""

    tokens: int | None = None
    usd: float | None = None


class Calls(Protocol):
    """The account of calls to models: on record before each call and after it."""

    def left(self) -> Left:
        """Calls are kept within it by bounding their replies."""
        return Left()

    async def begin(self, model: str, prompt: Usage, worst: Usage) -> str:
        """Intent; returns the call's id. Raises OverBudget if `worst` could pass a budget: then no call is made."""
        ...

    async def retried(self, call_id: str, failed: FailedTry) -> None:
        """What went wrong before the call is made again; an account need not keep it."""

    async def end(
        self, call_id: str, usage: Usage, message: Message | None = None, error: str | None = None
    ) -> None: ...


class TurnContext(Protocol):
    """What a worker may use during its turn."""

    @property
    def workspace(self) -> Workspace: ...

    def activity(self, line: str) -> None:
        """What it does now, one line, for the snapshot."""
        ...

    def stream(self, text: str, *, whole: bool = False) -> None:
        """What its command prints or its model says, as it comes, for whoever follows the run live: the next piece, or
        with `whole` all of it so far. It is not put on record."""
        ...

    @property
    def hints(self) -> Sequence[str]:
        """What a person said unasked since the turn began, and the worker has not read: it is read once it is kept as
        `core.hints.hint_message`. A worker that can't read it now gets it among the next turn's answers."""
        ...

    async def settled(self) -> TreeState:
        """Waits until the workspace's content changed and then stayed quiet; the change is on record then."""
        ...

    async def ask(self, interrupt: Interrupt) -> Answer:
        """Opens an interrupt (its id is assigned) and waits for a person's answer."""
        ...

    async def use_tool(self, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        """Makes a tool call through the wrappers of all plugins: they may ask a person, change its input, answer in its
        stead, or halt the loop. Halt must be let through."""
        ...

    @property
    def tools(self) -> Sequence[PluginTool]:
        """The tools that plugins add; `use_tool` wraps them as any other."""
        ...

    @property
    def host(self) -> PluginHost:
        """What a plugin's tool is run with."""
        ...

    def inherited_descriptors(self) -> tuple[int, ...]: ...

    # What a worker that talks to a model needs besides.

    @property
    def calls(self) -> Calls: ...

    @property
    def conversation(self) -> tuple[Message, ...]:
        """What was said so far, in earlier turns and this one; `calls.end`, `keep`, `tool_finished` add to it. Empty at
        the start of each turn where context isn't preserved."""
        ...

    async def keep(self, message: Message) -> None:
        """Adds what the model is told: the task of the turn, a nudge."""
        ...

    async def compact(self, messages: Sequence[Message], dropped: int) -> None:
        """Replaces the whole conversation; `dropped` of its messages are gone."""
        ...

    async def tool_started(self, call: ToolCall, summary: str) -> None:
        """Intent, on record before the tool has any effect."""
        ...

    async def tool_finished(self, call: ToolCall, step: WorkerStep, message: Message) -> None: ...

    async def observe(self, command: Coroutine[Any, Any, ObservedCommand]) -> ObservedCommand:
        """Runs a command that the worker asked for, and records it as evidence of what the server saw."""
        ...

    def unsaved(self, path: str) -> str | None:
        """The text that an editor holds for a file, where that differs from what is on disk."""
        ...


class Worker(Protocol):
    """Whoever does the work of an iteration. Cancelling must end every process that it started.

    One that can't always be interrupted has `left_behind` besides: what may still be at work of a turn that was cut
    off, for people; empty if nothing is."""

    @property
    def name(self) -> str: ...

    @property
    def waits_for_person(self) -> bool:
        """True for `human`: its turns cost no time, and nothing is restored unasked."""
        ...

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """One turn. Raises WorkerFailed for a turn that ended with an error."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """What a judge is asked: evidence, never a worker's words.

    `evidence` are check results, editor reports and observed commands; those that aren't fresh at `revision` can't be
    cited. With a `claim` the question is another one: whether the evidence confirms that the worker is blocked, or that
    the goal is impossible; then `requirements` are those that are not proven.

    `messages` are what was said in a conversation, for a judge that is asked alone; a run has none. They are
    shown as claims, and nothing can be proven by them. `kept` false: no verdict is taken from a cache or put into one.
    `cited` is the evidence that earlier verdicts of the run rested on.
    """

    run_id: str
    goal: Goal
    requirements: tuple[Requirement, ...]
    revision: str
    evidence: tuple[Evidence, ...]
    disputes: Mapping[str, str] = field(default_factory=dict[str, str])
    claim: Claim | None = None
    messages: tuple[Message, ...] = ()
    kept: bool = True
    cited: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's reply: no verdict where it could not be used, and `reason` says why.

    `shown` are the files that it saw, by requirement id; without an entry it may have seen anything. `usage` is what
    was not accounted call by call: unknown unless the judge says so. `confirmed` answers a task with a claim, citing
    `evidence_ids`. `score` is how far the whole is, 0 to 1, where the judge says so.
    """

    verdict: Verdict | None
    usage: Usage = UNKNOWN
    reason: str = ""
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    cached: bool = False
    confirmed: bool | None = None
    evidence_ids: tuple[str, ...] = ()
    score: float | None = None


class AuditContext(Protocol):
    """What a judge may look at: the workspace as it was at the revision that is judged, and nothing else."""

    @property
    def calls(self) -> Calls: ...

    @property
    def root(self) -> str:
        """The workspace folder, which no model needs to know: prompts show `.` for it."""
        ...

    def activity(self, line: str) -> None: ...

    def files(self) -> Sequence[str]:
        """The paths that the revision covers, sorted."""
        ...

    async def changed(self) -> Sequence[str]:
        """The paths that differ from the run's baseline, as far as it is known; sorted."""
        ...

    async def diff(self) -> str:
        """What changed since the run's baseline, unified, bounded, its cut marked; empty without a baseline."""
        ...

    async def read(self, path: str) -> bytes:
        """A covered file as it was at the revision. Raises WorkspaceError if it isn't covered or has changed."""
        ...

    async def record(self, observation: Observation) -> Evidence:
        """Puts what the judge is shown on record, once, so that it can be cited."""
        ...

    async def run_check(self, check: Check) -> Evidence:
        """Runs a check of the goal once more; its result counts as any other."""
        ...


class Judge(Protocol):
    """Audits evidence against requirements. Raises JudgeOutage if it can't be asked, and lets OverBudget
    through."""

    @property
    def identity(self) -> str: ...

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement: ...


# What judges keep between audits. See `donewhen.ports`.


class VerdictCache(Protocol):
    """Replies of judges by the digest of all that they were asked. Losing it costs money, nothing else: it never
    raises for what is not there or can't be kept. Called from threads."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, text: str) -> None: ...


# The files of a workspace, for whoever changes them on behalf of somebody else. See `donewhen.ports`.


@dataclass(frozen=True, slots=True)
class FileText:
    """A text file as it was read: its text with `\\n` line ends, and how it is written back.

    `digest` is sha256 of its bytes. A text of mixed line ends keeps each as it is.
    """

    path: str
    content: str
    digest: str
    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a search found; `line` counts from 1, `text` is bounded."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a search, sorted by path and line. `more` says that there are others."""

    hits: tuple[Hit, ...]
    more: bool = False


class GuardedFiles(Protocol):
    """Reads and changes files inside the workspace, and no others: links are resolved, git's own are refused.

    A file is replaced in one step, and only while it is as it was read; encoding, byte order mark, line ends and mode
    stay. Cancelling never leaves a file half written.
    """

    def path(self, name: str) -> str:
        """What a name means: a path relative to the root, links resolved, empty for the root itself. Absolute names
        inside it are taken. Raises WorkspaceError for what lies outside, or belongs to git."""
        ...

    async def read(self, path: str) -> FileText | None:
        """None if there is no such file. Raises WorkspaceError for a folder, and for what is not text."""
        ...

    async def write(self, path: str, content: str, before: FileText | None) -> FileText:
        """Replaces the whole text; `before` is what was read, None: there was no file. Makes missing folders. Raises
        ChangedMeanwhile where it is another by now, WorkspaceError where it can't be written."""
        ...

    async def list(self, folder: str = "", glob: str | None = None) -> Sequence[str]:
        """The paths that the workspace's revision covers in a folder, sorted, and those written here since. A glob
        without `/` is one for names."""
        ...

    async def search(
        self, pattern: str, folder: str = "", glob: str | None = None, *, limit: int = 200, timeout: float = 30.0
    ) -> Found:
        """Where a regular expression matches a line of those files. Raises WorkspaceError for a pattern that is none,
        and where it takes longer than `timeout` seconds."""
        ...


FilesOf = Callable[[Turn, TurnContext], GuardedFiles]
"""The files that a worker may change in a turn."""
