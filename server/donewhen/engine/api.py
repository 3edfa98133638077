"""The interface for front ends: the runs of one workspace folder. `engine.runs` implements it; LSP and CLI use nothing
else.

A run may be owned by this process or by another one: every operation reaches it either way, within 500 ms, and every
run can be followed live. Errors are those of `core.errors`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from donewhen.core.acts import ActOutcome
from donewhen.core.approval import Approve
from donewhen.core.calls import CallRole
from donewhen.core.events import PausedBy, RunOptions
from donewhen.core.evidence import Evidence, Problem
from donewhen.core.hints import ReadWhen
from donewhen.core.integrity import ChangedProof
from donewhen.core.proof import Present, as_of, assess, locations
from donewhen.core.proof_files import ProofBasis
from donewhen.core.retention import Because, Going, Retention
from donewhen.core.state import RunState
from donewhen.core.verdict import RequirementView
from donewhen.core.work import Answer, Claim, Usage, WorkerStep
from donewhen.ports import Live, RunSummary

Unlimited = Literal["unlimited"]
OUT_OF_TURNS = "it had the turns that it was given"
"""Why a run is paused that was started or resumed for so many turns (`StartOptions.turns`)."""


@dataclass(frozen=True, slots=True)
class HaltAnswer:
    """What a person, or a program, says to a halted run: `data` goes to the plugin's `on_resume`. Without `plugin` it
    is the one that halted."""

    plugin: str | None = None
    data: Any = None


@dataclass(frozen=True, slots=True)
class LimitChanges:
    """Limits that a person sets for a run; None leaves one as it is. Times are seconds, money US dollars."""

    max_iterations: int | Unlimited | None = None
    timeout: float | Unlimited | None = None
    budget: float | Unlimited | None = None
    token_budget: int | Unlimited | None = None


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What a person says at the start of a run, over the goal file and the settings (settings.md). `audit`:
    of a bare audit, in which nobody works. `askable`: somebody is there to be asked.

    `run_id` names the new run: a caller who may not know whether its last start succeeded finds it by that. `turns` is
    how many turns its worker has until the run pauses by itself, counted from this start, or from this resume."""

    worker: str | None = None
    worker_command: str | None = None
    agent_command: str | None = None
    script: str | None = None
    model: str | None = None
    judge_model: str | None = None
    api_base: str | None = None
    judge_api_base: str | None = None
    approve: Approve | None = None
    sandbox: Literal["auto", "on", "off"] | None = None
    limits: LimitChanges = field(default_factory=LimitChanges)
    audit: bool = False
    askable: bool | None = None
    run_id: str | None = None
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class FileEdit:
    """How many lines of a file came and went."""

    path: str
    added: int = 0
    removed: int = 0


@dataclass(frozen=True)
class RunView:
    """One run as it is now: for snapshots. `live` is what is not an event.

    A view is made for each event, and few of them are looked at: what follows from the state is worked out then.
    """

    state: RunState
    live: Live
    goal_uri: str | None
    owned: bool = False
    """True if this process supervises it."""
    present: Present | None = None
    """The workspace beside a run that isn't pursued: `views` tell what its proofs are worth there. None if it is
    pursued, or where that isn't known."""
    changed_proof: ChangedProof = field(default_factory=ChangedProof)
    """The proof files that its worker has changed: the originals are tried once everything else is proven. Known to the
    process that supervises it."""

    take_over: bool = False
    """True if this process followed the run while another one supervised it, which is gone: whoever looks on may take
    the run over, by `resume`. Not where a person stopped or paused it, nor once anybody has taken it up."""

    commit: str | None = None
    """The commit that the result is about, where somebody asked for it (`Runs.commit`)."""

    edits: tuple[FileEdit, ...] | None = None
    """What the run changed, where somebody asked for it (`wire.reports.receipts`)."""

    steps: tuple[RunStep, ...] = ()
    """What it did and said, likewise."""

    @cached_property
    def views(self) -> tuple[RequirementView, ...]:
        """Its requirements, as they stand in the current workspace."""
        return assess(as_of(self.state, self.present))

    @cached_property
    def locations(self) -> Mapping[str, tuple[Problem, ...]]:
        """The places that the latest evidence names, by requirement id; paths relative to the workspace."""
        return locations(self.state)

    @property
    def elapsed(self) -> float:
        """Seconds of work when the view was taken."""
        return max(self.state.elapsed, self.live.elapsed) if self.state.time_counts else self.state.elapsed

    @property
    def stale(self) -> bool:
        """True if the workspace is known to be another one than the run last looked at."""
        return self.present is not None and self.present.revision != self.state.revision


@dataclass(frozen=True, slots=True)
class CheckSummary:
    check_id: str
    command: str
    passed: bool
    reason: str
    evidence_id: str


@dataclass(frozen=True, slots=True)
class CallSummary:
    """One call to a model. `usage` is None as long as it runs, and for one that was cut off."""

    id: str
    role: CallRole
    model: str
    usage: Usage | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class IterationDetail:
    """One iteration in full: what the worker did, which checks ran, what was found, which files changed."""

    number: int
    started_at: float
    seconds: float
    claim: Claim
    error: str | None
    steps: tuple[WorkerStep, ...]
    checks: tuple[CheckSummary, ...]
    verdict: tuple[RequirementView, ...]
    """Where each requirement stood when its last audit ended; empty before."""
    changed: tuple[str, ...]
    calls: tuple[CallSummary, ...] = ()
    """The calls to models of this iteration, the judge's included."""


StepKind = Literal[
    "turn", "says", "reads", "runs", "edits", "tool", "reports", "check", "judge", "hint", "asks", "act", "end"
]
StepState = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class RunStep:
    """One thing that a run did or does, for a person who follows it: what the worker read, ran, edited and said, which
    check ran, what a person said. None of it is evidence.

    `text` is output, or what was said, bounded. `diff` are the hunks of the edit of one file, `path` relative to the
    workspace, where it is known what was there before. `order` says where it stands among the others, of which several
    may have the same; `version` grows over all steps of the run with each change."""

    id: str
    order: int
    version: int
    at: float
    iteration: int
    kind: StepKind
    title: str
    state: StepState = "done"
    text: str = ""
    path: str | None = None
    diff: str = ""
    added: int = 0
    removed: int = 0
    evidence_id: str | None = None


@dataclass(frozen=True, slots=True)
class RunSteps:
    """`version` is what to ask after next."""

    version: int
    steps: tuple[RunStep, ...]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a run, or somebody since, changed: whether it was there before the first turn, and is there now."""

    path: str
    before: bool
    now: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """What `collect` took away, or would take away, and what is left. `busy`: another process does that now, or a run
    is pursued here, so nothing was done. `problem` says what could not be done; nothing is lost then, and the next time
    goes on. Sizes are bytes; `evidence` counts the evidence files, which are written again when somebody asks."""

    going: tuple[Going, ...] = ()
    staying: tuple[tuple[str, Because], ...] = ()
    evidence: int = 0
    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    busy: str = ""
    problem: str = ""

    @property
    def line(self) -> str:
        """What was taken away, in one line; empty if nothing was."""
        count = len(self.going)
        if not count:
            return ""
        checks = "1 old run" if count == 1 else f"{count} old runs and checks"
        freed = sum(one.bytes for one in self.going)
        return f"removed {checks} from the record ({freed / 1024**2:.1f} MB); `donewhen gc --help` says what stays"


class Runs(Protocol):
    """The runs of one workspace folder."""

    @property
    def root(self) -> Path: ...

    @property
    def state_folder(self) -> Path:
        """This workspace's folder inside the user's state folder; evidence files live in `evidence/RUN/E7.md`."""
        ...

    async def start(self, goal_path: str, options: StartOptions = ...) -> RunView:
        """Starts pursuing; returns once the run is on record. Raises AlreadyRunning, GoalFileError, InvalidGoal."""
        ...

    async def ready(self, goal_path: str, options: StartOptions) -> RunOptions:
        """The options that a run started so would have. Raises what `start` raises for what is not here, such as its
        worker's program; nothing is put on record."""
        ...

    async def check(self, goal_path: str) -> RunView:
        """One audit of the workspace as it is. A second call joins one in flight; cancelling ends it when nobody else
        waits. During a run of that goal: that run's next audit."""
        ...

    async def rests_on(self, goal_path: str) -> ProofBasis:
        """What the proof of a goal rests on in the workspace as it is. Nothing is executed."""
        ...

    async def pause(self, run_id: str, reason: str = ..., by: PausedBy = ...) -> RunView: ...

    async def resume(
        self,
        run_id: str | None = None,
        limits: LimitChanges = ...,
        options: StartOptions = ...,
        halt: HaltAnswer | None = None,
    ) -> RunView:
        """Lets it go on; the newest resumable run without an id. `halt` is for the plugin that halted it. Raises
        NotResumable, HeldElsewhere, UsageError."""
        ...

    async def stop(self, run_id: str, reason: str = ...) -> RunView:
        """Ends it `cancelled`, with every child process gone. An ended run: UsageError "nothing to stop"."""
        ...

    async def answer(self, run_id: str, interrupt_id: str, answer: Answer) -> RunView: ...

    async def waive(self, run_id: str, requirement: str, reason: str, *, undo: bool = False) -> RunView:
        """`requirement` is an id or a label (`R3`)."""
        ...

    async def accept(self, run_id: str, finding_id: str | None, reason: str, *, undo: bool = False) -> RunView:
        """None: all that are open, or with `undo` all that a person accepted."""
        ...

    async def dispute(self, run_id: str, requirement: str, reason: str) -> RunView: ...

    async def hint(self, run_id: str, text: str) -> ReadWhen:
        """Says something to the worker unasked, and returns when that will be read. Raises UsageError if nobody is
        there to read it."""
        ...

    async def steps(self, run_id: str, after: int = 0) -> RunSteps:
        """What the run did and does, step by step: those that are new or other ones since version `after`. Bounded:
        of a long run the latest steps."""
        ...

    async def revert(
        self, run_id: str, iteration: int | None, paths: Sequence[str] | None = None, *, force: bool = False
    ) -> ActOutcome:
        """Puts files back as they were after that iteration, but for those that a person edited since, unless forced:
        they are `kept`. What stood there before is set aside: None puts back what the last revert, or the recovery of
        an interrupted turn, set aside."""
        ...

    async def revert_finding(self, run_id: str, finding_id: str, *, force: bool = False) -> ActOutcome:
        """Puts the finding's file back as it was before, unless a person edited it since: see `revert`."""
        ...

    async def view(self, run_id: str) -> RunView: ...

    async def views(self, goal_path: str | None = None, *, compare: bool = True) -> Sequence[RunView]:
        """The newest run and audit of each goal, newest first; without `compare` as they are on record, before the
        workspace was looked at."""
        ...

    async def summaries(self) -> Sequence[RunSummary]: ...

    async def standing(self) -> Mapping[str, RunView]:
        """The newest run and audit of each goal as their proofs stand now, by run id."""
        ...

    async def iteration(self, run_id: str, number: int) -> IterationDetail: ...

    async def file_at(self, run_id: str, iteration: int, path: str) -> str | None: ...

    async def changes(self, run_id: str) -> Sequence[ChangedFile]:
        """The files that are not as they were before the first turn; where a person works, when the run began. Raises
        UnknownName for a run that kept none."""
        ...

    async def diff(self, run_id: str) -> str:
        """The same as a unified diff, bounded, its cut marked."""
        ...

    async def evidence(self, run_id: str, evidence_id: str) -> Evidence | None: ...

    async def evidence_file(self, run_id: str, evidence_id: str) -> Path | None:
        """The evidence as a read-only Markdown file in the state folder."""
        ...

    async def report(self, run_id: str) -> RunView:
        """The state that a report is made of, with all iterations: see `wire.reports`."""
        ...

    async def commit(self, run_id: str) -> str | None:
        """The commit that the result of a run is about; None where its files are another revision now, or were not
        committed as they are."""
        ...

    async def collect(self, policy: Retention, *, dry_run: bool = False) -> Collected:
        """Removes the ended runs that the policy doesn't keep, and frees their disk space. Never touched: what is open,
        the newest run and the newest check of each goal, what a person keeps. Raises LedgerUnavailable."""
        ...

    async def keep(self, run_id: str, on: bool) -> None:
        """Keeps a run whatever the policy says, or takes that back. Raises UnknownRun."""
        ...

    async def forget(self, goal_path: str) -> None:
        """`donewhen.goal.clear`: results of ended runs of that goal are no longer shown."""
        ...

    def follow(self, run_id: str, *, guarded: bool = False) -> AsyncIterator[RunView]:
        """The view now, and again after every change, until the run ends, pauses or is interrupted (that view is the
        last one); where it is on guard and `guarded`, until the guard is lifted. Raises RecordGone if the record of a
        run of this process was removed, and a defect that this process could not even put on record."""
        ...

    def subscribe(self, on_change: Callable[[RunView], None]) -> Callable[[], None]:
        """Calls back after each change of any run of this workspace, whoever owns it; returns the unsubscriber."""
        ...

    async def watch(self) -> None:
        """From now on, until `close`, compares the files with every goal's newest results as they change, and tells
        subscribers what turns stale, or fresh again. Executes nothing; costs nothing while nothing changes."""
        ...

    def warm(self) -> None:
        """Loads in the background what a run that starts soon would wait for: what calls the configured models."""
        ...

    async def guard(self, on: bool, *, run_id: str | None = None, goal_path: str | None = None) -> RunView:
        """Puts a complete run on guard, or lifts its guard: the one of that id, or the newest of that goal, or the
        newest of all. As long as a process watches (`watch`), its checks then run again after edits, but while a run is
        pursued in the folder. It is on record: whoever watches next goes on. Raises NotTrusted, and UsageError if
        there is nothing to guard."""
        ...

    async def amend(self, goal_path: str) -> None:
        """The goal file was saved by a person: amends the active run of that goal, if there is one."""
        ...

    def saved_by_client(self, path: str, text: str) -> None:
        """The editor saved this text (product.md, "Who did it")."""
        ...

    def editor_changed(self) -> None:
        """The editor says or shows something else of the files of this folder: it is asked again (`EditorView`)."""
        ...

    async def recover(self) -> Sequence[RunView]:
        """Marks runs whose supervisor died as `interrupted`, and returns all interrupted ones."""
        ...

    async def close(self, reason: str) -> None:
        """Ends all children within 2 s and records the active runs of this process as `interrupted`."""
        ...
