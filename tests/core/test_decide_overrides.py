"""Overrides, the judge, amendments and resumption, as stories (C10, C20, C21, A1, A6, A9, A10, A13)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from donewhen.core import events as e
from donewhen.core.decide import Ask, AskJudge, AwaitPerson, Confirm, Pause, RunAudit, RunWorker, Stop, decide
from donewhen.core.errors import NotResumable
from donewhen.core.evidence import Evidence, ObservedResponse
from donewhen.core.goal import Limits
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.people import Person
from donewhen.core.proof import assess
from donewhen.core.resume import check_resumable
from donewhen.core.state import MAX_RAISED, CheckRecord
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Answer, Claim, Interrupt, ResponseKind, TurnResult, Usage
from tests.core.builders import R0, Story, failing, fold_all, goal, passing, requirement
from tests.tools import each_row

CHECK = "pytest -q"
GOOD = passing(CHECK, tests=3)
BAD = failing(CHECK)
UNDECIDED = goal(requirement(1, "it reads well"))
FINDING = IntegrityFinding("k1", "test_skipped", "tests/test_a.py", 3, "test_a is skipped", "fact1")


def next_of(story: Story) -> object:
    return decide(story.state)


def statuses(story: Story) -> list[str]:
    return [view.status for view in assess(story.state)]


@pytest.mark.conformance("A10")
def test_a10_an_open_integrity_finding_blocks_completion_until_it_is_accepted() -> None:
    story = Story().audit(BAD).turn(edits="rev1").audit(GOOD, findings=(FINDING,))
    assert isinstance(next_of(story), Ask)
    story.then(e.PersonDecided("accept", "F1", "meant"))
    assert next_of(story) == Confirm()
    story.then(e.PersonDecided("accept", "F1", "", undo=True))
    assert isinstance(next_of(story), Ask)


@pytest.mark.conformance("A10")
def test_a10_an_acceptance_holds_for_the_fact_that_was_accepted_only() -> None:
    story = (
        Story()
        .audit(BAD)
        .turn(edits="rev1")
        .audit(GOOD, findings=(FINDING,))
        .then(e.PersonDecided("accept", "F1", "meant"))
    )
    other = IntegrityFinding("k1", "test_skipped", "tests/test_a.py", 3, "two are skipped", "fact2")
    story.turn(edits="rev2").audit(GOOD, findings=(other,))
    assert [known.accepted for known in story.state.present_findings] == [False]
    assert story.state.present_findings[0].id == "F1"


@each_row("order", [(0, 1), (1, 0)])
def test_of_findings_of_one_key_what_is_accepted_hides_nothing_that_is_open(order: tuple[int, int]) -> None:
    stood = replace(FINDING, fact="fact2", standing="it stood there before the run")
    pair = (FINDING, stood)
    story = Story().audit(BAD).turn(edits="rev1").audit(GOOD, findings=tuple(pair[at] for at in order))
    assert [(known.id, known.finding) for known in story.state.open_findings] == [("F1", FINDING)]


OTHER = IntegrityFinding("k2", "test_deleted", "tests/test_b.py", 0, "test_b is gone", "fact2", diff="-def test_b():")


def asked(story: Story) -> Interrupt:
    """The one question that comes next, which is put on record."""
    action = next_of(story)
    assert isinstance(action, Ask)
    (interrupt,) = action.interrupts
    story.then(e.InterruptOpened(interrupt))
    assert next_of(story) == AwaitPerson()
    return interrupt


def answered(story: Story, response: ResponseKind, text: str = "") -> Story:
    return story.then(e.InterruptAnswered(story.state.interrupts[-1].id, Answer(response, reason=text)))


def cheated(*findings: IntegrityFinding, **limits: object) -> Story:
    """Everything is met, and the proof was changed."""
    of = goal(requirement(1, "it works", CHECK, sole=True), **limits)
    return Story(of).audit(BAD).turn(edits="rev1").audit(GOOD, findings=findings or (FINDING,))


@pytest.mark.conformance("A10")
def test_findings_that_are_all_that_is_left_are_one_question_for_a_person() -> None:
    story = cheated(FINDING, OTHER)
    question = asked(story)
    assert (question.kind, question.about) == ("question", "findings")
    assert "F1 test_skipped at tests/test_a.py:4: test_a is skipped" in question.preview
    assert "-def test_b():" in question.preview
    answered(story, "approve", "both are meant")
    assert next_of(story) == Confirm()
    assert [(known.accepted, known.reason) for known in story.state.present_findings] == [(True, "both are meant")] * 2


def test_an_acceptance_is_the_same_act_at_the_question_as_by_itself() -> None:
    ana = Person("ana", "terminal")
    story = cheated(FINDING, OTHER)
    question = asked(story)
    story.then(e.InterruptAnswered(question.id, Answer("approve", reason="both are meant"), ana))
    (act,) = story.state.acts
    assert (act.what, act.said, act.accepted) == ("accepted F1, F2", "both are meant", ("F1", "F2"))
    story.then(
        e.PersonDecided("accept", "F1", "", undo=True, person=ana), e.PersonDecided("accept", "F1", "meant", person=ana)
    )
    assert [(one.what, one.accepted) for one in story.state.acts[1:]] == [
        ("undid the acceptance of F1", ()),
        ("accepted F1", ("F1",)),
    ]


def test_an_answer_that_accepts_nothing_is_told_as_an_answer() -> None:
    story = cheated()
    question = asked(story)
    story.then(e.InterruptAnswered(question.id, Answer("deny"), Person("ana", "terminal")))
    assert story.state.acts[-1].what == f"answered {question.id} with deny"


def test_what_was_accepted_is_never_asked_again_and_what_is_new_is() -> None:
    story = cheated()
    asked(story)
    answered(story, "approve").then(e.RevisionChanged("rev2", ("a.py",), "worker", 1)).audit(GOOD, findings=(FINDING,))
    assert next_of(story) == Confirm()
    story.then(e.RevisionChanged("rev3", ("a.py",), "worker", 1)).audit(GOOD, findings=(FINDING, OTHER))
    assert asked(story).input == {"findings": ["F2"]}


def test_an_answer_accepts_what_was_asked_about_and_nothing_that_came_later() -> None:
    story = cheated()
    asked(story)
    story.then(e.RevisionChanged("rev2", ("b.py",), "person", 1)).audit(GOOD, findings=(FINDING, OTHER))
    assert not story.state.interrupts, "it asked about less than there is now"
    assert asked(story).input == {"findings": ["F1", "F2"]}
    story.then(e.PersonDecided("accept", "F1", "meant"))
    assert story.state.interrupts, "one of them is still open"
    story.then(e.PersonDecided("accept", "F2", "meant"))
    assert next_of(story) == Confirm()


@pytest.mark.parametrize("response", ["deny", "text"])
def test_a_worker_that_is_to_undo_findings_gets_one_turn_per_answer(response: ResponseKind) -> None:
    """And the limit on repetition does not take that turn away."""
    story = cheated(stall_after=1)
    for iteration in (2, 3):
        asked(story)
        answered(story, response, "put the test back")
        assert next_of(story) == RunWorker(iteration)
        assert any("put the test back" in said for said in story.state.steering.answers)
        story.turn(edits=f"rev{iteration}").audit(GOOD, findings=(FINDING,))
    asked(story)


def test_a_person_may_end_a_run_with_findings_left() -> None:
    story = cheated()
    asked(story)
    ending = next_of(answered(story, "end"))
    assert isinstance(ending, Stop)
    assert (ending.status, "Accept it or undo it" in ending.reason) == ("blocked", True)
    story.then(e.RunEnded("blocked", ending.reason), e.RunResumed()).audit(GOOD, findings=(FINDING,))
    asked(story)


def test_where_nobody_can_be_asked_the_run_ends_blocked_and_says_what_to_settle() -> None:
    story = cheated().then(e.RunPaused("x"), e.RunResumed(askable=False)).audit(GOOD, findings=(FINDING,))
    ending = next_of(story)
    assert isinstance(ending, Stop)
    assert ending.status == "blocked"
    assert "which a person has to settle. Accept it or undo it, then resume: " in ending.reason
    assert ending.reason.endswith("F1 test_skipped at tests/test_a.py:4")
    story.then(
        e.RunEnded("blocked", ending.reason), e.PersonDecided("accept", "F1", "meant"), e.RunResumed(askable=False)
    )
    assert next_of(story.audit(GOOD, findings=(FINDING,))) == Confirm()


def test_a_worker_that_has_something_left_to_do_goes_on_with_findings_open() -> None:
    story = Story().audit(BAD).turn(edits="rev1").audit(BAD, findings=(FINDING,))
    assert next_of(story) == RunWorker(2)
    story.turn(edits="rev2", error="rate limit").audit(GOOD, findings=(FINDING,))
    assert next_of(story) == RunWorker(3), "a turn that failed may have been about to undo it"
    story.turn(edits="rev3").audit(GOOD, findings=(FINDING,))
    asked(story)


def test_findings_come_before_the_end_by_a_limit_and_the_question_says_that_no_turn_is_left() -> None:
    story = cheated(max_iterations=1)
    assert "no turns left" in asked(story).title
    assert next_of(answered(story, "deny")) == Stop("capped", "the limit of 1 iteration is reached")


def test_findings_come_before_what_only_a_person_can_decide() -> None:
    mixed = goal(requirement(1, "it works", CHECK, sole=True), requirement(2, "it reads well"))
    story = Story(mixed).audit(BAD).turn(edits="rev1").audit(GOOD, findings=(FINDING,))
    assert asked(story).about == "findings"
    answered(story, "approve")
    assert asked(story).about.startswith("requirement:")


def judged(story: Story, finding: str, *evidence_ids: str, revision_after: str | None = None) -> Story:
    action = next_of(story)
    assert isinstance(action, AskJudge)
    ids = tuple(one.id for one in action.requirements)
    verdict = Verdict(tuple(RequirementVerdict(one, finding, "because", evidence_ids) for one in ids))  # type: ignore[arg-type]
    revision = story.state.revision
    return story.then(
        e.JudgeStarted(ids, revision), e.JudgeFinished(ids, revision, revision_after or revision, verdict)
    )


JUDGED = goal(requirement(1, "it works", CHECK, sole=True), requirement(2, "it reads well"))


def story_for_the_judge() -> Story:
    return Story(JUDGED, judge="model").audit(BAD).turn(edits="rev1").audit(GOOD)


def test_the_judge_is_not_asked_while_a_finding_is_open() -> None:
    story = Story(JUDGED, judge="model").audit(BAD).turn(edits="rev1").audit(GOOD, findings=(FINDING,))
    asked(story)
    story.then(e.PersonDecided("accept", "F1", "meant"))
    assert next_of(story) == AskJudge((JUDGED.requirements[1],))


def test_a_verdict_with_fresh_evidence_decides() -> None:
    assert next_of(judged(story_for_the_judge(), "met", "E2")) == Confirm()


@pytest.mark.conformance("A1")
@each_row("citations", [(), ("E99",), ("E1",), ("E2", "E99")])
def test_a_verdict_without_fresh_evidence_on_record_is_unverified(citations: tuple[str, ...]) -> None:
    assert statuses(judged(story_for_the_judge(), "met", *citations)) == ["met", "unverified"]


@pytest.mark.conformance("A9")
def test_a09_a_verdict_is_dropped_where_the_revision_moved_while_the_judge_thought() -> None:
    story = judged(story_for_the_judge(), "met", "E2", revision_after="rev9")
    assert not story.state.judge.judged


@pytest.mark.conformance("A6")
def test_a06_an_outage_uses_up_no_iteration_and_then_pauses() -> None:
    story = story_for_the_judge()
    for _ in range(3):
        assert isinstance(next_of(story), AskJudge)
        story.then(e.Abandoned("judge", "502"))
    assert next_of(story) == Pause("the judge could not be asked: 502")
    assert story.state.iteration == 1
    assert "could not be asked" in assess(story.state)[1].reason


@pytest.mark.conformance("C10")
def test_c10_a_verdict_that_does_not_name_each_requirement_once_is_no_verdict() -> None:
    story = story_for_the_judge()
    wanted = JUDGED.requirements[1].id
    other = Verdict((RequirementVerdict("r-other", "met", "", ("E2",)),))
    story.then(e.JudgeStarted((wanted,), "rev1"), e.JudgeFinished((wanted,), "rev1", "rev1", other))
    assert statuses(story) == ["met", "unverified"]


@pytest.mark.conformance("C19", "A3")
def test_a_stop_comes_before_everything_else() -> None:
    story = Story().audit(GOOD).then(e.Requested("stop", "enough"))
    assert next_of(story) == Stop("cancelled", "enough")


def test_what_was_raised_last_is_remembered_in_its_order_and_every_finding_keeps_its_id() -> None:
    many = tuple(replace(FINDING, key=f"k{number:03}", diff="-x") for number in range(MAX_RAISED))
    last = replace(FINDING, key="a")
    story = Story().audit(BAD, findings=many).turn(edits="rev1").audit(BAD, findings=(last, many[0]))
    numbered = [f"F{number}" for number in range(2, MAX_RAISED + 2)]
    assert [one.id for one in story.state.raised_findings] == numbered
    assert not any(one.finding.diff for one in story.state.raised_findings)
    assert [one.id for one in story.state.present_findings] == [numbered[-1], "F1"]


def test_amending_keeps_unchanged_requirements_and_removes_the_others() -> None:
    kept, gone, new = requirement(1, "a", "one"), requirement(2, "b", "two"), requirement(2, "c", "three")
    story = Story(goal(kept, gone)).audit(passing("one"), passing("two"))
    story.then(e.GoalAmended(goal(kept, new)))
    assert statuses(story) == ["met", "unverified"]
    assert next_of(story) == RunAudit(0)


def test_a_check_that_leaves_the_goal_and_comes_back_starts_anew_but_for_what_it_said_at_the_start() -> None:
    both, one = goal(requirement(1, "a", "one"), requirement(2, "b", "two")), goal(requirement(1, "a", "one"))
    story = Story(both).audit(passing("one"), passing("two", tests=3)).turn(edits="rev1")
    story.audit(failing("one"), failing("two")).audit(failing("one"), passing("two", tests=3))
    left = both.requirements[1].checks[0].id
    assert story.state.check(left).flaky
    story.then(e.GoalAmended(one))
    assert story.state.check(left) == CheckRecord(is_test_run=True, at_start="passed")
    story.then(e.GoalAmended(both))
    assert statuses(story) == ["unmet", "unverified"]
    story.audit(failing("one"), passing("two", tests=3))
    assert statuses(story) == ["unmet", "met"]


@pytest.mark.conformance("C20")
@each_row(
    "status, limits, message",
    [
        ("complete", Limits(), "is complete"),
        ("cancelled", Limits(), "is cancelled"),
        ("capped", Limits(max_iterations=1), "higher max_iterations"),
        ("timed_out", Limits(timeout=1.0), "higher timeout"),
        ("capped", Limits(max_iterations=2), None),
        ("capped", Limits(max_iterations=None), None),
        ("stalled", Limits(), None),
        ("crashed", Limits(), None),
    ],
)
def test_c20_what_can_be_resumed(status: str, limits: Limits, message: str | None) -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), max_iterations=1, timeout=1.0)).audit(BAD).turn()
    story.then(e.RunEnded(status, ""))  # type: ignore[arg-type]
    if message is None:
        check_resumable(story.state, limits)
    else:
        with pytest.raises(NotResumable, match=message):
            check_resumable(story.state, limits)


@pytest.mark.conformance("C20", "C21", "A13")
def test_c20_an_interrupted_turn_runs_again_as_the_same_iteration_with_its_counts() -> None:
    story = Story().audit(BAD).turn(edits="rev1").audit(BAD).then(e.TurnStarted(2, "tree1"))
    story.then(e.RunInterrupted("killed", story.at + 0.5), seconds=0.5)
    assert story.state.status == "interrupted"
    elapsed = story.state.elapsed
    assert elapsed < 60
    story.then(e.RunResumed())
    assert next_of(story) == RunWorker(2)
    assert story.state.redo is not None
    assert story.state.redo.checkpoint == "tree1"
    assert story.state.elapsed == elapsed


@pytest.mark.conformance("C20")
@pytest.mark.parametrize(("response", "status"), [("approve", "blocked"), ("deny", None)])
def test_c20_what_a_person_answered_while_a_run_was_paused_holds(response: ResponseKind, status: str | None) -> None:
    story = Story().audit(BAD).turn(Claim("blocked", "no key")).audit(BAD)
    asked = next_of(story)
    assert isinstance(asked, Ask)
    story.then(e.InterruptOpened(asked.interrupts[0]), e.RunPaused("waits for a person"))
    story.then(e.InterruptAnswered("I1", Answer(response)), e.RunResumed()).audit(BAD)
    following = next_of(story)
    assert following == (RunWorker(2) if status is None else Stop("blocked", "no key"))


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("approve", "everything that was asked is answered"),
        ("deny", "the start was not accepted; once the run is resumed, it ends as cancelled"),
    ],
)
def test_a_paused_run_says_that_its_start_was_not_accepted(response: ResponseKind, reason: str) -> None:
    asked = Interrupt("I1", "approval", "Start this run?", "start")
    story = Story().then(e.InterruptOpened(asked), e.RunPaused("waits for a person: I1 Start this run?"))
    story.then(e.InterruptAnswered("I1", Answer(response)))
    assert story.state.lifecycle.reason == reason
    following = next_of(story.then(e.RunResumed()).audit(BAD))
    assert following == (RunWorker(1) if response == "approve" else Stop("cancelled", "the start was not accepted"))


@pytest.mark.parametrize(
    ("reason", "error"), [("waits for a person: I2 Run `make`?", None), ("Ctrl-C", "cut off: Ctrl-C")]
)
def test_a_turn_that_waits_for_a_person_has_not_failed(reason: str, error: str | None) -> None:
    story = Story().audit(BAD).then(e.TurnStarted(1, None))
    story.then(e.Abandoned("turn", reason, Usage(10, 10, 0, 0.5)), e.RunPaused(reason))
    assert story.state.progress.iterations[-1].error == error


@pytest.mark.conformance("C20")
def test_c20_what_was_left_unproven_while_a_run_was_paused_is_not_asked_again() -> None:
    story = Story(UNDECIDED).audit()
    asked = next_of(story)
    assert isinstance(asked, Ask)
    story.then(e.InterruptOpened(asked.interrupts[0]), e.RunPaused("waits for a person"))
    assert (
        story.then(e.InterruptAnswered("I1", Answer("deny"))).state.lifecycle.reason
        == "everything that was asked is answered"
    )
    story.then(e.RunResumed()).audit()
    stop = next_of(story)
    assert isinstance(stop, Stop)
    assert stop.status == "blocked"
    story.then(e.RunEnded("blocked", stop.reason), e.RunResumed()).audit()
    assert isinstance(next_of(story), Ask)


@pytest.mark.conformance("A13", "A14")
def test_a13_an_interrupted_run_stalls_and_crashes_after_as_many_turns_as_an_undisturbed_one() -> None:
    stalling = Story().audit(BAD).turn().audit(BAD).turn().audit(BAD)
    stalling.then(e.RunInterrupted("killed", stalling.at), e.RunResumed()).audit(BAD).turn().audit(BAD)
    assert isinstance(stop := next_of(stalling), Stop)
    assert stop.status == "stalled"
    failing = Story().audit(BAD).turn(error="boom").turn(error="boom")
    failing.then(e.RunInterrupted("killed", failing.at), e.RunResumed()).audit(BAD).turn(error="boom")
    assert isinstance(stop := next_of(failing), Stop)
    assert stop.status == "crashed"


@pytest.mark.parametrize("end", [e.RunPaused("models need litellm"), e.RunEnded("crashed", "models need litellm")])
def test_what_no_other_turn_could_mend_is_tried_again_once_a_person_resumes(end: e.Event) -> None:
    story = Story().audit(BAD).then(e.TurnStarted(1, None))
    failed = TurnResult(Claim(), error="models need litellm", final=True)
    story.then(e.TurnFinished(1, failed, ())).audit(BAD)
    assert next_of(story) == Stop("crashed", "models need litellm")
    story.then(end, e.RunResumed()).audit(BAD)
    assert isinstance(next_of(story), RunWorker)


@pytest.mark.conformance("C21")
def test_c21_an_audit_that_was_cut_off_is_not_counted_and_runs_again() -> None:
    story = Story().audit(BAD).turn().then(e.AuditStarted(1, R0), e.Abandoned("audit", "cut off"))
    assert story.state.auditing.count == 1
    assert next_of(story) == RunAudit(1)


def test_worker_human_has_only_the_limits_that_were_set() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True)), worker="human").audit(BAD)
    for _ in range(12):
        story.turn().audit(BAD)
    assert isinstance(next_of(story), RunWorker)
    assert story.state.limit("timeout") is None


def test_a_bare_audit_ends_without_a_status() -> None:
    story = Story(worker=None, mode="audit").audit(GOOD)
    assert next_of(story) == Stop(None, "everything is proven")
    assert story.state.status is None


def test_the_same_entries_give_the_same_state() -> None:
    story = Story().audit(BAD).turn(edits="rev1").audit(GOOD)
    entries = [e.Entry(number, 1000.0 + number - 1, event) for number, event in enumerate(story.events, 1)]
    assert fold_all(entries) == story.state


def test_evidence_of_another_revision_may_not_be_cited() -> None:
    story = Story().then(e.EvidenceRecorded(Evidence("E5", "old", "old", 0, GOOD)))
    assert "E5" not in story.state.evidence.citable
    assert story.state.evidence.count == 5


def test_a_response_may_not_be_cited_for_a_goal_about_files() -> None:
    said = Evidence("E5", "rev0", "rev0", 0, ObservedResponse("0", "All tests pass", 14))
    story = Story()
    said = replace(said, revision=story.state.revision, revision_after=story.state.revision)
    story = story.then(e.EvidenceRecorded(said))
    assert ("E5" in story.state.evidence.citable, story.state.last_turn.response) == (False, None)
