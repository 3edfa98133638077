"""The judge's opinions at the moment of completion, apart from its verdicts: whether code of the product does what the
tests ask for by special cases, and whether the goal asks for a change of its proof.

Neither decides: a special case that the judge sees is a finding, which a person may accept, and what it says about a
change of the proof stands in the person's question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from donewhen.core.errors import JudgeOutage, OverBudget
from donewhen.core.evidence import CheckResult
from donewhen.core.goal import Requirement
from donewhen.core.integrity_facts import IntegrityFinding
from donewhen.core.special_cases import Special
from donewhen.core.verdict import RequirementVerdict
from donewhen.core.work import Usage
from donewhen.engine.active import ActiveRun
from donewhen.engine.audit_context import RevisionView
from donewhen.ports import JudgeTask

_GENERAL = (
    "The change does what the tests ask for in general, without special cases for them: no branch, table or constant "
    "holds what a test passes or expects in place of computing it, and nothing asks whether a test runs. It is `unmet` "
    "only if such a special case is seen; say where."
)
_WANTED = (
    "The objective of the goal asks for the change of the proof that is named below, or can't be reached without it. "
    "It is `unmet` if the change makes the proof weaker than the objective allows; say how."
)
_SAID = {
    "met": "The judge says that the goal asks for it",
    "unmet": "The judge says that the goal does not ask for it",
    "unverified": "The judge can't tell whether the goal asks for it",
}


@dataclass(frozen=True, slots=True)
class Opinions:
    """`special` is the judge's reason where it sees a special case, `advice` what it says about the changed proof, one
    sentence; each empty if it wasn't asked, or doesn't say."""

    special: str = ""
    advice: str = ""
    usage: Usage = field(default_factory=Usage)


async def opinions(run: ActiveRun, specials: Sequence[Special], changed: Sequence[IntegrityFinding]) -> Opinions:
    """Asks the judge, once for both, about lines that may be special cases and findings that tell of a changed proof.
    An outage, or a budget that is reached, leaves it unasked: what trials found stands without it."""
    judge, revision = run.parts.judge, run.state.revision
    asked: list[Requirement] = []
    if specials:
        lines = [f"{one.path}:{one.line + 1}: {one.text}" for one in specials]
        asked.append(_requirement("special-cases", _GENERAL, lines, [one.path for one in specials]))
    if changed:
        told = [one.message for one in changed]
        asked.append(_requirement("proof-change", _WANTED, told, [one.path for one in changed]))
    if judge is None or not asked:
        return Opinions()
    results = [one for one in run.state.results.values() if isinstance(one.observation, CheckResult)]
    task = JudgeTask(run.run_id, run.state.goal, tuple(asked), revision, tuple(results), kept=False)
    run.say("asking the judge about the change")
    try:
        reply = await judge.judge(task, RevisionView(run, revision))
    except (JudgeOutage, OverBudget):
        return Opinions()
    finally:
        run.say(None)
    findings = reply.verdict.findings if reply.verdict is not None else ()
    said = {one.requirement_id: one for one in findings}
    return Opinions(_special(run, said.get("special-cases")), _advice(run, said.get("proof-change")), reply.usage)


def _requirement(identity: str, text: str, details: Sequence[str], paths: Sequence[str]) -> Requirement:
    return Requirement(identity, 0, text, details=tuple(details), files=tuple(dict.fromkeys(p for p in paths if p)))


def _special(run: ActiveRun, said: RequirementVerdict | None) -> str:
    return "" if said is None or said.finding != "unmet" else run.parts.mask(said.reason) or "it gave no reason"


def _advice(run: ActiveRun, said: RequirementVerdict | None) -> str:
    if said is None:
        return ""
    reason = run.parts.mask(said.reason).strip()
    return f"{_SAID[said.finding]}{f': {reason}' if reason else ''}".rstrip(".") + "."
