"""Goals in a workspace: real files, real commands, a durable record, a second process (C2, C7, C19, C20, C23, A5)."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from donewhen import (
    AlreadyRunning,
    GoalVerdict,
    InvalidGoal,
    NotResumable,
    Question,
    UsageError,
    aresume_goal,
    arun_goal,
    resume_goal,
    run_goal,
    start_goal,
)
from donewhen.app.engine import open_engine
from donewhen.plugins import Halt, hookimpl
from donewhen.settings.loading import Settings
from donewhen.workers.callables.judges import AuditTask
from tests import forked
from tests.library import halting_program
from tests.library.halting_program import Quota, both_lines, writer

PYTHON = f'"{sys.executable}"'
HOLDS = f"{PYTHON} -c \"import pathlib; assert pathlib.Path('out.txt').read_text() == 'good'\""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def places(tmp_path: Path, workspace: Path) -> dict[str, Any]:
    return {"workspace": workspace, "state_dir": tmp_path / "state"}


def writes(workspace: Path, *texts: str) -> Any:
    left = list(texts)

    def worker(prompt: str) -> None:
        (workspace / "out.txt").write_text(left.pop(0) if len(left) > 1 else left[0])

    return worker


@pytest.mark.conformance("C2")
def test_c02_commands_decide_over_files(workspace: Path, places: dict[str, Any]) -> None:
    outcome = run_goal("Write out.txt", writes(workspace, "bad", "good"), checks=[HOLDS], **places)
    assert (outcome.status, outcome.iterations) == ("complete", 2)
    assert outcome.requirements[0].decided_by == "check"


@pytest.mark.conformance("C2")
def test_c02_what_is_proven_already_calls_no_worker(workspace: Path, places: dict[str, Any]) -> None:
    (workspace / "out.txt").write_text("good")
    prompts: list[str] = []
    outcome = run_goal("Write out.txt", prompts.append, checks=[HOLDS], **places)
    assert (outcome.status, outcome.iterations, prompts) == ("complete", 1, [])


def test_the_commands_that_an_objective_states_are_bound(workspace: Path, places: dict[str, Any]) -> None:
    (workspace / "check.py").write_text("open('out.txt').read()\n")
    objective = f"Write out.txt. The goal is complete only when `{sys.executable} check.py` passes."
    outcome = run_goal(objective, writes(workspace, "any"), **places)
    assert outcome.status == "complete"
    assert [one.text for one in outcome.requirements] == [f"`{sys.executable} check.py` passes"]


def test_a_callable_judge_decides_over_what_changed(workspace: Path, places: dict[str, Any]) -> None:
    diffs: list[str] = []

    def judge(task: AuditTask) -> GoalVerdict:
        diffs.append(task.diff)
        complete = "good" in task.diff
        return GoalVerdict(0.9 if complete else 0.2, complete, "" if complete else "out.txt is not good")

    outcome = run_goal("Write something good", writes(workspace, "bad", "good"), judge, **places)
    assert outcome.verdict is not None
    assert (outcome.status, outcome.iterations, outcome.verdict.score) == ("complete", 2, 0.9)
    assert "bad" in diffs[0]


def test_a_goal_file_is_pursued(workspace: Path, places: dict[str, Any]) -> None:
    (workspace / "check.py").write_text("assert open('out.txt').read() == 'good'\n")
    (workspace / "GOAL.md").write_text(f"# Good output\n\n- [ ] `{sys.executable} check.py` passes\n")
    for goal in ("GOAL.md", workspace / "GOAL.md"):
        (workspace / "out.txt").write_text("bad")
        assert run_goal(goal, writes(workspace, "good"), **places).status == "complete"
    with pytest.raises(InvalidGoal, match="there is no ANOTHER"):
        run_goal(Path("ANOTHER.md"), writes(workspace, "good"), **places)


@pytest.mark.conformance("C7", "C19")
async def test_c19_a_second_run_in_the_same_workspace_is_refused(workspace: Path, places: dict[str, Any]) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def worker(prompt: str) -> None:
        begun.set()
        await go.wait()
        (workspace / "out.txt").write_text("good")

    async with await start_goal("Write out.txt", worker, checks=[HOLDS], **places) as run:
        await begun.wait()
        for durable in (True, False):
            with pytest.raises(AlreadyRunning, match=run.run_id):
                await arun_goal("Write out.txt", worker, checks=[HOLDS], durable=durable, **places)
        go.set()
        assert (await run.outcome()).status == "complete"


@pytest.mark.conformance("C19")
async def test_c19_a_run_without_a_record_holds_the_workspace_too(workspace: Path, places: dict[str, Any]) -> None:
    begun = asyncio.Event()

    async def worker(prompt: str) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with await start_goal("Write out.txt", worker, checks=[HOLDS], durable=False, **places) as run:
        await begun.wait()
        with pytest.raises(AlreadyRunning, match=run.run_id):
            await arun_goal("Write out.txt", worker, checks=[HOLDS], **places)


@pytest.mark.conformance("C20")
def test_c20_a_capped_run_is_resumed_with_a_raised_limit_only(workspace: Path, places: dict[str, Any]) -> None:
    capped = run_goal("Write out.txt", writes(workspace, "bad"), checks=[HOLDS], max_iterations=2, **places)
    assert capped.status == "capped"
    with pytest.raises(NotResumable, match="max_iterations"):
        resume_goal(capped.run_id, writes(workspace, "good"), **places)
    outcome = resume_goal(capped.run_id, writes(workspace, "good"), max_iterations=5, **places)
    assert (outcome.status, outcome.iterations, outcome.run_id) == ("complete", 3, capped.run_id)
    with pytest.raises(NotResumable, match="complete"):
        resume_goal(None, writes(workspace, "good"), max_iterations=9, **places)


@pytest.mark.conformance("C20")
def test_c20_the_judge_stays_who_it_is(workspace: Path, places: dict[str, Any]) -> None:
    def judge(task: AuditTask) -> bool:
        return False

    capped = run_goal("Write out.txt", writes(workspace, "bad"), judge, max_iterations=1, **places)
    with pytest.raises(UsageError, match="give it as judge"):
        resume_goal(capped.run_id, writes(workspace, "good"), max_iterations=5, **places)
    with pytest.raises(UsageError, match="that can't change"):
        resume_goal(capped.run_id, writes(workspace, "good"), lambda task: True, max_iterations=5, **places)


async def test_a_run_of_a_program_says_to_the_command_line_how_it_goes_on(
    workspace: Path, places: dict[str, Any]
) -> None:
    def long_enough(response: object, agent: object) -> bool:
        return False

    run = await arun_goal("Write", writes(workspace, "bad"), checks=[HOLDS, long_enough], max_iterations=1, **places)
    runs = await open_engine(workspace, places["state_dir"], Settings())
    try:
        with pytest.raises(NotResumable) as refused:
            await runs.resume(run.run_id)
    finally:
        await runs.close("the test ended")
    said = str(refused.value)
    assert "only that has its worker and validators" in said
    line = f"resume_goal('{run.run_id}', worker, workspace='{workspace}', checks=[...], max_iterations=11)"
    assert said.splitlines()[-1].strip() == line


def test_what_only_the_program_has_is_given_again(workspace: Path, places: dict[str, Any]) -> None:
    def never(response: Any, agent: Any) -> bool:
        return False

    capped = run_goal("Write out.txt", writes(workspace, "bad"), checks=[never], max_iterations=1, **places)
    with pytest.raises(UsageError, match="the validator never"):
        resume_goal(capped.run_id, writes(workspace, "good"), max_iterations=5, **places)
    with pytest.raises(UsageError, match="give it as worker"):
        resume_goal(capped.run_id, checks=[never], max_iterations=5, **places)


@pytest.mark.conformance("C20", "C23")
@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signal")
@pytest.mark.parametrize("how", ["halt", "hang"])
async def test_c23_a_run_goes_on_after_its_process_was_killed(
    workspace: Path, places: dict[str, Any], how: str
) -> None:
    program = [sys.executable, "-m", halting_program.__name__, str(workspace), str(places["state_dir"]), how]
    process = forked.start(program, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    first = process.stdout.readline().split()
    line = ""
    while line.strip() not in ("halted", "hanging"):
        line = process.stdout.readline()
        assert line, "the program ended early"
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    process.stdout.close()
    assert (workspace / "log.txt").read_text() == "one\n"

    plugin = Quota()
    outcome = await aresume_goal(
        first[0],
        writer(workspace),
        checks=[both_lines],
        agent=str(workspace / "log.txt"),
        plugins=[plugin] if how == "halt" else [],
        data={"left": 5} if how == "halt" else None,
        **places,
    )
    # Halted, the turn goes on; killed in a turn, that one runs again from its files.
    assert (outcome.status, outcome.iterations) == ("complete", 2)
    assert (workspace / "log.txt").read_text() == "one\ntwo\n"
    assert plugin.told == ([{"left": 5}] if how == "halt" else [])


@pytest.mark.conformance("A2", "C20")
def test_a02_a_question_outlives_the_program_and_is_answered_by_id(workspace: Path, places: dict[str, Any]) -> None:
    prompts: list[str] = []

    def worker(prompt: str) -> Any:
        prompts.append(prompt)
        if "blue" not in prompt:
            return Question("Which colour?")
        (workspace / "out.txt").write_text("good")
        return None

    waits = run_goal("Paint out.txt", worker, checks=[HOLDS], **places)
    assert (waits.status, len(waits.interrupts)) == ("paused", 1)
    again = resume_goal(waits.run_id, worker, **places)
    assert ([one.id for one in again.interrupts], len(prompts)) == ([waits.interrupts[0].id], 1)
    outcome = resume_goal(None, worker, answers={waits.interrupts[0].id: "blue"}, **places)
    assert (outcome.status, outcome.iterations, len(prompts)) == ("complete", 2, 2)


def cheats(workspace: Path) -> tuple[Path, Any]:
    """A goal with a file that is agreed on, and a worker that changes it."""
    (workspace / "agreed.txt").write_text("strict\n")
    (workspace / "GOAL.md").write_text(f"---\nprotect: [agreed.txt]\n---\n# Write it\n\n- [ ] `{HOLDS}` passes\n")

    def worker(prompt: str) -> None:
        (workspace / "out.txt").write_text("good")
        (workspace / "agreed.txt").write_text("lax\n")

    return workspace / "GOAL.md", worker


@pytest.mark.conformance("A10")
def test_a10_findings_are_data_and_end_a_run_that_can_ask_nobody(workspace: Path, places: dict[str, Any]) -> None:
    goal, worker = cheats(workspace)
    outcome = run_goal(goal, worker, **places)
    assert (outcome.status, outcome.iterations) == ("blocked", 1)
    (found,) = outcome.findings
    assert (found.id, found.kind, found.path, found.line) == ("F1", "protected_file", "agreed.txt", 1)
    assert ("-strict\n+lax" in found.diff, found.accepted, outcome.as_dict()["findings"][0]["id"]) == (
        True,
        False,
        "F1",
    )
    assert "which a person has to settle. Accept" in outcome.reason


@pytest.mark.conformance("A10")
async def test_a10_a_program_accepts_findings_with_a_reason(workspace: Path, places: dict[str, Any]) -> None:
    goal, worker = cheats(workspace)
    async with await start_goal(goal, worker, **places) as run:
        assert (await run.outcome()).status == "blocked"
        with pytest.raises(UsageError, match="reason"):
            await run.accept(" ")
        await run.accept("it is meant")
        await run.resume()
        outcome = await run.outcome()
    assert (outcome.status, outcome.findings[0].accepted, outcome.findings[0].reason) == (
        "complete",
        True,
        "it is meant",
    )


@pytest.mark.conformance("A10")
def test_a10_a_caller_that_answers_is_asked_about_all_findings_at_once(workspace: Path, places: dict[str, Any]) -> None:
    goal, worker = cheats(workspace)
    asked: list[Any] = []

    def answer(interrupt: Any) -> bool:
        asked.append(interrupt)
        return True

    outcome = run_goal(goal, worker, on_interrupt=answer, **places)
    assert (outcome.status, [one.about for one in asked]) == ("complete", ["findings"])
    assert "+lax" in asked[0].preview


@pytest.mark.conformance("C23")
@pytest.mark.parametrize("point", ["after_turn", "before_audit", "after_verdict"])
@pytest.mark.parametrize("text", [True, False])
def test_c23_a_response_outlives_the_session_that_it_was_returned_in(
    places: dict[str, Any], point: str, text: bool
) -> None:
    told: list[Any] = []
    turns: list[str] = []

    class Looks:
        name = "looks"

        @hookimpl
        def on_resume(self, data: Any) -> None:
            told.append(data)

    def look(self: object) -> None:
        if turns and not told:
            raise Halt("have a look")

    setattr(Looks, point, hookimpl(look))

    def worker(prompt: str) -> Any:
        turns.append(prompt)
        return "done" if text else {"content": "done"}

    def is_done(response: Any, agent: Any) -> bool:
        return response == ("done" if text else {"content": "done"})

    halted = run_goal("Do it", worker, checks=[is_done], plugins=[Looks()], **places)
    assert (halted.status, len(turns)) == ("waiting", 1)
    outcome = resume_goal(halted.run_id, worker, checks=[is_done], plugins=[Looks()], **places)
    # Only a text is on record as it was returned: whatever else it was is returned anew.
    assert (outcome.status, len(turns)) == ("complete", 1 if text else 2)


def test_a_response_that_was_masked_on_record_is_not_validated_in_its_place(places: dict[str, Any]) -> None:
    turns: list[str] = []

    def clean(response: Any, agent: Any) -> bool:
        return "sk-ant-" not in response

    class Looks:
        name = "looks"

        @hookimpl
        def before_audit(self) -> None:
            if len(turns) == 1:
                raise Halt("have a look")

        @hookimpl
        def on_resume(self) -> None:
            turns.append("resumed")

    def worker(prompt: str) -> str:
        turns.append(prompt)
        return f"the key is {'sk-' + 'ant-'}api03-0123456789abcdefghij0123456789abcdefghij"

    halted = run_goal("Do it", worker, checks=[clean], plugins=[Looks()], **places)
    assert halted.status == "waiting"
    outcome = resume_goal(halted.run_id, worker, checks=[clean], plugins=[Looks()], max_iterations=2, **places)
    assert (outcome.status, outcome.iterations) == ("capped", 2)
