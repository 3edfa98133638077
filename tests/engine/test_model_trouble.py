"""A model that does not answer: what is said meanwhile, what it costs, and how the run stands afterwards."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from donewhen.cli.progress import Log
from donewhen.core.calls import Message
from donewhen.core.errors import JudgeOutage, ModelFailed, UsageError, WorkerFailed
from donewhen.core.events import RunOptions
from donewhen.core.goal import Goal, Requirement
from donewhen.core.trouble import FailedTry, ModelTrouble, Retrying, TroubleKind
from donewhen.core.work import Claim, TurnResult, Usage
from donewhen.engine.api import RunView
from donewhen.engine.steps import Steps
from donewhen.models.hosted import HostedModel, Transport
from donewhen.models.pricing import ask
from donewhen.models.protocol import Answered, Call, CallFailed, Failure
from donewhen.ports import Judgement, ModelFacts, ModelRequest, Turn, TurnContext
from donewhen.wire.snapshot import snapshot
from donewhen.wire.view import view_of
from tests.core.builders import goal, requirement
from tests.engine.world import GOAL, World, contains, ended, until

REFUSED = Failure("APIConnectionError", "connection refused", network="refused")
FAULTS: list[tuple[Failure, TroubleKind, int, str]] = [
    (REFUSED, "unreachable", 1, "can't be reached"),
    (Failure("APIConnectionError", "unknown", network="no_host"), "wrong_address", 1, "correct the address"),
    (Failure("AuthenticationError", "bad key", 401), "key_refused", 1, "was not accepted"),
    (Failure("APIStatusError", "Insufficient credits", 402), "no_credit", 1, "no credit left: Insufficient credits"),
    (
        Failure("JSONDecodeError", "Expecting value: line 1 column 1 (char 0)"),
        "malformed",
        5,
        "or one that is not JSON",
    ),
    (Failure("PermissionDeniedError", "not yours", 403), "key_refused", 1, "was not accepted"),
    (Failure("NotFoundError", "no such model", 404), "no_such_model", 1, "check the name"),
    (Failure("NotFoundError", "404 page not found", 404), "wrong_address", 1, "most end in /v1"),
    (Failure("APIStatusError", "Method Not Allowed", 405), "wrong_address", 1, "405 (Method Not Allowed); correct"),
    (Failure("InternalServerError", "boom", 500), "failing", 5, "answers 500: boom"),
    (Failure("RateLimitError", "slow down", 429, retry_after="8"), "overloaded", 5, "answers 429: slow down"),
    (Failure("InternalServerError", "Loading model", 503), "starting", 60, "still starting"),
    (Failure("TimeoutError", "", 408), "silent", 2, "sent nothing for"),
    (
        Failure("UnreadableReplyError", "the reply is not a chat completion: <html><title>Bad Gateway</title>"),
        "malformed",
        5,
        ": a page of HTML, Bad Gateway",
    ),
]


@dataclass
class Down:
    """A transport that fails the first calls, and answers from then on."""

    failure: Failure
    times: int | None = None
    asked: int = 0
    timeout: float = 0.0

    async def ask(self, call: Call, on_text: object = None) -> Answered:
        self.asked += 1
        self.timeout = call.timeout
        if self.times is None or self.asked <= self.times:
            raise CallFailed(self.failure)
        return Answered(Message("assistant", "done"), "stop", 10, 5, 0)


@dataclass
class Waits:
    """A pause between two tries that takes no time; `gate` holds each up."""

    seconds: list[float] = field(default_factory=list[float])
    gate: asyncio.Event | None = None

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if self.gate is not None:
            await self.gate.wait()


@dataclass
class ModelWorker:
    """Asks the model once a turn, and fixes the file where it answers."""

    world: World
    model: HostedModel
    name: str = "command"
    waits_for_person: bool = False
    turns: list[Turn] = field(default_factory=list[Turn])

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        self.turns.append(turn)
        context.activity("thinking")
        try:
            await ask(self.model, ModelRequest((Message("user", "go"),)), context.calls)
        except ModelFailed as failure:
            raise WorkerFailed(str(failure), trouble=failure.trouble("worker", self.model.name)) from failure
        self.world.workspace.edit("a.py", b"good")
        return TurnResult(Claim("finished", "done"), Usage())


def model(transport: Transport, waits: Waits) -> HostedModel:
    return HostedModel(
        "openai/m", transport, key=lambda: "k", api_base="http://127.0.0.1:9/v1", facts=ModelFacts(), sleep=waits,
        jitter=lambda: 0.5,
    )  # fmt: skip


def made(tmp_path: Path, transport: Transport, waits: Waits) -> tuple[World, ModelWorker]:
    world = World(tmp_path)
    world.goals[GOAL] = goal(requirement(1, "a is good", "check-a"))
    world.checker.behaviours["check-a"] = contains("a.py", "good")
    worker = ModelWorker(world, model(transport, waits))
    world.worker = worker  # pyright: ignore[reportAttributeAccessIssue]
    return world, worker


@pytest.mark.parametrize(
    ("failure", "kind", "tries", "said"), FAULTS, ids=[f"{one[1]}-{one[0].status}" for one in FAULTS]
)
async def test_a_model_that_never_answers_spends_no_iteration(
    tmp_path: Path, failure: Failure, kind: TroubleKind, tries: int, said: str
) -> None:
    transport, waits = Down(failure), Waits()
    world, _ = made(tmp_path, transport, waits)
    supervisor = world.supervisor()
    started = await supervisor.start(GOAL)
    view = await ended(supervisor, started.state.run_id)
    state = view.state
    assert (state.status, state.iteration, state.turns_ended, state.stall.failures) == ("paused", 0, 0, 0)
    assert state.lifecycle.reason.startswith("model unreachable: ")
    assert said in state.lifecycle.reason
    assert transport.asked == tries
    shown = snapshot(view, tmp_path)
    assert shown.model_trouble is not None
    assert (shown.model_trouble.kind, shown.model_trouble.role, shown.model_trouble.next_try) == (kind, "worker", None)
    assert shown.model_trouble.repairs
    assert view_of(shown).state == "model unreachable"

    # It is up again: the same iteration begins, with nothing to be put back or asked about.
    transport.times = transport.asked
    world.workspace.edit("b.py", b"a person's edit meanwhile")
    await supervisor.resume(state.run_id)
    last = (await ended(supervisor, state.run_id)).state
    assert (last.status, last.iteration) == ("complete", 1)
    assert last.calls.trouble is None
    assert world.workspace.read("b.py") == b"a person's edit meanwhile"
    await world.close()


async def test_each_failed_try_is_said_with_a_count_down(tmp_path: Path) -> None:
    waits = Waits(gate=asyncio.Event())
    world, _ = made(tmp_path, Down(Failure("RateLimitError", "slow down", 429, retry_after="8"), times=1), waits)
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda one: one.state.calls.retrying is not None)
    assert view.live.activity in {f"the model answers 429, trying again in {n} s (2 of 5)" for n in (7, 8)}
    shown = snapshot(view, tmp_path)
    assert shown.model_trouble is not None
    assert (shown.model_trouble.next_try, shown.model_trouble.tries) == (2, 5)
    assert shown.model_trouble.next_try_at is not None
    assert "the model answers 429" in view_of(shown).status.text
    assert [line for line in Log().lines(view) if "429" in line] == [
        "  openai/m answers 429: slow down",
        "  the model answers 429, trying again in 8 s (2 of 5)",
    ]
    assert waits.gate is not None
    waits.gate.set()
    last = await ended(supervisor, run_id)
    assert (last.state.status, last.state.iteration, last.state.calls.retrying) == ("complete", 1, None)
    steps = Steps(tmp_path, str)
    for entry in await world.ledger.entries(run_id, 0):
        steps.take(entry)
    assert "The model answers 429: try 2 of 5 follows in 8 s" in [one.title for one in steps.since(0).steps]
    await world.close()


def test_the_count_down_ends_in_trying_again() -> None:
    retrying = Retrying("M1", FailedTry(ModelTrouble("overloaded", "judge", "m", "", 429), 3, 5, 8.0), 100.0)
    told = [retrying.text(now) for now in (92.0, 99.5, 100.0)]
    assert told == [
        "the judge answers 429, trying again in 8 s (3 of 5)",
        "the judge answers 429, trying again in 1 s (3 of 5)",
        "the judge answers 429, trying again (3 of 5)",
    ]


async def test_a_judge_that_can_not_be_asked_pauses_the_run_at_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.goals[GOAL] = Goal("g", "g", (Requirement("r-1", 1, "judged"),), path=GOAL)
    failure = ModelFailed("openai/j answers 500: boom", "failing", status=500)

    class DownJudge:
        identity = "openai/j"
        asked = 0

        async def judge(self, task: object, context: object) -> Judgement:
            self.asked += 1
            raise JudgeOutage(str(failure), final=True, trouble=failure.trouble("judge", "openai/j"))

    world.judge = judge = DownJudge()
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    view: RunView = await ended(supervisor, run_id)
    assert (view.state.status, judge.asked) == ("paused", 1)
    assert view.state.calls.trouble is not None
    assert view.state.calls.trouble.role == "judge"
    assert view_of(snapshot(view, tmp_path)).state == "judge unreachable"
    await world.close()


async def test_what_a_resumption_lacks_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    world, worker = made(tmp_path, Down(REFUSED), Waits())
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    paused = await ended(supervisor, run_id)

    def lacks(goal: Goal, options: RunOptions) -> None:
        raise UsageError("worker agent needs the models extra", lacks="models")

    other = world.supervisor(ready=lacks)
    with pytest.raises(UsageError) as refused:
        await other.resume(run_id)
    assert refused.value.lacks == "models"
    assert (await other.view(run_id)).state.sequence == paused.state.sequence
    assert len(worker.turns) == 1
    await world.close()


async def test_a_long_prompt_has_the_time_that_a_small_machine_needs_to_read_it() -> None:
    transport = Down(REFUSED, times=0)
    asked = model(transport, Waits())
    long = ModelRequest((Message("user", "word " * 12_000),))
    await asked.complete(long)
    assert transport.timeout > 300 + 12_000 / 20
    theirs = HostedModel("openai/gpt-4o", transport, key=lambda: "k", facts=ModelFacts(), sleep=Waits())
    await theirs.complete(long)
    assert transport.timeout == 300


@dataclass
class Reads:
    """A transport that says nothing until `gate` opens."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, call: Call, on_text: object = None) -> Answered:
        await self.gate.wait()
        return Answered(Message("assistant", "done"), "stop", 10, 5, 0)


@pytest.mark.slow
async def test_how_long_a_model_says_nothing_is_told_as_it_goes_on(tmp_path: Path) -> None:
    transport = Reads()
    world, _ = made(tmp_path, transport, Waits())
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    first = await until(supervisor, run_id, lambda one: one.live.silent > 0)
    assert re.fullmatch(r"thinking, \d+ s", first.live.activity or "")
    then = await until(supervisor, run_id, lambda one: one.live.activity != first.live.activity)
    assert re.fullmatch(r"thinking, \d+ s", then.live.activity or "")
    assert then.live.silent > first.live.silent
    assert f" · {then.live.activity} · " in view_of(snapshot(then, tmp_path), silent=True).status.text
    transport.gate.set()
    assert (await ended(supervisor, run_id)).live.activity is None
    await world.close()
