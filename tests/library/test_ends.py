"""What a run that ended says of its worker, and what stays over a resume."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from donewhen import InvalidGoal, Limits, UsageError, resume_goal, run_goal
from donewhen.core import events as e
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.proof import assess
from donewhen.core.trials.outcome import CheckGrade
from donewhen.library.outcomes import outcome_of
from tests.core.builders import Story, failing, goal, passing, requirement
from tests.tools import each_row


def no(response: Any, agent: Any) -> bool:
    return False


def broken(prompt: str) -> str:
    raise RuntimeError("out of credits")


@pytest.mark.conformance("C8", "A15")
@each_row(
    "limits, status",
    [
        ({"max_iterations": 1}, "capped"),
        ({"max_iterations": 2}, "capped"),
        ({"max_iterations": 9}, "crashed"),
        ({"stall_after": 2, "max_iterations": 9}, "stalled"),
    ],
)
def test_a_workers_error_is_in_the_outcome_whichever_limit_comes_first(limits: dict[str, Any], status: str) -> None:
    outcome = run_goal("Do it", broken, checks=[no], **limits)
    assert (outcome.status, outcome.error) == (status, "RuntimeError: out of credits")
    assert "RuntimeError: out of credits" in outcome.reason
    fine = run_goal("Do it", lambda prompt: "x", checks=[no], max_iterations=1)
    assert (fine.error, fine.reason) == (None, "the limit of 1 iteration is reached")


def test_the_score_is_on_record_and_survives_a_resume(tmp_path: Path) -> None:
    def judge(task: Any) -> dict[str, Any]:
        return {"score": 0.2, "complete": False, "missing": "most of it"}

    folder, state_dir = tmp_path / "w", tmp_path / "s"
    folder.mkdir()
    (folder / "a.txt").write_text("x")

    def worker(prompt: str) -> str:
        (folder / "a.txt").write_text("y")
        return "done"

    first = run_goal("Do it", worker, judge, workspace=folder, state_dir=state_dir, max_iterations=1)
    assert first.verdict is not None
    later = resume_goal(
        first.run_id, lambda prompt: broken(prompt), judge, workspace=folder, state_dir=state_dir, max_iterations=2
    )
    assert later.verdict is not None
    assert (first.verdict.score, later.verdict.score, later.iterations) == (0.2, 0.2, 2)


def test_an_outcome_names_objective_and_cap() -> None:
    outcome = run_goal(
        "Say hi", lambda prompt: "hi", checks=[no], max_iterations="unlimited", timeout=60, stall_after=1
    )
    assert (outcome.objective, outcome.cap) == ("Say hi", None)


def test_an_outcome_says_what_each_proof_is_worth() -> None:
    assert run_goal("Do it", lambda prompt: "x", checks=[no], max_iterations=1).requirements[0].grade is None
    suite = "pytest -q"
    of = goal(requirement(1, "it works", suite, sole=True), requirement(2, "it is short"))
    found = IntegrityFinding(f"original_fails:{of.checks[0].id}", "original_fails", "tests/test_a.py", 0, "fails", "f")
    grades: Mapping[str, CheckGrade] = {of.checks[0].id: "worker"}
    story = Story(of).audit(failing(suite)).turn(edits="rev1").audit(passing(suite, tests=2))
    assert graded(story) == [None, None], "nothing was tried yet"
    story.then(e.TrialsStarted("rev1", "c0"), e.TrialsFinished("rev1", (), grades))
    assert graded(story) == ["worker", None]
    story.then(e.TrialsStarted("rev1", "c0"), e.TrialsFinished("rev1", (found,), grades))
    assert graded(story) == [None, None], "it is refused"
    story.then(e.PersonDecided("accept", "F1", "meant"), e.PersonDecided("waive", of.requirements[1].id, "it is"))
    assert graded(story) == ["person", "person"]
    assert outcome_of(story.state).as_dict()["requirements"][0]["grade"] == "person"


def graded(story: Story) -> list[str | None]:
    """The grades of a run's outcome, which are those of its reports."""
    found = [one.grade for one in outcome_of(story.state).requirements]
    assert found == [one.grade for one in assess(story.state)]
    return found


def test_what_a_caller_gave_wrongly_is_a_value_error() -> None:
    for wrong in (
        lambda: Limits(max_iterations=0),
        lambda: run_goal("Do it", "no worker", checks=[no]),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=r"must|worker") as caught:
            wrong()
        assert isinstance(caught.value, InvalidGoal | UsageError)
