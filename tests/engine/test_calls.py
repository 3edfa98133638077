"""Calls to models as the engine accounts for them: money, conversations, observed commands, approvals, claims."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from donewhen.core.approval import Approve
from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import JudgeOutage, WorkerFailed, WorkspaceError
from donewhen.core.evidence import ObservedCommand, ObservedFile
from donewhen.core.goal import Goal
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Answer, Claim, Interrupt, TurnResult, Usage, WorkerStep
from donewhen.engine.api import LimitChanges, RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import Start
from donewhen.judges.scripted import CallableJudge, gullible_judge, undecided_judge
from donewhen.ports import AuditContext, Judgement, JudgeTask, Turn, TurnContext
from tests.core.builders import goal, requirement
from tests.engine.world import GOAL, World, ended, until

CENT = Usage(100, 10, 0, 0.01)
DIME = Usage(1_000, 100, 0, 0.1)
Play = Callable[[Turn, TurnContext, World], Awaitable[TurnResult | None]]


@dataclass
class Talker:
    """A worker that plays one coroutine per turn; the last one goes on."""

    world: World
    plays: list[Play]
    name: str = "agent"
    waits_for_person: bool = False

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        play = self.plays[min(turn.iteration, len(self.plays)) - 1]
        return await play(turn, context, self.world) or TurnResult(usage=Usage())


async def call(context: TurnContext, text: str = "I look", usage: Usage = CENT, worst: Usage = DIME) -> None:
    call_id = await context.calls.begin("test/model", usage, worst)
    await context.calls.end(call_id, usage, Message("assistant", text))


async def starts(
    world: World,
    *plays: Play,
    limits: LimitChanges | None = None,
    approve: Approve = "ask",
    preserve: bool = True,
    weak_judge: bool = False,
) -> tuple[Supervisor, str]:
    worker = Talker(world, list(plays))

    def settle(of: Goal, options: StartOptions) -> Start:
        start = world.settle(of, options)
        return replace(
            start,
            options=replace(
                start.options, worker="agent", approve=approve, preserve_context=preserve, weak_judge=weak_judge
            ),
        )

    supervisor = world.supervisor(settle=settle, worker=lambda options: worker)
    view = await supervisor.start(GOAL, StartOptions(limits=limits or LimitChanges()))
    return supervisor, view.state.run_id


async def pursued(world: World, *plays: Play, limits: LimitChanges | None = None) -> RunView:
    return await ended(*await starts(world, *plays, limits=limits))


# ------------------------------------------------------------------------------------------------- money


@pytest.mark.conformance("A16", "C12")
async def test_a16_costs_of_calls_add_up_worker_and_judge_apart(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    verdicts = iter(["unmet", "met"])

    class Charging:
        identity = "charging"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            call_id = await context.calls.begin("test/judge", CENT, CENT)
            await context.calls.end(call_id, Usage(7, 3, 0, 0.005), Message("assistant", "secret thoughts"))
            file = await context.record(ObservedFile("a.py", "d", 1))
            found = next(verdicts)
            finding = RequirementVerdict(task.requirements[0].id, found, "seen", (file.id,))  # type: ignore[arg-type]
            return Judgement(Verdict((finding,)), Usage())

    world.judge = Charging()

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        await call(context)
        await call(context)
        world.workspace.edit("a.py", str(turn.iteration).encode())

    state = (await pursued(world, works)).state
    assert state.status == "complete"
    assert (state.worker_usage, state.spend.judge) == (Usage(400, 40, 0, 0.04), Usage(14, 6, 0, 0.01))
    assert state.usage.usd == pytest.approx(sum(one.usage.usd or 0 for one in state.progress.iterations), abs=1e-9)
    assert [one.usage.usd for one in state.progress.iterations] == [pytest.approx(0.025)] * 2
    assert "secret thoughts" not in str(state.conversation)


async def test_an_unknown_price_makes_the_cost_unknown_and_counts_tokens(world: World) -> None:
    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        await call(context, usage=Usage(50, 5, 0, None), worst=Usage(50, 500, 0, None))
        world.workspace.edit("a.py", b"good")

    state = (await pursued(world, works)).state
    assert (state.status, state.usage) == ("complete", Usage(50, 5, 0, None))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (LimitChanges(budget=0.15), "$0.15 could be passed"),
        (LimitChanges(token_budget=1_300), "1,300 tokens could be passed"),
    ],
)
async def test_a_budget_ends_the_run_before_the_call_that_could_pass_it(
    world: World, limits: LimitChanges, said: str
) -> None:
    made: list[int] = []

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        while True:
            await call(context)
            made.append(turn.iteration)

    view = await pursued(world, works, limits=limits)
    assert (view.state.status, view.state.iteration) == ("over_budget", 1)
    assert said in view.state.lifecycle.reason
    usage = view.state.usage
    assert (usage.usd or 0) <= 0.15
    assert usage.tokens <= 1_300
    assert made
    assert world.checker.ran.count("check") == 2  # what the turn did so far was audited


async def test_what_a_turn_did_before_its_budget_ended_it_may_be_enough(world: World) -> None:
    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("a.py", b"good")
        await call(context, worst=Usage(0, 0, 0, 5.0))

    assert (await pursued(world, works, limits=LimitChanges(budget=1.0))).state.status == "complete"


async def test_a_raised_budget_lets_the_run_go_on(world: World) -> None:
    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        await call(context, worst=Usage(0, 0, 0, 1.5))
        world.workspace.edit("a.py", b"good")

    supervisor, run_id = await starts(world, works, limits=LimitChanges(budget=1.0))
    assert (await ended(supervisor, run_id)).state.status == "over_budget"
    await supervisor.resume(run_id, LimitChanges(budget=3.0))
    assert (await ended(supervisor, run_id)).state.status == "complete"


async def test_the_judge_is_not_asked_where_that_could_pass_the_budget(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"), budget=1.0)

    class Dear:
        identity = "dear"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            await context.calls.begin("test/judge", CENT, Usage(0, 0, 0, 2.0))
            raise AssertionError("it may not be asked")

    world.judge = Dear()

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        """Does nothing."""

    state = (await pursued(world, works)).state
    assert state.status == "over_budget"
    assert "$1.00 could be passed" in state.lifecycle.reason


async def test_a_call_that_was_cut_off_counts_as_its_prompt(world: World) -> None:
    begun = asyncio.Event()

    async def hangs(turn: Turn, context: TurnContext, world: World) -> None:
        await context.calls.begin("test/model", CENT, DIME)
        begun.set()
        await asyncio.get_running_loop().create_future()

    supervisor, run_id = await starts(world, hangs)
    await begun.wait()
    await supervisor.stop(run_id)
    state = (await ended(supervisor, run_id)).state
    assert (state.status, state.worker_usage, dict(state.calls.open)) == ("cancelled", CENT, {})


# ----------------------------------------------------------------------------------------- conversations


async def _talks(turn: Turn, context: TurnContext, world: World) -> None:
    await context.keep(Message("user", f"task {turn.iteration}"))
    await call(context, f"answer {turn.iteration}")
    wanted = ToolCall("t1", "run_command", "{}")
    await context.tool_started(wanted, "running it")
    await context.tool_finished(wanted, WorkerStep("run_command", "ran"), Message("tool", "out", (), "t1"))


@pytest.mark.conformance("C5")
@pytest.mark.parametrize(("preserve", "texts"), [(True, 6), (False, 3)])
async def test_c05_the_conversation_goes_on_or_begins_anew(world: World, preserve: bool, texts: int) -> None:
    supervisor, run_id = await starts(world, _talks, limits=LimitChanges(max_iterations=2), preserve=preserve)
    state = (await ended(supervisor, run_id)).state
    assert len(state.conversation) == texts
    assert state.conversation[-3].text == "task 2"


async def test_a_turn_that_was_cut_off_starts_again_from_where_its_conversation_began(world: World) -> None:
    seen: list[int] = []
    stuck = asyncio.Event()

    async def second(turn: Turn, context: TurnContext, world: World) -> None:
        seen.append(len(context.conversation))
        await _talks(turn, context, world)
        if len(seen) == 1:
            stuck.set()
            await asyncio.get_running_loop().create_future()
        world.workspace.edit("a.py", b"good")

    supervisor, run_id = await starts(world, _talks, second)
    await stuck.wait()
    await supervisor.pause(run_id)
    await ended(supervisor, run_id)
    await supervisor.resume(run_id)
    state = (await ended(supervisor, run_id)).state
    assert (state.status, seen) == ("complete", [3, 3])
    assert state.progress.iterations[-1].usage.usd == pytest.approx(0.02)  # both attempts


async def test_a_compacted_conversation_replaces_the_whole(world: World) -> None:
    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        await _talks(turn, context, world)
        await context.compact([Message("user", "so far: nothing")], 3)
        assert [one.text for one in context.conversation] == ["so far: nothing"]

    await pursued(world, works, limits=LimitChanges(max_iterations=1))


@pytest.mark.conformance("C13")
async def test_c13_secrets_are_masked_in_what_is_kept_of_a_conversation(world: World) -> None:
    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        wanted = ToolCall("t1", "run_command", '{"command": "echo hunter2"}')
        call_id = await context.calls.begin("m", CENT, CENT)
        await context.calls.end(call_id, CENT, Message("assistant", "it is hunter2", (wanted,)))
        await context.tool_started(wanted, "echo hunter2")
        await context.tool_finished(wanted, WorkerStep("run", "hunter2"), Message("tool", "hunter2", (), "t1"))

    worker = Talker(world, [works])
    supervisor = world.supervisor(worker=lambda options: worker, mask=lambda text: text.replace("hunter2", "[masked]"))
    view = await supervisor.start(GOAL, StartOptions(limits=LimitChanges(max_iterations=1)))
    await ended(supervisor, view.state.run_id)
    entries = [str(entry.event) async for entry in _entries(world, view.state.run_id)]
    assert not [text for text in entries if "hunter2" in text]


async def _entries(world: World, run_id: str):  # noqa: ANN202  # an async generator of entries
    for entry in await world.ledger.entries(run_id):
        yield entry


# ------------------------------------------------------------------------------------- observed commands


async def test_a_command_that_the_worker_ran_is_evidence_until_the_next_edit(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    tasks: list[JudgeTask] = []

    def ask(task: JudgeTask) -> Verdict:
        tasks.append(task)
        cited = tuple(one.id for one in task.evidence if one.fresh(task.revision))
        return Verdict((RequirementVerdict(task.requirements[0].id, "met", "seen", cited),))

    world.judge = CallableJudge(ask)

    async def run(command: str) -> ObservedCommand:
        return ObservedCommand(command, 0, 0.1, "x" * 20_000 + "the end")

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        await context.observe(run("before"))
        world.workspace.edit("a.py", b"good")
        await context.observe(run("after"))

    assert (await pursued(world, works)).state.status == "complete"
    seen = [one for one in tasks[0].evidence if isinstance(one.observation, ObservedCommand)]
    assert [one.fresh(tasks[0].revision) for one in seen] == [False, True]
    output = seen[1].observation.output  # type: ignore[union-attr]
    assert len(output) < 7_000
    assert output.endswith("the end")


# ---------------------------------------------------------------------------------- approvals and claims


@pytest.mark.conformance("A2")
async def test_a02_an_approval_waits_for_a_person(world: World) -> None:
    answers: list[Answer] = []

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        answers.append(await context.ask(Interrupt("", "approval", "Run it?", tool="run_command")))
        world.workspace.edit("a.py", b"good")

    supervisor, run_id = await starts(world, works)
    waiting = await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    assert (waiting.state.status, answers) == ("waiting", [])
    await supervisor.answer(run_id, "I1", Answer("edit", input={"command": "ls"}))
    assert (await ended(supervisor, run_id)).state.status == "complete"
    assert answers[0].input == {"command": "ls"}


def _claims(state: str) -> Play:
    async def works(turn: Turn, context: TurnContext, world: World) -> TurnResult:
        return TurnResult(Claim(state, "the service is gone"))  # type: ignore[arg-type]

    return works


@pytest.mark.conformance("C9", "A15")
@pytest.mark.parametrize("state", ["blocked", "impossible"])
async def test_c09_a_claim_that_the_judge_confirms_with_evidence_ends_the_run(world: World, state: str) -> None:
    def ask(task: JudgeTask) -> Judgement:
        assert task.claim is not None
        assert [one.number for one in task.requirements] == [1]
        return Judgement(None, confirmed=True, reason="I see it", evidence_ids=(task.evidence[0].id,))

    world.judge = CallableJudge(ask)
    ended_state = (await pursued(world, _claims(state))).state
    assert ended_state.status == state
    assert "the service is gone" in ended_state.lifecycle.reason
    assert "I see it" in ended_state.lifecycle.reason


@pytest.mark.conformance("C9")
@pytest.mark.parametrize(
    "reply",
    [
        Judgement(None, confirmed=False, reason="no"),
        Judgement(None, confirmed=None),
        Judgement(None, confirmed=True, reason="trust me"),
        Judgement(None, confirmed=True, evidence_ids=("E99",)),
    ],
)
async def test_c09_any_other_claim_is_put_to_a_person(world: World, reply: Judgement) -> None:
    world.judge = CallableJudge(lambda task: reply)
    supervisor, run_id = await starts(world, _claims("blocked"))
    waiting = await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    assert "says that it is blocked" in waiting.state.interrupts[0].title
    await supervisor.answer(run_id, "I1", Answer("approve"))
    assert (await ended(supervisor, run_id)).state.status == "blocked"


@pytest.mark.conformance("C9")
async def test_c09_a_claim_that_a_weak_judge_confirms_is_put_to_a_person(world: World) -> None:
    def ask(task: JudgeTask) -> Judgement:
        return Judgement(None, confirmed=True, reason="I see it", evidence_ids=(task.evidence[0].id,))

    world.judge = CallableJudge(ask)
    supervisor, run_id = await starts(world, _claims("impossible"), weak_judge=True)
    waiting = await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    assert "says that it can't be done" in waiting.state.interrupts[0].title
    await supervisor.answer(run_id, "I1", Answer("approve"))
    assert (await ended(supervisor, run_id)).state.status == "impossible"


@pytest.mark.conformance("C9", "A6")
@pytest.mark.parametrize("final", [pytest.param(False, marks=pytest.mark.slow), True])
async def test_c09_a_claim_is_put_to_a_person_where_the_judge_can_not_be_asked(world: World, final: bool) -> None:
    asked: list[str] = []

    def ask(task: JudgeTask) -> Judgement:
        asked.append(task.run_id)
        raise JudgeOutage("502 bad gateway", final=final)

    world.judge = CallableJudge(ask)
    supervisor, run_id = await starts(world, _claims("blocked"))
    waiting = await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    assert "says that it is blocked" in waiting.state.interrupts[0].title
    before = len(asked)
    await supervisor.answer(run_id, "I1", Answer("deny"))
    again = await until(supervisor, run_id, lambda view: "I2" in [one.id for one in view.state.interrupts])
    assert again.state.iteration == 2
    assert len(asked) == 2 * before
    await supervisor.answer(run_id, "I2", Answer("approve"))
    assert (await ended(supervisor, run_id)).state.status == "blocked"


# ------------------------------------------------------------------------------------------------ faults


async def test_a_failure_that_no_other_turn_can_mend_ends_the_run_at_once(world: World) -> None:
    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        raise WorkerFailed("set OPENAI_API_KEY", final=True)

    state = (await pursued(world, works)).state
    assert (state.status, state.iteration, state.lifecycle.reason) == ("crashed", 1, "set OPENAI_API_KEY")


@pytest.mark.conformance("A6")
async def test_a06_a_judge_that_needs_a_person_pauses_the_run_at_once(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    asked: list[int] = []

    class Locked:
        identity = "locked"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            asked.append(1)
            raise JudgeOutage("set DONEWHEN_JUDGE_API_KEY", final=True)

    world.judge = Locked()

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        """Does nothing."""

    state = (await pursued(world, works)).state
    assert (state.status, len(asked), state.iteration) == ("paused", 1, 1)
    assert "DONEWHEN_JUDGE_API_KEY" in state.lifecycle.reason


# --------------------------------------------------------------------------------- what the judge sees


@pytest.mark.conformance("A9")
async def test_a09_a_verdict_holds_for_the_files_that_are_named_and_shown(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "a reads well", files=("a.py",)), requirement(2, "all of it reads well"))
    asked: list[list[str]] = []

    class Shown:
        identity = "shown"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            asked.append([one.label for one in task.requirements])
            file = await context.record(ObservedFile("a.py", "d", 1))
            found = "met" if len(asked) > 1 else "unmet"
            verdicts = [
                RequirementVerdict(one.id, "met" if one.number == 1 else found, "seen", (file.id,))  # type: ignore[arg-type]
                for one in task.requirements
            ]
            return Judgement(Verdict(tuple(verdicts)), shown={one.id: ("a.py", "b[1].py") for one in task.requirements})

    world.judge = Shown()

    async def first(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("other.py", b"x")

    async def second(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("other.py", b"y")

    state = (await pursued(world, first, second)).state
    assert (state.status, asked) == ("complete", [["R1", "R2"], ["R2"]])
    assert state.judge.judged[state.goal.requirements[0].id].scope == ("a.py", "b[[]1].py")


@pytest.mark.conformance("A9")
async def test_a09_the_judge_reads_what_was_audited_and_nothing_else(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    read: list[bytes] = []
    refused: list[str] = []

    class Reader:
        identity = "reader"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            read.append(await context.read("a.py"))
            world.workspace.edit("a.py", b"changed meanwhile")
            for path in ("a.py", "/etc/passwd", "../secret"):
                with pytest.raises(WorkspaceError) as error:
                    await context.read(path)
                refused.append(str(error.value))
            raise JudgeOutage("enough", final=True)

    world.judge = Reader()

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("a.py", b"as audited")

    await pursued(world, works)
    assert read == [b"as audited"]
    assert "changed since the audit" in refused[0]
    assert "not a file of this workspace" in refused[1]


async def test_the_judge_sees_what_changed_since_the_first_turn_began(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    seen: list[tuple[list[str], str]] = []

    class Differ:
        identity = "differ"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            seen.append((list(await context.changed()), await context.diff()))
            raise JudgeOutage("enough", final=True)

    world.judge = Differ()

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("a.py", b"new\n")

    await pursued(world, works)
    assert seen[0][0] == ["a.py"]
    assert "+new" in seen[0][1]


async def test_a_check_that_the_judge_runs_counts_as_any_other(world: World) -> None:
    check = requirement(1, "it works", "check")
    world.goals[GOAL] = goal(check)
    world.workspace.edit("a.py", b"good")

    class Prover:
        identity = "prover"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            evidence = await context.run_check(task.goal.checks[0])
            verdict = RequirementVerdict(task.requirements[0].id, "met", "I ran it", (evidence.id,))
            return Judgement(Verdict((verdict,)))

    world.judge = Prover()

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        """Does nothing."""

    state = (await pursued(world, works)).state
    assert state.status == "complete"
    assert world.checker.ran == ["check"] * 3  # baseline, audit, the judge


async def test_no_claim_no_question(world: World) -> None:
    """A gullible judge is asked about requirements, and never about a claim that was not made."""
    world.judge = judge = gullible_judge()

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        """Does nothing."""

    await pursued(world, works, limits=LimitChanges(max_iterations=1))
    assert [task.claim for task in judge.tasks] == []


@pytest.mark.conformance("A19")
async def test_a19_undecided_requirements_ask_the_person_even_with_a_claim_pending(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    world.judge = undecided_judge()
    supervisor, run_id = await starts(world, _claims("finished"))
    waiting = await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    assert "Nothing can decide R1" in waiting.state.interrupts[0].title


async def test_an_iteration_tells_its_calls_and_its_steps_also_while_it_runs(world: World) -> None:
    seen: list[tuple[int, int]] = []

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        await _talks(turn, context, world)
        detail = await supervisor.iteration(run_id, 1)
        seen.append((len(detail.calls), len(detail.steps)))
        world.workspace.edit("a.py", b"good")

    supervisor, run_id = await starts(world, works)
    await ended(supervisor, run_id)
    detail = await supervisor.iteration(run_id, 1)
    assert seen == [(1, 1)]
    assert [(one.role, one.model, one.usage) for one in detail.calls] == [("worker", "test/model", CENT)]
    assert [step.summary for step in detail.steps] == ["ran"]


@pytest.mark.conformance("A16")
async def test_a16_a_turn_that_was_cut_off_stands_among_the_iterations_with_its_cost(world: World) -> None:
    begun = asyncio.Event()
    again: list[int] = []

    async def hangs(turn: Turn, context: TurnContext, world: World) -> None:
        await call(context)
        again.append(1)
        if len(again) == 1:
            begun.set()
            await asyncio.get_running_loop().create_future()
        world.workspace.edit("a.py", b"good")

    supervisor, run_id = await starts(world, hangs)
    await begun.wait()
    await supervisor.pause(run_id)
    paused = (await ended(supervisor, run_id)).state
    assert [one.usage for one in paused.progress.iterations] == [CENT] == [paused.usage]
    await supervisor.resume(run_id)
    state = (await ended(supervisor, run_id)).state
    assert (state.status, [one.number for one in state.progress.iterations]) == ("complete", [1])
    assert [one.usage for one in state.progress.iterations] == [state.usage] == [CENT + CENT]
    assert state.progress.iterations[0].error is None


async def test_a_link_is_told_as_such_and_not_taken_for_a_changed_file(world: World, tmp_path: Path) -> None:
    world.goals[GOAL] = goal(requirement(1, "it reads well"))
    (world.folder / "real.py").write_text("x")
    (world.folder / "link.py").symlink_to("real.py")
    world.workspace.edit("link.py", b"real.py")
    said: list[str] = []

    class Reader:
        identity = "reader"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            with pytest.raises(WorkspaceError) as error:
                await context.read("link.py")
            said.append(str(error.value))
            raise JudgeOutage("enough", final=True)

    world.judge = Reader()

    async def works(turn: Turn, context: TurnContext, world: World) -> None:
        """Does nothing."""

    await pursued(world, works)
    assert said == ["link.py is a link to real.py: read that, as far as the revision covers it"]
