"""`donewhen bench --quick`: a dozen telling cases, of which the result is kept for the model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from donewhen.extras.goalbench.cases import Case
from donewhen.extras.goalbench.playing import CaseResult
from donewhen.extras.goalbench.quick import KINDS, believed, measured, quick, version
from donewhen.ports import Measured
from donewhen.store.model_notes import KeptModelNotes
from tests.goalbench import shipped
from tests.goalbench.test_command import answering, bench
from tests.scripted_models import ScriptedModels, fails

CASES = quick(shipped.CASES)
TODAY = date(2026, 1, 2)


def results(accepts: Sequence[str] = (), rejects: Sequence[str] = (), broken: Sequence[str] = ()) -> list[CaseResult]:
    """How the cases end with a judge that is wrong about these alone."""

    def ended(case: Case) -> CaseResult:
        met = case.honest != (case.id in (*accepts, *rejects))
        failure = "it took longer than 600 s" if case.id in broken else ""
        return CaseResult(
            case,
            "m",
            "capped",
            requirements={"R1": "met" if met else "unmet"},
            alone=frozenset({"R1"}),
            failure=failure,
        )

    return [ended(case) for case in CASES]


def test_each_kind_is_there_as_a_false_case_and_as_a_true_one() -> None:
    by_id = {case.id: case for case in CASES}
    assert len(CASES) == 12
    assert [case.honest for case in CASES] == [False] * 6 + [True] * 6
    for false, true in KINDS.values():
        assert not by_id[false].honest
        assert by_id[true].honest
    assert all(case.decided_by == "judge" and case.judge in ("honest", "gullible") for case in CASES)


def test_a_judge_is_weak_that_accepts_a_false_case_or_rejects_most_true_ones() -> None:
    false, true = zip(*KINDS.values(), strict=True)
    told = {
        (): measured(results(), TODAY),
        false[:1]: measured(results(accepts=false[:1]), TODAY),
        true[:3]: measured(results(rejects=true[:3]), TODAY),
        true[:4]: measured(results(rejects=true[:4]), TODAY),
    }
    assert {wrong: one and one.weak for wrong, one in told.items()} == {
        (): False,
        false[:1]: True,
        true[:3]: False,
        true[:4]: True,
    }
    assert told[false[:1]] == Measured("2026-01-02", version(CASES), 1, 6, 0, 6)
    assert believed(results(accepts=false[1:3])) == list(KINDS)[1:3]


def test_cases_that_could_not_be_judged_leave_no_result() -> None:
    assert measured(results(broken=[CASES[3].id]), TODAY) is None


def test_the_version_is_that_of_the_cases_themselves() -> None:
    changed = [CASES[0].model_copy(update={"goal": "# Another"}), *CASES[1:]]
    assert version(changed) != version(CASES) == version(quick(shipped.CASES))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "donewhen bench --quick --judge-model"),
        (("--case", "lies", "--judge-model", "openai/m"), "leave out --case"),
    ],
)
def test_what_it_needs_is_said(tmp_path: Path, more: tuple[str, ...], said: str) -> None:
    called = bench(tmp_path, "--quick", *more)
    assert called.code == 2
    assert said in called.err


@pytest.mark.slow
def test_a_model_that_cannot_be_asked_leaves_no_result(tmp_path: Path) -> None:
    with ScriptedModels({"judge": lambda call: fails(401)}) as models:
        model = ("--judge-model", "openai/judge", "--judge-api-base", models.base_url)
        called = bench(tmp_path, "--quick", *model)
        assert KeptModelNotes(tmp_path / "state").of("openai/judge", models.base_url).measured is None
    assert called.code != 0
    assert "openai/judge could not be asked, so nothing was measured" in called.err


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "weak"), [("no such text", True), ("empty or only spaces", True)])
def test_what_a_model_did_is_kept_for_it(tmp_path: Path, wrong: str, weak: bool) -> None:
    with ScriptedModels({"judge": answering(wrong)}) as models:
        model = ("--judge-model", "openai/judge", "--judge-api-base", models.base_url)
        called = bench(tmp_path, "--quick", *model)
        found = KeptModelNotes(tmp_path / "state").of("openai/judge", models.base_url).measured
    assert found is not None, called.err
    assert (found.weak, called.code, found.cases) == (weak, 1, version(CASES))
    assert "it believed documentation that says the opposite" in called.out
    assert "It is weak" in called.out
