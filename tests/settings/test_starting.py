"""What a start freezes of rules and plugins, and what a person is told before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from donewhen.app.engine import engine_setup
from donewhen.app.plugins import FolderPlugins
from donewhen.app.resolver import KnownFacts, Plugged, resolve
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.approval import ApprovalRule
from donewhen.core.errors import GoalFileError, InvalidGoal, UsageError
from donewhen.core.evidence import Outcome
from donewhen.core.goal import Check, Goal, Limits, Requirement
from donewhen.core.summary import start_summary
from donewhen.engine.api import StartOptions
from donewhen.engine.setup import EngineSetup, Start
from donewhen.ports import ModelFacts, Price
from donewhen.settings.loading import Settings
from donewhen.settings.personal import Approvals
from donewhen.settings.table import Choices
from donewhen.store.allowances import Allowances
from donewhen.store.memory import MemoryLedger
from tests.tools import each_row

GOAL = Goal("T", "text", (Requirement("r-1", 1, "`make` passes", (Check.of("make"),), sole_check=True),))
MAKE = ApprovalRule("run_command", "make *", "allow")
CURL = ApprovalRule("run_command", "curl *", "deny")


def facts(model: str, api_base: str | None, prices: Mapping[str, ModelFacts]) -> ModelFacts:
    return ModelFacts(price=Price(1, 2)) if model == "openai/priced" else ModelFacts()


KNOWN = KnownFacts(lambda *_: None, facts)


def started(
    plugged: Plugged | None = None, goal: Goal = GOAL, options: StartOptions | None = None, **given: Any
) -> Start:
    rules = given.pop("rules", ())
    settings = Settings(given=Choices(**given), approvals=Approvals(rules))
    return resolve(goal, options or StartOptions(), settings, KNOWN, plugged)


# ------------------------------------------------------------------------------------------ freezing


def test_rules_and_plugins_are_frozen() -> None:
    start = started(Plugged(("a", "approval")), model="openai/priced", rules=(MAKE, CURL))
    assert (start.options.rules, start.options.plugins) == ((MAKE, CURL), ("a", "approval"))


def test_a_worker_that_a_plugin_brings_is_known() -> None:
    plugged = Plugged(workers=frozenset({"robot"}))
    assert started(plugged, worker="robot").options.worker == "robot"
    assert started(plugged, replace(GOAL, worker="robot")).options.worker == "robot"


@pytest.mark.parametrize("worker", ["robot", "agnet"])
def test_a_worker_that_nobody_brings_is_refused(worker: str) -> None:
    with pytest.raises(InvalidGoal, match=f"worker can't be '{worker}': .*use one of agent, human, command"):
        started(worker=worker)
    with pytest.raises(InvalidGoal, match="did you mean agent"):
        started(worker="agnet")


def test_a_judge_that_a_plugin_brings_needs_no_model() -> None:
    start = started(Plugged(judges=frozenset({"oracle"})), judge_model="oracle", model="openai/priced")
    assert (start.options.judge, start.options.judging) == ("oracle", None)
    other = started(judge_model="oracle", model="openai/priced")
    assert other.options.judging is not None


# ---------------------------------------------------------------------------------------- accepting


@each_row(
    "given, accepted",
    [
        ({"worker": "agent", "model": "openai/m", "approve": "ask"}, None),
        ({"worker": "agent", "model": "openai/m", "approve": "auto"}, "auto"),
        ({"worker": "agent", "model": "openai/m", "approve": "deny"}, "nobody"),
        ({"worker": "robot", "approve": "ask"}, None),
        ({"worker": "robot", "approve": "auto"}, "auto"),
        ({"worker": "command", "worker_command": "x", "approve": "ask"}, "auto"),
        ({"worker": "command", "worker_command": "x", "approve": "deny"}, "auto"),
        ({"worker": "scripted", "script": "x.yaml", "approve": "ask"}, "auto"),
    ],
)
def test_a_person_accepts_what_a_worker_may_do(given: dict[str, str], accepted: str | None) -> None:
    start = started(Plugged(workers=frozenset({"robot"})), **given)
    assert start.accepted == accepted
    assert start.options.summary


def test_where_only_the_person_works_there_is_nothing_to_accept() -> None:
    for start in (started(worker="human"), started(options=StartOptions(audit=True), worker="agent", model="openai/m")):
        assert (start.options.summary, start.accepted) == ("", None)


# ------------------------------------------------------------------------------------- what is said


def said(plugged: Plugged | None = None, goal: Goal = GOAL, **given: Any) -> str:
    return started(plugged, goal, **{"model": "openai/priced", "approve": "ask", **given}).options.summary


def test_the_summary_names_who_works_and_who_judges() -> None:
    text = said(judge_model="2*openai/judge", api_base="http://localhost:1/v1")
    assert "Worker: the built-in agent with the model openai/priced, served at http://localhost:1/v1" in text
    assert "Judge: 2*openai/judge (majority)" in text
    assert "Judge: none" in said()
    assert "the command `aider --yes`, which may do anything" in said(worker="command", worker_command="aider --yes")


def test_the_summary_names_the_ceiling() -> None:
    limits = Limits(max_iterations=1, timeout=5_430, budget=2.5, token_budget=12_000)
    text = said(goal=replace(GOAL, limits=limits))
    assert "Ends after at most 1 iteration and 1 h 30 min 30 s" in text
    assert "Costs at most $2.50 and 12,000 tokens" in text
    assert "Ends after at most 10 iterations and 1 h" in said()
    assert "Costs whatever it takes: no limit is set" in said()
    text = said(goal=replace(GOAL, limits=Limits(max_iterations=None, timeout=None)))
    assert "at most unlimited iterations and unlimited time" in text


def test_the_summary_says_where_a_price_is_unknown() -> None:
    text = said(model="openai/own", judge_model="openai/priced")
    assert "an unknown amount: the price of openai/own is not known, and there is no limit" in text
    limited = said(goal=replace(GOAL, limits=Limits(token_budget=5_000)), model="openai/own")
    assert "the price of openai/own is not known; at most 5,000 tokens" in limited


def test_a_budget_that_a_command_can_pass_unseen_is_warned_of_and_said() -> None:
    goal = replace(GOAL, limits=Limits(budget=2.5))
    start = started(goal=goal, worker="command", worker_command="aider --yes", judge_model="openai/priced")
    assert not start.options.metered
    assert "Costs at most $2.50 as far as it is reported, besides whatever the worker spends" in start.options.summary
    assert [one.message for one in start.warnings if one.code == "cost_unknown"] == [
        "what the worker costs is known only as far as reported: the budget of $2.50 counts nothing else"
    ]
    agent = started(goal=goal, model="openai/priced")
    assert (agent.options.metered, [one.code for one in agent.warnings if one.code == "cost_unknown"]) == (True, [])


@each_row(
    "worker, limits, costs",
    [
        ("claude", Limits(), "what Claude Code reports; no limit is set"),
        (
            "claude",
            Limits(budget=2.5, token_budget=9_000),
            "at most $2.50 and 9,000 tokens, counting what Claude Code rep",
        ),
        ("opencode", Limits(), "what OpenCode reports, where it knows the price; no limit is set"),
        ("aider", Limits(), "what Aider reports, where it knows the price; no limit is set"),
        ("acp", Limits(), "what the agent reports, if it reports any cost; no limit is set"),
        ("codex", Limits(), "whatever the worker spends, which it does not report"),
        ("codex", Limits(token_budget=9_000), "at most 9,000 tokens as far as it is reported, besides whatever"),
        ("command", Limits(), "whatever the worker spends, which it does not report"),
    ],
)
def test_the_summary_says_of_a_program_what_it_reports_of_its_cost(worker: str, limits: Limits, costs: str) -> None:
    given = {"command": {"worker_command": "work"}, "acp": {"agent_command": "claude"}}.get(worker, {})
    assert f"Costs {costs}" in said(goal=replace(GOAL, limits=limits), worker=worker, **given)


def test_what_the_judge_costs_counts_beside_what_a_program_reports() -> None:
    text = said(worker="claude", judge_model="openai/priced")
    assert "Costs what Claude Code reports and the judge's calls; no limit is set" in text


def test_the_summary_says_what_may_run_without_asking() -> None:
    assert "Without asking: reading and editing in the workspace; no command" in said()
    kept = ApprovalRule("run_command", "npm test", "allow")
    text = said(Plugged(remembered=(kept,)), rules=(MAKE, CURL, ApprovalRule("deploy", "*", "ask")))
    assert "Without asking: reading and editing in the workspace; `make *`, `npm test`" in text
    assert "Never: `curl *`" in text
    assert "Asks before: git push, publishing, installing packages, deleting" in text
    assert "deploy" in text
    assert "everything but what is named next (approve is auto)" in said(approve="auto")
    assert "Asks before: git push" in said(approve="auto")
    assert "Anything else is denied: this run asks no one" in said(approve="deny")


def test_many_rules_are_counted() -> None:
    rules = tuple(ApprovalRule("run_command", f"make {number}", "allow") for number in range(20))
    assert "`make 7` and 12 more" in said(rules=rules)


def test_the_summary_names_plugins_and_says_what_checks_do() -> None:
    text = said(Plugged(("critic", "approval")))
    assert "Plugins: critic\n" in text
    assert text.endswith("Checks execute what the worker wrote, as you, on this machine, and are not sandboxed")
    assert "Plugins" not in said(Plugged(("approval",)))


def test_the_summary_is_the_same_each_time() -> None:
    start = started(model="openai/priced", approve="ask")
    assert start_summary(start.goal, start.options) == start.options.summary


# -------------------------------------------------------------------------- the plugins of a folder


PLUGIN = """
from pathlib import Path
from donewhen.plugins import Claim, NewCheck, NewJudge, NewWorker, TurnResult, hookimpl

class Robot:
    name = "robot"
    waits_for_person = False
    async def work(self, turn, context):
        return TurnResult(Claim("finished", "done"))

class Helpful:
    name = "helpful"

    def __init__(self):
        self.made = []

    @hookimpl
    def register_worker(self):
        return NewWorker("robot", lambda options: self.made.append(options) or Robot())

    @hookimpl
    def register_judge(self):
        return NewJudge("oracle", lambda options: lambda task: True)

    @hookimpl
    def register_check(self):
        return NewCheck("there", lambda argument, root: (root / argument).exists())
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace, a folder for its state, and a plugin beside them."""
    (tmp_path / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "workspace").mkdir()
    (tmp_path / "state" / "workspaces" / "w").mkdir(parents=True)
    return tmp_path


def setup_in(place: Path, settings: Settings) -> EngineSetup:
    folder = place / "state" / "workspaces" / "w"
    context = WorkspaceContext(environment=lambda: {"PATH": ""})
    return engine_setup(place / "workspace", folder, place / "pycache", MemoryLedger(), settings, context)


def with_plugin(place: Path, *off: str, **given: Any) -> Settings:
    approvals = Approvals(plugins=(f"{place / 'plugin.py'}:Helpful",), plugins_off=off)
    return Settings(given=Choices(**given), approvals=approvals)


async def test_what_plugins_register_can_be_named(place: Path) -> None:
    setup = setup_in(place, with_plugin(place, worker="robot", judge_model="oracle", approve="ask"))
    start = setup.settle(GOAL, StartOptions())
    assert (start.options.worker, start.options.judge, start.accepted) == ("robot", "oracle", None)
    assert start.options.plugins == ("helpful", "approval")
    assert "Worker: robot, which comes from a plugin" in start.options.summary
    assert setup.worker(start.options).name == "robot"
    assert setup.judge(start.options) is not None


async def test_a_goal_file_names_the_worker_of_a_plugin(place: Path) -> None:
    path = place / "workspace" / "GOAL.md"
    path.write_text("---\nworker: robot\n---\n- [ ] `make` passes\n", encoding="utf-8")
    setup = setup_in(place, with_plugin(place))
    goal = setup.load_goal("GOAL.md")
    assert setup.settle(goal, StartOptions(approve="ask")).options.worker == "robot"
    assert setup.settle(goal, StartOptions(audit=True)).options.worker is None
    path.write_text("---\nworker: other\n---\n- [ ] `make` passes\n", encoding="utf-8")
    with pytest.raises(InvalidGoal, match="worker can't be 'other'"):
        setup.settle(setup.load_goal("GOAL.md"), StartOptions())
    with pytest.raises(GoalFileError, match=r"GOAL.md, line 2: worker can't be 'other'"):
        setup_in(place, Settings()).load_goal("GOAL.md")


async def test_each_run_has_plugins_of_its_own(place: Path) -> None:
    setup = setup_in(place, with_plugin(place, worker="robot", approve="ask"))
    first, second = (setup.settle(GOAL, StartOptions()).options for _ in range(2))
    setup.worker(first)
    setup.judge(first)
    mine, again = setup.plugins(first), setup.plugins(first)
    assert mine is not None
    assert again is not mine
    assert setup.plugins(second) is not mine
    assert mine.names == ("helpful", "approval")


async def test_a_check_of_a_plugin_is_run_by_it(place: Path) -> None:
    checker = setup_in(place, with_plugin(place)).checker
    (place / "workspace" / "a").touch()
    found = [
        await checker.run(Check.of(command), timeout=5, token="t") for command in ("check:there a", "check:there b")
    ]
    assert [one.outcome for one in found] == [Outcome.PASSED, Outcome.FAILED]
    assert checker.environment(Check.of("check:there a")) != checker.environment(Check.of("make"))
    unknown = await checker.run(Check.of("check:other a"), timeout=5, token="t")
    assert unknown.outcome is Outcome.NOT_RUN
    assert "no plugin provides the check check:other (available: there)" in unknown.reason


async def test_a_check_of_a_plugin_that_is_broken_is_no_pass(place: Path) -> None:
    (place / "plugin.py").write_text("raise RuntimeError('broken')", encoding="utf-8")
    setup = setup_in(place, with_plugin(place))
    found = await setup.checker.run(Check.of("check:there a"), timeout=5, token="t")
    assert found.outcome is Outcome.NOT_RUN
    assert "broken" in found.reason
    with pytest.raises(UsageError, match="broken"):
        setup.settle(replace(GOAL, worker="human"), StartOptions())
    assert setup.settle(GOAL, StartOptions(audit=True)).options.worker is None


async def test_a_plugin_may_be_switched_off(place: Path) -> None:
    setup = setup_in(place, with_plugin(place, "helpful", worker="robot"))
    with pytest.raises(InvalidGoal, match="worker can't be 'robot'"):
        setup.settle(GOAL, StartOptions())


async def test_a_run_goes_on_with_the_plugins_that_it_began_with(place: Path) -> None:
    options = setup_in(place, with_plugin(place, worker="robot")).settle(GOAL, StartOptions()).options
    gone = setup_in(place, Settings())
    with pytest.raises(UsageError, match="this run began with the plugin helpful, which is no longer available"):
        gone.plugins(options)
    switched = setup_in(place, with_plugin(place, "helpful")).plugins(options)
    assert switched is not None
    assert switched.names == ("approval",)
    began = setup_in(place, Settings(given=Choices(worker="human"))).settle(GOAL, StartOptions()).options
    later = setup_in(place, with_plugin(place)).plugins(began)
    assert later is not None
    assert later.names == ("approval",)


async def test_what_was_allowed_here_is_told_and_garbage_is_warned_of(place: Path) -> None:
    folder = place / "state" / "workspaces" / "w"
    Allowances(folder).allow(ApprovalRule("run_command", "make test", "allow"))
    settings = Settings(given=Choices(model="openai/m", api_base="http://127.0.0.1:9/v1", approve="ask"))
    setup = setup_in(place, settings)
    assert "`make test`" in setup.settle(GOAL, StartOptions()).options.summary
    (folder / "allowances.json").write_text("{", encoding="utf-8")
    start = setup.settle(GOAL, StartOptions())
    assert "no command" in start.options.summary
    assert [one.message for one in start.warnings if one.code == "allowances"]


def test_nothing_is_opened_before_it_is_needed(place: Path) -> None:
    (place / "plugin.py").write_text("raise RuntimeError('too early')", encoding="utf-8")
    setup_in(place, with_plugin(place))
    plugins = FolderPlugins(place / "workspace", place / "state", lambda: with_plugin(place))
    plugins.forget()
    assert plugins.allowances.rules() == ()


# ---------------------------------------------------------------------------------------------- rooms


def contained_by(hindrance: str, plugged: Plugged | None = None, **given: Any) -> Start:
    known = replace(KNOWN, hindrance=lambda: hindrance)
    return resolve(GOAL, StartOptions(), Settings(given=Choices(**given)), known, plugged)


@each_row(
    "given, contained, network",
    [
        ({"model": "openai/priced"}, True, False),
        ({"model": "openai/priced", "network": "on"}, True, True),
        ({"model": "openai/priced", "sandbox": "on"}, True, False),
        ({"model": "openai/priced", "sandbox": "off"}, False, False),
        ({"worker": "command", "worker_command": "agent"}, False, False),
        ({"worker": "command", "worker_command": "agent", "sandbox": "on"}, True, True),
        ({"worker": "command", "worker_command": "agent", "sandbox": "on", "network": "off"}, True, False),
        ({"worker": "human", "sandbox": "on"}, False, False),
    ],
)
def test_the_agents_commands_are_contained_and_other_agents_where_that_is_said(
    given: dict[str, Any], contained: bool, network: bool
) -> None:
    start = contained_by("", **given)
    assert (start.options.contained, start.options.network) == (contained, network)
    assert not start.warnings or "not_sandboxed" not in {one.code for one in start.warnings}


def test_where_no_room_can_be_opened_commands_ask_and_that_is_said() -> None:
    start = contained_by("there are no namespaces", model="openai/priced")
    assert not start.options.contained
    assert "Commands run as you, not sandboxed" in start.options.summary
    (warning,) = (one for one in start.warnings if one.code == "not_sandboxed")
    assert "there are no namespaces" in warning.message
    assert "donewhen doctor" in warning.message


def test_a_promise_that_can_not_be_kept_is_refused() -> None:
    with pytest.raises(UsageError, match="sandbox on: no room can be opened here: no bubblewrap"):
        contained_by("no bubblewrap", model="openai/priced", sandbox="on")
    with pytest.raises(UsageError, match="the worker robot is a plugin's"):
        contained_by("", Plugged(workers=frozenset({"robot"})), worker="robot", sandbox="on")


def test_the_summary_says_what_is_contained() -> None:
    text = contained_by("", model="openai/priced", approve="ask").options.summary
    assert "Commands run in a room: they can change only the workspace" in text
    assert "without the network" in text
    assert "any command in the room" in text
    assert "any command outside the room" in text
    text = contained_by("", worker="command", worker_command="agent").options.summary
    assert "which may do anything you may (--sandbox on contains it)" in text
    text = contained_by("", worker="command", worker_command="agent", sandbox="on").options.summary
    assert "in a room, where it can change only the workspace and its own settings, with the network" in text
    text = contained_by("", model="openai/priced", sandbox_checks="on").options.summary
    assert text.endswith("Checks execute what the worker wrote, in rooms of their own")
