"""What a judge's verdict holds for, and when it counts: the engine's side of judging."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from donewhen.core.errors import OverBudget, WorkspaceError
from donewhen.core.events import JudgeOptions
from donewhen.core.evidence import ObservedCommand, ObservedFile
from donewhen.core.goal import Goal
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import WEAK_JUDGE, Answer, Claim, RunWarning, TurnResult, Usage
from donewhen.engine.api import LimitChanges, StartOptions
from donewhen.engine.contexts import LARGEST
from donewhen.engine.setup import Start
from donewhen.judges.llm import LlmJudge
from donewhen.ports import AuditContext, Judgement, JudgeTask, ModelRequest, Turn, TurnContext
from donewhen.workspace.memory import MemoryWorkspace
from tests.benchmarks.bench_judge import audits, sent_text
from tests.core.builders import goal, requirement
from tests.engine.test_calls import Play, pursued, starts
from tests.engine.world import GOAL, World, ended, until
from tests.judges.models import ScriptedModel, entry, looks
from tests.judges.models import verdict as judged

CENT = Usage(100, 10, 0, 0.01)


def verdict(task: JudgeTask, *cited: str, finding: Any = "met") -> Verdict:
    return Verdict(tuple(RequirementVerdict(one.id, finding, "seen", cited) for one in task.requirements))


@dataclass
class Judging:
    """Plays one coroutine for every question."""

    play: Any
    identity: str = "judging"
    asked: int = 0

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        self.asked += 1
        return await self.play(task, context)


def edits(*paths: str) -> Play:
    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        for path in paths:
            world.workspace.edit(path, f"turn {turn.iteration}".encode())

    return works


@pytest.mark.conformance("A9")
async def test_a09_a_verdict_that_cites_a_command_holds_until_the_next_edit_of_any_file(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it is told", files=("README.md",)), requirement(2, "it works"))
    questions: list[list[str]] = []

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        questions.append([one.label for one in task.requirements])
        # Each member of a panel is shown it, and it is on record once.
        file, again = await asyncio.gather(*(context.record(ObservedFile("README.md", "d", 1)) for _ in range(2)))
        assert file.id == again.id
        fresh = [e for e in task.evidence if e.fresh(task.revision) and isinstance(e.observation, ObservedCommand)]
        command = fresh[0].id if fresh else file.id
        found = [
            RequirementVerdict(one.id, "met" if one.number == 1 or len(questions) > 1 else "unmet", "seen", (command,))
            for one in task.requirements
        ]
        return Judgement(Verdict(tuple(found)), shown={one.id: ("README.md",) for one in task.requirements})

    world.judge = Judging(judges)

    async def first(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("README.md", b"told")

        async def ran() -> ObservedCommand:
            return ObservedCommand("python app.py", 0, 0.1, "works")

        await context.observe(ran())

    state = (await pursued(world, first, edits("app.py"))).state
    assert state.status == "complete"
    assert questions == [["R1", "R2"], ["R1", "R2"]]


@pytest.mark.conformance("A9")
async def test_a09_a_verdict_is_dropped_where_files_changed_and_came_back_meanwhile(world: World) -> None:
    """What the judge's own checks write while it looks, others of them may put back."""
    world.goals[GOAL] = goal(requirement(1, "it reads well"), requirement(2, "it works", "check", sole=True))
    shown: list[bytes] = []

    def swaps(world: World) -> bool:
        swapped = {b"turn 1": b"reads well", b"reads well": b"turn 1"} if asking else {}
        world.workspace.edit("a.py", swapped.get(world.workspace.read("a.py") or b"", world.workspace.read("a.py")))
        return True

    asking: list[bool] = []
    world.checker.behaviours["check"] = swaps

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        asking.append(True)
        await context.run_check(task.goal.checks[0])
        shown.append(world.workspace.read("a.py") or b"")
        await context.run_check(task.goal.checks[0])
        asking.clear()
        file = await context.record(ObservedFile("a.py", "d", 1))
        return Judgement(verdict(task, file.id))

    world.judge = Judging(judges)
    state = (await pursued(world, edits("a.py"), limits=LimitChanges(max_iterations=1))).state
    assert shown[0] == b"reads well"
    assert state.status == "capped"


@pytest.mark.conformance("A18")
async def test_what_was_proven_at_the_first_command_can_be_read_and_cited_100_commands_later(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "the export opens in a spreadsheet"))
    proof = "".join(f"row {n}: quoted\n" for n in range(200)) + "200 rows\n"
    ids: list[str] = []

    def reads(request: ModelRequest) -> Any:
        (line,) = re.findall(
            r'^\| (E\d+) "python check_all.py": exit 0, ends .*200 rows"$', said(request), re.MULTILINE
        )
        ids.append(line)
        return looks("read_evidence", id=line)

    def decides(request: ModelRequest) -> str:
        assert "| row 0: quoted\n" in said(request)
        return judged(entry("R1", cited=ids))

    world.judge = LlmJudge(ScriptedModel(reads, decides), JudgeOptions(("scripted/judge",)))

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("app.py", b"done")
        for number in range(101):
            command = f"cat part-{number}" if number else "python check_all.py"
            await context.observe(seen(ObservedCommand(command, 0, 0.1, "noise\n" * 300 if number else proof)))

    state = (await pursued(world, works)).state
    assert state.status == "complete"
    (verdict,) = state.judge.judged.values()
    assert verdict.verdict.evidence_ids == ("E1",)


async def test_a_command_may_be_cited_again_once_files_are_back_to_what_it_saw(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works"))

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        return Judgement(verdict(task, *(one.id for one in task.evidence if one.citable(task.revision))))

    world.judge = Judging(judges)

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("app.py", b"good")
        await context.observe(seen(ObservedCommand("python app.py", 0, 0.1, "works")))
        world.workspace.edit("app.py", b"broken for a moment")
        await context.observe(seen(ObservedCommand("python app.py", 1, 0.1, "broken")))
        world.workspace.edit("app.py", b"good")

    state = (await pursued(world, works, limits=LimitChanges(max_iterations=1))).state
    assert state.status == "complete"
    assert [one.verdict.evidence_ids for one in state.judge.judged.values()] == [("E1",)]


@pytest.mark.conformance("A18")
@pytest.mark.parametrize("every", [True, False])
async def test_ten_audits_of_five_commands_each_take_at_most_15000_tokens(tmp_path: Path, every: bool) -> None:
    sent = await audits(tmp_path, every=every)
    assert len(sent) == 10
    assert sum(len(sent_text(request)) for request in sent) <= 15_000 * 4  # characters: a token is four and more


async def seen(command: ObservedCommand) -> ObservedCommand:
    return command


def said(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


class FlippedWhileCompared(MemoryWorkspace):
    """While it is compared with a checkpoint, and `flipping`, somebody else swaps a file there and back."""

    flipping = True
    back = True

    async def diff(self, before: str, after: str | None, limit: int = 60_000, *, revision: str | None = None) -> str:
        with self._flipped():
            return await super().diff(before, after, limit, revision=revision)

    async def changed_between(self, before: str, after: str | None, *, revision: str | None = None) -> Sequence[str]:
        with self._flipped():
            return await super().changed_between(before, after, revision=revision)

    @contextmanager
    def _flipped(self) -> Generator[None]:
        held = self.read("a.py")
        if self.flipping and held == b"turn 1":
            self.edit("a.py", b"flawless")
            self.edit("b.py", b"swapped")
        try:
            yield
        finally:
            if self.back and held == b"turn 1":
                self.edit("a.py", held)
                self.edit("b.py", None)


@pytest.mark.conformance("A9")
@pytest.mark.parametrize("back", [True, False])
async def test_a09_a_diff_shows_the_revision_that_is_judged_and_no_other(world: World, back: bool) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    workspace = FlippedWhileCompared({"GOAL.md": b"goal", "a.py": b"bad"}, root=world.folder)
    workspace.flipping, workspace.back = False, back
    world.workspace, world.opening = workspace, lambda: workspace
    seen: list[tuple[str, Sequence[str]]] = []

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        workspace.flipping = True
        seen.append((await context.diff(), await context.changed()))
        workspace.flipping = False
        if back:
            assert "+turn 1" in await context.diff()
            assert await context.changed() == ("a.py",)
        else:
            world.workspace.edit("a.py", b"turn 1")
            world.workspace.edit("b.py", None)
        file = await context.record(ObservedFile("a.py", "d", 1))
        return Judgement(verdict(task, file.id))

    world.judge = Judging(judges)
    state = (await pursued(world, edits("a.py"), limits=LimitChanges(max_iterations=1))).state
    assert seen[0] == ("", ())
    assert (state.status == "complete") is back


@pytest.mark.conformance("A7", "A9")
async def test_a07_a_judge_whose_checks_change_files_is_not_asked_for_ever(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"), requirement(2, "it counts", "count", sole=True))
    numbers = iter(range(10_000))

    def counts(world: World) -> bool:
        world.workspace.edit("counter.py", str(next(numbers)).encode())
        return True

    world.checker.behaviours["count"] = counts

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        assert judge.asked < 60
        await context.run_check(task.goal.checks[0])
        file = await context.record(ObservedFile("a.py", "d", 1))
        return Judgement(verdict(task, file.id))

    judge = world.judge = Judging(judges)
    state = (await pursued(world, edits("a.py"), limits=LimitChanges(max_iterations=2))).state
    assert state.status == "capped"
    assert judge.asked <= 6


@pytest.mark.conformance("C9", "A9")
async def test_c09_a_claim_is_not_confirmed_where_files_changed_meanwhile(world: World) -> None:
    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        file = await context.record(ObservedFile("a.py", "d", 1))
        world.workspace.edit("a.py", b"another")
        return Judgement(None, confirmed=True, reason="so it is", evidence_ids=(file.id,))

    world.judge = Judging(judges)

    async def gives_up(turn: Turn, context: TurnContext, world: World) -> TurnResult:
        return TurnResult(Claim("blocked", "there is no key"))

    supervisor, run_id = await starts(world, gives_up)
    view = await until(supervisor, run_id, lambda view: view.state.lifecycle.ended or bool(view.state.interrupts))
    assert view.state.status == "waiting"


@pytest.mark.conformance("A16", "A3")
@pytest.mark.parametrize("how", ["stop", "pause"])
async def test_a16_a_call_of_the_judge_that_was_cut_off_counts_as_its_prompt(world: World, how: str) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    asked = asyncio.Event()

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        await context.calls.begin("test/judge", CENT, Usage(100, 1_000, 0, 0.2))
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    world.judge = Judging(judges)
    supervisor, run_id = await starts(world, edits("a.py"))
    async with asyncio.timeout(10):
        await asked.wait()
    await (supervisor.stop(run_id) if how == "stop" else supervisor.pause(run_id))
    state = (await ended(supervisor, run_id)).state
    assert state.status == {"stop": "cancelled", "pause": "paused"}[how]
    assert (state.spend.judge, dict(state.calls.open)) == (CENT, {})
    assert state.usage.usd == pytest.approx(sum(one.usage.usd or 0 for one in state.progress.iterations))


async def test_calls_side_by_side_keep_the_budget_together(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    begun: list[str] = []

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        worst = Usage(100, 1_000, 0, 0.06)
        tried = await asyncio.gather(
            *(context.calls.begin("test/judge", CENT, worst) for _ in range(5)), return_exceptions=True
        )
        begun.extend(one for one in tried if isinstance(one, str))
        raise next(one for one in tried if isinstance(one, OverBudget))

    world.judge = Judging(judges)
    state = (await pursued(world, edits("a.py"), limits=LimitChanges(budget=0.1))).state
    assert (state.status, len(begun)) == ("over_budget", 1)


@pytest.mark.conformance("C13")
async def test_c13_what_the_judge_says_is_kept_without_secrets(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        return Judgement(Verdict((RequirementVerdict(task.requirements[0].id, "unmet", "the key is hunter2!"),)))

    world.judge = Judging(judges)
    supervisor = world.supervisor(mask=lambda text: text.replace("hunter2", "[masked]"))
    world.worker.plays = [lambda turn, context, world: world.workspace.edit("a.py", b"x")]
    view = await supervisor.start(GOAL, StartOptions(limits=LimitChanges(max_iterations=1)))
    state = (await ended(supervisor, view.state.run_id)).state
    assert [one.verdict.reason for one in state.judge.judged.values()] == ["the key is [masked]!"]


async def test_a_file_too_large_for_a_judge_is_not_read(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    world.workspace.edit("big.txt", b"x")
    with (world.folder / "big.txt").open("wb") as file:
        file.truncate(LARGEST + 1)
    said: list[str] = []

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        with pytest.raises(WorkspaceError) as error:
            await context.read("big.txt")
        said.append(str(error.value))
        return Judgement(None, reason="nothing to judge")

    world.judge = Judging(judges)
    supervisor, run_id = await starts(world, edits("a.py"))
    await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    assert said == ["big.txt is too large to be shown: more than 50 MB"]


WEAKLY = "only a weak judge says that R1 is met, which a person has to confirm"
WAYS = "bind a check to it, set another judge_model, waive it, or set accept_weak_judge"


@pytest.mark.parametrize(
    ("choice", "status", "reason", "standing", "grade"),
    [
        ("approve", "complete", "every requirement is proven or waived by a person", "waived", "person"),
        ("deny", "blocked", "nothing can prove R1, and a person did not waive it", "unverified", None),
        ("nobody", "blocked", f"{WEAKLY}: {WAYS}", "unverified", None),
        (
            "accepted", "complete", "every requirement is proven or on the word of a weak judge (R1)", "met",
            "weak_judge",
        ),
    ],
)  # fmt: skip
async def test_what_a_weak_judge_takes_for_met_a_person_is_asked_about(
    world: World,
    choice: Literal["approve", "deny", "nobody", "accepted"],
    status: str,
    reason: str,
    standing: str,
    grade: str | None,
) -> None:
    """Unless nobody is there, or the person has accepted that judge."""
    world.goals[GOAL] = goal(requirement(1, "it is told"))

    async def judges(task: JudgeTask, context: AuditContext) -> Judgement:
        file = await context.record(ObservedFile("README.md", "d", 1))
        return Judgement(verdict(task, file.id))

    def settle(goal: Goal, options: StartOptions) -> Start:
        start = world.settle(goal, options)
        asks = replace(start.options, weak_judge=choice != "accepted")
        return replace(start, options=asks, warnings=(RunWarning(WEAK_JUDGE, "the judge is weak"),))

    world.judge = Judging(judges)
    supervisor = world.supervisor(settle=settle)
    run_id = (await supervisor.start(GOAL, StartOptions(askable=choice != "nobody"))).state.run_id
    if choice in ("approve", "deny"):
        asked = await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
        assert WEAKLY.replace("R1", "it") in asked.views[0].reason
        await supervisor.answer(run_id, asked.state.interrupts[0].id, Answer(choice))
    view = await ended(supervisor, run_id)
    assert (view.state.status, view.state.lifecycle.reason) == (status, reason)
    assert (view.views[0].status, view.views[0].grade) == (standing, grade)
