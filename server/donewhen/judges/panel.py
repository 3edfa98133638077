"""Several judges, each asked on its own; the panel's rule says how far they must agree."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from donewhen.core.errors import JudgeOutage
from donewhen.core.events import PanelRule
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Usage
from donewhen.ports import AuditContext, Judge, Judgement, JudgeTask


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
            key = requirement.id
            said = [(name, _member_verdict(reply, key)) for name, reply in votes]
            told = "; ".join(f"{name} says {one.finding} ({one.reason})" for name, one in said)
            agreeing = [said[at][1] for at in self._agreed([one.finding for _, one in said], outages)]
            if not agreeing:
                findings.append(RequirementVerdict(key, "unverified", f"the judges don't agree: {told}"))
            elif agreeing[0].finding == "unverified":
                findings.append(RequirementVerdict(key, "unverified", told))
            else:
                ids = tuple(dict.fromkeys(cited for one in agreeing for cited in one.evidence_ids))
                all_say = len(agreeing) == len(self._members)
                count = "" if all_say else f" ({len(agreeing)} of {len(self._members)} judges)"
                findings.append(RequirementVerdict(key, agreeing[0].finding, f"{agreeing[0].reason}{count}", ids))
        return Judgement(
            Verdict(tuple(findings)),
            usage=_total_usage(votes),
            shown=_files_shown_to_any([reply for _, reply in votes]),
            cached=all(reply.cached for _, reply in votes) and not outages,
        )

    def _claim(self, votes: Sequence[tuple[str, Judgement]], outages: Sequence[JudgeOutage]) -> Judgement:
        agreeing = [votes[at][1] for at in self._agreed([reply.confirmed for _, reply in votes], outages)]
        if not agreeing:
            said = "; ".join(f"{name}: {reply.reason}" for name, reply in votes)
            return Judgement(None, _total_usage(votes), reason=f"the judges don't agree: {said}")
        ids = tuple(dict.fromkeys(cited for reply in agreeing for cited in reply.evidence_ids))
        first = agreeing[0]
        return Judgement(None, _total_usage(votes), reason=first.reason, confirmed=first.confirmed, evidence_ids=ids)

    def _agreed(self, votes: Sequence[object], outages: Sequence[JudgeOutage]) -> list[int]:
        """Which members gave the vote that enough of them gave; none if they don't agree. Raises if the members that
        could not be asked would decide."""
        vote, count = Counter(votes).most_common(1)[0] if votes else (None, 0)
        if count >= self._needed:
            return [at for at, one in enumerate(votes) if one == vote]
        if outages and count + len(outages) >= self._needed:
            reasons = "; ".join(dict.fromkeys(str(outage) for outage in outages))
            asked = f"{len(outages)} of {len(self._members)} judges could not be asked"
            trouble = next((outage.trouble for outage in outages if outage.trouble is not None), None)
            raise JudgeOutage(f"{asked}: {reasons}", final=any(outage.final for outage in outages), trouble=trouble)
        return []


def _total_usage(votes: Sequence[tuple[str, Judgement]]) -> Usage:
    return sum((reply.usage for _, reply in votes), Usage())


def _member_verdict(reply: Judgement, key: str) -> RequirementVerdict:
    """A member's finding; a reply that can't be used, or doesn't name the requirement exactly once, is undecided."""
    found = [one for one in (reply.verdict.findings if reply.verdict else ()) if one.requirement_id == key]
    if len(found) == 1:
        return found[0]
    return RequirementVerdict(key, "unverified", reply.reason or "its reply did not name the requirement")


def _files_shown_to_any(replies: Sequence[Judgement]) -> dict[str, tuple[str, ...]]:
    """Everything that any member saw; without an entry if one may have seen anything."""
    keys = set(replies[0].shown) if replies else set[str]()
    for reply in replies:
        keys &= set(reply.shown)
    return {key: tuple(dict.fromkeys(path for reply in replies for path in reply.shown[key])) for key in sorted(keys)}
