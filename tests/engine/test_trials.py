"""Trials at the moment of completion, with everything in memory: when they run, what they refuse, what is asked."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from donewhen.cli.progress import closing
from donewhen.core import events as e
from donewhen.core.evidence import CheckResult, ObservedFile, Outcome, TestCase, TestTotals, Trial
from donewhen.core.goal import Check, check_id
from donewhen.core.integrity import ChangedProof
from donewhen.core.verdict import Finding, RequirementVerdict, Verdict
from donewhen.core.work import Answer, Claim, TurnResult, Usage
from donewhen.engine.api import LimitChanges, RunView, StartOptions
from donewhen.judges.scripted import OutageJudge
from donewhen.ports import AuditContext, Judgement, JudgeTask
from donewhen.store.codec import encode
from donewhen.wire.plain import plain_evidence
from donewhen.wire.reports import FORMATS, cited, render
from donewhen.wire.snapshot import snapshot
from tests.core.builders import goal, requirement
from tests.engine.world import GOAL, MemoryProbes, MemoryRooms, Play, World, ended, idle, pursue, returns, until, writes

SUITE = "pytest"
TESTS = ("tests/test_quotes.py", "tests/test_more.py", "tests/test_new.py")
PRODUCT = "src/a.py"


def suite(world: Any) -> CheckResult:
    """A test runner of a small language: `expect TEXT` asks that the product holds the text, `keep FILE` keeps
    the product there unless the file exists, `def test_x` fails."""
    found: list[TestCase] = []
    product = (world.workspace.read(PRODUCT) or b"").decode()
    for path in TESTS:
        text = (world.workspace.read(path) or b"").decode()
        for kept in re.findall(r"^keep (.*)$", text, re.MULTILINE):
            if world.workspace.read(kept) is None and isinstance(world, World):
                world.workspace.edit(kept, product.encode())
        if "rewrite" in product and text.startswith("expect quotes"):
            text = "expect rows\n"
            world.workspace.write(path, text.encode())
        for wanted in re.findall(r"^expect (.*)$", text, re.MULTILINE):
            found.append(TestCase(f"{path}::{wanted}", "passed" if wanted in product else "failed", path))
        if "def test_" in text and "mute" not in product:
            found += [TestCase(f"{path}::{name}", "failed", path) for name in re.findall(r"def (test_\w+)", text)]
    failed = sum(test.outcome == "failed" for test in found)
    totals = TestTotals(len(found) - failed, failed)
    check = Check.of(SUITE)
    if not found:
        return CheckResult(check.id, SUITE, Outcome.NO_TESTS, "no tests", 5, is_test_run=True, totals=totals)
    outcome = Outcome.FAILED if failed else Outcome.PASSED
    reason = f"{failed} of {len(found)} tests failed" if failed else f"{len(found)} passed"
    return CheckResult(
        check.id, SUITE, outcome, reason, int(failed > 0), is_test_run=True, totals=totals, tests=tuple(found)
    )


@pytest.fixture
def tried(world: World) -> World:
    """A suite that is red at the start since the product doesn't quote."""
    for path, text in {PRODUCT: "rows", TESTS[0]: "expect quotes\n", "GOAL.md": "goal"}.items():
        world.workspace.edit(path, text.encode())
    world.rooms = MemoryRooms(world)
    world.checker.behaviours[SUITE] = suite
    world.goals[GOAL] = goal(requirement(1, "quoted", SUITE, sole=True), max_iterations=4)
    return world


def both(*plays: Play) -> Play:
    def play(turn: Any, context: Any, world: World) -> None:
        for each in plays:
            each(turn, context, world)

    return play


async def trials(view: RunView, world: World) -> list[Trial]:
    entries = await world.ledger.entries(view.state.run_id)
    found = [x.event.evidence.observation for x in entries if isinstance(x.event, e.EvidenceRecorded)]
    return [one for one in found if isinstance(one, Trial)]


WORK = writes(PRODUCT, "rows quotes")
WEAKEN = writes(TESTS[0], "expect rows\n")


async def test_a_changed_proof_is_told_after_the_turn_until_it_is_as_it_was(tried: World) -> None:
    seen: list[RunView] = []
    told: list[ChangedProof] = []

    def note(turn: Any, context: Any, world: World) -> None:
        told.append(seen[-1].changed_proof)

    tried.worker.plays = [
        both(writes(TESTS[0], "expect quotes\n# easier\n"), writes(TESTS[1], "expect rows\n")),
        both(note, writes(TESTS[0], "expect quotes\n")),
        both(note, WORK),
    ]
    supervisor = tried.supervisor()
    run = await supervisor.start(GOAL, StartOptions())
    async for view in supervisor.follow(run.state.run_id):
        seen.append(view)
    more = ChangedProof({TESTS[1]: 0}, frozenset({TESTS[1]}))
    assert told == [replace(more, lines={TESTS[1]: 0, TESTS[0]: 1}), more]


async def test_a_test_that_is_gone_is_told_to_the_worker_and_to_a_person_until_it_is_back(tried: World) -> None:
    old = "expect quotes\n\ndef test_a():\n    assert a()\n\ndef test_b():\n    assert b()\n"
    tried.workspace.edit(TESTS[0], old.encode())
    tried.worker.plays = [writes(TESTS[0], "expect quotes\n"), writes(TESTS[0], old), WORK]
    supervisor = tried.supervisor()
    run_id = (await supervisor.start(GOAL, StartOptions(limits=LimitChanges(max_iterations=3)))).state.run_id
    view = await ended(supervisor, run_id)
    told = [turn.feedback or "" for turn in tried.worker.turns]
    lost = f"{TESTS[0]} lost 2 tests (test_a, test_b)"
    assert [f"  {lost}: put them back\n" in text for text in told] == [False, True, False]
    said = f"the worker removed or emptied tests: {lost}"
    assert [one.message for one in view.state.warnings if one.code == "lost_tests"] == [said]
    assert said in [step.title for step in (await supervisor.steps(run_id)).steps]


@pytest.mark.parametrize("put_back", [False, True])
async def test_a_run_that_goes_on_elsewhere_knows_which_tests_are_gone_now(tried: World, put_back: bool) -> None:
    old = "expect quotes\n\ndef test_a():\n    assert a()\n"
    tried.workspace.edit(TESTS[0], old.encode())
    tried.worker.plays = [writes(TESTS[0], "expect quotes\n"), idle]
    supervisor = tried.supervisor()
    started = await supervisor.start(GOAL, StartOptions(limits=LimitChanges(max_iterations=1)))
    run_id = (await ended(supervisor, started.state.run_id)).state.run_id
    await supervisor.close("another process goes on")
    if put_back:
        tried.workspace.edit(TESTS[0], old.encode())
    supervisor = tried.supervisor()
    await supervisor.resume(run_id, LimitChanges(max_iterations=2))
    await ended(supervisor, run_id)
    assert ("lost 1 test (test_a): put them back" in (tried.worker.turns[1].feedback or "")) is not put_back


async def test_tests_that_moved_are_not_said_to_be_gone_in_any_later_turn(tried: World) -> None:
    old = "def test_a():\n    assert a()\n"
    tried.workspace.edit(TESTS[1], old.encode())
    moves = both(writes(TESTS[1], "\n"), writes("tests/test_moved.py", old))
    tried.goals[GOAL] = replace(tried.goals[GOAL], may_change=("tests/test_moved.py",))
    tried.worker.plays = [moves, writes(PRODUCT, "rows of"), writes(TESTS[1], "# none\n")]
    supervisor = tried.supervisor()
    options = StartOptions(limits=LimitChanges(max_iterations=3))
    view = await ended(supervisor, (await supervisor.start(GOAL, options)).state.run_id)
    assert not [one for one in view.state.warnings if one.code == "lost_tests"]


async def test_proof_that_came_or_went_is_told_after_the_turn(tried: World) -> None:
    seen: list[RunView] = []
    told: list[ChangedProof] = []

    def note(turn: Any, context: Any, world: World) -> None:
        told.append(seen[-1].changed_proof)

    tried.worker.plays = [
        both(
            writes("tests/test_new.py", "expect rows\n"),
            lambda turn, context, world: world.workspace.edit(TESTS[0], None),
        ),
        both(note, WORK),
    ]
    supervisor = tried.supervisor()
    run = await supervisor.start(GOAL, StartOptions())
    async for view in supervisor.follow(run.state.run_id):
        seen.append(view)
        if view.state.interrupts:
            break
    assert told[0] == ChangedProof({"tests/test_new.py": 0}, frozenset({"tests/test_new.py"}), (TESTS[0],))
    await supervisor.close("read enough")


async def test_honest_work_completes_with_one_planted_failure_and_no_more(tried: World) -> None:
    view = await pursue(tried, WORK)
    assert view.state.status == "complete"
    assert [one.tried for one in await trials(view, tried)] == ["planted"]
    assert view.state.trial.last is not None
    assert set(view.state.trial.last.grades.values()) == {"own"}


async def test_what_will_hinder_trials_is_told_before_anybody_works(tried: World) -> None:
    assert tried.rooms is not None
    tried.rooms.hindered = "files that belong to another user can't be changed: src"
    warned: list[list[str]] = []

    def note(turn: Any, context: Any, world: World) -> None:
        warned.append([one.message for one in seen[-1].state.warnings])

    seen: list[RunView] = []
    tried.worker.plays = [both(note, WORK)]
    supervisor = tried.supervisor()
    run = await supervisor.start(GOAL, StartOptions())
    async for view in supervisor.follow(run.state.run_id):
        seen.append(view)
    assert warned == [["files that belong to another user can't be changed: src"]]
    assert seen[-1].state.status == "complete"


async def test_trials_run_once_when_everything_else_is_proven(tried: World) -> None:
    view = await pursue(tried, idle, writes(PRODUCT, "rows more"), WORK)
    assert view.state.status == "complete"
    assert len(tried.rooms.opened) == 1  # type: ignore[union-attr]


async def test_a_weakened_test_is_refused_told_and_undone(tried: World) -> None:
    undone = both(WORK, writes(TESTS[0], "expect quotes\n"))
    view = await pursue(tried, WEAKEN, undone)
    assert view.state.status == "complete"
    assert view.state.iteration == 2
    told = tried.worker.turns[1].feedback or ""
    assert "original_fails" in told
    assert "as it was at the start fails on this code" in told
    assert not view.state.present_findings


async def test_what_stays_refused_is_asked_once_with_the_diff(tried: World) -> None:
    tried.worker.plays = [WEAKEN, idle]
    supervisor = tried.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda seen: bool(seen.state.interrupts))
    (asked,) = view.state.interrupts
    assert asked.about == "findings"
    assert "-expect quotes" in asked.preview
    assert "+expect rows" in asked.preview
    assert len(tried.worker.turns) == 2, "the worker heard of it once"
    await supervisor.answer(run_id, asked.id, Answer("approve", text="the goal wants it"))
    view = await ended(supervisor, run_id)
    assert view.state.status == "complete"
    assert view.state.trial.agreed[TESTS[0]] == "", "the accepted proof is the original now"


async def test_a_refusal_stands_where_the_test_was_changed(tried: World) -> None:
    tried.workspace.edit(TESTS[0], b"# of quotes\nexpect quotes\n")
    tried.worker.plays = [writes(TESTS[0], "# of quotes\nexpect rows\n"), idle]
    supervisor = tried.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions(askable=False))).state.run_id)
    (known,) = view.state.open_findings
    assert (known.finding.kind, known.finding.path, known.finding.line) == ("original_fails", TESTS[0], 1)


@pytest.mark.parametrize("may_change", [(), ("tests/**",)])
async def test_where_tests_are_the_work_one_question_says_so(tried: World, may_change: tuple[str, ...]) -> None:
    """As a threshold of coverage: red at the start though each test passes, and green by more tests alone."""

    def covered(world: Any) -> CheckResult:
        found = suite(world)
        if len(found.tests) > 1 or not found.passed:
            return found
        return replace(found, outcome=Outcome.FAILED, reason="coverage of 50 is below 90", exit_code=2)

    tried.checker.behaviours[SUITE] = covered
    tried.goals[GOAL] = replace(tried.goals[GOAL], may_change=may_change)
    tried.workspace.edit(PRODUCT, b"rows quotes")
    tried.worker.plays = [writes(TESTS[2], "expect rows\n"), idle]
    supervisor = tried.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda seen: bool(seen.state.interrupts))
    (known,) = view.state.open_findings
    assert known.finding.kind == ("passes_without_work" if may_change else "original_fails")
    assert known.finding.message.endswith("Nothing but the proof was changed.")
    await supervisor.answer(run_id, view.state.interrupts[0].id, Answer("approve"))
    view = await ended(supervisor, run_id)
    assert (view.state.status, view.state.asking.count) == ("complete", 1)
    assert view.views[0].grade == "person"


@pytest.mark.parametrize(
    ("before", "now", "lines"),
    [
        ("expect quotes\nexpect tabs\n", "expect rows\n", [0, 0]),
        ("expect rows\nexpect quotes\nexpect tabs\n", "# new\nexpect rows\n\n# expect quotes\n# tabs\n", [2, 3]),
        ("expect quotes\nexpect rows\nexpect tabs\n", "# new\nexpect rows\n", [0, 1]),
    ],
)
async def test_each_failing_original_is_told_at_the_line_that_it_became(
    tried: World, before: str, now: str, lines: list[int]
) -> None:
    def located(world: Any) -> CheckResult:
        found = suite(world)
        text = (world.workspace.read(TESTS[0]) or b"").decode().splitlines()
        at = {wanted.removeprefix("expect "): line for line, wanted in enumerate(text)}
        tests = [replace(one, line=at.get(one.name.rpartition("::")[2])) for one in found.tests]
        return replace(found, tests=tuple(replace(one, message=f"no {one.name[-4:]}\nat all") for one in tests))

    tried.checker.behaviours[SUITE] = located
    tried.workspace.edit(TESTS[0], before.encode())
    tried.worker.plays = [writes(TESTS[0], now), idle]
    supervisor = tried.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions(askable=False))).state.run_id)
    (known,) = view.state.open_findings
    said = "as it was at the start fails on this code"
    assert [(one.path, one.message) for one in known.finding.places] == [
        (TESTS[0], f"quotes {said}: no otes"),
        (TESTS[0], f"tabs {said}: no tabs"),
    ]
    assert [one.line for one in known.finding.places] == lines


async def test_a_worker_that_answers_is_asked_about_at_once(tried: World) -> None:
    tried.worker.plays = [WEAKEN, returns(TurnResult(Claim("question", "the goal wants this test changed")))]
    supervisor = tried.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda seen: bool(seen.state.interrupts))
    (asked,) = view.state.interrupts
    assert asked.about == "findings"
    assert "the goal wants this test changed" in asked.title


async def test_nobody_to_ask_is_blocked_after_the_worker_was_told(tried: World) -> None:
    tried.worker.plays = [WEAKEN, idle]
    supervisor = tried.supervisor()
    run_id = (await supervisor.start(GOAL, StartOptions(askable=False))).state.run_id
    view = await ended(supervisor, run_id)
    assert view.state.status == "blocked"
    assert view.state.lifecycle.reason.startswith("trials refuse the proof, which a person has to settle.")
    assert "original_fails" in view.state.lifecycle.reason
    assert len(tried.worker.turns) == 2


async def test_the_cap_leaves_a_question_and_no_turn(tried: World) -> None:
    tried.worker.plays = [WEAKEN]
    supervisor = tried.supervisor()
    started = await supervisor.start(GOAL, StartOptions(limits=LimitChanges(max_iterations=1)))
    view = await until(supervisor, started.state.run_id, lambda seen: bool(seen.state.interrupts))
    assert "no turns left" in view.state.interrupts[0].title
    assert len(tried.worker.turns) == 1


async def test_tests_of_the_workers_own_must_fail_without_the_work(tried: World) -> None:
    tried.workspace.edit(TESTS[0], None)
    view = await pursue(tried, writes(TESTS[2], "expect rows\n"), both(WORK, writes(TESTS[2], "expect quotes\n")))
    assert view.state.status == "complete"
    assert "passes_without_work" in (tried.worker.turns[1].feedback or "")
    assert view.state.trial.last is not None
    assert set(view.state.trial.last.grades.values()) == {"worker"}


async def test_more_tests_beside_the_old_ones_are_welcome(tried: World) -> None:
    view = await pursue(tried, both(WORK, writes(TESTS[1], "expect rows\nexpect quotes\n")))
    assert view.state.status == "complete"
    assert view.state.iteration == 1
    assert sorted(one.tried for one in await trials(view, tried)) == ["original", "planted", "reverted"]


def held_out(world: Any) -> CheckResult:
    """Passes where the product knows rows of quotes, whatever the tests say now."""
    product, test = world.workspace.read(PRODUCT) or b"", world.workspace.read(TESTS[0])
    right = b"every row" in product and test == b"expect quotes\n"
    outcome = Outcome.PASSED if right else Outcome.FAILED
    check = Check.of("held.sh")
    return CheckResult(check.id, check.command, outcome, "secret reason", int(not right), output="secret output")


async def test_a_held_out_check_must_pass_and_the_worker_hears_its_name_alone(tried: World) -> None:
    tried.hidden = {"Each row is quoted": "held.sh"}
    tried.checker.behaviours["held.sh"] = held_out
    changes_its_proof = writes(TESTS[0], "expect quotes\n# mine\n")
    view = await pursue(tried, both(WORK, changes_its_proof), writes(PRODUCT, "every row quotes"))
    assert view.state.status == "complete", view.state.lifecycle.reason
    told = tried.worker.turns[1].feedback or ""
    assert "“Each row is quoted”: a check that is held out from the worker fails." in told
    assert "secret" not in told
    assert "held.sh" not in told
    assert [one.command for one in await trials(view, tried) if one.tried == "held_out"] == ["Each row is quoted"] * 3


@pytest.mark.parametrize("human", [False, True])
async def test_a_held_out_check_is_tried_before_any_turn_and_the_first_turn_hears_of_it(
    tried: World, human: bool
) -> None:
    tried.workspace.edit(PRODUCT, b"rows quotes")
    tried.hidden = {"Each row is quoted": "held.sh"}
    tried.checker.behaviours["held.sh"] = held_out
    supervisor = tried.supervisor()
    if human:
        tried.worker.waits_for_person, tried.worker.name = True, "human"
        started = await supervisor.start(GOAL, StartOptions())
        await until(supervisor, started.state.run_id, lambda seen: bool(seen.state.open_findings and seen.state.turn))
        tried.workspace.edit(PRODUCT, b"every row quotes")
        view = await ended(supervisor, started.state.run_id)
    else:
        tried.worker.plays = [writes(PRODUCT, "every row quotes")]
        view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions())).state.run_id)
    assert (view.state.status, view.state.iteration) == ("complete", 1)
    told = tried.worker.turns[0].feedback or ""
    assert "“Each row is quoted”: a check that is held out from the worker fails." in told
    assert "The proof itself was changed" not in told
    assert [one.passed for one in await trials(view, tried) if one.tried == "held_out"] == [False, False, True]


async def test_what_is_held_out_and_passes_before_any_turn_completes_the_run_without_one(tried: World) -> None:
    tried.workspace.edit(PRODUCT, b"every row quotes")
    tried.hidden = {"Each row is quoted": "held.sh"}
    tried.checker.behaviours["held.sh"] = held_out
    view = await pursue(tried)
    assert (view.state.status, view.state.iteration) == ("complete", 0)
    assert [one.tried for one in await trials(view, tried)] == ["held_out"]


async def test_a_turn_that_changes_nothing_has_the_checks_tried_that_were_not_before_it(tried: World) -> None:
    """Whoever accepts that a held-out check fails says nothing about the others."""
    tried.workspace.edit(PRODUCT, b"rows quotes")
    tried.hidden = {"Each row is quoted": "held.sh"}
    tried.checker.behaviours["held.sh"] = held_out
    tried.worker.plays = [idle]
    supervisor = tried.supervisor()
    run_id = (await supervisor.start(GOAL, StartOptions())).state.run_id
    view = await until(supervisor, run_id, lambda seen: bool(seen.state.interrupts))
    await supervisor.accept(run_id, view.state.open_findings[0].id, "it is known")
    view = await ended(supervisor, run_id)
    assert "planted" in [one.tried for one in await trials(view, tried)]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), ""),
        (("a",), "; 1 hidden check was not tried: only a run tries it"),
        (("a", "b"), "; 2 hidden checks were not tried: only a run tries them"),
    ],
)
async def test_an_audit_says_that_it_does_not_try_what_is_held_out(
    tried: World, names: tuple[str, ...], said: str
) -> None:
    tried.workspace.edit(PRODUCT, b"rows quotes")
    tried.hidden = dict.fromkeys(names, "held.sh")
    view = await tried.supervisor().check(GOAL)
    assert view.state.lifecycle.reason == f"everything is proven{said}"
    assert closing(view) == [f"proven: 1 of 1 met{said}"]


async def test_nothing_on_record_shows_or_reports_a_held_out_command_or_what_it_said(tried: World) -> None:
    tried.hidden = {"Each row is quoted": "held.sh"}
    tried.checker.behaviours["held.sh"] = held_out
    tried.worker.plays = [WORK, writes(PRODUCT, "every row quotes")]
    supervisor = tried.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions())).state.run_id)
    assert view.state.status == "complete", view.state.lifecycle.reason
    shown = await supervisor.view(view.state.run_id)
    found = [await supervisor.evidence(view.state.run_id, one) for one in cited(shown)]
    recorded = [one for one in found if one is not None]
    steps = await supervisor.steps(view.state.run_id)
    entries = await tried.ledger.entries(view.state.run_id)
    told = {
        "ledger": "\n".join(encode(entry.event) for entry in entries),
        "snapshot": repr(snapshot(shown, tried.folder)),
        "evidence": json.dumps([plain_evidence(one) for one in recorded]),
        "timeline": repr(steps),
        **{form: render(form, shown, tried.folder, recorded) for form in FORMATS},
    }
    for place, text in told.items():
        assert not [word for word in ("held.sh", "secret", check_id("held.sh")) if word in text], place
    assert "`Each row is quoted`, held out from the worker" in told["markdown"]
    assert "Each row is quoted" in told["ledger"]


async def test_a_goal_without_a_check_that_can_be_tried_has_its_held_out_ones_tried(tried: World) -> None:
    class Reader:
        identity = "reader"

        async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
            content = await context.read(PRODUCT)
            seen = await context.record(ObservedFile(PRODUCT, hashlib.sha256(content).hexdigest(), len(content)))
            return Judgement(Verdict((RequirementVerdict(task.requirements[0].id, "met", "I read it", (seen.id,)),)))

    tried.goals[GOAL] = goal(requirement(1, "quoted"), max_iterations=2)
    tried.judge = Reader()
    tried.hidden = {"Each row is quoted": "held.sh"}
    tried.checker.behaviours["held.sh"] = held_out
    tried.worker.plays = [WORK, idle]
    supervisor = tried.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions(askable=False))).state.run_id)
    assert [known.finding.kind for known in view.state.open_findings] == ["held_out_fails"]


async def test_a_held_out_check_that_is_not_in_the_settings_any_more_is_asked_about(tried: World) -> None:
    tried.hidden = {"Each row is quoted": "held.sh"}
    tried.worker.plays = [WORK, idle]
    supervisor = tried.supervisor(hidden_checks=dict)
    view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions(askable=False))).state.run_id)
    (known,) = view.state.open_findings
    assert (known.finding.kind, "is no longer in the settings" in known.finding.message) == ("not_tried", True)


class Asked:
    """A judge that says of both questions beside its verdicts what it is told to say."""

    identity = "asked"

    def __init__(self, said: Finding) -> None:
        self.said: Finding = said
        self.tasks: list[JudgeTask] = []

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        self.tasks.append(task)
        said = [RequirementVerdict(one.id, self.said, f"about {one.id}", ()) for one in task.requirements]
        return Judgement(Verdict(tuple(said)), Usage(10, 5))


ASKS = "rows quotes\nif 'PYTEST_CURRENT_TEST' in os.environ: pass\n"
COPIES = "rows quotes\nif row == 'quotes': pass\n"


@pytest.mark.parametrize("said", [None, "met", "unmet"])
async def test_code_that_asks_whether_a_test_runs_is_refused_whatever_a_judge_says(
    tried: World, said: Finding | None
) -> None:
    tried.judge = Asked(said) if said else None
    view = await pursue(tried, writes(PRODUCT, ASKS), WORK)
    assert (view.state.status, view.state.iteration) == ("complete", 2)
    told = tried.worker.turns[1].feedback or ""
    assert "asks whether a test runs: src/a.py:2: if 'PYTEST_CURRENT_TEST' in os.environ: pass" in told
    assert ("The judge sees a special case: about special-cases" in told) is (said == "unmet")


@pytest.mark.parametrize(("said", "turns"), [(None, 1), ("met", 1), ("unverified", 1), ("unmet", 2)])
async def test_a_value_of_the_tests_in_a_branch_is_for_the_judge_to_see(
    tried: World, said: Finding | None, turns: int
) -> None:
    tried.judge = judge = Asked(said) if said else None
    tried.workspace.edit(TESTS[0], b"expect quotes\n'quotes'\n")
    view = await pursue(tried, writes(PRODUCT, COPIES), WORK)
    assert (view.state.status, view.state.iteration) == ("complete", turns)
    if judge is not None:
        assert [one.id for one in judge.tasks[0].requirements] == ["special-cases"]
        assert judge.tasks[0].requirements[0].details == ("src/a.py:2: if row == 'quotes': pass",)
        assert view.state.spend.judge.tokens == 15


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("met", "The judge says that the goal asks for it: about proof-change."),
        ("unmet", "The judge says that the goal does not ask for it: about proof-change."),
        ("unverified", "The judge can't tell whether the goal asks for it: about proof-change."),
    ],
)
async def test_the_question_about_a_changed_proof_has_the_judges_advice_and_is_asked_all_the_same(
    tried: World, said: Finding, words: str
) -> None:
    tried.judge = Asked(said)
    tried.worker.plays = [WEAKEN, idle]
    supervisor = tried.supervisor()
    view = await supervisor.start(GOAL, StartOptions())
    view = await until(supervisor, view.state.run_id, lambda seen: bool(seen.state.interrupts))
    (asked,) = view.state.interrupts
    assert asked.about == "findings"
    assert words in asked.title


async def test_a_judge_that_can_not_be_reached_leaves_what_trials_found(tried: World) -> None:
    tried.judge = OutageJudge()
    view = await pursue(tried, both(WEAKEN), both(WORK, writes(TESTS[0], "expect quotes\n")))
    assert (view.state.status, view.state.iteration) == ("complete", 2)
    assert view.state.judge.outages == 0


async def test_a_runner_that_tells_no_failure_is_refused(tried: World) -> None:
    view = await pursue(tried, writes(PRODUCT, "rows quotes mute"), writes(PRODUCT, "rows quotes"))
    assert view.state.status == "complete"
    assert "failure_unreported" in (tried.worker.turns[1].feedback or "")


async def test_code_that_rewrites_the_proof_is_refused(tried: World) -> None:
    view = await pursue(
        tried, both(writes(PRODUCT, "rows rewrite"), WEAKEN), both(WORK, writes(TESTS[0], "expect quotes\n"))
    )
    assert view.state.status == "complete"
    assert "proof_rewritten" in (tried.worker.turns[1].feedback or "")


async def test_without_a_room_nothing_is_refused_and_a_person_is_asked_only_where_the_proof_changed(
    tried: World,
) -> None:
    assert tried.rooms is not None
    tried.rooms.broken = "no room here"
    view = await pursue(tried, WORK)
    assert view.state.status == "complete"
    tried.workspace.edit(PRODUCT, b"rows")
    tried.worker.turns.clear()
    tried.worker.plays = [both(WORK, writes(TESTS[1], "expect rows\n"))]
    supervisor = tried.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda seen: bool(seen.state.interrupts))
    assert "no room here" in view.state.interrupts[0].preview
    assert len(tried.worker.turns) == 1, "the worker can't help it"


async def test_a_test_that_may_change_is_left_out(tried: World) -> None:
    tried.goals[GOAL] = replace(tried.goals[GOAL], may_change=(TESTS[0],))
    view = await pursue(tried, both(writes(PRODUCT, "rows 'quotes'"), writes(TESTS[0], "expect 'quotes'\n")))
    assert view.state.status == "complete"
    assert view.state.iteration == 1
    assert "original" not in [one.tried for one in await trials(view, tried)]
    assert "reverted" in [one.tried for one in await trials(view, tried)]


async def test_a_persons_change_of_the_proof_is_the_original(tried: World) -> None:
    def by_person(turn: Any, context: Any, world: World) -> None:
        world.workspace.edit(TESTS[0], b"expect rows\n", by="person")

    view = await pursue(tried, by_person)
    assert view.state.status == "complete"
    assert not view.state.present_findings


async def test_files_that_change_meanwhile_are_audited_and_tried_again(tried: World) -> None:
    rooms = tried.rooms
    assert rooms is not None
    opened = rooms.open
    edits = iter([b"rows quotes too"])

    def disturbed(workspace: Any, laid: Any, **more: Any) -> Any:
        for data in edits:
            tried.workspace.edit(PRODUCT, data)
        return opened(workspace, laid, **more)

    rooms.open = disturbed  # type: ignore[method-assign]
    view = await pursue(tried, WORK)
    assert view.state.status == "complete"
    entries = await tried.ledger.entries(view.state.run_id)
    assert [type(x.event) for x in entries].count(e.Abandoned) == 1
    assert [type(x.event) for x in entries].count(e.TrialsFinished) == 1


async def test_a_stop_cuts_trials_off(tried: World) -> None:
    tried.worker.plays = [WORK]
    supervisor = tried.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    assert tried.rooms is not None
    gate = asyncio.Event()
    opened = tried.rooms.open

    def held(workspace: Any, laid: Any, **more: Any) -> Any:
        gate.set()
        return opened(workspace, laid, **more)

    tried.rooms.open = held  # type: ignore[method-assign]
    await gate.wait()
    await supervisor.stop(run_id)
    view = await ended(supervisor, run_id)
    assert view.state.status in ("cancelled", "complete")
    assert not view.state.trial.running
    assert tried.rooms.now == 0


async def test_what_the_proof_rests_on_is_told_without_running_anything(tried: World) -> None:
    tried.workspace.edit("Makefile", b"test:\n\t./scripts/run.sh\n")
    tried.workspace.edit("scripts/run.sh", b"pytest\n")
    supervisor = tried.supervisor()
    told = {group.role: [one.path for one in group.files] for group in (await supervisor.rests_on(GOAL)).groups}
    assert told == {"goal": ["GOAL.md"], "named": ["scripts/run.sh"], "test": [TESTS[0]], "task": ["Makefile"]}
    assert tried.checker.ran == []


async def test_a_suppression_more_is_told_where_a_bound_check_heeds_it(tried: World) -> None:
    tried.goals[GOAL] = goal(
        requirement(1, "quoted", SUITE, sole=True), requirement(2, "clean", "ruff check .", sole=True), max_iterations=4
    )
    tried.checker.behaviours["ruff check ."] = lambda world: b"#noqa" in (world.workspace.read(PRODUCT) or b"#noqa")
    tried.worker.plays = [writes(PRODUCT, "rows quotes #noqa"), writes(PRODUCT, "rows quotes #noqa # fine")]
    supervisor = tried.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions(askable=False))).state.run_id)
    assert view.state.status == "blocked"
    (finding,) = view.state.open_findings
    assert (finding.finding.kind, finding.finding.path) == ("suppressed", PRODUCT)
    assert "suppressed" in (tried.worker.turns[1].feedback or "")


async def test_a_tool_behind_the_name_of_a_task_is_heeded(tried: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def started(*of: object) -> dict[str, tuple[str, ...]]:
        return {Check.of("make lint").id: ("make lint", "ruff check .")}

    monkeypatch.setattr(MemoryProbes, "started", started)
    tried.goals[GOAL] = goal(requirement(1, "clean", "make lint", sole=True), max_iterations=4)
    tried.checker.behaviours["make lint"] = lambda world: b"#noqa" in (world.workspace.read(PRODUCT) or b"")
    tried.worker.plays = [writes(PRODUCT, "rows #noqa"), writes(PRODUCT, "rows #noqa # fine")]
    supervisor = tried.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions(askable=False))).state.run_id)
    assert "suppressed" in (tried.worker.turns[1].feedback or "")
    assert [one.finding.kind for one in view.state.open_findings] == ["suppressed"]


async def test_the_proof_of_something_outside_may_not_be_weakened_either(tried: World) -> None:
    tried.goals[GOAL] = goal(requirement(1, "it is up", SUITE, sole=True, external=True), max_iterations=4)
    view = await pursue(tried, WEAKEN, both(WORK, writes(TESTS[0], "expect quotes\n")))
    assert "original_fails" in (tried.worker.turns[1].feedback or "")
    assert (view.state.status, view.state.iteration) == ("complete", 2)


async def test_a_linter_may_have_its_tests_mended_and_its_configuration_not_loosened(tried: World) -> None:
    def lint(world: Any) -> bool:
        files = [world.workspace.read(path) or b"" for path in (PRODUCT, *TESTS)]
        return b"off" in (world.workspace.read("ruff.toml") or b"") or not any(b"unused" in text for text in files)

    tried.workspace.edit(TESTS[0], b"expect quotes\nunused\n")
    tried.goals[GOAL] = goal(requirement(1, "clean", "ruff check .", sole=True), max_iterations=4)
    tried.checker.behaviours["ruff check ."] = lint
    view = await pursue(tried, writes(TESTS[0], "expect quotes\n"))
    assert (view.state.status, view.state.iteration) == ("complete", 1)
    tried.workspace.edit(TESTS[0], b"expect quotes\nunused\n")
    tried.worker.turns.clear()
    mended = both(writes(TESTS[0], "expect quotes\n"), writes("ruff.toml", "strict"))
    view = await pursue(tried, writes("ruff.toml", "off"), mended)
    assert "original_fails" in (tried.worker.turns[1].feedback or "")
    assert view.state.status == "complete"


async def test_a_start_that_can_not_be_read_any_more_is_asked_about(tried: World) -> None:
    def loses(turn: Any, context: Any, world: World) -> None:
        world.workspace._checkpoints.clear()

    tried.worker.plays = [both(WORK, loses)]
    supervisor = tried.supervisor()
    view = await ended(supervisor, (await supervisor.start(GOAL, StartOptions(askable=False))).state.run_id)
    assert view.state.status == "blocked"
    assert "there is no checkpoint" in view.state.open_findings[0].finding.message


async def test_data_that_tests_alone_name_is_theirs_wherever_it_lies(tried: World) -> None:
    tried.workspace.edit("shared/rows.csv", b"a,b\n")
    tried.workspace.edit("shared/limits.csv", b"1\n")
    tried.workspace.edit(TESTS[0], b"expect quotes\nread shared/rows.csv\nread shared/limits.csv\n")
    tried.workspace.edit("src/limits.py", b'open("shared/limits.csv")\n')
    view = await pursue(tried, both(WORK, writes("shared/rows.csv", ""), writes("shared/limits.csv", "2\n")))
    assert view.state.status == "complete"
    first = next(one for one in await trials(view, tried) if one.tried == "original")
    assert first.laid == ("shared/rows.csv",)


async def test_what_a_check_made_before_the_first_turn_is_nobodys_data(tried: World) -> None:
    tried.workspace.edit("shared/rows.csv", b"a,b\n")
    tried.workspace.edit(TESTS[0], b"expect quotes\nread shared/rows.csv\nkeep shared/kept.csv\n")
    view = await pursue(tried, both(WORK, writes("shared/rows.csv", ""), writes("shared/kept.csv", "other\n")))
    assert view.state.status == "complete"
    first = next(one for one in await trials(view, tried) if one.tried == "original")
    assert first.laid == ("shared/rows.csv",)
