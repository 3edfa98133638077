"""What people do to runs and read of them, with everything in memory (C19, C20, A10, A16)."""

from __future__ import annotations

import asyncio

import pytest

from donewhen.core.answers import checked_answer
from donewhen.core.errors import GoalFileError, NotResumable, NotTrusted, UsageError, WrongAnswer
from donewhen.core.evidence import Problem
from donewhen.core.feedback import MASK
from donewhen.core.work import Answer, Claim, Interrupt, TurnResult, Usage
from donewhen.engine.api import LimitChanges, RunView, StartOptions
from donewhen.engine.runs import Supervisor
from tests.core.builders import failing, goal, passing, requirement
from tests.engine.world import GOAL, World, contains, ended, idle, pursue, returns, until, writes


async def test_a_bare_check_has_no_status_and_is_allowed_during_a_run(world: World) -> None:
    world.worker.gate = asyncio.Event()
    supervisor, other = world.supervisor(), world.supervisor()
    await supervisor.start(GOAL)
    await world.worker.started.wait()
    view = await other.check(GOAL)
    assert (view.state.status, view.state.mode, [one.status for one in view.views]) == (None, "audit", ["unmet"])


async def test_a_second_check_joins_the_first_and_the_last_one_to_leave_ends_it(world: World) -> None:
    world.checker.gate = asyncio.Event()
    supervisor = world.supervisor()
    calls = [asyncio.ensure_future(supervisor.check(GOAL)) for _ in range(2)]
    await world.checker.at_work()
    calls[0].cancel()
    await asyncio.wait({calls[0]})
    assert world.checker.running == 1
    world.checker.gate.set()
    assert (await calls[1]).state.lifecycle.ended
    assert world.checker.ran == ["check"]


async def test_an_untrusted_workspace_executes_nothing(world: World) -> None:
    world.trusted = False
    supervisor = world.supervisor()
    with pytest.raises(NotTrusted, match="not trusted"):
        await supervisor.check(GOAL)
    with pytest.raises(NotTrusted):
        await supervisor.start(GOAL)
    assert world.checker.ran == []


async def test_a_goal_file_that_can_not_be_used_starts_nothing(world: World) -> None:
    with pytest.raises(GoalFileError):
        await world.supervisor().start("other.md")
    assert not world.held


async def test_revert_puts_files_back_and_keeps_what_stood_there(world: World) -> None:
    view = await pursue(world, writes("a.py", "one"), writes("a.py", "good"))
    supervisor = world.supervisor()
    outcome = await supervisor.revert(view.state.run_id, 1)
    assert outcome.changed == ("a.py",)
    assert world.workspace.read("a.py") == b"one"
    assert await supervisor.file_at(view.state.run_id, 2, "a.py") == "good"
    world.workspace.edit("a.py", b"mine", by="person")
    assert (await supervisor.revert(view.state.run_id, 1)).kept == ("a.py",)
    assert world.workspace.read("a.py") == b"mine"
    await supervisor.revert(view.state.run_id, 1, force=True)
    assert world.workspace.read("a.py") == b"one"


async def test_a_revert_can_be_reverted_and_is_no_edit(world: World) -> None:
    view = await pursue(world, writes("a.py", "one"), writes("a.py", "good"))
    supervisor, run_id = world.supervisor(), view.state.run_id
    for iteration, text in ((1, b"one"), (2, b"good"), (1, b"one")):
        outcome = await supervisor.revert(run_id, iteration)
        assert (outcome.changed, outcome.kept) == (("a.py",), ())
        assert world.workspace.read("a.py") == text


async def test_cost_adds_up_over_turns(world: World) -> None:
    spent = TurnResult(usage=Usage(10, 5, 0, 0.25))
    view = await pursue(world, returns(spent), returns(spent), writes("a.py", "good"))
    assert view.state.usage == Usage(20, 10, 0, 0.5)
    assert sum(one.usage.usd or 0.0 for one in view.state.progress.iterations) == 0.5


async def test_what_the_editor_reports_decides_a_problems_requirement(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "no errors", problems=("*.py",)))
    world.checker.problems = (Problem("a.py", 0, "undefined name"),)
    assert [one.status for one in (await world.supervisor().check(GOAL)).views] == ["unmet"]
    world.checker.problems = ()
    assert [one.status for one in (await world.supervisor().check(GOAL)).views] == ["met"]


async def test_a_run_survives_a_worker_with_a_defect(world: World) -> None:
    def defect(turn: object, context: object, of: World) -> None:
        raise ZeroDivisionError("oops")

    view = await pursue(world, defect)
    assert view.state.status == "crashed"
    assert "oops" in view.state.lifecycle.reason


async def test_iteration_details_tell_what_the_worker_did_and_which_checks_ran(world: World) -> None:
    view = await pursue(world, idle, writes("a.py", "good"))
    detail = await world.supervisor().iteration(view.state.run_id, 2)
    assert detail.changed == ("a.py",)
    assert [(one.command, one.passed) for one in detail.checks] == [("check", True)]
    assert [(one.number, one.status) for one in detail.verdict] == [(1, "met")]
    before = await world.supervisor().iteration(view.state.run_id, 1)
    assert [(one.number, one.status) for one in before.verdict] == [(1, "unmet")]
    with pytest.raises(UsageError, match="no iteration 7"):
        await world.supervisor().iteration(view.state.run_id, 7)


async def test_a_flaky_check_is_unverified_until_it_passed_three_times(world: World) -> None:
    results = iter([False, True, True, True, True])
    world.checker.behaviours["check"] = lambda of: next(results)
    view = await pursue(world, idle)
    assert (view.state.status, view.state.iteration) == ("complete", 1)
    assert world.checker.ran == ["check"] * 4
    assert passing("check").passed


@pytest.mark.conformance("A10")
async def test_a10_a_goal_file_that_a_worker_changed_is_no_amendment_until_it_is_accepted(world: World) -> None:
    easier = goal(requirement(1, "it exists", "exists", sole=True))
    world.checker.behaviours["exists"] = contains("a.py", "bad")

    def cheats(turn: object, context: object, of: World) -> None:
        of.workspace.edit(GOAL, b"an easier goal")
        of.goals[GOAL] = easier

    world.worker.plays = [cheats, idle]  # type: ignore[list-item]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    found = await until(supervisor, run_id, lambda view: bool(view.state.open_findings))
    assert found.state.open_findings[0].finding.kind == "goal_file"
    assert found.state.goal.requirements[0].text == "it works"
    await supervisor.accept(run_id, "F1", "it was too hard")
    view = await ended(supervisor, run_id)
    assert (view.state.status, view.state.goal.requirements[0].text) == ("complete", "it exists")


async def test_a_revert_can_be_undone(world: World) -> None:
    view = await pursue(world, writes("a.py", "one"), writes("a.py", "good"))
    supervisor = world.supervisor()
    run_id = view.state.run_id
    with pytest.raises(UsageError, match="nothing that can be undone"):
        await supervisor.revert(run_id, None)
    await supervisor.revert(run_id, 0)
    assert world.workspace.read("a.py") == b"bad"
    await supervisor.revert(run_id, None)
    assert world.workspace.read("a.py") == b"good"


async def cheated(world: World, *, askable: bool = True) -> tuple[Supervisor, RunView]:
    """A run whose worker met everything, and changed two protected files for it."""
    for path in ("protected_a.py", "protected_b.py"):
        world.workspace.edit(path, b"assert strict\n", by="person")

    def cheats(turn: object, context: object, of: World) -> None:
        of.workspace.edit("a.py", b"good")
        of.workspace.edit("protected_a.py", b"assert lax\n")
        of.workspace.edit("protected_b.py", b"")

    world.worker.plays = [cheats, writes("protected_a.py", "assert strict\n")]  # type: ignore[list-item]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL, StartOptions(askable=askable))).state.run_id
    return supervisor, await until(
        supervisor, run_id, lambda view: bool(view.state.interrupts) or view.state.lifecycle.ended
    )


@pytest.mark.conformance("A10")
async def test_a10_a_person_is_asked_once_about_all_findings_and_sees_what_changed(world: World) -> None:
    supervisor, view = await cheated(world)
    (asked,) = view.state.interrupts
    assert (asked.kind, asked.about) == ("question", "findings")
    for line in ("F1 protected_file", "F2 protected_file", "-assert strict", "+assert lax", "+++ b/protected_a.py"):
        assert line in asked.preview
    await supervisor.answer(view.state.run_id, asked.id, Answer("approve", reason="it was wrong"))
    last = await ended(supervisor, view.state.run_id)
    assert (last.state.status, last.state.iteration, len(world.worker.turns)) == ("complete", 1, 1)
    assert {one.reason for one in last.state.present_findings} == {"it was wrong"}


async def test_a_worker_that_is_to_undo_findings_is_told_and_what_it_leaves_is_asked_again(world: World) -> None:
    supervisor, view = await cheated(world)
    run_id = view.state.run_id
    await supervisor.answer(run_id, "I1", Answer("deny", reason="put both back"))
    again = await until(supervisor, run_id, lambda view: any(one.id == "I2" for one in view.state.interrupts))
    assert "put both back" in world.worker.turns[1].answers[0]
    assert "protected_a.py" not in again.state.interrupts[0].preview
    await supervisor.answer(run_id, "I2", Answer("end"))
    last = await ended(supervisor, run_id)
    assert (last.state.status, len(world.worker.turns)) == ("blocked", 2)


async def test_unattended_findings_end_the_run_and_accepting_all_of_them_completes_it(world: World) -> None:
    supervisor, view = await cheated(world, askable=False)
    run_id = view.state.run_id
    assert (view.state.status, len(world.worker.turns)) == ("blocked", 1)
    assert "which a person has to settle. Accept them or undo them" in view.state.lifecycle.reason
    await supervisor.accept(run_id, None, "agreed")
    with pytest.raises(UsageError, match="is open"):
        await supervisor.accept(run_id, None, "agreed")
    await supervisor.accept(run_id, None, "", undo=True)
    await supervisor.accept(run_id, None, "agreed")
    await supervisor.resume(run_id, options=StartOptions(askable=False))
    last = await ended(supervisor, run_id)
    assert (last.state.status, len(world.worker.turns)) == ("complete", 1)


async def with_a_finding(world: World, *more: object) -> tuple[Supervisor, str]:
    """A run that is capped with a protected file changed by its worker."""
    world.workspace.edit("protected.py", b"agreed", by="person")
    plays = (writes("protected.py", "cheat"), *more)
    view = await pursue(world, *plays, limits=LimitChanges(max_iterations=len(plays)))
    assert [one.finding.kind for one in view.state.open_findings] == ["protected_file"]
    return world.supervisor(), view.state.run_id


async def test_reverting_a_finding_undoes_what_the_worker_did_and_can_be_undone(world: World) -> None:
    supervisor, run_id = await with_a_finding(world, writes("protected.py", "cheat more"))
    outcome = await supervisor.revert_finding(run_id, "F1")
    assert (outcome.changed, outcome.kept) == (("protected.py",), ())
    assert world.workspace.read("protected.py") == b"agreed"
    await supervisor.revert(run_id, None)
    assert world.workspace.read("protected.py") == b"cheat more"
    assert (await supervisor.revert_finding(run_id, "F1")).changed == ("protected.py",), "what was undone is no edit"
    assert (await supervisor.revert_finding(run_id, "F1")).changed == ()


async def test_reverting_a_finding_keeps_what_a_person_edited_since_unless_forced(world: World) -> None:
    supervisor, run_id = await with_a_finding(world)
    world.workspace.edit("protected.py", b"mine", by="person")
    outcome = await supervisor.revert_finding(run_id, "F1")
    assert (outcome.changed, outcome.kept) == ((), ("protected.py",))
    assert world.workspace.read("protected.py") == b"mine"
    assert (await supervisor.revert_finding(run_id, "F1", force=True)).changed == ("protected.py",)
    assert world.workspace.read("protected.py") == b"agreed"
    await supervisor.revert(run_id, None)
    assert world.workspace.read("protected.py") == b"mine", "nothing is lost"


async def test_a_finding_is_reverted_while_its_run_waits(world: World) -> None:
    world.workspace.edit("protected.py", b"agreed", by="person")

    def cheats(turn: object, context: object, of: World) -> TurnResult:
        of.workspace.edit("protected.py", b"cheat")
        return TurnResult(Claim("question", "may I?"))

    world.worker.plays = [cheats]  # type: ignore[list-item]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    assert (await supervisor.revert_finding(run_id, "F1")).kept == ()
    assert world.workspace.read("protected.py") == b"agreed"


@pytest.mark.conformance("C20")
async def test_c20_approval_can_be_tightened_by_resume_and_never_loosened(world: World) -> None:
    capped = await pursue(world, idle, limits=LimitChanges(max_iterations=1))
    supervisor = world.supervisor()
    run_id, more = capped.state.run_id, LimitChanges(max_iterations=2)
    with pytest.raises(UsageError, match="can only be tightened"):
        await supervisor.resume(run_id, more, StartOptions(approve="auto"))
    assert (await supervisor.view(run_id)).state.status == "capped"
    await supervisor.resume(run_id, more, StartOptions(approve="deny"))
    assert (await ended(supervisor, run_id)).state.options.approve == "deny"


async def test_a_receipt_has_every_iteration_and_the_time_of_its_audit(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=23, stall_after=None)
    view = await pursue(world, idle)
    assert len(view.state.progress.iterations) == 20
    receipt = await world.supervisor().report(view.state.run_id)
    assert [record.number for record in receipt.state.progress.iterations] == list(range(1, 24))
    seconds = sum(record.seconds for record in receipt.state.progress.iterations)
    assert 0 < seconds <= receipt.state.elapsed


@pytest.mark.conformance("A16")
async def test_a16_what_a_cut_off_attempt_cost_belongs_to_its_iteration(world: World) -> None:
    from donewhen.core import events as e
    from tests.core.builders import Story

    story = Story().audit(failing("pytest -q")).then(e.TurnStarted(1, None))
    story.then(e.Abandoned("turn", "paused", Usage(5, 5, 0, 0.5)), e.TurnStarted(1, None))
    story.then(e.TurnFinished(1, TurnResult(usage=Usage(1, 1, 0, 0.25))))
    assert story.state.usage.usd == story.state.progress.iterations[-1].usage.usd == 0.75


async def test_a_check_that_differs_from_the_last_one_of_its_goal_is_flaky_too(world: World) -> None:
    results = iter([False, True, False, True, True, True, True])
    world.checker.behaviours["check"] = lambda of: next(results)
    seen: list[str] = []
    for _ in range(3):
        view = await world.supervisor().check(GOAL)
        seen.append(view.views[0].status)
    assert seen == ["unmet", "unmet", "met"]
    assert world.checker.ran == ["check"] * 6


async def test_a_run_whose_supervisor_died_is_interrupted_for_every_reader(world: World) -> None:
    world.worker.gate = asyncio.Event()
    first = world.supervisor()
    run_id = (await first.start(GOAL)).state.run_id
    await world.worker.started.wait()
    world.held.clear()  # as where the process is gone
    other = world.supervisor()
    assert [one.status for one in await other.summaries()] == ["interrupted"]
    assert (await other.view(run_id)).state.status == "interrupted"
    assert (await ended(other, run_id)).state.status == "interrupted"


async def test_whoever_follows_a_run_is_told_that_its_process_is_gone_and_may_take_it_over(world: World) -> None:
    world.worker.gate = asyncio.Event()
    world.worker.plays = [writes("a.py", "good")]
    first = world.supervisor()
    run_id = (await first.start(GOAL)).state.run_id
    await world.worker.started.wait()
    other, told = world.supervisor(), asyncio.Queue[RunView]()
    other.subscribe(told.put_nowait)
    assert not (await other.view(run_id)).take_over
    world.held.clear()  # as where the process is gone: the ledger says nothing of it
    async with asyncio.timeout(10):
        while not (seen := await told.get()).take_over:
            pass
    assert seen.state.status == "interrupted"
    assert not (await world.supervisor().view(run_id)).take_over, "it never followed the run"
    world.worker.gate.set()
    assert not (await other.resume(run_id)).take_over
    assert (await ended(other, run_id)).state.status == "complete"


@pytest.mark.conformance("C13")
def test_a_secret_that_is_not_shown_is_not_replaced_by_its_mask() -> None:
    asked = Interrupt("I1", "approval", "Run it?", "tool:run_command", "run_command", {"command": f"curl -H {MASK} x"})
    with pytest.raises(WrongAnswer, match="contains a secret"):
        checked_answer(asked, "edit", "", {"command": f"curl -v -H {MASK} x"}, "")
    assert checked_answer(asked, "edit", "", {"command": "curl -H $TOKEN x"}, "").response == "edit"


async def test_a_run_at_its_limit_goes_on_where_a_person_waived_all_that_was_left(world: World) -> None:
    view = await pursue(world, idle, limits=LimitChanges(max_iterations=1))
    supervisor, run_id = world.supervisor(), view.state.run_id
    assert view.state.status == "capped"
    with pytest.raises(NotResumable, match="with a higher max_iterations"):
        await supervisor.resume(run_id)
    await supervisor.waive(run_id, "R1", "not needed")
    await supervisor.resume(run_id)
    last = await ended(supervisor, run_id)
    assert (last.state.status, last.state.iteration) == ("complete", 1)
