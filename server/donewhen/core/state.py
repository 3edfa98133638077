"""The state of one run, as its events add up to (`fold`). Nothing else may hold a run's state.

A `RunState` is a value: reading it needs no lock, and the same entries always give the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from donewhen.core.calls import CallStarted, Message
from donewhen.core.events import EndStatus, PausedBy, RunMode, RunOptions
from donewhen.core.evidence import CheckResult, Evidence, PastResult, TestOutcome
from donewhen.core.goal import Goal, Limits
from donewhen.core.integrity import IntegrityFacts, IntegrityFinding
from donewhen.core.people import ActOnRecord
from donewhen.core.plugging import Halted, PluginState, ResumeDirective
from donewhen.core.trials.outcome import AtStart, CheckGrade
from donewhen.core.trouble import ModelTrouble, Retrying
from donewhen.core.verdict import RequirementVerdict
from donewhen.core.work import UNKNOWN, WEAK_JUDGE, Actor, Answer, Claim, Interrupt, RunWarning, Usage
from donewhen.core.workers import GATE

RunStatus = (
    Literal["running", "waiting", "paused", "interrupted"] | EndStatus
)  # "waiting": an interrupt is open; ended runs carry their EndStatus
Phase = Literal["working", "checking", "judging"]

KEPT_ITERATIONS = 20
KEPT_COMMANDS = 1_000
"""Of the commands that the worker ran, those that may still be cited; of older ones KEPT_OLD_COMMANDS."""
KEPT_OLD_COMMANDS = 40
KEPT_HISTORY = 32
"""Revisions of which it is kept what a check said."""
MAX_OUTAGES = 3
"""Times in a row that the judge can't be asked before the run pauses."""
MAX_DROPPED = 3
"""Verdicts that are dropped since files changed meanwhile before the judge is left alone until the next turn."""
SIGN_OF_LIFE = 1.0
"""Seconds after its last sign of life in which a run that crashed may still have worked: two heartbeats."""


@dataclass(frozen=True, slots=True)
class IterationRecord:
    """One worker turn and the audit after it. Times are seconds, `started_at` epoch; `usd` None is unknown."""

    number: int
    started_at: float
    seconds: float = 0.0
    met: int = 0
    total: int = 0
    usage: Usage = field(default_factory=Usage)
    revision: str = ""
    changed: tuple[str, ...] = ()
    summary: str = ""
    error: str | None = None

    @property
    def score(self) -> float:
        return self.met / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Spend:
    """What a run has cost, as far as it is on record: for the worker's while it works see `RunState.worker_usage`."""

    worker: Usage = field(default_factory=Usage)
    judge: Usage = field(default_factory=Usage)
    turn: Usage = field(default_factory=Usage)
    """Of the worker's, the present iteration's turn so far, attempts at it that were cut off included."""
    known_usd: float = 0.0
    """All of the cost that is known, in US dollars: what counts against a budget."""

    def by_worker(self, usage: Usage) -> Spend:
        known = self.known_usd + (usage.usd or 0.0)
        return replace(self, worker=self.worker + usage, turn=self.turn + usage, known_usd=known)

    def by_judge(self, usage: Usage) -> Spend:
        return replace(self, judge=self.judge + usage, known_usd=self.known_usd + (usage.usd or 0.0))


TurnStage = Literal["open", "suspended", "cut off"]
"""`suspended`: it stands still at a point from which it can go on as it is, at a halt or an open question of one of its
tools, so nothing is put back; `cut off`: it runs again from its beginning, as the same iteration."""


@dataclass(frozen=True, slots=True)
class TurnState:
    """A worker's turn that has begun and not ended. `checkpoint` is the tree before it, `conversation` what the
    worker's model had been told and had answered by then."""

    iteration: int
    checkpoint: str | None
    started_at: float
    conversation: tuple[Message, ...] = ()
    stage: TurnStage = "open"


@dataclass(frozen=True, slots=True)
class Resuming:
    """A halt that is over, and what its plugin said about going on."""

    halt: Halted
    directive: ResumeDirective


@dataclass(frozen=True, slots=True)
class OpenAudit:
    """An audit that has begun and not ended."""

    iteration: int
    revision: str
    amended: bool = False
    """The goal was amended meanwhile: what it now asks for may not have been looked at."""


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """What is on record of one check: what it said last, and what of its past counts."""

    latest: Evidence | None = None
    affected: Evidence | None = None
    """What the tests said that the last edit may affect, until the whole check has run."""
    look_again: bool = False
    """It belongs to an external requirement, and has not run in the latest audit yet."""
    streak: int | None = None
    """How often in a row it has passed since it was found flaky; None: it is not flaky."""
    earlier: PastResult | None = None
    """What it said before `latest`, where that decides nothing, or in an earlier run of the goal."""
    history: tuple[PastResult, ...] = ()
    """What it said last for the files of each revision, the newest last."""
    is_test_run: bool = False
    """It reported a test once: it stays a test run."""
    at_start: AtStart = "unknown"
    """What it said before the worker's first turn."""
    tests_at_start: Mapping[str, TestOutcome] = field(default_factory=dict[str, TestOutcome])
    """How each of its tests ended then, by name."""

    @property
    def result(self) -> CheckResult | None:
        """What it said last."""
        seen = self.latest.observation if self.latest is not None else None
        return seen if isinstance(seen, CheckResult) else None

    @property
    def flaky(self) -> bool:
        return self.streak is not None

    def unbound(self) -> CheckRecord:
        """What is left of it once the goal no longer asks for the check: what it said of the present is gone."""
        return replace(self, latest=None, affected=None, look_again=False, streak=None, history=())


_NEVER_RUN = CheckRecord()


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's finding that was taken into the state. `scope` are the globs it holds for; empty: everything.
    `one_turn`: it rests on more than files, and holds until the next turn ends."""

    verdict: RequirementVerdict
    revision: str
    scope: tuple[str, ...] = ()
    stale: bool = False
    one_turn: bool = False


@dataclass(frozen=True, slots=True)
class KeptTree:
    """A tree that was kept, and the sequence of the latest entry that says so. A checkpoint is what the files were
    after each iteration from `since` to `iteration`: a long run whose files stay as they are keeps one."""

    tree: str
    sequence: int
    iteration: int = 0
    since: int = 0


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """An integrity finding with the id that people use (`F1`), as it was seen last; kept also where it is gone."""

    id: str
    finding: IntegrityFinding
    accepted: bool = False
    """It refuses nothing, for that `reason`."""
    reason: str = ""
    before: KeptTree | None = None
    """The last tree that was kept before it was there."""
    since: int = 0
    """How many turns had ended when it was first found."""
    present: bool = True
    acceptance: tuple[str, str] | None = None
    """The fact that a person accepted, and why: with another fact it is a new finding."""
    raised: RaisedFinding | None = None
    """That it refused the proof once."""

    def gone(self) -> KnownFinding:
        """What is left of it once it is no longer there."""
        seen = replace(self.finding, diff="", places=())
        return replace(self, finding=seen, accepted=False, reason="", before=None, present=False)

    @property
    def by_a_person(self) -> bool:
        """Accepted, and not because it stood there before the run: that is nobody's decision."""
        return self.accepted and not (self.reason and self.reason == self.finding.standing)


MAX_RAISED = 100


@dataclass(frozen=True, slots=True)
class RaisedFinding:
    """That a finding refused the proof once, as the run's `number`-th: the finding as it was then, without its diff.
    `iteration` is the one after which it was first there, 0 before the first, `until` the last one after which it was.
    `undone` is the one after which it was gone: for what a trial found, not before it was tried again."""

    number: int
    id: str
    finding: IntegrityFinding
    iteration: int
    until: int
    undone: int | None = None

    def refuses(self, iteration: int) -> bool:
        """Whether it stood after that iteration."""
        return self.iteration <= iteration <= self.until


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Files that change though neither a worker nor a person is at work (`core/proof.py`): in how many audits in a row
    nothing else was in the way, and the latest of them. `since` is the run's seconds of work, and `turn` how many turns
    had ended, when the first of them changed."""

    since: float
    turn: int
    audits: int = 0
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """What the trials of a revision said last; see `TrialsFinished`."""

    revision: str
    findings: tuple[IntegrityFinding, ...]
    grades: Mapping[str, CheckGrade]
    changed: tuple[str, ...]
    advice: str = ""
    turns: int = 0
    """How many turns had ended then: before the first, only what is held out is tried."""


# A state's parts by subject. Their fields are in a dict: each is copied as a whole (`changing.replace`).


@dataclass(frozen=True)
class Lifecycle:
    """Whether a run is pursued, and why it is not."""

    paused: str | None = None
    paused_by: PausedBy = "run"
    """Who asked for the last pause, or for the one that is to come."""
    interrupted: str | None = None
    ended: bool = False
    end_status: EndStatus | None = None
    broken: bool = False
    """What came after this on record is not as it was written: nothing goes on from here."""
    reason: str = ""
    stop_requested: str | None = None
    pause_requested: str | None = None
    ending: tuple[EndStatus, str] | None = None
    """A person confirmed that the run ends so."""


@dataclass(frozen=True)
class FilesSeen:
    """What is known of the workspace's files besides their revision."""

    confirmed: bool = False
    """True where a full walk found the revision and nothing happened since."""
    baseline: IntegrityFacts | None = None
    person_paths: frozenset[str] = frozenset()
    """What a person changed since the baseline was taken: it moves the baseline."""
    first_checkpoint: str | None = None
    """The tree before the worker's first turn; in a person's run, before anything was checked."""
    checkpoints: tuple[KeptTree, ...] = ()
    """The newest last; no iteration is in two of them, but for iteration 0 of a person's run: see `with_checkpoint`."""
    put_aside: KeptTree | None = None
    """What stood there before the last revert, or before a turn that was cut off was taken back."""
    put_back: Mapping[str, str] = field(default_factory=dict[str, str])
    """The paths that were put back, each with the tree that its content last came from."""
    person_edits: Mapping[str, int] = field(default_factory=dict[str, int])
    """The paths that a person changed, each with the sequence of the entry that says so last."""
    last_alive: float = 0.0
    """Until when the run, or the turn that was cut off, may have changed files: later changes are a person's."""
    edits_kept: tuple[float, bool] | None = None
    """A person's answer about edits made since the turn was cut off: when it was asked for, and whether they stay."""

    @property
    def last_checkpoint(self) -> KeptTree | None:
        return self.checkpoints[-1] if self.checkpoints else None

    def tree_after(self, iteration: int) -> KeptTree | None:
        """The checkpoint of an iteration; None if its files were not kept."""
        return next((one for one in self.checkpoints if one.since <= iteration <= one.iteration), None)

    def with_checkpoint(self, tree: str, sequence: int, iteration: int, *, first: bool = False) -> FilesSeen:
        """With what the files were after an iteration, the latest of which counts; of iteration 0 the first, where
        `first` is set."""
        earlier, since = self.checkpoints, iteration
        last = self.last_checkpoint
        if last is not None and last.iteration in (iteration - 1, iteration) and last.tree == tree:
            earlier, since = earlier[:-1], last.since
        elif first and iteration == 0:
            earlier = earlier[:1]
        elif last is not None and last.iteration == iteration:
            shorter = (replace(last, iteration=iteration - 1),) if last.since < iteration else ()
            earlier = (*earlier[:-1], *shorter)
        return replace(self, checkpoints=(*earlier, KeptTree(tree, sequence, iteration, since)))


@dataclass(frozen=True)
class IterationsSoFar:
    """The iterations so far."""

    iterations: tuple[IterationRecord, ...] = ()
    """The last 20."""
    began: float = 0.0
    """The run's seconds of work when the present iteration's turn began."""
    open: bool = False
    """False once the run stopped after it: what is looked at again later is no part of it."""
    met_before: tuple[int, int] | None = None
    """How many requirements were met, or waived, of how many, before the first turn; None: there was none yet."""


@dataclass(frozen=True)
class LastTurn:
    """What the worker's last turn came to."""

    claim: Claim | None = None
    """As long as it needs a person or the judge."""
    claim_judged: str | None = None
    """What the judge said to the claim where it did not confirm it: then a person is asked."""
    words: str = ""
    """What the worker said at its end, however it ended: a claim. Empty after a turn that failed."""
    error: str | None = None
    fatal: str | None = None
    """Why another turn is useless until a person changes something."""
    response_digest: str = ""
    response: Evidence | None = None
    """What the worker returned, for a goal about the response."""
    returned: str | None = None
    """The same where it is on record as it was: for validators of a run that goes on."""


@dataclass(frozen=True)
class Steering:
    """What people said to the worker."""

    answers: tuple[str, ...] = ()
    late_answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])
    """Answers by the interrupt's subject, for a turn that isn't waiting for them right now: it was cut off and asks
    again later. It gets each once; what it had been given before, and may have acted on, it asks for again."""
    hints: tuple[str, ...] = ()
    """Said unasked, and not read yet."""
    hints_read: tuple[str, ...] = ()
    """Read in the present turn: one that runs again from its beginning reads them again."""


@dataclass(frozen=True)
class Stall:
    """How often in a row the worker got nowhere."""

    failures: int = 0
    """Turns that failed."""
    signature: str = ""
    """What was unmet when the last turn began."""
    count: int = 0
    """How many turns began with that."""


@dataclass(frozen=True)
class ModelCalls:
    """The calls to models that are open, and why none can be made."""

    open: Mapping[str, CallStarted] = field(default_factory=dict[str, CallStarted])
    count: int = 0
    """How many were ever made."""
    retrying: Retrying | None = None
    """An open call whose model could not be asked, and is asked again."""
    trouble: ModelTrouble | None = None
    """Why the model of the worker or the judge could not be asked, until it answers or a person lets the run go on."""
    unaffordable: str | None = None
    """Why the next call was not made: a budget. Holds until a limit is raised."""


@dataclass(frozen=True)
class Auditing:
    """The audit that is open, and whether another one is due."""

    open: OpenAudit | None = None
    due: bool = True
    count: int = 0
    """How many came to an end."""
    unsettled: Unsettled | None = None


@dataclass(frozen=True)
class RecordedEvidence:
    """The evidence besides that of checks."""

    editor: Mapping[str, Evidence] = field(default_factory=dict[str, Evidence])
    """The latest editor report of each requirement with `problems` globs, by requirement id."""
    citable: Mapping[str, str] = field(default_factory=dict[str, str])
    """What may be cited now: id to the revision that it holds for."""
    count: int = 0
    commands: tuple[Evidence, ...] = ()
    """The latest commands that the worker ran through the server."""


@dataclass(frozen=True)
class Trials:
    """The trials of the proof."""

    running: bool = False
    last: Tried | None = None
    evidence_ids: tuple[str, ...] = ()
    """What the last trials saw."""
    agreed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files whose original is not that of the start, because a person changed or accepted them: the checkpoint that has
    it, empty where it is as it is now."""


@dataclass(frozen=True)
class Judging:
    """What the judge is asked, and what it said."""

    deciding: tuple[str, ...] = ()
    """The ids of the requirements that it decides right now."""
    judged: Mapping[str, Judged] = field(default_factory=dict[str, Judged])
    disturbed: Actor | None = None
    """Who changed files since it was asked last; a person only where nobody else did."""
    dropped: int = 0
    """Verdicts of this iteration that were dropped since files changed meanwhile, by nobody's hand."""
    disputes: Mapping[str, str] = field(default_factory=dict[str, str])
    outages: int = 0
    outage_reason: str = ""
    taken: bool = False
    """The run had no judge until a save of its goal file named one."""
    score: float | None = None
    """How far the judge said last that what it decides is, 0 to 1; None where it gave no score."""


@dataclass(frozen=True)
class PeopleAsked:
    """What people were asked."""

    count: int = 0
    dismissed: frozenset[str] = frozenset()
    """What a person was asked about and left as it is."""


@dataclass(frozen=True)
class PluginsInRun:
    """What plugins did to a run, and keep of it."""

    halt: Halted | None = None
    """A plugin stopped the loop: resumable, the run waits; else it ended so."""
    resuming: Resuming | None = None
    """How the turn or the hook that halted goes on."""
    states: Mapping[str, PluginState] = field(default_factory=dict[str, PluginState])
    off: Mapping[str, str] = field(default_factory=dict[str, str])
    """Plugins that failed in this run, with the reason."""


@dataclass(frozen=True)  # its fields are in a dict: it is copied as a whole (`changing.replace`)
class RunState:
    """Everything about a run that decides. Times are epoch seconds but for `elapsed`, which is seconds of work."""

    run_id: str
    mode: RunMode
    goal: Goal
    options: RunOptions
    sequence: int = 0
    started_at: float = 0.0
    updated_at: float = 0.0
    elapsed: float = 0.0
    lifecycle: Lifecycle = field(default_factory=Lifecycle)

    revision: str = ""
    files: FilesSeen = field(default_factory=FilesSeen)
    file_limits: Limits | None = None
    """The limits that the goal file set when it was read last."""

    iteration: int = 0
    turns_ended: int = 0
    progress: IterationsSoFar = field(default_factory=IterationsSoFar)
    worker_turn: TurnState | None = None
    """See `turn` and `redo`."""
    last_turn: LastTurn = field(default_factory=LastTurn)
    stall: Stall = field(default_factory=Stall)
    conversation: tuple[Message, ...] = ()
    """What the worker's model was told and answered, as far as it wasn't compacted."""
    steering: Steering = field(default_factory=Steering)
    undoing: bool = False
    """A person wants the worker to undo the findings: it has one turn for that before they are asked about again."""

    calls: ModelCalls = field(default_factory=ModelCalls)
    spend: Spend = field(default_factory=Spend)

    auditing: Auditing = field(default_factory=Auditing)
    checks: Mapping[str, CheckRecord] = field(default_factory=dict[str, CheckRecord])
    """By check id; those that ran in the order in which they first did. See `check`."""
    evidence: RecordedEvidence = field(default_factory=RecordedEvidence)
    trial: Trials = field(default_factory=Trials)
    judge: Judging = field(default_factory=Judging)
    findings: Mapping[str, KnownFinding] = field(default_factory=dict[str, KnownFinding])
    """All that there ever was, by the finding's key; what is present in the order in which it was found."""
    waived: Mapping[str, str] = field(default_factory=dict[str, str])

    interrupts: tuple[Interrupt, ...] = ()
    asking: PeopleAsked = field(default_factory=PeopleAsked)
    acts: tuple[ActOnRecord, ...] = ()
    """What people did to it: the latest."""
    started: str | None = None
    """Who accepted the start summary; None: nobody yet."""
    plugins: PluginsInRun = field(default_factory=PluginsInRun)
    guard: Guard | None = None
    """What was proven is proven again after each edit."""
    guarded: bool = False
    """It will be on guard once it is complete, since the run before it was."""
    warnings: tuple[RunWarning, ...] = ()

    @property
    def turn(self) -> TurnState | None:
        """The turn that is open."""
        return self.worker_turn if self.worker_turn is not None and self.worker_turn.stage == "open" else None

    @property
    def redo(self) -> TurnState | None:
        """The turn that goes on, or runs again, before there is another one."""
        return self.worker_turn if self.worker_turn is not None and self.worker_turn.stage != "open" else None

    @property
    def judge_is_weak(self) -> bool:
        """True if the judge failed its measurement."""
        return any(one.code == WEAK_JUDGE for one in self.warnings)

    def decider(self, decided_by: str | None) -> str:
        """Who decided a requirement, in a word or two: a judge that failed its measurement is named as weak."""
        return "weak judge" if decided_by == "judge" and self.judge_is_weak else decided_by or ""

    @property
    def status(self) -> RunStatus | None:
        """None for a bare audit."""
        if self.mode == "audit":
            return None
        if self.lifecycle.ended:
            return self.lifecycle.end_status
        if self.lifecycle.interrupted is not None:
            return "interrupted"
        if self.lifecycle.paused is not None:
            return "paused"
        return "waiting" if self.interrupts or self.halted else "running"

    @property
    def persons_work(self) -> bool:
        """True where nobody but a person changes files: worker `human`, and on guard."""
        return self.waits_for_person or self.guard is not None

    @property
    def active(self) -> bool:
        """True where the run is being pursued, or waits for a person while it is."""
        return (
            not self.lifecycle.ended
            and self.lifecycle.paused is None
            and self.lifecycle.interrupted is None
            and not self.halted
        )

    @property
    def halted(self) -> bool:
        """True where a plugin stopped the loop, which waits to be resumed. Any other halt ends the run."""
        return self.plugins.halt is not None and self.plugins.halt.resumable

    @property
    def phase(self) -> Phase | None:
        if not self.active:
            return "checking" if self.guard is not None and self.auditing.open is not None else None
        if self.judge.deciding:
            return "judging"
        if self.auditing.open is not None or self.trial.running:
            return "checking"
        return "working" if self.turn is not None else None

    @property
    def waits_for_person(self) -> bool:
        """True for worker `human`: its turns cost no time, and limits apply only where set explicitly."""
        return self.options.worker == "human"

    @property
    def works_elsewhere(self) -> bool:
        """True for worker `gate`: an agent that nobody here starts or ends. It is at work whenever the run stands
        still, so that what changed while nobody looked is its doing, and nothing is ever put back."""
        return self.options.worker == GATE

    @property
    def worker_usage(self) -> Usage:
        """What the worker cost so far: unknown while one works whose cost nobody accounts for."""
        open_cost = UNKNOWN if self.turn is not None and not self.options.metered else Usage()
        return self.spend.worker + open_cost

    @property
    def usage(self) -> Usage:
        return self.worker_usage + self.spend.judge

    @property
    def budget_usage(self) -> Usage:
        """What counts against the budgets: as much of the cost as is known."""
        return replace(self.usage, usd=self.spend.known_usd)

    @property
    def present_findings(self) -> tuple[KnownFinding, ...]:
        return tuple(known for known in self.findings.values() if known.present)

    @property
    def raised_findings(self) -> tuple[RaisedFinding, ...]:
        """What refused the proof once, present or not, in the order in which it first did: the newest."""
        raised = (known.raised for known in self.findings.values() if known.raised is not None)
        return tuple(sorted(raised, key=lambda one: one.number))

    @property
    def undone_findings(self) -> tuple[RaisedFinding, ...]:
        """What refused the proof once and stands no more."""
        standing = {known.id for known in self.present_findings}
        return tuple(one for one in self.raised_findings if one.id not in standing)

    def check(self, check_id: str) -> CheckRecord:
        """What is on record of a check: empty where it never ran."""
        return self.checks.get(check_id, _NEVER_RUN)

    @property
    def check_evidence(self) -> tuple[Evidence, ...]:
        """The latest evidence of each check."""
        return tuple(one.latest for one in self.checks.values() if one.latest is not None)

    @property
    def check_results(self) -> tuple[CheckResult, ...]:
        """What each check said last."""
        return tuple(one.result for one in self.checks.values() if one.result is not None)

    @property
    def audit_evidence(self) -> tuple[Evidence, ...]:
        """The latest evidence of each check, and the editor's latest reports."""
        return (*self.check_evidence, *self.evidence.editor.values())

    @property
    def open_findings(self) -> tuple[KnownFinding, ...]:
        return tuple(known for known in self.present_findings if not known.accepted)

    def tree_before(self, finding: IntegrityFinding) -> KeptTree | None:
        """The last tree that was kept before a finding was there; for a new one that is the latest."""
        known = self.findings.get(finding.key)
        if known is not None and known.before is not None:
            return known.before
        first = self.files.first_checkpoint
        return self.files.last_checkpoint or (KeptTree(first, 0) if first is not None else None)

    def limit(self, name: str) -> float | int | None:
        """A limit as it applies: for workers that are not started here three of them only where a person set them."""
        optional = ("max_iterations", "timeout", "stall_after")
        unstarted = self.waits_for_person or self.works_elsewhere
        if unstarted and name in optional and name not in self.goal.explicit_limits:
            return None
        value: float | int | None = getattr(self.goal.limits, name)
        return value

    def elapsed_after(self, seconds: float) -> float:
        """Seconds of work so many seconds after the last entry: waiting for a person is none."""
        return self.elapsed + (max(0.0, seconds) if self.time_counts else 0.0)

    @property
    def time_counts(self) -> bool:
        waiting = bool(self.interrupts) or (self.waits_for_person and self.turn is not None)
        return self.active and not waiting


# A goal on guard: what was proven is proven again after each edit, and what fails then has regressed.


MAX_EDITS = 50
MAX_PATHS = 200


@dataclass(frozen=True, slots=True)
class Edit:
    """Files that changed while a goal was on guard, and the revision that this made."""

    revision: str
    paths: tuple[str, ...]
    by: Actor
    total: int = 0


@dataclass(frozen=True, slots=True)
class Regression:
    """Since when a requirement that was met fails: the last revision at which it was met, the first at which it no
    longer is, and what changed between them. `by` is None if it isn't known, or several did it."""

    good: str
    bad: str
    at: float
    paths: tuple[str, ...] = ()
    total: int = 0
    by: Actor | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """The guard of a run that is over. `since` is epoch seconds.

    `good` is the revision at which each requirement was met last, by requirement id, `edits` what changed since the
    oldest of them, `failed` how often each check has failed at the current revision.
    """

    since: float
    by: str = "person"
    good: Mapping[str, str] = field(default_factory=dict[str, str])
    edits: tuple[Edit, ...] = ()
    regressions: Mapping[str, Regression] = field(default_factory=dict[str, Regression])
    failed: Mapping[str, int] = field(default_factory=dict[str, int])

    def between(self, good: str, bad: str, at: float) -> Regression:
        """What is known of how the one revision became the other."""
        last = max((n for n, edit in enumerate(self.edits, 1) if edit.revision == good), default=0)
        since = self.edits[last:]
        paths = tuple(dict.fromkeys(path for edit in since for path in edit.paths))
        cut = sum(max(0, edit.total - len(edit.paths)) for edit in since)
        actors = {edit.by for edit in since}
        by = since[0].by if len(actors) == 1 else None
        return Regression(good, bad, at, paths[:MAX_PATHS], len(paths) + cut, None if by == "check" else by)
