"""A judge asked on its own: no loop, no side effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from donewhen.core.calls import Message, messages_of
from donewhen.core.errors import InvalidGoal, UsageError, WorkspaceError
from donewhen.core.evidence import (
    CheckResult,
    EditorReport,
    Evidence,
    Observation,
    ObservedDiff,
    ObservedFile,
    ObservedResponse,
    check_evidence,
    shows,
)
from donewhen.core.globs import literal
from donewhen.core.goal import Check, Goal, Requirement, requirement_id
from donewhen.core.verdict import Finding, GoalVerdict, RequirementVerdict
from donewhen.core.work import Usage
from donewhen.ports import Calls, Judge, Judgement, JudgeTask

_REVISION = "alone"
CLAIMS_ALONE = "only messages were given, and they are claims"


async def judge_goal(
    judge: Judge,
    goal: Goal | str,
    evidence: Sequence[Observation] | None = None,
    *,
    messages: Sequence[Mapping[str, Any]] | None = None,
    files: Mapping[str, str] | None = None,
) -> GoalVerdict:
    """The judge's verdict on the goal, from this evidence and these files (path to text) alone. Nothing is run,
    written, recorded or cached. A goal given as text is one requirement; with an ObservedResponse in `evidence` it is
    about that response.

    `messages` (`{"role": ..., "content": ...}`) are claims: the judge may read them, but they can't prove anything.
    A bound check decides as in a run, by its result in `evidence`. Raises InvalidGoal, UsageError for messages and
    evidence that can't be used, JudgeOutage if the judge can't be asked.
    """
    _check_files(files)
    asked = _goal_to_judge(goal, evidence or ())
    # There is nothing else to look at: every file is shown for each requirement that names none.
    every = tuple(literal(path) for path in files or ())
    shown_for = tuple(one if one.files else replace(one, files=every) for one in asked.requirements)
    asked = replace(asked, requirements=shown_for)
    context = _Alone(evidence or (), files or {})
    claims = messages_of(messages or ())
    held_back = {one.id: found for one in asked.requirements if (found := _by_proof(one, context.given)) is not None}
    open_ones = tuple(one for one in asked.requirements if one.id not in held_back)
    reply = Judgement(None, Usage())
    if open_ones:
        task = JudgeTask("", asked, open_ones, _REVISION, context.given, messages=claims, kept=False)
        reply = await judge.judge(task, context)
    bare = not files and not any(shows(one) for one in evidence or ())
    findings = tuple(held_back.get(one.id) or _founded_verdict(one, reply, context, bare) for one in asked.requirements)
    left = [
        (one.label, found) for one, found in zip(asked.requirements, findings, strict=True) if found.finding != "met"
    ]
    several = len(findings) > 1
    missing = "\n".join(f"{f'{label}: ' if several else ''}{found.reason or found.finding}" for label, found in left)
    score = (len(findings) - len(left)) / len(findings)
    # The judge's score for the whole goal counts only if the judge was asked about the whole goal.
    if not held_back and reply.score is not None:
        score = reply.score
    return GoalVerdict(score, not left, missing, findings, context.calls.total + reply.usage)


def _goal_to_judge(goal: Goal | str, evidence: Sequence[Observation]) -> Goal:
    if isinstance(goal, Goal):
        check_evidence(evidence, goal.about)
        return goal
    if not isinstance(goal, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
        raise InvalidGoal(f"goal must be text or a Goal; it is {type(goal).__name__}")
    check_evidence(evidence, "response")
    responses = any(isinstance(one, ObservedResponse) for one in evidence)
    text = goal.strip()
    requirements = (Requirement(requirement_id(text), 1, text),) if text else ()
    return Goal("", text, requirements, about="response" if responses else "workspace")


def _check_files(files: Any) -> None:
    if files is None:
        return
    texts = isinstance(files, Mapping) and cast("Mapping[object, object]", files).items()
    if texts is False or not all(isinstance(one, str) for pair in texts for one in pair):
        raise UsageError('files must map paths to texts: files={"path.py": "its text"}')


def _founded_verdict(requirement: Requirement, reply: Judgement, context: _Alone, bare: bool) -> RequirementVerdict:
    """The judge's finding; `met` proves nothing unless it cites given evidence. `bare`: the caller gave nothing that
    could be evidence."""
    found = [one for one in (reply.verdict.findings if reply.verdict else ()) if one.requirement_id == requirement.id]
    if len(found) != 1:
        reason = reply.reason or "the judge's reply did not name the requirement"
        return RequirementVerdict(requirement.id, "unverified", reason)
    finding = found[0]
    cited = finding.evidence_ids
    if finding.finding != "met":
        return finding
    if bare:
        return RequirementVerdict(requirement.id, "unverified", CLAIMS_ALONE)
    if not (cited and context.known.issuperset(cited)):
        return RequirementVerdict(requirement.id, "unverified", "the judge cites no evidence that it was shown")
    return finding


def _by_proof(requirement: Requirement, given: Sequence[Evidence]) -> RequirementVerdict | None:
    """What its bound checks and the editor decide; None if the judge must be asked."""
    said = [_check_verdict(check, given) for check in requirement.checks]
    if requirement.problems:
        said.append(_reported(requirement, given))
    worst = next((one for wanted in ("unmet", "unverified") for one in said if one[0] == wanted), None)
    if worst is not None:
        return RequirementVerdict(requirement.id, *worst)
    if not requirement.sole_check or not said:
        return None
    reason = "; ".join(reason for _, reason, _ in said)
    return RequirementVerdict(requirement.id, "met", reason, tuple(name for _, _, ids in said for name in ids))


_Said = tuple[Finding, str, tuple[str, ...]]


def _check_verdict(check: Check, given: Sequence[Evidence]) -> _Said:
    """If there are several results of one check, the last one counts."""
    for evidence in reversed(given):
        result = evidence.observation
        if isinstance(result, CheckResult) and result.check_id == check.id:
            failed: Finding = "unmet" if result.outcome.decides else "unverified"
            return "met" if result.passed else failed, f"`{check.command}`: {result.reason}", (evidence.id,)
    return "unverified", f"`{check.command}` has no result here: give one as evidence", ()


def _reported(requirement: Requirement, given: Sequence[Evidence]) -> _Said:
    for evidence in reversed(given):
        report = evidence.observation
        if isinstance(report, EditorReport) and report.requirement_id == requirement.id and report.forwarded:
            if report.passed:
                return "met", "the editor reports no error", (evidence.id,)
            if report.errors:
                return "unmet", "the editor reports errors", (evidence.id,)
            return "unverified", report.doubt, (evidence.id,)
    return "unverified", "the editor's diagnostics are missing: give them as evidence", ()


class _Alone:
    """`ports.AuditContext` in memory: only what the caller gave."""

    def __init__(self, evidence: Sequence[Observation], files: Mapping[str, str]) -> None:
        if any(isinstance(one, ObservedFile) for one in evidence):
            raise UsageError("files are not evidence by themselves: give their texts as `files`, by path")
        self._diffs = [one for one in evidence if isinstance(one, ObservedDiff)]
        self._files = {path: text.encode("utf-8", "surrogatepass") for path, text in files.items()}
        self._numbers = 0
        self._recorded: dict[Observation, Evidence] = {}
        """What several members of a panel are shown has one id."""
        shown = [one for one in evidence if not isinstance(one, ObservedDiff)]
        self.given = tuple(self._numbered(one) for one in shown)
        self.calls = Account()

    def _numbered(self, observation: Observation) -> Evidence:
        self._numbers += 1
        return Evidence(f"E{self._numbers}", _REVISION, _REVISION, 0, observation)

    @property
    def known(self) -> frozenset[str]:
        """The ids of everything that can be cited."""
        return frozenset(f"E{number}" for number in range(1, self._numbers + 1))

    @property
    def root(self) -> str:
        return ""

    def activity(self, line: str) -> None:
        return

    def files(self) -> Sequence[str]:
        return sorted(self._files)

    async def changed(self) -> Sequence[str]:
        return sorted({path for diff in self._diffs for path in diff.paths})

    async def diff(self) -> str:
        return "\n".join(diff.text for diff in self._diffs)

    async def read(self, path: str) -> bytes:
        if path not in self._files:
            raise WorkspaceError(f"{path} was not given")
        return self._files[path]

    async def record(self, observation: Observation) -> Evidence:
        if observation not in self._recorded:
            self._recorded[observation] = self._numbered(observation)
        return self._recorded[observation]

    async def run_check(self, check: Check) -> Evidence:
        raise WorkspaceError("checks are not run here: decide on what is shown")


# An account of model calls outside of any run: counted in memory, without a limit.


class Account(Calls):
    """`ports.Calls` for a caller that waits for one answer. Concurrent calls are counted too."""

    def __init__(self) -> None:
        self._ended = Usage()
        self._open: dict[str, Usage] = {}
        self._begun = 0

    @property
    def total(self) -> Usage:
        """The usage of all calls so far; a call that was cut off counts as its prompt, since its real cost is
        unknown."""
        return sum(self._open.values(), self._ended)

    @property
    def asked(self) -> int:
        """How often a model was asked."""
        return self._begun

    async def begin(self, model: str, prompt: Usage, worst: Usage) -> str:
        self._begun += 1
        call_id = f"call-{self._begun}"
        self._open[call_id] = prompt
        return call_id

    async def end(self, call_id: str, usage: Usage, message: Message | None = None, error: str | None = None) -> None:
        if self._open.pop(call_id, None) is not None:
            self._ended += usage
