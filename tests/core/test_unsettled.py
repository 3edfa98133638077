"""Files that go on changing by nobody's hand: the run ends, says which, and ends for nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core import events as e
from donewhen.core.decide import Confirm, RunAudit, RunWorker, Stop, decide
from donewhen.core.evidence import CheckResult, Evidence
from donewhen.core.proof import ENOUGH, PATIENCE, assess
from donewhen.core.verdict import RequirementVerdict, Verdict
from tests.core.builders import Story, failing, goal, passing, requirement
from tests.tools import examples

CHECK = "pytest -q"
GOOD = passing(CHECK)
BAD = failing(CHECK)


class Restless(Story):
    """A run whose actions are performed, in a workspace that moves when told to. A second passes between two events."""

    def __init__(self, **limits: object) -> None:
        super().__init__(goal(requirement(1, "it works", CHECK, sole=True), **limits))
        self.moved = 0
        self.audit(BAD).turn(edits="work")

    def moves(self, *paths: str, by: str = "check") -> None:
        self.moved += 1
        changed = paths or (f"out-{self.moved}.log",)
        self.then(e.RevisionChanged(f"moved{self.moved}", changed, by, len(changed)))  # type: ignore[arg-type]

    def audits(self, result: CheckResult, *, moving: bool) -> None:
        now = self.state
        self.then(e.AuditStarted(now.iteration, now.revision), e.CheckStarted(result.check_id, now.revision))
        if moving:
            self.moves()
        seen = Evidence(f"E{now.evidence.count + 1}", now.revision, self.state.revision, now.turns_ended, result)
        self.then(e.EvidenceRecorded(seen), e.AuditFinished(now.iteration, self.state.revision))

    def does(self, moving: bool) -> Stop | None:
        """What comes next is done, while files change or don't."""
        match action := decide(self.state):
            case Stop():
                return action
            case RunAudit():
                self.audits(GOOD, moving=moving)
            case Confirm() if moving:
                self.moves()
            case Confirm():
                self.then(e.RevisionConfirmed(self.state.revision))
            case RunWorker():
                self.turn()
            case _:
                raise AssertionError(action)
        return None


@examples(300)
@given(st.lists(st.booleans(), max_size=40))
def test_a_workspace_that_never_stands_still_ends_the_run_with_the_files_that_move(first: list[bool]) -> None:
    story = Restless(max_iterations=1000)
    stop = next(filter(None, (story.does(moving) for moving in (*first, *[True] * 100))))
    if stop.status != "complete":
        assert stop.status == "blocked"
        assert f"out-{story.moved}.log" in stop.reason
        assert story.moved >= ENOUGH


@examples(300)
@given(st.lists(st.sampled_from(["moves", "person", "fails", "still"]), max_size=60))
def test_only_files_that_move_by_nobodys_hand_end_a_run_so(steps: list[str]) -> None:
    """An oracle: since a person edited, or a check failed, files moved during or between at least so many audits."""
    story, moved = Restless(max_iterations=1000, stall_after=1000), 0
    for step in steps:
        stop = story.does(step == "moves") if step in ("moves", "still") else None
        if stop is not None:
            assert stop.status == "complete" or moved >= ENOUGH, story.events
            return
        if step == "person":
            story.moves("a.py", by="person")
        elif step == "fails":
            story.audits(BAD, moving=True)
        moved = moved + 1 if step == "moves" else 0 if step in ("person", "fails") else moved


def test_a_worker_is_told_before_as_often_as_a_run_may_repeat_itself() -> None:
    story = Restless(stall_after=4)
    while (stop := story.does(moving=True)) is None:
        if story.moved:
            assert assess(story.state)[0].reason.startswith(f"files changed while `{CHECK}` ran: out-")
    assert stop.status == "blocked"
    assert story.state.turns_ended == 4


def test_what_moves_between_audits_alone_has_a_while_to_end_by_itself() -> None:
    story = Restless()
    began = story.state.elapsed
    while not isinstance(stop := decide(story.state), Stop):
        if isinstance(stop, RunAudit):
            story.audits(GOOD, moving=False)
        else:
            assert isinstance(stop, Confirm)
            story.moves("build/app.o")
    assert (stop.status, story.state.turns_ended) == ("blocked", 1)
    assert "build/app.o" in stop.reason
    assert PATIENCE <= story.state.elapsed - began < PATIENCE + 15


def test_who_resumes_it_begins_anew() -> None:
    story = Restless()
    while (stop := story.does(moving=True)) is None:
        pass
    story.then(e.RunEnded(stop.status, stop.reason), e.RunResumed())
    while (stop := story.does(moving=False)) is None:
        pass
    assert stop.status == "complete"


def test_what_the_judge_misses_is_work_and_no_unrest() -> None:
    story = Story(goal(requirement(1, "it works", CHECK)), judge="openai/x")
    story.audit(BAD)
    for number in range(6):
        story.turn(edits=f"work{number}").audit(GOOD)
        story.then(e.RevisionChanged(f"moved{number}", ("a.log",), "check", 1)).audit(GOOD)
        identity, revision = story.state.goal.requirements[0].id, story.state.revision
        said = RequirementVerdict(identity, "unmet", "not yet", (f"E{story.state.evidence.count}",))
        story.then(
            e.JudgeStarted((identity,), revision),
            e.JudgeFinished((identity,), revision, revision, Verdict((said,))),
        )
        assert isinstance(decide(story.state), RunWorker)
