"""The closed union of events: the only facts that are kept, and the only way a run's state changes.

An intent (`...Started`, `...Requested`) is appended before its effect, after it the result, or `Abandoned`. Recovery
treats an intent without a result as interrupted (invariant 2). Events carry no time: the ledger entry does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from donewhen.core.approval import ApprovalRule, Approve
from donewhen.core.calls import (
    BudgetReached,
    CallFinished,
    CallRetried,
    CallStarted,
    ConversationCompacted,
    MessageKept,
    ToolFinished,
    ToolStarted,
)
from donewhen.core.evidence import Evidence, PastResult
from donewhen.core.goal import Goal, Limits
from donewhen.core.integrity import IntegrityFacts, IntegrityFinding
from donewhen.core.people import Person
from donewhen.core.plugging import HaltResumed, PluginOff, PluginStateSet, RunHalted
from donewhen.core.trials.outcome import CheckGrade
from donewhen.core.trouble import ModelTrouble
from donewhen.core.verdict import Verdict
from donewhen.core.work import Actor, Answer, Interrupt, TurnResult, Usage

RunMode = Literal["pursue", "audit"]
EndStatus = Literal[
    "complete", "capped", "timed_out", "over_budget", "stalled", "blocked", "impossible", "cancelled", "crashed"
]
END_STATUSES: tuple[EndStatus, ...] = get_args(EndStatus)


AcceptedBy = Literal["person", "auto", "nobody"]
"""`auto`: `--approve auto`, or a worker that the person named with all it does; `nobody`: there was no one to ask, and
nothing may run without asking."""
GuardedBy = Literal["person", "goal"]
"""Who put a goal on guard: somebody, or `guard: true` in the goal file."""
PanelRule = Literal["majority", "unanimity"]
PausedBy = Literal["person", "run"]
"""`run`: it paused by itself, such as where the judge could not be asked, or nobody was there to be asked."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Who judges, and how: each of `models` is a member of the panel, asked on its own; `rule` says what they must
    agree on. `calls` bounds how often a member may look for itself, `tokens` its prompt."""

    models: tuple[str, ...]
    api_base: str | None = None
    rule: PanelRule = "majority"
    temperature: float | None = None
    prompt: str | None = None
    calls: int = 8
    tokens: int = 24_000


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The built-in agent's model and inner limits. `window` is the model's context in tokens, None: as it is known."""

    model: str
    api_base: str | None = None
    temperature: float | None = None
    window: int | None = None
    tool_calls: int = 2_000
    turn_tokens: int = 50_000_000


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The settings that were frozen when the run started. `judge` is the judge's identity, None without one."""

    worker: str | None
    judge: str | None = None
    approve: Approve = "deny"
    parallel_checks: int = 2
    worker_command: str | None = None
    script: str | None = None
    preserve_context: bool = True
    agent: AgentOptions | None = None
    judging: JudgeOptions | None = None
    plugins: tuple[str, ...] = ()
    """The plugins that were there when the run started, by name."""
    rules: tuple[ApprovalRule, ...] = ()
    pass_env: tuple[str, ...] = ()
    """Names of variables, `PREFIX_*` for all that begin so, that the worker `command` gets though they hold keys. Their
    values are never on record: each turn takes them from the environment of whoever supervises it."""
    summary: str = ""
    """What the start summary says; empty: there is nothing to accept."""
    attended: bool = True
    """False: nobody answers questions about requirements that only a person could decide; the worker goes on."""
    askable: bool = True
    """False: nobody is there to be asked about integrity findings. Where they are all that is left, the run ends."""
    trials: bool = False
    """Before it completes, its checks are tried in rooms (`core/trials/outcome.py`)."""
    affected_first: bool = False
    """After a person's edit, the tests that it may affect run before the whole check."""
    hidden_checks: tuple[str, ...] = ()
    """The names of checks that are held out from the worker; their commands stand in the person's settings alone."""
    weak_judge: bool = False
    """The judge was measured as weak, and nobody accepted that: what it takes for met, a person is asked about."""
    metered: bool = True
    """False: what the worker's turns cost is known only where it reports it (a command, a callable)."""
    contained: bool = False
    """What the worker runs, runs in rooms (`ports.LiveRooms`), in which it changes the workspace and nothing else."""
    network: bool = False
    """What runs in those rooms reaches the network."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    run_id: str
    mode: RunMode
    goal: Goal
    options: RunOptions
    revision: str
    test_runs: frozenset[str] = frozenset()
    """Checks that reported a test earlier in this goal's history: they stay test runs."""
    past: tuple[PastResult, ...] = ()
    """The last result of each check, earlier in this goal's history."""
    accepted: AcceptedBy | None = None
    """Who accepted the start summary (`RunOptions.summary`) with the start itself; None: a person is asked."""
    guarded: bool = False
    """It takes the place of a run of the goal that was on guard: once complete, it is on guard too."""
    file_limits: Limits | None = None
    """Those of the goal file, where the start set others; None: those of `goal`."""


@dataclass(frozen=True, slots=True)
class GoalAmended:
    """A person saved the goal file: unchanged requirements keep their verdicts, counters stay."""

    goal: Goal


@dataclass(frozen=True, slots=True)
class BaselineTaken:
    """The integrity baseline, at the start of a run or moved by a person's change."""

    facts: IntegrityFacts
    by: Actor = "person"


@dataclass(frozen=True, slots=True)
class RevisionChanged:
    """The workspace's content has changed. `paths` is bounded; `total` counts all."""

    revision: str
    paths: tuple[str, ...]
    by: Actor
    total: int = 0


@dataclass(frozen=True, slots=True)
class RevisionConfirmed:
    """A full walk of the workspace found the revision that was known: the last step before `complete`."""

    revision: str


@dataclass(frozen=True, slots=True)
class CheckpointTaken:
    """The tree of the workspace was kept, so that it can be put back. `iteration` is the one that just ended."""

    iteration: int
    checkpoint: str


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """Intent: the worker is about to work. `checkpoint` is the tree before it, None if nothing is restored."""

    iteration: int
    checkpoint: str | None


@dataclass(frozen=True, slots=True)
class TurnFinished:
    iteration: int
    result: TurnResult
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditStarted:
    """Intent: an audit of the bound checks. `iteration` is 0 for the baseline."""

    iteration: int
    revision: str


@dataclass(frozen=True, slots=True)
class CheckStarted:
    check_id: str
    revision: str


@dataclass(frozen=True, slots=True)
class EvidenceRecorded:
    """What the server observed: one run of a check (the result of its CheckStarted), a trial, the editor's report, what
    the judge was shown, what the worker ran through the server."""

    evidence: Evidence


@dataclass(frozen=True, slots=True)
class AuditFinished:
    """The checks of an audit have all run; `findings` replaces all open integrity findings."""

    iteration: int
    revision: str
    findings: tuple[IntegrityFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialsStarted:
    """Intent: everything else is proven at this revision; its checks are tried against the tree `base`."""

    revision: str
    base: str


@dataclass(frozen=True, slots=True)
class TrialsFinished:
    """What the trials say together; each of them is on record as evidence. `findings` replaces those of earlier trials,
    `grades` says by check id what its pass proves by, `changed` are the proof files that are not as they were. `advice`
    is what the judge says about that change, `usage` what asking it cost."""

    revision: str
    findings: tuple[IntegrityFinding, ...] = ()
    grades: Mapping[str, CheckGrade] = field(default_factory=dict[str, CheckGrade])
    changed: tuple[str, ...] = ()
    advice: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class JudgeStarted:
    """Intent: the judge is asked about these requirements at this revision."""

    requirement_ids: tuple[str, ...]
    revision: str


@dataclass(frozen=True, slots=True)
class JudgeFinished:
    """The judge's verdict. `revision_after` is the workspace's when it came: a verdict is dropped if it moved.

    `verdict` is None if the reply could not be used; `reason` says why: its requirements are unverified.
    """

    requirement_ids: tuple[str, ...]
    revision: str
    revision_after: str
    verdict: Verdict | None
    usage: Usage = field(default_factory=Usage)
    reason: str = ""
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By requirement id, the files that the judge saw for it; without an entry it may have seen anything."""
    cached: bool = False
    """The same evidence had been judged before: no model was asked."""
    score: float | None = None
    """The score that the judge gives, 0 to 1, if it gives one."""


@dataclass(frozen=True, slots=True)
class ClaimJudged:
    """The judge's answer to the worker's claim that it is blocked, or that the goal is impossible. `confirmed` is None
    where it can't tell: then a person is asked."""

    confirmed: bool | None
    reason: str
    evidence_ids: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Abandoned:
    """What had begun, named as in its `...Started`, came to no result: it was cut off (stop, pause, time limit), files
    changed meanwhile, or a model could not be asked (`trouble`). It isn't counted, and begins again where it is needed.

    A turn whose model could not be asked pauses the run. A judge that could not is asked again a few times before the
    run pauses, and not at all where that is useless until a person changes something (`final`)."""

    what: Literal["turn", "audit", "judge", "trials"]
    reason: str
    usage: Usage = field(default_factory=Usage)
    trouble: ModelTrouble | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class PersonDecided:
    """A person accepts an integrity finding, waives a requirement (which stands in for its proof, and always shows), or
    disputes a verdict: the judge is asked again, with the reason. `undo` takes the first two back."""

    decision: Literal["accept", "waive", "dispute"]
    subject: str
    """The id of the finding or of the requirement."""
    reason: str
    undo: bool = False
    person: Person | None = None
    """Who did it, from where; None in entries that say nothing of it."""


@dataclass(frozen=True, slots=True)
class InterruptOpened:
    interrupt: Interrupt


@dataclass(frozen=True, slots=True)
class InterruptAnswered:
    """What was asked is settled: by a person's `answer`, or without one (None) for the `reason` that it says."""

    interrupt_id: str
    answer: Answer | None
    person: Person | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LimitsRaised:
    limits: Limits


@dataclass(frozen=True, slots=True)
class Requested:
    """That the run pauses or stops: what it is at is cut off first. A stop has the `person` who asked for it."""

    what: Literal["pause", "stop"]
    reason: str
    by: PausedBy = "run"
    person: Person | None = None


@dataclass(frozen=True, slots=True)
class RunPaused:
    reason: str
    by: PausedBy = "run"


@dataclass(frozen=True, slots=True)
class RunInterrupted:
    """Found after a crash or the loss of its client. `alive_until` is its last sign of life, epoch seconds."""

    reason: str
    alive_until: float


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A person lets a paused, interrupted or limited run go on; nothing is reset. `approve` tightens the run's
    approval, `askable` says whether somebody is there to be asked now; None leaves them."""

    approve: Approve | None = None
    askable: bool | None = None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """`status` is None for a bare audit. `broken`: what came after this on record is not as it was written, so that
    nothing goes on from it; a ledger says so of its own accord."""

    status: EndStatus | None
    reason: str
    broken: bool = False


@dataclass(frozen=True, slots=True)
class FilesReverted:
    """Files were put back as they were after `iteration`, or in the tree `source` where it says one; `kept` are those
    that stay as they are, `checkpoint` keeps what stood there before.

    Before an interrupted turn runs again, all but what is `kept` goes back to what stood there when it began: then this
    is the intent, and `paths` is empty."""

    iteration: int
    paths: tuple[str, ...]
    kept: tuple[str, ...]
    checkpoint: str
    source: str | None = None
    person: Person | None = None


@dataclass(frozen=True, slots=True)
class GuardSet:
    """From now on what the run has proven is proven again after each edit; `by` says who wants that. None: from now on
    it isn't, for that `reason`."""

    by: GuardedBy | None = "person"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    code: str
    message: str


Event = (
    RunStarted | GoalAmended | BaselineTaken | RevisionChanged | RevisionConfirmed | CheckpointTaken
    | TurnStarted | TurnFinished
    | AuditStarted | CheckStarted | EvidenceRecorded | AuditFinished
    | TrialsStarted | TrialsFinished
    | JudgeStarted | JudgeFinished | ClaimJudged
    | Abandoned
    | CallStarted | CallRetried | CallFinished | MessageKept | ToolStarted | ToolFinished | ConversationCompacted
    | BudgetReached
    | PersonDecided | InterruptOpened | InterruptAnswered
    | LimitsRaised | Requested | RunPaused | RunInterrupted | RunResumed | RunEnded
    | FilesReverted | Warned | GuardSet
    | RunHalted | HaltResumed | PluginStateSet | PluginOff
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as the ledger keeps it: `sequence` grows by one within a run, `at` is epoch seconds, for people only.
    `seconds` is how long the run was worked on since the entry before, None in entries of the first version, where only
    the times can tell."""

    sequence: int
    at: float
    event: Event
    seconds: float | None = None
