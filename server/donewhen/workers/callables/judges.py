"""Judges that are Python callables: each becomes a `ports.Judge`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from donewhen.core.calls import Message
from donewhen.core.errors import JudgeOutage, OverBudget
from donewhen.core.evidence import (
    CheckResult,
    Evidence,
    ObservedCommand,
    ObservedDiff,
    ObservedResponse,
    Outcome,
    proves,
    shows,
)
from donewhen.core.goal import Goal, Requirement
from donewhen.core.verdict import GoalVerdict, RequirementVerdict, Verdict
from donewhen.core.work import UNKNOWN, Claim, Usage
from donewhen.ports import AuditContext, Judge, Judgement, JudgeTask
from donewhen.threads import called

CITED_COMMANDS = 20


@dataclass(frozen=True, slots=True)
class AuditTask:
    """What a callable judge is given: the goal, the requirements that it decides, and what the server saw itself, as
    far as it still holds.

    `response` is what the worker returned, as text, where the goal is about the response, empty otherwise; `diff` what
    changed in the workspace since the run began. With a `claim` the question is whether the evidence confirms it.
    `files` (path to text) and `messages` are what a judge that is asked alone was given; messages are claims.

    >>> from donewhen import AuditTask, GoalVerdict, run_goal
    >>> def judge(task: AuditTask) -> GoalVerdict:
    ...     polite = "please" in task.response
    ...     return GoalVerdict(1.0 if polite else 0.2, polite, "" if polite else "say please")
    >>> run_goal("Ask politely", lambda prompt: "please help", judge).verdict.score
    1.0
    """

    goal: Goal
    requirements: tuple[Requirement, ...]
    evidence: tuple[Evidence, ...]
    response: str = ""
    diff: str = ""
    claim: Claim | None = None
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    messages: tuple[Message, ...] = ()

    @property
    def objective(self) -> str:
        return self.goal.objective.strip() or self.goal.title


class VerdictJudge:
    """`ports.Judge` for a callable that takes an AuditTask and returns a GoalVerdict, a Verdict, a Judgement, a dict
    `{score, complete, missing}`, or a bool. Anything else, and whatever contradicts itself, is not a verdict.

    It is a program of the caller's, and may look at what the server can't see: a page, a database. Where the server
    has nothing to show, that it ran and what it answered is the evidence, as a validator's result is.
    """

    def __init__(self, ask: Callable[..., Any], files: Mapping[str, str] | None = None) -> None:
        self._ask = ask
        self._files = files or {}

    @property
    def identity(self) -> str:
        return f"callable {getattr(self._ask, '__qualname__', type(self._ask).__name__)}"

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        """Its JudgeOutage is an outage, as is any other exception of it: it has not judged."""
        seen = replace(await _task_with_changes(task, context), files=self._files)
        started, begun = time.time(), time.perf_counter()
        try:
            said = await called(self._ask, seen)
        except (JudgeOutage, OverBudget):
            raise
        except Exception as error:
            raise JudgeOutage(f"{type(error).__name__}: {error}", usage=UNKNOWN) from error
        if isinstance(said, Judgement):
            wrong = _unusable_reply(said)
            return _unusable(wrong) if wrong else said
        if task.claim is not None:
            return _on_claim(said, seen)
        if task.goal.about == "workspace" and not _provable(seen):
            seconds = time.perf_counter() - begun
            verdict = None if isinstance(said, Verdict) else verdict_from(said)
            # A plain yes to the whole: findings cite evidence of their own.
            if isinstance(verdict, GoalVerdict) and verdict.complete and not verdict.findings:
                ran = CheckResult("judge", self.identity, Outcome.PASSED, "it says yes", None, started, seconds)
                seen = replace(seen, evidence=(await context.record(ran),))
        return judgement_of(said, seen)


class HearingJudge:
    """`ports.Judge` around another one, which is told what was said so far, as claims, where the goal is about a
    response."""

    def __init__(self, judge: Judge, said: Callable[[], Sequence[Message]]) -> None:
        self._judge = judge
        self._said = said

    @property
    def identity(self) -> str:
        return self._judge.identity

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        if task.goal.about == "response":
            task = replace(task, messages=tuple(self._said()))
        return await self._judge.judge(task, context)


async def _task_with_changes(task: JudgeTask, context: AuditContext) -> AuditTask:
    """The evidence that holds, with what changed, so that there is something to cite where no check ran."""
    evidence, diff = [one for one in task.evidence if one.fresh(task.revision)], ""
    if task.goal.about == "workspace":
        diff = await context.diff()
        changes = ObservedDiff("", tuple(await context.changed()), diff)
        if shows(changes):
            evidence.append(await context.record(changes))
    held = [one.observation for one in evidence if isinstance(one.observation, ObservedResponse)]
    response = held[-1].text if held else ""
    return AuditTask(task.goal, task.requirements, tuple(evidence), response, diff, task.claim, messages=task.messages)


def _provable(task: AuditTask) -> tuple[str, ...]:
    """What a verdict for the whole cites: what it was shown, as far as it can carry one; of commands the latest."""
    able = [one for one in task.evidence if proves(one.observation)]
    ran = [one for one in able if isinstance(one.observation, ObservedCommand)]
    left_out = {one.id for one in ran[:-CITED_COMMANDS]}
    return tuple(one.id for one in able if one.id not in left_out)


def judgement_of(said: Any, task: AuditTask) -> Judgement:
    """What a judge's value says of the requirements of the task: a verdict for the whole holds for each of them, one
    with findings, finding by finding. Nothing is coerced: a value that isn't exactly a verdict leaves them
    unverified."""
    if isinstance(said, Verdict):
        wrong = _unusable_findings(said.findings)
        return _unusable(wrong) if wrong else Judgement(said)
    verdict = verdict_from(said)
    if isinstance(verdict, str):
        return _unusable(verdict)
    findings = tuple(verdict.findings)
    if not findings:
        finding: Literal["met", "unmet"] = "met" if verdict.complete else "unmet"
        plain = "the judge finds it complete" if verdict.complete else "the judge finds it unproven"
        reason, cited = verdict.missing.strip() or plain, _provable(task)
        findings = tuple(RequirementVerdict(one.id, finding, reason, cited) for one in task.requirements)
    return Judgement(Verdict(findings), verdict.usage, score=verdict.score)


def verdict_from(said: Any) -> GoalVerdict | str:
    """A value as a verdict for the whole; text says why it isn't one."""
    if isinstance(said, bool):
        return GoalVerdict(1.0 if said else 0.0, said, "" if said else "the judge says no")
    if isinstance(said, Mapping):
        given = cast("Mapping[str, Any]", said)
        absent = [key for key in ("score", "complete") if key not in given]
        if absent:
            return f"it has no {' and no '.join(absent)}"
        said = GoalVerdict(given["score"], given["complete"], given.get("missing", ""))
    if not isinstance(said, GoalVerdict):
        return f"{type(said).__name__} is not a verdict"
    return _contradiction(said) or said


def _unusable(why: str) -> Judgement:
    return Judgement(None, reason=f"the judge's verdict can't be used: {why}")


def _unusable_reply(reply: Judgement) -> str:
    """What is wrong with a Judgement; empty if nothing is. Callables are not always type-checked."""
    given = cast("Any", reply)
    if given.verdict is not None:
        if not isinstance(given.verdict, Verdict):
            return f"verdict must be a Verdict or None, not {given.verdict!r:.80}"
        if wrong := _unusable_findings(given.verdict.findings):
            return wrong
    if given.confirmed is not None and not isinstance(given.confirmed, bool):
        return f"confirmed must be True, False or None, not {given.confirmed!r:.80}"
    if given.score is not None and (isinstance(given.score, bool) or not _share(given.score)):
        return f"score must be a number from 0 to 1, not {given.score!r:.80}"
    expected: dict[str, Any] = {"reason": str, "usage": Usage, "evidence_ids": Sequence, "shown": Mapping}
    for name, kind in expected.items():
        if not isinstance(getattr(given, name), kind):
            return f"{name} can't be {getattr(given, name)!r:.80}"
    return "" if all(isinstance(one, str) for one in given.evidence_ids) else "evidence_ids must be strings"


def _unusable_findings(findings: Any) -> str:
    if isinstance(findings, tuple | list):
        wrong: list[Any] = [one for one in cast("list[Any]", findings) if not isinstance(one, RequirementVerdict)]
        if not wrong:
            return ""
        findings = wrong[0]
    return f"findings must be RequirementVerdicts, not {findings!r:.80}"


def _contradiction(verdict: GoalVerdict) -> str:
    score = cast("Any", verdict.score)
    if isinstance(score, bool) or not _share(score):
        return f"score must be a number from 0 to 1, not {score!r}"
    if not isinstance(cast("Any", verdict.complete), bool):
        return f"complete must be True or False, not {verdict.complete!r}"
    if not isinstance(cast("Any", verdict.missing), str):
        return f"missing must be text, not {verdict.missing!r}"
    if not isinstance(cast("Any", verdict.usage), Usage):
        return f"usage must be a Usage, not {verdict.usage!r:.80}"
    if wrong := _unusable_findings(verdict.findings):
        return wrong
    if verdict.complete and score == 0:
        return "complete, with a score of 0"
    if verdict.complete and verdict.missing.strip():
        return f"complete, yet something is missing: {verdict.missing.strip()}"
    return ""


def _share(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _on_claim(said: Any, task: AuditTask) -> Judgement:
    """Only an explicit `confirmed` answers a claim; for anything else a person is asked."""
    if isinstance(said, Mapping):
        named = cast("Mapping[str, Any]", said)
        confirmed, reason = named.get("confirmed"), named.get("reason", "")
        if isinstance(confirmed, bool) and isinstance(reason, str):
            return Judgement(None, reason=reason, confirmed=confirmed, evidence_ids=_provable(task))
    return Judgement(None, reason="the judge said nothing about the claim")


def judge_of(given: object, files: Mapping[str, str] | None = None) -> Judge | None:
    """The port as it is, a callable as a judge; None for anything else. `files` are what a callable is shown."""
    if callable(getattr(given, "judge", None)) and hasattr(given, "identity"):
        return cast("Judge", given)
    return VerdictJudge(given, files) if callable(given) else None
