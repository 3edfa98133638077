"""After a person's edit: the tests that it may affect run first, say early what is unmet, and prove nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from donewhen.core.evidence import AffectedRun, CheckResult, Outcome, Problem, TestTotals
from donewhen.core.goal import Goal
from donewhen.core.state import CheckRecord
from donewhen.engine.api import RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import Start
from tests.core.builders import failing, goal, passing, requirement
from tests.engine.test_freshness import seen_by, statuses
from tests.engine.world import GOAL, Player, World, ended, idle, until, writes

FAILED = replace(
    failing("check a.py", "1 test failed"),
    totals=TestTotals(0, 1),
    is_test_run=True,
    problems=(Problem("a.py", 3, "it is bad"),),
)
PASSED = passing("check a.py", tests=1)
SLOW = 5.0


class Watching:
    """A run of worker `human` whose check takes long, and has tests that an edit may affect."""

    def __init__(self, world: World, *, first: bool = True, seconds: float = SLOW) -> None:
        self.world, self.first = world, first
        self.asked: list[tuple[str, ...]] = []
        self.whole: bool | None = None
        """What the whole check says; None: what is in the file."""
        world.goals[GOAL] = goal(
            requirement(1, "it works", "check", sole=True), requirement(2, "and this", "other", sole=True)
        )
        world.worker = Player(world, [idle], name="human", waits_for_person=True)
        world.checker.behaviours |= {
            "check": lambda world: replace(self._whole(), seconds=seconds),
            "other": lambda world: False,
            "check a.py": lambda world: PASSED if world.workspace.read("a.py") == b"good" else FAILED,
        }

    def _whole(self) -> CheckResult:
        fine = self.world.workspace.read("a.py") == b"good" if self.whole is None else self.whole
        return passing("check", tests=2) if fine else failing("check")

    def supervisor(self) -> Supervisor:
        return self.world.supervisor(affected_command=self._command, settle=self._settle)

    def _command(self, last: CheckResult, changed: Sequence[str]) -> str:
        self.asked.append(tuple(changed))
        return "check a.py" if last.command == "check" and "a.py" in changed else ""

    def _settle(self, goal: Goal, options: StartOptions) -> Start:
        start = self.world.settle(goal, options)
        return replace(start, options=replace(start.options, affected_first=self.first))


async def waiting(server: Supervisor, run_id: str, iteration: int) -> RunView:
    return await until(
        server, run_id, lambda view: view.state.turn is not None and view.state.turn.iteration == iteration
    )


async def came(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # what a double has run has no event
        await asyncio.sleep(0.005)


async def saved(watching: Watching, text: bytes) -> tuple[RunView, list[RunView]]:
    """The view after a save of `a.py` was audited, and all views until then."""
    server = watching.supervisor()
    seen: list[RunView] = []
    run_id = (await server.start(GOAL, StartOptions())).state.run_id
    await waiting(server, run_id, 1)
    watching.world.checker.ran.clear()
    server.subscribe(seen.append)
    watching.world.workspace.edit("a.py", text)
    return await waiting(server, run_id, 2), seen


async def test_a_failure_of_affected_tests_is_shown_before_the_whole_check_has_run(world: World) -> None:
    watching = Watching(world)
    world.workspace.edit("a.py", b"good")
    view, seen = await saved(watching, b"bad")
    assert watching.asked[-1] == ("a.py",)
    assert world.checker.ran[0] == "check a.py"
    early = [one for one in seen if _record(one).affected and not one.state.check_evidence[0].fresh(one.state.revision)]
    assert early
    assert statuses(early[0])[0] == "unmet"
    assert not early[0].views[0].renewing
    assert "1 test failed" in early[0].views[0].reason
    assert early[0].locations[early[0].views[0].requirement_id] == FAILED.problems
    assert _record(view).affected is None, "the whole check has said more"
    steps = (await world.open[0].steps(view.state.run_id)).steps
    assert ("check a.py, affected tests", "failed") in [(one.title, one.state) for one in steps]
    assert view.state.iteration == 2


def _record(view: RunView) -> CheckRecord:
    return view.state.check(view.state.goal.requirements[0].checks[0].id)


async def test_a_pass_of_affected_tests_proves_nothing(world: World) -> None:
    watching = Watching(world)
    watching.whole = False
    _, seen = await saved(watching, b"good")
    assert {one.views[0].status for one in seen} == {"unmet"}
    evidence = next(found for one in seen if (found := _record(one).affected) is not None)
    assert isinstance(evidence.observation, AffectedRun)
    assert evidence.observation.result.passed
    assert not any(evidence.id in one.state.evidence.citable for one in seen), "nobody can cite it"


async def test_the_whole_check_has_the_last_word(world: World) -> None:
    watching = Watching(world)
    watching.whole = True
    view, seen = await saved(watching, b"worse")
    assert "unmet" in [one.views[0].status for one in seen]
    assert view.views[0].status == "met"


@pytest.mark.parametrize(
    ("first", "seconds"),
    [pytest.param(False, SLOW, id="switched off"), pytest.param(True, 1.9, id="the whole check is quick")],
)
async def test_only_the_whole_check_runs_where(world: World, first: bool, seconds: float) -> None:
    watching = Watching(world, first=first, seconds=seconds)
    await saved(watching, b"worse")
    assert sorted(world.checker.ran) == ["check", "other"]


@pytest.mark.parametrize("outcome", [Outcome.NO_TESTS, Outcome.TIMED_OUT, Outcome.NOT_RUN, Outcome.FAILED])
async def test_what_else_goes_wrong_with_them_says_nothing(world: World, outcome: Outcome) -> None:
    watching = Watching(world)
    world.workspace.edit("a.py", b"good")
    watching.whole = True
    world.checker.behaviours["check a.py"] = lambda world: passing("check a.py", tests=0, outcome=outcome)
    _, seen = await saved(watching, b"changed")
    assert world.checker.ran[0] == "check a.py"
    assert "unmet" not in [one.views[0].status for one in seen]


async def test_another_save_ends_them_and_they_begin_again(world: World) -> None:
    watching = Watching(world)
    server = watching.supervisor()
    run_id = (await server.start(GOAL, StartOptions())).state.run_id
    await waiting(server, run_id, 1)
    world.checker.ran.clear()
    world.checker.gate = asyncio.Event()
    world.workspace.edit("a.py", b"worse")
    await came(lambda: "check a.py" in world.checker.ran)
    world.workspace.edit("a.py", b"good")
    await came(lambda: world.checker.cancelled == 1)
    world.checker.gate.set()
    view = await waiting(server, run_id, 2)
    assert world.checker.ran[:3] == ["check a.py", "check a.py", "check"]
    assert view.views[0].status == "met"


async def test_tests_that_write_a_file_which_counts_are_not_run_alone_again(world: World) -> None:
    watching = Watching(world)

    def writing(world: World) -> CheckResult:
        world.workspace.edit("report.xml", str(len(world.checker.ran)).encode())
        return FAILED

    world.checker.behaviours["check a.py"] = writing
    server = watching.supervisor()
    run_id = (await server.start(GOAL, StartOptions())).state.run_id
    for number in (1, 2, 3):
        await waiting(server, run_id, number)
        world.workspace.edit("a.py", f"bad {number}".encode())
    await waiting(server, run_id, 4)
    assert world.checker.ran.count("check a.py") == 1


async def test_on_guard_they_are_shown_and_only_the_whole_check_says_that_it_regressed(world: World) -> None:
    watching = Watching(world)
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True))
    world.worker = Player(world, [writes("a.py", "good")])
    server = watching.supervisor()
    run_id = (await server.start(GOAL, StartOptions())).state.run_id
    assert (await ended(server, run_id)).state.status == "complete"
    await server.guard(True, run_id=run_id)
    await server.watch()
    assert "check a.py" not in world.checker.ran, "what a worker does is proven by whole checks alone"
    world.checker.ran.clear()
    seen: list[str] = []
    server.subscribe(lambda view: seen.extend(statuses(view)))
    world.workspace.edit("a.py", b"bad")
    await seen_by(server, lambda view: statuses(view) == ["regressed"] and view.state.auditing.open is None)
    assert world.checker.ran == ["check a.py", "check", "check"]
    assert list(dict.fromkeys(seen)) == ["stale", "unmet", "regressed"]
