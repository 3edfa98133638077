"""Several judges, each asked on its own; the panel's rule says how far they must agree."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from donewhen.core.errors import JudgeOutage
from donewhen.core.events import PanelRule
from donewhen.core.verdict import Finding, RequirementVerdict, Verdict
from donewhen.core.work import Usage
from donewhen.ports import AuditContext, Judge, Judgement, JudgeTask

V = TypeVar("V")
_UNDECIDED: Finding = "unverified"


class PanelJudge:
    """Asks its members concurrently. `majority` needs more than half of all members, `unanimity` all of them; without
    that agreement the requirement is `unverified`. A member that can't be asked counts as one that didn't agree; if its
    vote could still decide, the whole audit is an outage."""

    def __init__(self, members: Sequence[Judge], rule: PanelRule) -> None:
        if not members:
            raise ValueError("a panel has at least one member")
        self._members = tuple(members)
        self._rule: PanelRule = rule
        self._needed = len(self._members) if rule == "unanimity" else len(self._members) // 2 + 1

    @property
    def identity(self) -> str:
        return f"{self._rule} of {', '.join(member.identity for member in self._members)}"

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        """What the members agree on. Raises JudgeOutage, and OverBudget if a member may not be asked."""
        asked = [asyncio.ensure_future(member.judge(task, context)) for member in self._members]
        try:
            await asyncio.wait(asked, return_when=asyncio.ALL_COMPLETED)
        finally:
            for one in asked:
                one.cancel()
            replies = await asyncio.gather(*asked, return_exceptions=True)
        votes: list[tuple[str, Judgement]] = []
        outages: list[JudgeOutage] = []
        for member, reply in zip(self._members, replies, strict=True):
            if isinstance(reply, JudgeOutage):
                outages.append(reply)
            elif isinstance(reply, BaseException):
                raise reply
            else:
                votes.append((member.identity, reply))
        return self._claim(votes, outages) if task.claim is not None else self._verdict(task, votes, outages)

    def _verdict(
        self, task: JudgeTask, votes: Sequence[tuple[str, Judgement]], outages: Sequence[JudgeOutage]
    ) -> Judgement:
        findings: list[RequirementVerdict] = []
        for requirement in task.requirements:
            said = [(name, _member_verdict(reply, requirement.id)) for name, reply in votes]
            findings.append(self._agreed(requirement.id, said, outages))
        return Judgement(
            Verdict(tuple(findings)),
            usage=_total_usage(votes),
            shown=_files_shown_to_any([reply for _, reply in votes]),
            cached=all(reply.cached for _, reply in votes) and not outages,
        )

    def _agreed(
        self, key: str, said: Sequence[tuple[str, RequirementVerdict]], outages: Sequence[JudgeOutage]
    ) -> RequirementVerdict:
        votes: list[Finding] = [one.finding for _, one in said]
        agreed: tuple[Finding, int] = _most(votes, _UNDECIDED)
        finding, count = agreed
        agreeing = [one for _, one in said if one.finding == finding]
        if count >= self._needed:
            if finding == _UNDECIDED:
                return RequirementVerdict(key, _UNDECIDED, _who_said_what(said))
            ids = tuple(dict.fromkeys(cited for one in agreeing for cited in one.evidence_ids))
            told = "" if count == len(self._members) else f" ({count} of {len(self._members)} judges)"
            return RequirementVerdict(key, finding, f"{agreeing[0].reason}{told}", ids)
        self._refuse_open(count, outages)
        return RequirementVerdict(key, "unverified", f"the judges don't agree: {_who_said_what(said)}")

    def _refuse_open(self, count: int, outages: Sequence[JudgeOutage]) -> None:
        """Raises if the members that could not be asked would decide."""
        if outages and count + len(outages) >= self._needed:
            reasons = "; ".join(dict.fromkeys(str(outage) for outage in outages))
            asked = f"{len(outages)} of {len(self._members)} judges could not be asked"
            trouble = next((outage.trouble for outage in outages if outage.trouble is not None), None)
            raise JudgeOutage(f"{asked}: {reasons}", final=any(outage.final for outage in outages), trouble=trouble)

    def _claim(self, votes: Sequence[tuple[str, Judgement]], outages: Sequence[JudgeOutage]) -> Judgement:
        confirmed, count = _most([reply.confirmed for _, reply in votes], None)
        said = "; ".join(f"{name}: {reply.reason}" for name, reply in votes)
        if count < self._needed:
            self._refuse_open(count, outages)
            return Judgement(None, _total_usage(votes), reason=f"the judges don't agree: {said}")
        agreeing = [reply for _, reply in votes if reply.confirmed == confirmed]
        ids = tuple(dict.fromkeys(cited for reply in agreeing for cited in reply.evidence_ids))
        return Judgement(None, _total_usage(votes), reason=agreeing[0].reason, confirmed=confirmed, evidence_ids=ids)


def _total_usage(votes: Sequence[tuple[str, Judgement]]) -> Usage:
    return sum((reply.usage for _, reply in votes), Usage())


def _member_verdict(reply: Judgement, key: str) -> RequirementVerdict:
    """A member's finding; a reply that can't be used, or doesn't name the requirement exactly once, is undecided."""
    found = [one for one in (reply.verdict.findings if reply.verdict else ()) if one.requirement_id == key]
    if len(found) == 1:
        return found[0]
    return RequirementVerdict(key, "unverified", reply.reason or "its reply did not name the requirement")


def _most(votes: Sequence[V], otherwise: V) -> tuple[V, int]:
    """The most common vote, and its count; `otherwise` if there are no votes."""
    ordered = Counter(votes).most_common(1)
    return ordered[0] if ordered else (otherwise, 0)


def _who_said_what(said: Sequence[tuple[str, RequirementVerdict]]) -> str:
    return "; ".join(f"{name} says {one.finding} ({one.reason})" for name, one in said)


def _files_shown_to_any(replies: Sequence[Judgement]) -> dict[str, tuple[str, ...]]:
    """Everything that any member saw; without an entry if one may have seen anything."""
    keys = set(replies[0].shown) if replies else set[str]()
    for reply in replies:
        keys &= set(reply.shown)
    return {key: tuple(dict.fromkeys(path for reply in replies for path in reply.shown[key])) for key in sorted(keys)}
