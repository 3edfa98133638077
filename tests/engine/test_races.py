"""What happens in the same moment: acts and resumes, saves and restores, a pause and the beginning of a turn, a disk
that is full while somebody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.acts import Act, ActReply, AskedAct, HintWorker
from donewhen.core.errors import LedgerUnavailable, UsageError
from donewhen.core.events import (
    AuditFinished,
    CheckpointTaken,
    Entry,
    Event,
    PersonDecided,
    Requested,
    RevisionChanged,
    RunEnded,
    TurnStarted,
    Warned,
)
from donewhen.core.people import Person, Seen
from donewhen.engine.api import LimitChanges, StartOptions
from donewhen.engine.tasks import side_by_side
from donewhen.ports import Owner, Workspace
from donewhen.store.memory import MemoryLedger
from donewhen.store.sqlite import SqliteLedger
from donewhen.workspace.memory import MemoryWorkspace
from tests.core.builders import fold_all, goal, requirement
from tests.engine.test_time import MemoryClock
from tests.engine.world import GOAL, MemoryPeople, Player, World, contains, ended, idle, pursue, until, writes


class Waiting(MemoryLedger):
    """A ledger whose appends take their turn. `before` is awaited within the turn of each."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.before: Callable[[Event], Any] | None = None
        self._turn = asyncio.Lock()
        self._more = asyncio.Event()

    async def append(self, run_id: str, event: Event, at: float, **more: Any) -> Entry:
        self._more.set()
        async with self._turn:
            if self.before is not None:
                await self.before(event)
            if self.full:
                raise LedgerUnavailable("the disk is full")
            return await super().append(run_id, event, at, **more)

    async def another_waits(self) -> None:
        self._more.clear()
        await self._more.wait()


async def test_whoever_resumes_a_run_knows_what_was_done_to_it_in_that_moment(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=1)
    state = (await pursue(world)).state
    assert state.status == "capped"
    run_id, wanted = state.run_id, state.goal.requirements[0].id

    def opened() -> Workspace:
        """The run has been read, and nothing is on record of its resumption yet."""
        world.opening = None
        world.ledger._append(run_id, PersonDecided("waive", wanted, "by another process"), 0.0, 0.0)
        return world.workspace.again()

    again = world.supervisor()
    world.opening = opened
    await again.resume(run_id, LimitChanges(max_iterations=2))
    state = (await ended(again, run_id)).state
    assert state.status == "complete"
    assert state == fold_all(await world.ledger.entries(run_id))


async def test_an_act_is_tried_again_where_something_else_was_put_on_record_meanwhile(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=1)
    run_id = (await pursue(world)).state.run_id
    overtaken: list[Event] = []

    class Overtaken(MemoryLedger):
        async def append(self, run_id: str, event: Event, at: float, **more: Any) -> Entry:
            if not overtaken:
                overtaken.append(event)
                await world.ledger.append(run_id, Warned("meanwhile", "another process was faster"), at)
            return await super().append(run_id, event, at, **more)

    ledger = Overtaken()
    ledger._record = world.ledger._record
    state = (await world.supervisor(ledger=ledger).waive(run_id, "R1", "it is fine")).state
    assert list(state.waived.values()) == ["it is fine"]
    entries = await world.ledger.entries(run_id)
    assert sum(isinstance(entry.event, PersonDecided) for entry in entries) == 1


async def test_a_change_on_its_way_to_the_record_comes_before_the_end_of_the_run(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=1)
    ledger = world.ledger = Waiting()
    tries: list[Event] = []

    async def changed(event: Event) -> None:
        if isinstance(event, RunEnded):
            tries.append(event)
            if len(tries) == 1:
                world.workspace.edit("a.py", b"bad")
                (run,) = await ledger.runs()
                ledger._append(run.run_id, RevisionChanged("0" * 64, ("a.py",), "person", 1), 0.0, 0.0)

    ledger.before = changed
    world.worker.plays = [writes("a.py", "good")]
    supervisor = world.supervisor(ledger=ledger)
    run_id = (await supervisor.start(GOAL, StartOptions())).state.run_id
    state = (await ended(supervisor, run_id)).state
    assert [one.status for one in tries if isinstance(one, RunEnded)] == ["complete", "capped"]
    assert state.status == "capped"


@pytest.mark.parametrize("paths", [("a.py",), ("a.py", "b.py")])
@pytest.mark.parametrize("at", [AuditFinished, TurnStarted])
async def test_what_a_person_edits_before_the_first_turn_is_a_change_of_the_run(
    world: World, at: type[Event], paths: tuple[str, ...]
) -> None:
    checks = {"a.py": "one", "b.py": "other"}
    world.goals[GOAL] = goal(*(requirement(n, f"r{n}", c, sole=True) for n, c in enumerate(checks.values(), 1)))
    for path, command in checks.items():
        world.workspace.edit(path, b"bad")
        world.checker.behaviours[command] = contains(path, "good")
    ledger = world.ledger = Waiting()
    left = list(checks)

    async def edited(event: Event) -> None:
        while isinstance(event, at) and left and left[0] in paths:
            world.workspace.edit(left.pop(0), b"good", by="person")

    ledger.before = edited
    world.worker = Player(world, [idle], name="human", waits_for_person=True)
    supervisor = world.supervisor(ledger=ledger)
    run_id = (await supervisor.start(GOAL, StartOptions("human"))).state.run_id
    if paths == ("a.py",):
        await until(supervisor, run_id, lambda view: view.views[0].status == "met" and view.state.turn is not None)
        world.workspace.edit("b.py", b"good", by="person")
    assert (await ended(supervisor, run_id)).state.status == "complete"
    assert [one.path for one in await supervisor.changes(run_id)] == ["a.py", "b.py"]
    assert await supervisor.file_at(run_id, 0, "a.py") == "bad"
    await supervisor.revert(run_id, 0, ("b.py",))
    assert world.workspace.read("b.py") == b"bad"


async def test_whoever_waits_for_an_audit_hears_that_nothing_can_be_recorded(world: World) -> None:
    ledger = Waiting()
    world.ledger, world.worker.gate = ledger, asyncio.Event()
    supervisor = world.supervisor(ledger=ledger)
    run_id = (await supervisor.start(GOAL, StartOptions())).state.run_id
    await world.worker.started.wait()
    checking = asyncio.ensure_future(supervisor.check(GOAL))
    await asyncio.sleep(0)
    ledger.full = True
    world.worker.gate.set()
    async with asyncio.timeout(10):
        view = await checking
    assert view.state.run_id == run_id
    assert view.state.lifecycle.interrupted == "the disk is full"
    ledger.full = False


async def test_time_counts_though_an_entry_could_not_be_written(world: World) -> None:
    ledger, clock = Waiting(), MemoryClock()
    world.ledger, world.worker.gate = ledger, asyncio.Event()
    supervisor = world.supervisor(ledger=ledger, clock=clock)
    run_id = (await supervisor.start(GOAL, StartOptions())).state.run_id
    await world.worker.started.wait()
    clock.seconds += 1.5
    ledger.full = True
    with pytest.raises(LedgerUnavailable):
        await supervisor.waive(run_id, "R1", "it is fine")
    ledger.full = False
    clock.seconds += 1.0
    await supervisor.waive(run_id, "R1", "it is fine")
    world.worker.gate.set()
    assert (await ended(supervisor, run_id)).state.elapsed == 2.5


@pytest.mark.parametrize("forced", [False, True])
async def test_what_is_saved_while_files_are_put_back_stays(world: World, forced: bool) -> None:
    """The present tree was just kept: what is saved after that is in no tree, and no `force` is about it."""
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=2)
    world.workspace = saving = Saving({"GOAL.md": b"goal", "a.py": b"bad"}, root=world.folder)
    state = (await pursue(world, writes("a.py", "half"), writes("b.py", "new"))).state
    saving.saves = True
    outcome = await world.open[-1].revert(state.run_id, 0, force=forced)
    assert world.workspace.read("a.py") == b"a person's"
    assert world.workspace.read("b.py") is None
    assert (outcome.changed, outcome.kept) == (("b.py",), ("a.py",))


async def test_what_is_saved_while_a_turn_is_taken_back_stays(world: World) -> None:
    world.workspace = saving = Saving({"GOAL.md": b"goal", "a.py": b"bad"}, root=world.folder)
    world.worker.gate = asyncio.Event()
    first = world.supervisor()
    run_id = (await first.start(GOAL, StartOptions())).state.run_id
    await world.worker.started.wait()
    world.workspace.edit("a.py", b"half of the worker's work")
    await first.close("the test closes it")
    saving.saves = True
    world.worker.gate.set()
    again = world.supervisor()
    await again.resume(run_id)
    await ended(again, run_id)
    assert world.workspace.read("a.py") == b"a person's"


async def test_a_goal_file_that_a_worker_changed_stays_a_finding_when_its_next_turn_is_taken_back(world: World) -> None:
    """The second turn changes it again and is cut off: what is put back is the worker's goal, not a person's."""
    own = goal(requirement(1, "it is easier", "easy", sole=True))
    load = world.load
    world.load = lambda path: own if world.workspace.read(path) == b"easier" else load(path)  # type: ignore[method-assign]
    world.checker.behaviours["easy"] = lambda world: True
    world.worker.plays = [writes("GOAL.md", "easier"), writes("GOAL.md", "and again"), idle]
    wanted = (
        await pursue(world, *world.worker.plays[:1], limits=LimitChanges(max_iterations=1))
    ).state.goal.requirements
    run_id = world.worker.turns[0].run_id
    world.worker.plays, world.worker.gate = [idle], asyncio.Event()
    world.worker.started.clear()
    first = world.supervisor()
    await first.resume(run_id, LimitChanges(max_iterations=2))
    await world.worker.started.wait()
    world.workspace.edit("GOAL.md", b"and again")
    await first.close("the test closes it")
    world.worker.gate.set()
    again = world.supervisor()
    await again.resume(run_id)
    state = (await ended(again, run_id)).state
    assert world.workspace.read("GOAL.md") == b"easier"
    assert state.goal.requirements == wanted
    assert [one.finding.kind for one in state.open_findings] == ["goal_file"]


class Saving(MemoryWorkspace):
    """A person saves a.py in the moment after the tree was kept, once `saves` is set; it is unset then."""

    _shared: dict[str, bool] = {}  # noqa: RUF012  # each opening of the files is a copy

    @property
    def saves(self) -> bool:
        return self._shared.get(str(self.root), False)

    @saves.setter
    def saves(self, now: bool) -> None:
        self._shared[str(self.root)] = now

    async def checkpoint(self) -> str:
        kept = await super().checkpoint()
        if self.saves:
            self.saves = False
            self.edit("a.py", b"a person's", by="person")
        return kept


async def test_a_turn_that_is_paused_while_its_beginning_is_written_runs_again(tmp_path: Path) -> None:
    world, ledger = World(tmp_path), Waiting()
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=1)
    world.checker.behaviours["check"] = lambda world: False
    world.ledger, world.worker.plays = ledger, [idle]
    supervisor = world.supervisor(ledger=ledger)
    pausing: list[asyncio.Future[Any]] = []

    async def before(event: Event) -> None:
        if isinstance(event, CheckpointTaken) and not pausing:
            run_id = next(iter(ledger._record.entries))
            pausing.append(asyncio.ensure_future(supervisor.pause(run_id)))
            await ledger.another_waits()
        if isinstance(event, Requested):
            await ledger.another_waits()  # that of the turn's beginning

    ledger.before = before
    run_id = (await supervisor.start(GOAL, StartOptions())).state.run_id
    state = (await ended(supervisor, run_id)).state
    await pausing[0]
    names = [type(entry.event).__name__ for entry in await ledger.entries(run_id)]
    assert names[-4:] == ["Requested", "TurnStarted", "Abandoned", "RunPaused"]
    assert not world.worker.turns
    await supervisor.resume(run_id)
    state = (await ended(supervisor, run_id)).state
    assert [turn.iteration for turn in world.worker.turns] == [1]
    assert (state.status, state.iteration) == ("capped", 1)
    started = [one.event for one in await ledger.entries(run_id) if isinstance(one.event, TurnStarted)]
    assert [one.iteration for one in started] == [1, 1]
    await world.close()


class Amending(MemoryWorkspace):
    """A workspace of which the tree takes its time: `amend` is awaited while it is kept before the second turn."""

    amend: Callable[[], Any] | None = None

    async def checkpoint(self) -> str:
        kept = await super().checkpoint()
        if self.digest("once.txt") is not None and (amend := Amending.amend) is not None:
            Amending.amend = None
            await amend()
        return kept


async def test_no_turn_begins_past_a_limit_that_was_lowered_while_the_tree_was_kept(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.workspace = Amending({"GOAL.md": b"goal", "a.py": b"bad"}, root=tmp_path)
    works = requirement(1, "it works", "check", sole=True)
    world.goals[GOAL] = goal(works, max_iterations=3)
    world.checker.behaviours["check"] = lambda world: False
    world.worker.plays = [writes("once.txt", "1"), writes("a.py", "still bad")]
    supervisor = world.supervisor()

    async def amend() -> None:
        world.goals[GOAL] = goal(works, max_iterations=1)
        await supervisor.amend(GOAL)

    Amending.amend = amend
    run_id = (await supervisor.start(GOAL, StartOptions())).state.run_id
    state = (await ended(supervisor, run_id)).state
    assert Amending.amend is None
    assert (state.status, state.iteration, len(world.worker.turns)) == ("capped", 1, 1)
    await world.close()


@pytest.mark.parametrize("look", [1, 2, 3, 4, 5])
async def test_an_act_during_which_the_run_is_resumed_reaches_who_pursues_it(look: int, world: World) -> None:
    """Before that look of the one who acts at the record; the last one is right before the act is put on it."""
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=1)
    world.checker.behaviours["check"] = lambda world: False
    run_id = (await pursue(world)).state.run_id
    owner, world.worker.gate = world.supervisor(), asyncio.Event()
    world.worker.started.clear()

    class Resumed(MemoryLedger):
        looks = 0

        async def entries(self, run_id: str, after: int = 0) -> Any:
            self.looks += 1
            if self.looks == look:
                await owner.resume(run_id, LimitChanges(max_iterations=2))
                await world.worker.started.wait()
            return await super().entries(run_id, after)

    ledger = Resumed()
    ledger._record = world.ledger._record
    await world.supervisor(ledger=ledger).hint(run_id, "be quick")
    assert ledger.looks >= look
    assert list((await owner.view(run_id)).state.steering.hints) == ["be quick"]
    world.worker.gate.set()
    assert (await ended(owner, run_id)).state.status == "capped"


@pytest.mark.parametrize("look", [1, 4, 6])
async def test_files_that_are_put_back_while_the_run_is_resumed_do_not_end_it(
    look: int, world: World, tmp_path: Path
) -> None:
    """Before that look at the record; the last one is right before it is put on record that they were. Whoever pursues
    the run takes no entry of another process for one of Done When's."""
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=1)
    world.checker.behaviours["check"] = lambda world: False
    world.worker.plays = [writes("a.py", "half")]
    owner = world.supervisor(ledger=await SqliteLedger.open(tmp_path / "ledger.sqlite"))
    run_id = (await owner.start(GOAL, StartOptions())).state.run_id
    await ended(owner, run_id)
    world.worker.gate = asyncio.Event()
    world.worker.started.clear()

    class Resumed(SqliteLedger):
        looks = 0

        async def entries(self, run_id: str, after: int = 0) -> Any:
            self.looks += 1
            if self.looks == look:
                await owner.resume(run_id, LimitChanges(max_iterations=2))
                await world.worker.started.wait()
            return await super().entries(run_id, after)

    ledger = Resumed(tmp_path / "ledger.sqlite")
    await ledger._opened()
    with pytest.raises(UsageError, match="pause the run first"):
        await world.supervisor(ledger=ledger).revert(run_id, 0)
    assert ledger.looks >= look
    assert world.workspace.read("a.py") == b"half"
    world.worker.gate.set()
    assert (await ended(owner, run_id)).state.status == "capped"
    await ledger.close()


async def test_an_act_whose_owner_lets_go_before_it_takes_it_is_done_without_it(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=1)
    world.checker.behaviours["check"] = lambda world: False
    supervising, world.worker.gate = world.supervisor(), asyncio.Event()
    run_id = (await supervising.start(GOAL, StartOptions())).state.run_id
    await world.worker.started.wait()

    class Late(MemoryPeople):
        asked = 0

        async def ask(self, owner: Owner, act: Act) -> ActReply | None:
            self.asked += 1
            world.worker.gate.set()
            await ended(supervising, run_id)
            return await super().ask(owner, act)

    late = Late(world.taking)
    other = world.supervisor(people=late)
    await other.hint(run_id, "be quick")
    assert late.asked == 1
    assert list((await other.view(run_id)).state.steering.hints) == ["be quick"]


async def test_an_act_is_taken_once_its_turn_has_come_and_not_before(world: World) -> None:
    """Else it would be done, behind one that takes long, for somebody who has given up."""
    ledger, held, reached, agreements = Waiting(), asyncio.Event(), asyncio.Event(), list[str]()
    world.ledger, world.worker.gate = ledger, asyncio.Event()

    async def before(event: Event) -> None:
        if isinstance(event, PersonDecided):
            reached.set()
            await held.wait()

    ledger.before = before
    supervisor = world.supervisor(ledger=ledger)
    run_id = (await supervisor.start(GOAL, StartOptions())).state.run_id
    await world.worker.started.wait()
    waiving = asyncio.ensure_future(supervisor.waive(run_id, "R1", "it is fine"))
    await reached.wait()

    async def look() -> Seen:
        looked.set()
        return Seen(Person("me", "terminal"))

    async def agreed() -> bool:
        agreements.append("too early" if not held.is_set() else "in turn")
        return False

    looked, take = asyncio.Event(), world.taking[run_id]
    asking = asyncio.ensure_future(take(AskedAct(run_id, "terminal", HintWorker("be quick")), look, agreed))
    await looked.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    held.set()
    assert (await asking, agreements) == (None, ["in turn"])
    await waiving
    await supervisor.stop(run_id)
    assert not (await supervisor.view(run_id)).state.steering.hints


async def test_a_run_that_ends_leaves_its_files_to_whoever_looks_at_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Workspace] = []

    class Closing(MemoryWorkspace):
        async def close(self) -> None:
            closed.append(self)
            await super().close()

    monkeypatch.setattr(world.workspace, "__class__", Closing)
    world.worker.gate = asyncio.Event()
    supervisor, ended = world.supervisor(), asyncio.Event()
    run_id = (await supervisor.start(GOAL)).state.run_id
    supervisor.subscribe(lambda view: ended.set() if view.state.lifecycle.ended else None)
    async with supervisor.registry.opened(run_id) as workspace:
        stopping = asyncio.ensure_future(supervisor.stop(run_id))
        await asyncio.wait_for(ended.wait(), 10)
        stopped, _ = await asyncio.wait({stopping}, timeout=0.1)
        assert not stopped
        assert workspace not in closed
    await stopping
    assert workspace in closed


async def test_steps_side_by_side_are_cancelled_once_and_end_in_good_order() -> None:
    ended: list[float] = []

    async def step(cleaning: float) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(cleaning)
            ended.append(cleaning)

    both = asyncio.ensure_future(side_by_side(step(cleaning) for cleaning in (0.01, 0.1)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    both.cancel()
    with pytest.raises(asyncio.CancelledError):
        await both
    assert ended == [0.01, 0.1]
