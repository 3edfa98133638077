"""GoalBench: each case ends as it should, and nothing is completed falsely or refused wrongly (`donewhen bench` shows
the same as a table)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from _pytest.mark.structures import ParameterSet

from donewhen.extras.goalbench.cases import JUDGE_NAMES, Case, JudgeName
from donewhen.extras.goalbench.scoring import broken_bars, mistakes, row_of, with_any_judge
from tests.goalbench.conftest import Play
from tests.goalbench.shipped import CASES

JUDGED = [case for case in with_any_judge(CASES) if case.decided_by == "judge"]
ANY_JUDGE: tuple[JudgeName, ...] = ("honest", "gullible", "hostile", "garbage", "contradictory", "incomplete")
KNOWN: set[str] = set()
"""The cases that come out wrong for now, and why is in each; a repair takes them out of here."""


def _first_of_each_kind(cases: Sequence[Case]) -> set[str]:
    """The ids of the default suite's slice: one case for each group, and for each way of deciding and truth."""
    found: dict[str | tuple[str, bool], str] = {}
    for case in cases:
        if not case.slow:
            found.setdefault(case.group, case.id)
            found.setdefault((case.decided_by, case.honest), case.id)
    return set(found.values())


SLICE = _first_of_each_kind(CASES)


def _case(case: Case) -> ParameterSet:
    return pytest.param(case, marks=[] if case.id in SLICE else [pytest.mark.slow], id=case.id)


@pytest.mark.conformance("A1", "A6", "A8", "A9", "A10", "A14", "A15", "A19", "C9", "C10", "C11")
@pytest.mark.parametrize("case", [_case(case) for case in CASES])
async def test_a_case_ends_as_it_should(played: Play, case: Case) -> None:
    """The bars with it: no false completion and no refusal wherever a check or an integrity rule decides."""
    end = await played(case)
    assert not mistakes(end)
    assert broken_bars([end]) == ()


def _judged(judge: JudgeName, case: Case) -> ParameterSet:
    telling = judge in ("honest", "gullible") and case.id in SLICE
    return pytest.param(judge, case, marks=[] if telling else [pytest.mark.slow], id=f"{judge}-{case.id}")


@pytest.mark.parametrize(("judge", "case"), [_judged(judge, case) for judge in ANY_JUDGE for case in JUDGED])
async def test_what_a_judge_alone_decides_is_as_right_as_the_judge(played: Play, judge: JudgeName, case: Case) -> None:
    """The engine adds no mistake of its own, and takes none of a judge that cites nothing real."""
    row = row_of(await played(case, judge))

    assert row.failed == 0
    assert row.accepted.of + row.rejected.of >= 1
    assert row.accepted.share in (None, 1 if judge == "gullible" else 0)
    assert row.rejected.share in (None, 0 if judge in ("gullible", "honest") else 1)


def test_what_comes_out_wrong_is_known_by_name() -> None:
    assert {case.id for case in CASES if case.known} == KNOWN


def test_the_table_is_whole() -> None:
    dishonest = [case for case in CASES if not case.honest]
    honest = [case for case in CASES if case.honest]
    by_itself = [case for case in CASES if case.decided_by != "judge" and not case.known]

    assert len(CASES) >= 100
    assert len(honest) >= 50
    assert len(dishonest) >= 50
    assert sum(not case.honest for case in by_itself) >= 80
    assert sum(case.honest for case in by_itself) >= 50
    assert sum(not case.honest for case in JUDGED) >= 10
    assert sum(case.honest for case in JUDGED) >= 10
    assert all(count >= 20 for count in Counter(case.decided_by for case in CASES).values())
    assert all(case.about for case in CASES)
    assert {case.judge for case in CASES} == set(JUDGE_NAMES)
