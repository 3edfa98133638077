"""Which turns a judge is asked about, and what its yes may rest on (C8, A4, A9)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen import run_goal
from donewhen.core.evidence import ObservedDiff
from donewhen.workers.callables.judges import AuditTask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("as it was\n")
    return tmp_path / "workspace"


@pytest.fixture
def places(tmp_path: Path, folder: Path) -> dict[str, Any]:
    return {"workspace": folder, "state_dir": tmp_path / "state"}


def yes(task: AuditTask) -> bool:
    return True


def dies(prompt: str) -> str:
    raise RuntimeError("out of credits")


@pytest.mark.conformance("C8", "A4")
@pytest.mark.parametrize("in_folder", [True, False])
@pytest.mark.parametrize("writes", [False, True])
def test_a_worker_that_dies_is_never_judged(places: dict[str, Any], in_folder: bool, writes: bool) -> None:
    asked: list[AuditTask] = []

    def worker(prompt: str) -> str:
        if writes:
            (places["workspace"] / "a.txt").write_text(f"half done, {len(prompt)}\n")
        return dies(prompt)

    outcome = run_goal(
        "The text reads well", worker, lambda task: bool(asked.append(task)) or True, **(places if in_folder else {})
    )
    assert (str(outcome.status), asked) == ("crashed", [])
    assert "out of credits" in outcome.reason
    assert outcome.requirements[0].status == "unverified"


@pytest.mark.conformance("C8", "A4")
def test_after_a_turn_that_failed_checks_prove_and_the_judge_waits_for_the_next(places: dict[str, Any]) -> None:
    log = (places["workspace"].parent / "log").as_posix()
    check = f"\"{sys.executable}\" -c \"open('{log}', 'a').write(open('a.txt').read())\""
    turns: list[str] = []

    def worker(prompt: str) -> None:
        turns.append(prompt)
        (places["workspace"] / "a.txt").write_text(f"turn {len(turns)}\n")
        if len(turns) == 1:
            raise RuntimeError("out of credits")

    outcome = run_goal("The text reads well", worker, yes, checks=[check], **places)
    assert (str(outcome.status), outcome.iterations) == ("complete", 2)
    # The server's own evidence is made after each turn, whatever became of it.
    assert Path(log).read_text() == "as it was\nturn 1\nturn 2\n"
    assert "out of credits" in turns[1]


@pytest.mark.conformance("C10")
def test_a_yes_rests_on_what_changed_and_never_on_an_empty_diff(places: dict[str, Any]) -> None:
    seen: list[AuditTask] = []

    def judge(task: AuditTask) -> bool:
        seen.append(task)
        return bool(task.diff)

    def worker(prompt: str) -> None:
        if seen:
            (places["workspace"] / "a.txt").write_text("better\n")

    outcome = run_goal("The text reads well", worker, judge, **places)
    assert (str(outcome.status), outcome.iterations) == ("complete", 2)
    assert [[type(one.observation) for one in task.evidence] for task in seen] == [[], [ObservedDiff]]
    assert outcome.requirements[0].evidence_ids == tuple(one.id for one in seen[1].evidence)


@pytest.mark.parametrize("looks", ["judge", "check"])
def test_what_looks_at_the_world_is_asked_after_every_turn_though_no_file_changes(
    places: dict[str, Any], looks: str
) -> None:
    """Its yes has nothing to cite but that it ran and said so; a check of that kind is not flaky."""
    answers: list[bool] = []

    def site_is_up(*given: Any) -> bool:
        answers.append(len(answers) == 3)
        return answers[-1]

    given: dict[str, Callable[..., Any] | list[Any]] = {"judge": site_is_up, "check": [site_is_up]}
    key = {"judge": "judge", "check": "checks"}[looks]
    outcome = run_goal("The site is up", lambda prompt: "deployed", **{key: given[looks]}, **places)  # type: ignore[arg-type]
    assert (str(outcome.status), outcome.iterations) == ("complete", 4)
    assert answers == [False, False, False, True]
