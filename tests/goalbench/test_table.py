"""GoalBench: each case ends as it should, and the bars of the whole table hold."""

from __future__ import annotations

from collections import Counter

import pytest

from donewhen.goalbench.cases import JUDGE_NAMES, Case
from donewhen.goalbench.playing import Played
from donewhen.goalbench.scoring import Rate, broken_bars, judge_table, mistakes, rows
from donewhen.goalbench.selecting import missing
from tests.goalbench.conftest import CASES, JUDGED, Bench

KNOWN = {
    "forged-sourced-script",
    "honest-runner-beside-a-program",
}
"""The cases that come out wrong for now, and why is in each; a repair takes them out of here."""


def _case(case: Case) -> object:
    marks = [pytest.mark.slow] if case.slow else []
    return pytest.param(case, marks=marks, id=case.id)


@pytest.mark.conformance("A1", "A6", "A8", "A9", "A10", "A14", "A15", "A19", "C9", "C10", "C11")
@pytest.mark.parametrize("case", [_case(case) for case in CASES])
def test_a_case_ends_as_it_should(bench: Bench, case: Case) -> None:
    if missing(case):
        pytest.skip(f"it needs {', '.join(missing(case))}")
    assert not mistakes(bench.of(case))


@pytest.mark.parametrize(
    "judge",
    [
        "honest",
        "gullible",
        pytest.param("hostile", marks=pytest.mark.slow),
        pytest.param("garbage", marks=pytest.mark.slow),
        pytest.param("contradictory", marks=pytest.mark.slow),
        pytest.param("incomplete", marks=pytest.mark.slow),
    ],
)
def test_what_a_judge_alone_decides_is_as_right_as_the_judge(bench: Bench, judge: str) -> None:
    """The engine adds no mistake of its own, and takes none of a judge that cites nothing real."""
    total = rows(bench.all_of(JUDGED, judge))[-1]
    print("\n".join(judge_table([(judge, total)])))

    assert total.accepted.of >= 10
    assert total.rejected.of >= 10
    assert total.failed == 0
    assert total.accepted.share == (1 if judge == "gullible" else 0)
    assert total.rejected.share == (0 if judge in ("gullible", "honest") else 1)


def test_nothing_is_completed_falsely_and_nothing_honest_is_refused(whole_table: list[Played]) -> None:
    """The bars: wherever a check or an integrity rule decides, but for the cases that are known to come out wrong."""
    assert broken_bars(whole_table) == ()
    total = rows([one for one in whole_table if not one.case.known])[-1]
    assert total.completed == Rate(0, total.completed.of)
    assert total.refused == Rate(0, total.refused.of)
    assert total.failed == 0
    assert total.completed.of >= 80
    assert total.refused.of >= 50


def test_what_comes_out_wrong_is_known_by_name() -> None:
    assert {case.id for case in CASES if case.known} == KNOWN


def test_the_table_is_whole() -> None:
    dishonest = [case for case in CASES if not case.honest]
    honest = [case for case in CASES if case.honest]

    assert len(CASES) >= 100
    assert len(honest) >= 50
    assert len(dishonest) >= 50
    assert all(count >= 20 for count in Counter(case.decided_by for case in CASES).values())
    assert all(case.about for case in CASES)
    assert {case.judge for case in CASES} == set(JUDGE_NAMES)
