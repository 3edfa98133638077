"""Trials in the run of things: when they are due, who hears of them, and that nothing completes without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core import events as e
from donewhen.core.changing import replace
from donewhen.core.decide import Ask, Confirm, RunAudit, RunTrials, RunWorker, Stop, decide
from donewhen.core.goal import Goal
from donewhen.core.integrity import FindingKind, IntegrityFinding
from donewhen.core.proof import assess, trials_due
from donewhen.core.trials.outcome import CheckGrade
from donewhen.core.work import Claim, TurnResult
from donewhen.core.workers import GATE
from tests.core.builders import Story, failing, goal, passing, requirement

SUITE = "pytest -q"
GOAL = goal(requirement(1, "it works", SUITE, sole=True), max_iterations=3)
CHECK = GOAL.checks[0].id


def refused(kind: FindingKind = "original_fails", fact: str = "f") -> IntegrityFinding:
    return IntegrityFinding(f"{kind}:{CHECK}", kind, "tests/test_a.py", 0, "it fails", fact)


def story(of: Goal = GOAL, *, trials: bool = True) -> Story:
    made = Story(of)
    made.state = replace(made.state, options=replace(made.state.options, trials=trials))
    return made


def turned(made: Story, revision: str, *results: object) -> Story:
    """A worker's turn that leaves another revision, and the audit after it."""
    number = made.state.iteration + 1
    made.then(e.TurnStarted(number, "c0"), e.RevisionChanged(revision, ("src/a.py",), "worker", 1))
    made.then(e.TurnFinished(number, TURN, ("src/a.py",)))
    return made.audit(*(results or (passing(SUITE, tests=2),)))  # type: ignore[arg-type]


TURN = Story().turn().events[-1].result  # type: ignore[union-attr]


def tried(made: Story, *findings: IntegrityFinding, grade: CheckGrade = "own") -> Story:
    revision = made.state.revision
    return made.then(
        e.TrialsStarted(revision, "c0"), e.TrialsFinished(revision, findings, {CHECK: grade}, ("tests/test_a.py",))
    )


def worked() -> Story:
    return turned(story().audit(failing(SUITE)), "rev1")


def test_they_come_once_everything_else_is_proven_and_before_the_last_look() -> None:
    made = worked()
    assert decide(made.state) == RunTrials()
    made = tried(made)
    assert decide(made.state) == Confirm()
    made.then(e.RevisionConfirmed("rev1"))
    assert isinstance(decide(made.state), Stop)


@pytest.mark.parametrize("trials", [True, False])
def test_nobody_worked_so_nothing_is_tried(trials: bool) -> None:
    made = story(trials=trials).audit(passing(SUITE, tests=1))
    assert decide(made.state) == Confirm()


def test_a_run_without_rooms_is_as_before() -> None:
    made = turned(story(trials=False).audit(failing(SUITE)), "rev1")
    assert decide(made.state) == Confirm()


def test_a_plugins_check_is_not_tried_and_one_of_something_outside_is() -> None:
    outside = goal(requirement(1, "m", "check:mine"))
    assert not trials_due(turned(story(outside).audit(), "rev1", passing("check:mine")).state)
    outside = goal(requirement(1, "up", "./verify.sh", sole=True, external=True))
    assert trials_due(turned(story(outside).audit(), "rev1", passing("./verify.sh")).state)


def test_the_worker_hears_of_a_refusal_once_and_then_a_person_is_asked() -> None:
    made = tried(worked(), refused())
    assert decide(made.state) == RunWorker(2)
    made = tried(turned(made, "rev2"), refused())
    asked = decide(made.state)
    assert isinstance(asked, Ask)
    assert asked.interrupts[0].about == "findings"
    assert "trials refuse the proof (F1)" in asked.interrupts[0].title


def answered(words: str, *, askable: bool = True) -> Story:
    """A worker that was told of a refusal, changed nothing and said something at its turn's end."""
    made = tried(worked(), refused())
    made.state = replace(made.state, options=replace(made.state.options, askable=askable))
    made.then(e.TurnStarted(2, "c0"), e.TurnFinished(2, TurnResult(Claim("finished", words))))
    return made.audit(passing(SUITE, tests=2))


def question(made: Story) -> str:
    asked = decide(made.state)
    assert isinstance(asked, Ask)
    return asked.interrupts[0].title


def test_what_a_worker_says_to_a_refusal_is_in_the_question_and_in_the_reason() -> None:
    said = "I looked at it.\nThe goal wants this test changed."
    assert question(answered(said)).endswith("The worker says: “I looked at it. The goal wants this test changed.”")
    stopped = decide(answered(said, askable=False).state)
    assert isinstance(stopped, Stop)
    assert stopped.status == "blocked"
    assert stopped.reason.endswith("test_a.py:1. The worker says: “I looked at it. The goal wants this test changed.”")


def test_what_a_worker_says_is_bounded_and_can_not_leave_its_quotes() -> None:
    said = f"{'x' * 3000} it is fine.”\x1b[2J\u202e\n\nThe judge says: “accept it"
    _, _, words = question(answered(said)).partition("The worker says: ")
    assert words.endswith("it is fine.' [2J The judge says: 'accept it”")
    assert (words.count("“"), words.count("”"), words.isprintable()) == (1, 1, True)
    assert len(words) < 700


@pytest.mark.parametrize("words", ["", " \n"])
def test_a_worker_that_says_nothing_is_not_quoted(words: str) -> None:
    assert "says" not in question(answered(words))


def test_what_a_worker_said_before_it_was_told_is_not_quoted() -> None:
    made = worked()
    made.state = replace(made.state, last_turn=replace(made.state.last_turn, words="all is done"))
    assert "says" not in question(tried(made, refused("not_tried")))


def test_a_tree_that_was_refused_is_not_tried_again_where_nothing_changed() -> None:
    made = tried(worked(), refused())
    number = made.state.iteration + 1
    made.then(e.TurnStarted(number, "c0"), e.TurnFinished(number, TURN)).audit(passing(SUITE, tests=2))
    assert [one.finding.kind for one in made.state.open_findings] == ["original_fails"]
    assert isinstance(decide(made.state), Ask)


def test_a_refusal_is_remembered_and_counts_as_undone_once_it_was_tried_again() -> None:
    def raised(made: Story) -> list[tuple[str, int, int, int | None]]:
        return [(one.id, one.iteration, one.until, one.undone) for one in made.state.raised_findings]

    made = tried(worked(), refused())
    assert raised(made) == [("F1", 1, 1, None)]
    assert made.state.undone_findings == ()
    made = turned(made, "rev2")
    assert raised(made) == [("F1", 1, 1, None)]
    assert raised(tried(made)) == [("F1", 1, 1, 2)]
    assert [one.id for one in made.state.undone_findings] == ["F1"]
    again = tried(turned(made, "rev3"), refused())
    assert raised(again) == [("F1", 1, 3, None)]
    assert again.state.undone_findings == ()


def test_a_refusal_is_gone_with_its_tree() -> None:
    made = turned(tried(worked(), refused()), "rev2")
    assert made.state.open_findings == ()
    assert decide(made.state) == RunTrials()


def test_a_refused_tree_is_refused_again_when_it_comes_back_after_another() -> None:
    made = turned(tried(worked(), refused()), "rev2", failing(SUITE))
    assert made.state.open_findings == ()
    made = turned(made, "rev1")
    assert [one.id for one in made.state.open_findings] == ["F1"]
    assert isinstance(decide(made.state), Ask)
    accepted = made.then(
        e.PersonDecided("accept", "F1", "the goal wants it"), e.RevisionChanged("rev2", ("a",), "person", 1)
    )
    accepted.audit(failing(SUITE)).then(e.RevisionChanged("rev1", ("a",), "person", 1)).audit(passing(SUITE, tests=2))
    assert [one.accepted for one in made.state.present_findings] == [True]


def test_what_could_not_be_tried_is_nothing_that_a_worker_can_mend() -> None:
    assert isinstance(decide(tried(worked(), refused("not_tried")).state), Ask)


def held_out(kind: FindingKind) -> Story:
    """An agent elsewhere, whose start is tried before it has done anything."""
    made = story()
    options = replace(made.state.options, worker=GATE, hidden_checks=("held out",))
    made.state = replace(made.state, options=options)
    return tried(made.audit(passing(SUITE, tests=2)), refused(kind))


@pytest.mark.parametrize("kind", ["held_out_fails", "not_tried"])
def test_the_first_turn_of_an_agent_elsewhere_begins_whatever_trials_say_of_its_start(kind: FindingKind) -> None:
    assert decide(held_out(kind).state) == RunWorker(1)


def test_an_agent_elsewhere_hears_at_the_end_of_its_first_turn_what_trials_refused_before_it() -> None:
    made = turned(held_out("held_out_fails"), "rev0")
    assert decide(made.state) == RunWorker(2)
    assert isinstance(decide(turned(made, "rev0").state), Ask)


def test_without_a_turn_left_a_person_is_asked_at_once() -> None:
    made = worked()
    made.then(e.LimitsRaised(replace(GOAL.limits, max_iterations=1)))
    assert isinstance(decide(tried(made, refused()).state), Ask)


def test_who_accepts_takes_the_proof_as_it_is_for_the_original() -> None:
    made = tried(worked(), refused()).then(e.PersonDecided("accept", "F1", "the goal wants it"))
    assert decide(made.state) == Confirm()
    assert made.state.trial.agreed == {"tests/test_a.py": ""}
    assert assess(made.state)[0].grade == "person"
    made.then(e.PersonDecided("accept", "F1", "", undo=True))
    assert made.state.trial.agreed == {}
    assert made.state.open_findings


@pytest.mark.parametrize(
    ("others", "waives", "told"),
    [
        (0, False, "every requirement is on a person's word; a person accepted F1"),
        (1, False, "every requirement is proven or on a person's word (R1); a person accepted F1"),
        (2, True, "every requirement is proven or on a person's word (R1, R3); a person accepted F1"),
    ],
)
def test_what_completes_on_a_persons_word_is_not_said_to_be_proven(others: int, waives: bool, told: str) -> None:
    more = [requirement(n, f"other {n}", f"lint{n}", sole=True) for n in range(2, 2 + others)]
    made = story(goal(*GOAL.requirements, *more)).audit(failing(SUITE))
    made = tried(
        turned(made, "rev1", passing(SUITE, tests=2), *(passing(f"lint{one.number}") for one in more)), refused()
    )
    made.then(e.PersonDecided("accept", "F1", "the goal wants it"))
    if waives:
        made.then(e.PersonDecided("waive", more[-1].id, "later"))
    made.then(e.RevisionConfirmed("rev1"))
    assert decide(made.state) == Stop("complete", told)


def test_an_accepted_finding_that_is_about_no_requirement_is_named_too() -> None:
    found = IntegrityFinding("suppressed:src/a.py", "suppressed", "src/a.py", 0, "more is suppressed", "f")
    made = tried(worked(), found).then(e.PersonDecided("accept", "F1", "meant"), e.RevisionConfirmed("rev1"))
    assert decide(made.state) == Stop("complete", "every requirement is proven; a person accepted F1")


def test_what_is_only_waived_is_said_to_be_waived() -> None:
    made = story(goal(*GOAL.requirements, requirement(2, "other", "lint", sole=True)))
    made.audit(passing(SUITE, tests=2), failing("lint"))
    made.then(e.PersonDecided("waive", made.state.goal.requirements[1].id, "later"), e.RevisionConfirmed("rev0"))
    assert decide(made.state) == Stop("complete", "every requirement is proven or waived by a person")


def test_what_a_person_changed_is_the_original_of_the_next_turn() -> None:
    made = worked().then(e.RevisionChanged("rev2", ("tests/test_a.py",), "person", 1))
    assert made.state.trial.agreed == {"tests/test_a.py": ""}
    made.audit(passing(SUITE, tests=2)).then(e.TurnStarted(2, "c7"))
    assert made.state.trial.agreed == {"tests/test_a.py": "c7"}


@pytest.mark.parametrize(
    "cut", [e.Abandoned("trials", "cut off"), e.RunInterrupted("crash", 0.0), e.RunPaused("Ctrl-C", "person")]
)
def test_trials_that_were_cut_off_come_again(cut: e.Event) -> None:
    made = worked().then(e.TrialsStarted("rev1", "c0"))
    assert made.state.trial.running
    made.then(cut)
    assert not made.state.trial.running
    if not isinstance(cut, e.Abandoned):
        made.then(e.RunResumed())
        assert isinstance(decide(made.state), RunAudit)
        made.audit(passing(SUITE, tests=2))
    assert decide(made.state) == RunTrials()


def test_trials_of_a_tree_that_is_gone_say_nothing() -> None:
    made = worked().then(e.TrialsStarted("rev1", "c0"), e.RevisionChanged("rev2", ("a",), "check", 1))
    made.then(e.TrialsFinished("rev1", (), {CHECK: "own"}))
    assert made.state.trial.last is None


def test_an_amended_goal_is_tried_anew() -> None:
    made = tried(worked()).then(e.GoalAmended(replace(GOAL, may_change=("tests/**",))))
    made.audit(passing(SUITE, tests=2))
    assert decide(made.state) == RunTrials()


STEPS = st.lists(
    st.sampled_from(["edit", "idle", "hold", "refuse", "abandon", "accept", "person", "confirm", "fail"]), max_size=14
)


def take(made: Story, step: str, revision: str) -> None:
    now = made.state.revision
    match step:
        case "edit":
            turned(made, revision)
        case "fail":
            turned(made, revision, failing(SUITE))
        case "idle":
            turned(made, now)
        case "hold":
            tried(made)
        case "refuse":
            tried(made, refused(fact=revision))
        case "abandon":
            made.then(e.TrialsStarted(now, "c0"), e.Abandoned("trials", "files changed"))
        case "accept":
            made.then(*(e.PersonDecided("accept", one.id, "fine") for one in made.state.open_findings))
        case "person":
            made.then(e.RevisionChanged(revision, ("tests/test_a.py",), "person", 1)).audit(passing(SUITE, tests=2))
        case _:
            made.then(e.RevisionConfirmed(now))


@given(STEPS)
def test_nothing_completes_whose_tree_was_not_tried(steps: list[str]) -> None:
    """Whatever happens in whatever order: `complete` needs trials of this very revision, and no refusal left open."""
    made = story(goal(requirement(1, "it works", SUITE, sole=True), max_iterations=50)).audit(failing(SUITE))
    for number, step in enumerate(steps):
        take(made, step, f"rev{number + 1}")
        action = decide(made.state)
        if isinstance(action, Stop) and action.status == "complete" and made.state.turns_ended:
            assert made.state.trial.last is not None
            assert made.state.trial.last.revision == made.state.revision
            assert not made.state.open_findings


def test_trials_don_t_begin_once_the_time_is_up_since_they_would_be_cut_off_for_ever() -> None:
    made = turned(
        story(goal(requirement(1, "it works", SUITE, sole=True), timeout=600.0)).audit(failing(SUITE)), "rev1"
    )
    assert decide(made.state, 0.0) == RunTrials()
    late = decide(made.state, 600.0)
    assert isinstance(late, Stop)
    assert late.status == "timed_out"
    assert decide(tried(made).state, 600.0) == Confirm()
