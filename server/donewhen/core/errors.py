"""The errors that callers can expect.

DoneWhenError
├── InvalidGoal            the goal, or a setting, is invalid (exit 2); a ValueError, too
│   └── GoalFileError      ... and it is in a goal file: nothing was started
├── UsageError             the call makes no sense here (exit 2); a ValueError, too
│   ├── AlreadyRunning     a run is active in this workspace folder
│   ├── UnknownRun         no run of that id here
│   ├── UnknownName        the run has no requirement, finding, evidence or iteration of that name
│   ├── UnknownInterrupt   no open interrupt of that id
│   ├── WrongAnswer        an answer of a kind that the interrupt doesn't take
│   ├── ActRefused         only a person may do that, and nothing shows that one did
│   ├── NotResumable       complete and cancelled runs stay ended; capped ones need a raised limit
│   └── NotTrusted         an untrusted workspace executes nothing
├── PersonNeeded           only a person can go on (exit 3)
│   └── HeldElsewhere      another process owns the run and didn't give it up
├── LedgerError            the record of runs can't be read or written
│   ├── LedgerTooNew       it was written by a newer version: refused, untouched
│   ├── UnreadableRun      one run of it can't be read; all others can
│   ├── RecordChanged      something else changed what is on record of a run: it ends crashed
│   └── LedgerUnavailable  the state folder can't be written (full, read-only)
│       └── RecordGone     it was deleted or moved while a run was pursued: the run ends
├── WorkspaceError         a file of the workspace can't be read or written
│   ├── ChangedMeanwhile   a guarded write found other content than was read
│   └── OtherRevision      the files are not, or no longer, those of the revision that was asked about
├── ModelFailed            a model didn't answer; `kind` says why
├── OverBudget             the next call to a model could pass a budget: it was not made
├── JudgeOutage            the judge couldn't be asked
└── WorkerFailed           the worker's turn ended with an error
"""

from __future__ import annotations

import errno
from typing import Literal

from donewhen.core.trouble import CallRole, ModelTrouble, TroubleKind
from donewhen.core.work import Usage

_REFUSED = ("can't start new thread", "failed to map segment from shared object")
"""How Python and the loader of libraries say it."""
Lack = Literal["model", "models", "key", "worker"]
"""What has to be there first: a model that is named, what calls models, a provider's key, the worker's program."""


class DoneWhenError(Exception):
    """Anything that is expected to go wrong; the message says what to do about it. `said` is the message without
    `typed`, its end, which is for a terminal: what to type or to set there. `lacks` is what has to be there first, if
    that is all that is wrong.

    >>> from donewhen import DoneWhenError, run_goal
    >>> try:
    ...     run_goal("Do it", lambda prompt: "done")
    ... except DoneWhenError as error:
    ...     print(error)
    nothing can decide this goal: give a judge, or checks (commands, callables)
    """

    def __init__(self, message: str = "", *, typed: str = "", lacks: Lack | None = None) -> None:
        super().__init__(f"{message}{typed}")
        self.said = message
        self.lacks: Lack | None = lacks


def out_of_memory(error: BaseException | None) -> str:
    """What to say of an error that comes of too little memory, or too few threads; empty for any other."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # two may be the cause of each other
        seen.add(id(error))
        refused = isinstance(error, OSError) and error.errno == errno.ENOMEM
        if isinstance(error, MemoryError) or refused or any(one in str(error) for one in _REFUSED):
            return (
                "there is too little memory, or too few threads, to go on: free some, or raise the limit "
                "(`ulimit -v`, `ulimit -u`, or that of the container), then try again"
            )
        error = error.__cause__ or error.__context__
    return ""


class InvalidGoal(DoneWhenError, ValueError):
    """An invalid goal or limit; the message names the field.

    >>> from donewhen import InvalidGoal, Limits
    >>> try:
    ...     Limits(max_iterations=0)
    ... except InvalidGoal as error:
    ...     print(error)
    max_iterations must be a whole number of at least 1, or unlimited; it is 0
    """


class GoalFileError(InvalidGoal):
    """The goal file can't be used; the message is the one that its diagnostics show. `line`, 0-based, is where it has
    to be changed; None where no line is at fault."""

    def __init__(self, message: str, line: int | None = None, *, typed: str = "") -> None:
        super().__init__(message, typed=typed)
        self.line = line


class UsageError(DoneWhenError, ValueError):
    """The call makes no sense here; nothing happened.

    >>> from donewhen import UsageError, run_goal
    >>> try:
    ...     run_goal("Do it", "not callable", lambda task: True)
    ... except UsageError as error:
    ...     print(str(error)[:20])
    a worker is a callab
    """


class AlreadyRunning(UsageError):
    """A run is active in this workspace folder; `run_id` names it.

    >>> from donewhen import AlreadyRunning
    >>> AlreadyRunning("4711").run_id
    '4711'
    """

    def __init__(self, run_id: str) -> None:
        ways = f": stop it first (`donewhen stop {run_id}`), or follow it (`donewhen status --follow`)"
        super().__init__(f"run {run_id} is active in this workspace", typed=ways)
        self.run_id = run_id


class NoModel(UsageError):
    """The built-in agent was not given a model."""

    def __init__(self) -> None:
        example = "--model provider/name, such as --model anthropic/claude-sonnet-4-5"
        super().__init__("worker agent needs a model", typed=f": {example} (or DONEWHEN_MODEL)", lacks="model")


class UnknownRun(UsageError):
    """No run of that id in this workspace."""


def no_such_run(run_id: str) -> UnknownRun:
    return UnknownRun(f"there is no run {run_id} in this workspace", typed=": `donewhen list` shows all")


class UnknownName(UsageError):
    """The run has no requirement, integrity finding, evidence or iteration of that name."""


class UnknownInterrupt(UsageError):
    """No open interrupt of that id: it never existed, or somebody answered first."""


class WrongAnswer(UsageError):
    """The interrupt doesn't take an answer of this kind."""


class ActRefused(UsageError):
    """Only a person may do that, and nothing shows that a person did; the message says what to do."""


class NotResumable(UsageError):
    """The run has ended for good, or needs a raised limit; the message says which.

    >>> from tempfile import mkdtemp
    >>> from donewhen import NotResumable, resume_goal, run_goal
    >>> places = {"workspace": mkdtemp(), "state_dir": mkdtemp()}
    >>> ended = run_goal("Say yes", lambda prompt: "yes", lambda task: True, **places)
    >>> try:
    ...     resume_goal(ended.run_id, lambda prompt: "yes", lambda task: True, **places)
    ... except NotResumable as error:
    ...     print("complete" in str(error))
    True
    """


class NotTrusted(UsageError):
    """An untrusted workspace executes nothing."""

    def __init__(self) -> None:
        super().__init__("the workspace is not trusted")


class PersonNeeded(DoneWhenError):
    """Only a person can go on."""


class HeldElsewhere(PersonNeeded):
    """Another process owns the run and didn't give it up; the message names the holder."""


class PluginConflict(UsageError):
    """Two plugins both want to decide the same thing; the message names them."""


class LedgerError(DoneWhenError):
    """The record of runs can't be read or written."""


class LedgerTooNew(LedgerError):
    """The ledger was written by a newer version; it is left untouched."""


CHANGED_BY_OTHERS = (
    "the record was changed by something other than Done When. It is left as it is, and nothing else is "
    "affected: to pursue "
    "its goal, start a new run"
)


class UnreadableRun(LedgerError):
    """One run on record can't be read: an entry is damaged, missing or of a newer version. `why` says which and what
    to do. Everything else goes on without it."""

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(f"run {run_id} can't be read: {why}")
        self.run_id = run_id
        self.why = why


class RecordChanged(LedgerError):
    """What is on record of a run is not as it was written: the run ends `crashed` there. `why` says which entry."""

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(f"run {run_id} can't go on: {why}")
        self.run_id = run_id
        self.why = why


class Overtaken(LedgerError):
    """Another entry was written after the one that this one was meant to follow: what it says may no longer hold."""


class LedgerUnavailable(LedgerError):
    """The state folder can't be written: full, read-only, or not ours."""


class RecordGone(LedgerUnavailable):
    """The record of runs was deleted, moved or replaced while a run was pursued: nothing more of it can be kept."""


class WorkspaceError(DoneWhenError):
    """A file of the workspace can't be read or written."""


class ChangedMeanwhile(WorkspaceError):
    """A guarded write found other content than was read; `current` is what is there now."""

    def __init__(self, path: str, current: str | None) -> None:
        super().__init__(f"{path} changed since it was read; nothing was written")
        self.path = path
        self.current = current


class OtherRevision(WorkspaceError):
    """The files are not, or no longer, those of the revision that was asked about."""

    def __init__(self) -> None:
        super().__init__("files have changed since the revision that was asked about")


class ModelFailed(DoneWhenError):
    """A model didn't answer, after all tries; the message says why and what to do. `status` is the HTTP status of the
    answer, `usage` what the tries may have cost all the same, `window` the model's context in tokens where a refusal
    names it."""

    def __init__(
        self,
        message: str,
        kind: TroubleKind = "failing",
        usage: Usage | None = None,
        *,
        status: int | None = None,
        window: int | None = None,
        typed: str = "",
    ) -> None:
        super().__init__(message, typed=typed, lacks="key" if kind in ("key_missing", "key_refused") else None)
        self.kind: TroubleKind = kind
        self.usage = usage or Usage()
        self.status = status
        self.window = window

    def trouble(self, role: CallRole, model: str) -> ModelTrouble:
        return ModelTrouble(self.kind, role, model, self.said, self.status)


class OverBudget(DoneWhenError):
    """The next call to a model could pass a budget: it was not made, and the run ends `over_budget`."""


class JudgeOutage(DoneWhenError):
    """The judge couldn't be asked: an outage, never a verdict. `final`: asking again is useless until a person
    changes something. `usage` is what asking cost all the same, `trouble` what is wrong with its model. A callable
    judge may raise it.

    >>> from donewhen import JudgeOutage, run_goal
    >>> def judge(task):
    ...     raise JudgeOutage("the office is closed", final=True)
    >>> print(run_goal("Write a haiku", lambda prompt: "an old pond", judge).status)
    paused
    """

    def __init__(
        self, message: str, *, final: bool = False, usage: Usage | None = None, trouble: ModelTrouble | None = None
    ) -> None:
        super().__init__(message)
        self.final = final
        self.usage = usage or Usage()
        self.trouble = trouble


class WorkerFailed(DoneWhenError):
    """The worker's turn ended with an error; the iteration is recorded with it. `final`: another turn is useless
    until a person changes something, and the run ends. `usage` is what the turn cost all the same, where that is known.
    `trouble`: its model could not be asked, so that the turn counts for nothing and the run pauses. A worker may raise
    it.

    >>> from donewhen import WorkerFailed, run_goal
    >>> def worker(prompt):
    ...     raise WorkerFailed("no such account", final=True)
    >>> outcome = run_goal("Write a haiku", worker, lambda task: True)
    >>> print(outcome.status, outcome.reason)
    crashed no such account
    """

    def __init__(
        self, message: str, *, final: bool = False, usage: Usage | None = None, trouble: ModelTrouble | None = None
    ) -> None:
        super().__init__(message)
        self.final = final
        self.usage = usage
        self.trouble = trouble
