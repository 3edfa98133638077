"""Several judges: what they agree on by the rule counts, what they don't is unverified (A6, A19)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from donewhen.core.errors import JudgeOutage, OverBudget
from donewhen.core.events import JudgeOptions, PanelRule
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Claim, Usage
from donewhen.judges.llm import LlmJudge
from donewhen.judges.panel import PanelJudge
from donewhen.ports import AuditContext, Judge, Judgement, JudgeTask
from tests.judges.models import MemoryAudit, ScriptedModel, entry, passed, requirement, task, verdict

R1, R2 = requirement(1, "Quotes are escaped", checks=["pytest -q"]), requirement(2, "Line breaks are kept")
SAID = {"m": "met", "u": "unmet", "?": "unverified"}


class Member(Judge):
    """Says of each requirement what its letters say; `x` is an outage, `X` a final one, `-` a reply of no use."""

    def __init__(self, name: str, says: str, shown: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._name, self._says, self._shown = name, says, shown or {}

    @property
    def identity(self) -> str:
        return self._name

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        if self._says in ("x", "X"):
            raise JudgeOutage(f"{self._name} is down", final=self._says == "X")
        if self._says == "-":
            return Judgement(None, Usage(1, 1), "it could not be used")
        found = [
            RequirementVerdict(r.id, SAID[letter], f"{self._name} saw", (f"E-{self._name}",) if letter == "m" else ())  # type: ignore[arg-type]
            for r, letter in zip(task.requirements, self._says, strict=True)
        ]
        return Judgement(Verdict(tuple(found)), Usage(1, 1), shown=self._shown)


async def decided(rule: PanelRule, *says: str) -> Judgement:
    panel = PanelJudge([Member(f"j{n}", letters) for n, letters in enumerate(says)], rule)
    count = max(len(letters) for letters in says)
    return await panel.judge(task(*(R1, R2)[:count]), MemoryAudit())


@pytest.mark.parametrize(
    ("rule", "says", "finding"),
    [
        ("majority", "m m m", "met"),
        ("majority", "m m u", "met"),
        ("majority", "m u u", "unmet"),
        ("majority", "m u ?", "unverified"),
        ("majority", "m ? ?", "unverified"),
        ("majority", "m u", "unverified"),
        ("majority", "m m u u", "unverified"),
        ("majority", "m m m u", "met"),
        ("majority", "m - m", "met"),
        ("majority", "m - -", "unverified"),
        ("majority", "m m x", "met"),
        ("majority", "u x u", "unmet"),
        ("majority", "m", "met"),
        ("unanimity", "m m m", "met"),
        ("unanimity", "m m u", "unverified"),
        ("unanimity", "m m ?", "unverified"),
        ("unanimity", "u u", "unmet"),
        ("unanimity", "m u x", "unverified"),
        ("unanimity", "m -", "unverified"),
    ],
)
@pytest.mark.conformance("A19")
async def test_the_rule_decides(rule: PanelRule, says: str, finding: str) -> None:
    reply = await decided(rule, *says.split())
    assert reply.verdict is not None
    assert [one.finding for one in reply.verdict.findings] == [finding]


@pytest.mark.parametrize(
    ("rule", "says"),
    [("majority", "m u x"), ("majority", "m x x"), ("majority", "x x x"), ("majority", "m x"), ("unanimity", "m m x")],
)
@pytest.mark.conformance("A6")
async def test_where_the_missing_could_decide_it_is_an_outage(rule: PanelRule, says: str) -> None:
    with pytest.raises(JudgeOutage, match="is down") as caught:
        await decided(rule, *says.split())
    assert not caught.value.final


async def test_an_outage_that_lasts_is_final() -> None:
    with pytest.raises(JudgeOutage) as caught:
        await decided("majority", "m", "X")
    assert caught.value.final


async def test_each_requirement_is_decided_by_itself_and_disagreement_is_told() -> None:
    reply = await decided("majority", "mm", "mu", "u?")
    assert reply.verdict is not None
    first, second = reply.verdict.findings
    assert (first.finding, first.evidence_ids) == ("met", ("E-j0", "E-j1"))
    assert "2 of 3 judges" in first.reason
    assert second.finding == "unverified"
    for said in ("j0 says met", "j1 says unmet", "j2 says unverified"):
        assert said in second.reason
    assert reply.usage == Usage(3, 3)


async def test_files_that_any_member_saw_count() -> None:
    members = [Member("a", "m", {"r-1": ("a.py",)}), Member("b", "m", {"r-1": ("b.py", "a.py")})]
    assert (await PanelJudge(members, "majority").judge(task(R1), MemoryAudit())).shown == {"r-1": ("a.py", "b.py")}
    roamed = [*members, Member("c", "m")]
    assert (await PanelJudge(roamed, "majority").judge(task(R1), MemoryAudit())).shown == {}


class Told(Member):
    def __init__(self, confirmed: bool | None) -> None:
        super().__init__("t", "m")
        self._confirmed = confirmed

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        return Judgement(None, reason="so", confirmed=self._confirmed, evidence_ids=("E1",) if self._confirmed else ())


@pytest.mark.parametrize(
    ("rule", "says", "confirmed"),
    [
        ("majority", (True, True, False), True),
        ("majority", (True, False, None), None),
        ("majority", (False, False, True), False),
        ("unanimity", (True, True, None), None),
        ("unanimity", (True, True), True),
    ],
)
@pytest.mark.conformance("C9")
async def test_a_claim_is_confirmed_by_the_same_rule(
    rule: PanelRule, says: Sequence[bool | None], confirmed: bool | None
) -> None:
    panel = PanelJudge([Told(one) for one in says], rule)
    reply = await panel.judge(task(R1, claim=Claim("blocked", "x")), MemoryAudit())
    assert reply.confirmed is confirmed
    assert reply.evidence_ids == (("E1",) if confirmed else ())


async def test_members_are_asked_side_by_side() -> None:
    inside = 0
    all_in = asyncio.Event()

    class Waiting(ScriptedModel):
        async def complete(self, request, on_text=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            nonlocal inside
            inside += 1
            if inside == 3:
                all_in.set()
            async with asyncio.timeout(10):
                await all_in.wait()
            return await super().complete(request, on_text)

    good = verdict(entry("R1"))
    options = JudgeOptions(("m",))
    members = [LlmJudge(Waiting(good, name=f"m/{n}"), options, member=n) for n in range(3)]
    context = MemoryAudit({"a.py": "x\n"}, changed=["a.py"], diff="+x\n")
    panel = PanelJudge(members, "majority")
    reply = await panel.judge(task(R1, evidence=[passed("pytest -q", "E7", "ok\n")]), context)
    assert reply.verdict is not None
    assert reply.verdict.findings[0].evidence_ids == ("E7",)
    assert sorted(context.calls.begun) == ["m/0", "m/1", "m/2"]
    assert all(f"m/{n}" in panel.identity for n in range(3))
    assert "majority" in panel.identity


async def test_a_budget_passes_through_and_stop_reaches_every_member() -> None:
    class Broke(Member):
        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            raise OverBudget("used up")

    with pytest.raises(OverBudget):
        await PanelJudge([Member("a", "m"), Broke("b", "m")], "majority").judge(task(R1), MemoryAudit())
    stopped: list[str] = []
    began = asyncio.Event()

    class Slow(Member):
        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(self.identity)
            raise AssertionError

    asked = asyncio.ensure_future(PanelJudge([Slow("a", ""), Slow("b", "")], "majority").judge(task(R1), MemoryAudit()))
    async with asyncio.timeout(10):
        await began.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert sorted(stopped) == ["a", "b"]


def test_a_panel_needs_a_member() -> None:
    with pytest.raises(ValueError, match="at least one"):
        PanelJudge([], "majority")
