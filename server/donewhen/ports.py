"""The protocols that the engine works through. Adapters implement them; none of them knows another.

Paths are posix, relative to the workspace's root, unless a name says otherwise. Times are seconds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from donewhen.core.events import Entry, Event
from donewhen.core.evidence import CheckResult, EditorReport, Evidence
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import IntegrityFacts
from donewhen.core.verdict import RequirementView, Verdict
from donewhen.core.work import Answer, Interrupt, TurnResult, Usage


class Clock(Protocol):
    """Wall time; tests bring their own."""

    def now(self) -> float:
        """Epoch seconds."""
        ...

    async def sleep_until(self, at: float) -> None:
        """Returns at or after the epoch time `at`."""
        ...


# ---------------------------------------------------------------------------------------------- ledger


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of `donewhen list`. `status` is None for a bare audit that ended."""

    run_id: str
    mode: Literal["pursue", "audit"]
    title: str
    goal_path: str | None
    status: str | None
    started_at: float
    updated_at: float


@dataclass(frozen=True, slots=True)
class Request:
    """What another process wants of the owner of a run: the name of an operation of the engine and its arguments."""

    id: int
    run_id: str
    operation: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reply:
    """The owner's reply: `error` is None where it was done, else (class name of core.errors, message)."""

    request_id: int
    error: tuple[str, str] | None = None
    result: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Live:
    """Stream chatter of a run that is no event: what it does now, and the last sign of life of its supervisor."""

    activity: str | None = None
    alive_at: float = 0.0


class Ledger(Protocol):
    """The durable, append-only record of the runs of one workspace folder.

    `append` returns when the event is on disk (FULL sync), so that an intent precedes its effect. All methods may
    be called from the event loop: none holds it for more than a few milliseconds. Raises LedgerTooNew and
    LedgerUnavailable.
    """

    async def append(self, run_id: str, event: Event, at: float, *, durable: bool = True) -> Entry:
        """Appends with the next sequence of that run. `durable=False` (NORMAL sync) is for what may be lost."""
        ...

    async def entries(self, run_id: str, after: int = 0) -> Sequence[Entry]:
        """All entries of a run with a sequence greater than `after`, in order; empty for an unknown run."""
        ...

    async def runs(self) -> Sequence[RunSummary]:
        """All runs, newest first."""
        ...

    async def evidence(self, run_id: str, evidence_id: str) -> Evidence | None: ...

    async def set_live(self, run_id: str, live: Live) -> None: ...

    async def live(self, run_id: str) -> Live: ...

    def changes(self, poll: float = 0.1) -> AsyncIterator[None]:
        """Yields whenever another connection may have written, at most once per `poll` seconds."""
        ...

    async def request(self, run_id: str, operation: str, arguments: Mapping[str, object]) -> int: ...

    async def take_requests(self, run_ids: Sequence[str]) -> Sequence[Request]:
        """Open requests for these runs, each handed out once."""
        ...

    async def reply(self, reply: Reply) -> None: ...

    async def reply_to(self, request_id: int) -> Reply | None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that supervises a run: alive if a process of this pid and start time is."""

    run_id: str
    pid: int
    started: float
    token: str


class RunLock(Protocol):
    """Who may supervise a run in this workspace folder (C20)."""

    def acquire(self, run_id: str, token: str) -> None:
        """Becomes the owner, or raises AlreadyRunning or HeldElsewhere, which name the holder. Returns at once."""
        ...

    def release(self) -> None: ...

    def owner(self) -> Owner | None:
        """The live owner, if there is one; None where it died or there never was one."""
        ...

    def last_owner(self) -> Owner | None:
        """The last owner on record, dead or alive."""
        ...

    def inherited_descriptors(self) -> tuple[int, ...]:
        """File descriptors that every child of a run inherits (POSIX), so that a restart can't race orphans."""
        ...

    async def end_leftovers(self, token: str, within: float = 2.0) -> int:
        """Ends the processes that carry this run's token, and no others; returns how many there were. Raises
        HeldElsewhere if some stay."""
        ...


# ------------------------------------------------------------------------------------------- workspace


@dataclass(frozen=True, slots=True)
class TreeState:
    """The workspace's content at one moment: its revision, and the paths that differ from the previous TreeState."""

    revision: str
    changed: tuple[str, ...] = ()


class Workspace(Protocol):
    """The folder that a run works on: its revision, its files, its checkpoints."""

    @property
    def root(self) -> Path: ...

    async def open(self, named: Sequence[str]) -> TreeState:
        """Freezes the ignore rules, reads everything, starts watching. `named` are globs of files that count even
        where they are ignored."""
        ...

    async def name(self, named: Sequence[str]) -> None:
        """Replaces the globs of named files: the goal was amended."""
        ...

    async def current(self) -> TreeState:
        """The state as far as watching tells: cheap. Re-reads what a watcher reported and what looks changed there."""
        ...

    async def confirm(self) -> TreeState:
        """The state after a full stat walk: for the moments that decide (after a turn, before `complete`)."""
        ...

    async def settled(self) -> TreeState:
        """Waits until the content changed since the last TreeState and then stayed quiet for a moment."""
        ...

    def scope_digest(self, globs: Sequence[str]) -> str:
        """The content of the files that match, as of the last TreeState."""
        ...

    def files(self, globs: Sequence[str] | None = None) -> Sequence[str]:
        """The paths that the revision covers (and that match), sorted."""
        ...

    def digest(self, path: str) -> str | None:
        """sha256 of a covered file's bytes as of the last TreeState; None where it is absent or not covered."""
        ...

    def volatile(self, check_id: str, paths: Sequence[str]) -> Sequence[str]:
        """Declares that a check, running alone, wrote these paths and will write others each time: while their
        content is what it last wrote, they count as its output. Returns the paths that may not be (tracked by git,
        named, source or configuration): those keep counting by content."""
        ...

    async def checkpoint(self) -> str:
        """Keeps the tree outside the workspace and returns its id."""
        ...

    async def restore(
        self, checkpoint: str, paths: Sequence[str] | None = None, keep: Sequence[str] = ()
    ) -> Sequence[str]:
        """Puts files back as they were (all, or `paths`), but for `keep`. Returns the paths that it changed."""
        ...

    async def changed_between(self, before: str, after: str | None) -> Sequence[str]:
        """Paths that differ between two checkpoints, or between one and the present tree."""
        ...

    async def file_at(self, checkpoint: str, path: str) -> bytes | None: ...

    async def diff(self, before: str, after: str | None, limit: int = 60_000) -> str:
        """A unified diff, bounded, its cut marked."""
        ...

    def saved_by_client(self, path: str, text: str) -> None:
        """The editor saved this text: content that equals it is the person's (product.md, "Who did it")."""
        ...

    def is_persons(self, path: str) -> bool:
        """True where what is on disk equals what the client last saved for that file."""
        ...

    def changed_after(self, at: float, paths: Sequence[str]) -> Sequence[str]:
        """Those of `paths` whose content changed on disk after the epoch time `at`."""
        ...

    async def close(self) -> None: ...


# ------------------------------------------------------------------------------------------- processes


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended. `output` is stdout and stderr together, bounded: head and tail kept, the cut marked.

    `exit_code` is None where it was ended by `signal`, timed out, or never started (`spawn_error` says why).
    `output_digest` is sha256 of all of the output, `output_bytes` its size.
    """

    exit_code: int | None
    output: str
    output_bytes: int
    output_digest: str
    seconds: float
    started_at: float
    signal: int | None = None
    timed_out: bool = False
    spawn_error: str | None = None


class Processes(Protocol):
    """Starts every process of the project (only `workspace/` does) and ends every one of its children.

    Each runs in a process group of its own, in the folder `cwd`, without a terminal; its environment carries
    DONEWHEN_RUN_TOKEN=`token`. When it ends, times out or is cancelled, whatever it left behind is ended too, daemons
    included (found by the token), within 2 s.
    """

    async def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        token: str,
        timeout: float | None = None,
        stdin: bytes | None = None,
        on_line: Callable[[str], None] | None = None,
        output_limit: int = 262_144,
    ) -> ProcessResult:
        """Text is run by the platform's shell, a sequence as it is. No `stdin`: the null device."""
        ...


# ------------------------------------------------------------------------------- checks and integrity


class Checker(Protocol):
    """Runs checks; the only maker of check results. Cancelling ends every process that it started."""

    async def run(self, check: Check, *, timeout: float, token: str) -> CheckResult:
        """One run of one check. Never raises for what a check does: that is an outcome. `token` marks every child
        process (environment variable DONEWHEN_RUN_TOKEN)."""
        ...

    def environment(self, check: Check) -> str:
        """Digest of what it would run in: program, variables, platform; part of the cache key."""
        ...

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        """What the editor's own diagnostics say about the files of `requirement.problems`."""
        ...


class Probes(Protocol):
    """Reads the facts that integrity is judged by."""

    async def facts(self, goal: Goal, workspace: Workspace, results: Sequence[CheckResult]) -> IntegrityFacts: ...


class GoalFiles(Protocol):
    """Goal files as the engine needs them."""

    def load(self, path: str) -> Goal:
        """Reads and parses; raises GoalFileError with what to do."""
        ...


# --------------------------------------------------------------------------------- workers and judges


@dataclass(frozen=True, slots=True)
class Turn:
    """What a worker is given for one iteration (C3). `feedback` is None in the first."""

    run_id: str
    iteration: int
    goal: Goal
    views: tuple[RequirementView, ...]
    feedback: str | None
    token: str
    answers: tuple[str, ...] = ()


class TurnContext(Protocol):
    """What a worker may use during its turn."""

    @property
    def workspace(self) -> Workspace: ...

    def activity(self, line: str) -> None:
        """What it does now, one line, for the snapshot."""
        ...

    async def settled(self) -> TreeState:
        """Waits until the workspace's content changed and then stayed quiet; the change is on record then."""
        ...

    async def ask(self, interrupt: Interrupt) -> Answer:
        """Opens an interrupt (its id is assigned) and waits for a person's answer."""
        ...

    def inherited_descriptors(self) -> tuple[int, ...]: ...


class Worker(Protocol):
    """Whoever does the work of an iteration. Cancelling must end every process that it started."""

    @property
    def name(self) -> str: ...

    @property
    def waits_for_person(self) -> bool:
        """True for `human`: its turns cost no time, and nothing is restored unasked."""
        ...

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """One turn. Raises WorkerFailed for a turn that ended with an error (C8)."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """What a judge is asked: evidence, never a worker's words."""

    run_id: str
    goal: Goal
    requirements: tuple[Requirement, ...]
    revision: str
    evidence: tuple[Evidence, ...]
    disputes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's reply: no verdict where it could not be used."""

    verdict: Verdict | None
    usage: Usage = field(default_factory=Usage)
    reason: str = ""


class Judge(Protocol):
    """Audits evidence against requirements. Raises JudgeOutage where it can't be asked (A6)."""

    @property
    def identity(self) -> str: ...

    async def judge(self, task: JudgeTask, workspace: Workspace) -> Judgement: ...


OnChange = Callable[[str], None]
"""Called with a run id after each change of that run."""
