"""What the server itself observed, and when an observation still holds.

Only `evidence/` and `workspace/` make these records (invariant 3); nothing that a worker or judge says becomes one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, cast

from donewhen.core.errors import UsageError
from donewhen.core.failure_text import clipped, failure_text
from donewhen.core.words import counted, quoted, shortened

Severity = Literal["error", "warning", "information"]


class Outcome(StrEnum):
    """How a check ended. Only PASSED can prove anything."""

    PASSED = "passed"
    FAILED = "failed"  # it ran and says no: wrong exit code, or a failed test
    NO_TESTS = "no_tests"  # a test run that executed no test, whatever its exit code
    NO_REPORT = "no_report"  # a test run that gave neither a report nor totals: nothing is known
    TIMED_OUT = "timed_out"
    KILLED = "killed"  # ended by a signal that the server did not send
    NOT_INSTALLED = "not_installed"  # the shell did not find the program: never shown as a failed test
    NOT_RUN = "not_run"  # it could not be started; the reason says why

    @property
    def decides(self) -> bool:
        """True if the check says yes or no; otherwise its requirement is `unverified`."""
        return self in (Outcome.PASSED, Outcome.FAILED, Outcome.NO_TESTS, Outcome.TIMED_OUT, Outcome.KILLED)


TestOutcome = Literal["passed", "failed", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test as its runner reported it. `path` is relative to the workspace, `line` 0-based, where known."""

    __test__ = False  # not a test class for pytest

    name: str
    outcome: TestOutcome
    path: str | None = None
    line: int | None = None
    message: str = ""

    @property
    def failed(self) -> bool:
        return self.outcome in ("failed", "error")


@dataclass(frozen=True, slots=True)
class TestTotals:
    """How many tests ran. `source` says who counted: junit, tap, printed, ..."""

    __test__ = False

    passed: int
    failed: int
    skipped: int = 0
    source: str = "junit"

    @property
    def executed(self) -> int:
        return self.passed + self.failed


@dataclass(frozen=True, slots=True)
class Problem:
    """A place that a check names. `path` is relative to the workspace (posix); lines and columns are 0-based,
    columns count Unicode code points."""

    path: str
    line: int
    message: str
    column: int = 0
    severity: Severity = "error"
    source: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One run of one check.

    `output` is bounded: head and tail kept, the cut marked; `output_bytes` and `output_digest` are of all of it.
    `program` is the executable that the command's first word resolved to; `environment` is a digest of the
    variables, the program and the platform that it ran in. Times are seconds; `started_at` is epoch time.
    """

    check_id: str
    command: str
    outcome: Outcome
    reason: str
    exit_code: int | None = None
    started_at: float = 0.0
    seconds: float = 0.0
    output: str = ""
    output_bytes: int = 0
    output_digest: str = ""
    program: str | None = None
    environment: str = ""
    is_test_run: bool = False
    totals: TestTotals | None = None
    tests: tuple[TestCase, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def passed(self) -> bool:
        """True only for a pass that counts: a test run must have executed at least one test."""
        if self.outcome is not Outcome.PASSED:
            return False
        if not self.is_test_run:
            return True
        return self.totals is not None and self.totals.executed >= 1 and self.totals.failed == 0


@dataclass(frozen=True, slots=True)
class PastResult:
    """What a check said in an earlier run of its goal, at one unmoved revision: a flaky check is remembered. `flaky`
    counts how often in a row it has passed since it was found flaky, None if it was not."""

    check_id: str
    revision: str
    environment: str
    passed: bool
    flaky: int | None = None


@dataclass(frozen=True, slots=True)
class EditorReport:
    """The editor's own diagnostics for the files that a requirement's `problems` globs name.

    `forwarded` is false where no client forwards them: then nothing is known. `files` counts the files of those globs
    that the editor has open or said something about (None in older records). `unsaved` are the files of the workspace
    with text that isn't on the disk, `outdated` those whose diagnostics are for an older text than the editor shows;
    `settled` is false where the diagnostics went on changing.
    """

    requirement_id: str
    forwarded: bool
    problems: tuple[Problem, ...] = ()
    files: int | None = None
    unsaved: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    settled: bool = True

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Those in files whose text is on the disk."""
        return tuple(p for p in self.problems if p.severity == "error" and p.path not in self.unsaved)

    @property
    def told(self) -> str:
        """`the editor reports 1 problem`."""
        return f"the editor reports {counted(len(self.problems), 'problem')}"

    @property
    def doubt(self) -> str:
        """Why nothing follows for the files on the disk from an editor that reports no error; empty if it does."""
        if not self.forwarded:
            return "no editor forwards its diagnostics here"
        if self.unsaved:
            return f"the editor's diagnostics are about unsaved text in {quoted(self.unsaved, 1)}: save it"
        if self.outdated:
            return f"the editor has not yet checked the current text of {quoted(self.outdated, 1)}"
        if not self.settled:
            return "the editor's diagnostics kept changing"
        if self.files == 0:
            return "the editor has checked none of these files: open one"
        return ""

    @property
    def passed(self) -> bool:
        return not self.doubt and not self.errors


@dataclass(frozen=True, slots=True)
class ObservedFile:
    """A file as the server read it: what it was shown to the judge as. `digest` is sha256 of its bytes."""

    path: str
    digest: str
    size: int
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class ObservedDiff:
    """What changed between two revisions, as the server computed it; the text is bounded."""

    base: str
    paths: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class ObservedCommand:
    """A command that the worker ran through the server, which saw it run; `output` is bounded."""

    command: str
    exit_code: int | None
    seconds: float
    output: str = ""


@dataclass(frozen=True, slots=True)
class ObservedResponse:
    """What a library worker returned: evidence for a goal about the response itself, and for nothing else. `digest` is
    sha256 of the whole; `text` is bounded."""

    digest: str
    text: str
    size: int


TrialKind = Literal[
    "original",
    "reverted",
    "planted",
    "control",
    "planted_before",
    "reverted_rebuilt",
    "forced",
    "held_out",
    "disguised",
]
"""See `core/trials/outcome.py`."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one check in a room: `tried` says of what. `result` is None if there was none; `reason` says why.

    `laid` are the paths (bounded) that differ from the current tree there; `rewritten` the proof files that were
    written while it ran. `same_place` is false in a room that lies in another folder: what is installed by its path may
    come from the workspace itself. `plant` is the name of the planted test, `taken` are those of other
    tests that had to fail beside it. Of a held-out check, `command` is its name, and `result` says only whether it
    passed: a worker may read the record.
    """

    tried: TrialKind
    check_id: str
    command: str
    result: CheckResult | None
    reason: str = ""
    laid: tuple[str, ...] = ()
    laid_total: int = 0
    rewritten: tuple[str, ...] = ()
    room: str = ""
    same_place: bool = True
    plant: str = ""
    taken: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.result is not None and self.result.passed


@dataclass(frozen=True, slots=True)
class AffectedRun:
    """One run of those tests of a check that a change may affect, before the whole check: `command` is the check's,
    `result` what the narrower command gave, `changed` the paths (bounded) that it was asked about.

    It proves nothing and can't be cited. Where a test failed, the requirement is unmet until the whole check says more.
    """

    check_id: str
    command: str
    result: CheckResult
    changed: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True if a test failed. Whatever else went wrong may be so because tests were left out."""
        totals = self.result.totals
        return totals is not None and totals.failed > 0 and self.result.outcome is Outcome.FAILED


Observation = (
    CheckResult | EditorReport | ObservedFile | ObservedDiff | ObservedCommand | ObservedResponse | Trial | AffectedRun
)


def shows(observation: Observation) -> bool:
    """False for an observation in which nothing was seen: it is a record of having looked, and proves nothing. Nor does
    a run of some of a check's tests.

    Silence is not empty if something else was seen: a command without output has its exit code, an empty file is
    there, an empty response is one, and a check that could not run says why.
    """
    match observation:
        case CheckResult() | ObservedFile() | ObservedResponse():
            return True
        case EditorReport(doubt=doubt):
            return not doubt
        case Trial(result=result):
            return result is not None
        case AffectedRun():
            return False
        case ObservedDiff(paths=paths, text=text):
            return bool(paths or text.strip())
        case ObservedCommand(exit_code=code, output=output):
            return code is not None or bool(output.strip())


def proves(observation: Observation) -> bool:
    """False for what can't support `met`: nothing was seen, or a check could not tell."""
    undecided = isinstance(observation, CheckResult) and not observation.outcome.decides
    return shows(observation) and not undecided


@dataclass(frozen=True, slots=True)
class Evidence:
    """An immutable record of something that the server observed.

    It holds for the revision at which it was both begun and ended: `revision` and `revision_after` differ where
    files changed meanwhile, and then it proves nothing. `turn` counts the worker turns that had ended when it
    was begun; `scope` are the globs of a narrower scope, empty for the whole revision, and `scope_digest` the
    content of that scope.
    """

    id: str
    revision: str
    revision_after: str
    turn: int
    observation: Observation
    scope: tuple[str, ...] = field(default=())
    scope_digest: str = ""

    def fresh(self, revision: str) -> bool:
        """True if nothing in the whole revision changed since it was begun."""
        return self.revision == self.revision_after == revision

    def citable(self, revision: str) -> bool:
        """True if a verdict about that revision may rest on it: it is fresh, and something was seen."""
        return self.fresh(revision) and shows(self.observation)


def check_evidence(evidence: Sequence[Observation], about: str) -> None:
    """Raises UsageError for what is not evidence, or not evidence for a goal about this."""
    if isinstance(evidence, str | Mapping) or not isinstance(evidence, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
        raise UsageError(
            f"evidence must be a sequence, evidence=[...]; it is {type(cast('object', evidence)).__name__}"
        )
    if any(isinstance(one, Mapping) for one in evidence):
        raise UsageError("messages are claims, not evidence: give them as `messages`")
    if not all(isinstance(one, Observation) for one in evidence):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
        raise UsageError("evidence is what was observed: a CheckResult, ObservedCommand, ObservedDiff, ...")
    if about != "response" and any(isinstance(one, ObservedResponse) for one in evidence):
        raise UsageError(
            'a response proves nothing about a workspace: give a goal about the response, about="response"'
        )


# Why a check is not met, in a few words: its first problems, each with its place, and how many more there are.


SHOWN = 3
COLLECTION = "collection failure"
"""How the message of a test begins that stands for a file which pytest could not import."""
_NOT_LOADED = "unittest.loader._FailedTest"
"""The class of one that stands for a file which unittest could not import."""

_LONGEST_NAME = 120
_PRINTED_BY_UNITTEST = re.compile(r"(?P<name>\w+) \((?P<owner>[\w.]+)\)")
_AFTER = re.compile(r"; (?=and \d+ more\b|hint: )")


def is_unloaded_file(test: TestCase) -> bool:
    """Whether it is no test, but a file of tests that its runner could not import."""
    return test.message.startswith(COLLECTION) or _NOT_LOADED in test.name


def first_problems(tests: Sequence[TestCase], problems: Sequence[Problem]) -> tuple[tuple[str, ...], int]:
    """The first problems, as `path:line: message` with lines from 1, and how many more there are: tests that failed and
    say why, else the places that were named, errors before others."""
    failed = [test for test in tests if test.failed]
    told: list[str] = []
    if any(test.message for test in failed):
        for test in failed:
            place = f"{test.path}:{(test.line or 0) + 1}: " if test.path else ""
            message = failure_text(test.message) or test.outcome
            if message.startswith(COLLECTION):
                message = message.removeprefix(COLLECTION).removeprefix(": ") or COLLECTION
            else:
                message = f"{short_name(test.name)}: {message}"
            told.append(place + message)
    else:
        named = _errors_first(problems)
        told = list(dict.fromkeys(f"{one.path}:{one.line + 1}: {clipped(one.message)}" for one in named))
    return tuple(told[:SHOWN]), max(len(told) - SHOWN, 0)


def reason_text(head: str, first: Sequence[str], more: int, hint: str = "") -> str:
    """All of it on one line."""
    parts = [*first, *([f"and {more} more"] if more else [])]
    said = f"{head}: {'; '.join(parts)}" if parts else head
    return f"{said}; hint: {hint}" if hint else said


def reason_lines(reason: str, result: CheckResult) -> list[str]:
    """A reason that `told` made for a result, its problems and its hint each on a line of its own."""
    first, _ = first_problems(result.tests, result.problems)
    for place in first:
        for before in (": ", "; "):
            head, found, rest = reason.partition(before + place)
            if found:
                reason = f"{head}\n{place}{rest}"
                break
    return _AFTER.sub("\n", reason).split("\n")


def short_name(name: str) -> str:
    """A test's name without its file or module."""
    if (unit := _PRINTED_BY_UNITTEST.fullmatch(name)) is not None:
        owner = unit["owner"].removesuffix(f".{unit['name']}").rpartition(".")[2]
        short = f"{owner}.{unit['name']}"
    else:
        short = name.split("::", 1)[1].replace("::", ".") if "::" in name else name
    return shortened(short, _LONGEST_NAME)


def _errors_first(problems: Sequence[Problem]) -> list[Problem]:
    """Without the further places of a problem that was named before."""
    seen: set[tuple[str, str]] = set()
    found: list[Problem] = []
    for problem in sorted(problems, key=lambda one: one.severity != "error"):
        same = (problem.source, problem.message)
        if problem.source in ("test", "unittest", "stack") and same in seen:
            continue
        seen.add(same)
        found.append(problem)
    return found
