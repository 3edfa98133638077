"""The agent's tool calls inside the wrappers of plugins, and the tools that plugins add."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.core.plugging import Halt, ToolOutcome, ToolUse
from donewhen.ports import PluginHost, PluginTool, ToolDoer, ToolSpec

from .agent_models import call, calls, report, use
from .agent_turns import OPTIONS, Agent, agent_in
from .turns import GOAL, turn


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    (tmp_path / "work").mkdir()
    return agent_in(tmp_path / "work")


def becoming(**changed: object) -> Callable[[ToolUse, ToolDoer], Awaitable[ToolOutcome]]:
    """A wrapper that makes other arguments of those that are there."""

    async def wrap(given: ToolUse, do: ToolDoer) -> ToolOutcome:
        return await do(replace(given, input={**given.input, **changed}) if given.tool != "report" else given)

    return wrap


# ----------------------------------------------------------------------------------------- wrappers


@pytest.mark.conformance("C24")
async def test_every_call_goes_through_the_wrappers(agent: Agent) -> None:
    agent.write("a.py", "one\n")
    wanted = [
        call("read_file", path="a.py"), call("edit_file", path="a.py", old="one", new="two"), call("list_files"),
        call("search", pattern="two"), call("write_file", path="b.py", content="b"), call("run_command", cmd="true"),
        call("report", state="finished", text="all of them"),
    ]  # fmt: skip
    await agent.plays([calls(*wanted)])
    assert [one.tool for one in agent.context.uses] == [one.name for one in wanted]
    assert [one.call_id for one in agent.context.uses] == [one.id for one in agent.context.said[1].calls]
    assert [one.summary for one in agent.context.uses] == [line for _, line in agent.context.started]
    assert agent.context.uses[5].input == {"command": "true"}


@pytest.mark.conformance("C24")
async def test_a_wrapper_may_answer_instead(agent: Agent) -> None:
    async def cached(given: ToolUse, do: ToolDoer) -> ToolOutcome:
        return await do(given) if given.tool == "report" else ToolOutcome("exit 0 after 0.0 s\ncached", "from a cache")

    agent.context.wrap = cached
    await agent.plays([use("run_command", command="echo ran > ran"), report()])
    assert agent.told[0] == "exit 0 after 0.0 s\ncached"
    assert agent.context.steps[0].summary == "from a cache"
    assert not (agent.root / "ran").exists()


@pytest.mark.conformance("C24")
async def test_a_wrapper_may_change_the_input_and_the_model_is_told(agent: Agent) -> None:
    agent.context.wrap = becoming(content="theirs\n")
    await agent.plays([use("write_file", path="a.txt", content="mine\n"), report()])
    assert agent.text("a.txt") == "theirs\n"
    assert "not the one that you sent" in agent.told[0]


@pytest.mark.conformance("C24")
async def test_an_input_that_does_not_fit_any_more_does_nothing(agent: Agent) -> None:
    for changed in ({"content": 7}, {"contents": "x"}, {"path": object()}, {"depth": 1}):
        agent.context.wrap = becoming(**changed)
        await agent.plays([use("write_file", path="a.txt", content="mine\n"), report()])
        assert agent.told[-2].startswith("error: not done: the call was changed to one that can't be made: ")
    assert list(agent.root.iterdir()) == []


@pytest.mark.conformance("C24")
async def test_a_wrapper_sees_what_can_not_be_done_as_an_outcome(agent: Agent) -> None:
    seen: list[ToolOutcome] = []

    async def wrap(given: ToolUse, do: ToolDoer) -> ToolOutcome:
        seen.append(await do(given))
        return seen[-1]

    agent.context.wrap = wrap
    await agent.plays([use("read_file", path="../outside.txt"), report()])
    assert not seen[0].ok
    assert "outside of the workspace" in agent.told[0]


async def test_a_call_that_is_refused_again_and_again_is_a_circle(agent: Agent) -> None:
    async def never(given: ToolUse, do: ToolDoer) -> ToolOutcome:
        return ToolOutcome("not run: it was not allowed", "not allowed", ok=False)

    agent.context.wrap = never
    result = await agent.plays([use("run_command", command="true")] * 20)
    assert "same calls" in result.claim.text
    assert len(agent.model.requests) == 6


@pytest.mark.conformance("C23")
async def test_a_halt_passes_through_the_turn_as_it_is(agent: Agent) -> None:
    raised = Halt("look at this", {"ticket": 7})

    async def halting(given: ToolUse, do: ToolDoer) -> ToolOutcome:
        raise raised

    agent.context.wrap = halting
    with pytest.raises(Halt) as halt:
        await agent.plays([use("run_command", command="true"), report()])
    assert halt.value is raised
    assert agent.context.steps == []
    assert agent.context.said[-1].calls


# --------------------------------------------------------------------------- what a person would see


async def test_what_a_change_would_be_is_shown_where_a_person_has_to_allow_it(agent: Agent) -> None:
    agent.write(".envrc", "one\ntwo\n")
    goal = replace(GOAL, path="GOAL.md")
    script = [
        use("edit_file", path=".envrc", old="two", new="2"), use("write_file", path="GOAL.md", content="# Less\n"),
        use("write_file", path="a.py", content="a\n"), use("read_file", path=".envrc"), report(),
    ]  # fmt: skip
    await agent.plays(script, turn(1, goal))
    edit, goal_file, other, read, _ = agent.context.uses
    assert "-two\n+2" in edit.preview
    assert "run something" in edit.sensitive
    assert "+# Less" in goal_file.preview
    assert goal_file.sensitive == "it is the goal itself"
    assert [(one.preview, one.sensitive) for one in (other, read)] == [("", ""), ("", "")]


async def test_nothing_is_asked_about_a_change_that_would_be_refused_anyway(agent: Agent) -> None:
    agent.write(".envrc", "one\n")
    agent.context.held["held/.envrc"] = "typed\n"
    goal = replace(GOAL, protect=("safe/**",))
    script = [
        use("edit_file", path=".envrc", old="absent", new="2"), use("write_file", path=".envrc", content="x"),
        use("write_file", path="held/.envrc", content="x"), use("write_file", path="safe/.envrc", content="x"),
        use("write_file", path="../.envrc", content="x"), report(),
    ]  # fmt: skip
    await agent.plays(script, turn(1, goal))
    assert [one.sensitive for one in agent.context.uses] == [""] * 6
    assert all(text.startswith("error: ") for text in agent.told[:5])
    assert agent.text(".envrc") == "one\n"


@pytest.mark.conformance("A2")
async def test_leave_is_for_the_file_that_was_shown_alone(agent: Agent) -> None:
    agent.context.wrap = becoming(path=".envrc")
    script = [use("write_file", path=path, content="x\n") for path in ("a.txt", ".exrc")]
    await agent.plays([*script, report()])
    for text in agent.told[:2]:
        assert text.startswith("not written: .envrc may be changed only with a person's permission")
    assert list(agent.root.iterdir()) == []


@pytest.mark.conformance("A2", "A20")
async def test_leave_is_for_the_text_that_was_shown_alone(agent: Agent) -> None:
    agent.write(".envrc", "one\ntwo\n")

    async def meanwhile(given: ToolUse, do: ToolDoer) -> ToolOutcome:
        if given.sensitive:
            agent.write(".envrc", "two\nthree\n")
        return await do(given)

    agent.context.wrap = meanwhile
    await agent.plays([use("edit_file", path=".envrc", old="two", new="2"), report()])
    assert agent.told[0].startswith("error: .envrc changed just now and was not written")
    assert agent.text(".envrc") == "two\nthree\n"


@pytest.mark.conformance("A2")
async def test_no_wrapper_lets_a_protected_or_unsaved_file_be_changed(agent: Agent) -> None:
    agent.context.held["held.txt"] = "typed\n"
    goal = replace(GOAL, protect=("safe.txt",))
    for path in ("safe.txt", "held.txt"):
        agent.context.wrap = becoming(path=path)
        await agent.plays([use("write_file", path="a.txt", content="x"), report()], turn(1, goal))
        assert agent.told[-2].startswith("error: ")
    assert list(agent.root.iterdir()) == []


# -------------------------------------------------------------------------------- tools of plugins

Run = Callable[[ToolUse], ToolOutcome]
LOOK_UP: Mapping[str, object] = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "depth": {"type": "integer"}},
    "required": ["word"],
    "additionalProperties": False,
}


def plugged(run: Run, name: str = "look_up", plugin: str = "dictionary") -> PluginTool:
    async def tool(host: PluginHost, given: ToolUse) -> ToolOutcome:
        return run(given)

    return PluginTool(plugin, ToolSpec(name, "Says what a word means.", LOOK_UP), tool)


def found(given: ToolUse) -> ToolOutcome:
    return ToolOutcome(f"{given.input['word']}: a word", "looked it up")


async def test_a_plugin_s_tool_is_offered_after_the_others_and_wrapped_like_them(agent: Agent) -> None:
    agent.context.tools = [plugged(found)]
    await agent.plays([use("look_up", word="goal"), report()])
    assert [spec.name for spec in agent.model.requests[0].tools][-2:] == ["report", "look_up"]
    assert agent.told[0] == "goal: a word"
    assert agent.context.uses[0].input == {"word": "goal"}
    assert agent.context.started[0] == ("look_up", 'look_up {"word": "goal"}')
    assert (agent.context.steps[0].kind, agent.context.steps[0].summary) == ("look_up", "looked it up")


async def test_its_arguments_are_checked_and_its_result_is_bounded(agent: Agent) -> None:
    agent.context.tools = [plugged(lambda given: ToolOutcome("x" * 100_000, "y" * 10_000))]
    wrong = [{}, {"word": 3}, {"word": "a", "depth": True}, {"word": "a", "more": 1}]
    script = [*(use("look_up", **given) for given in wrong), use("look_up", word="a"), report()]
    await agent.plays(script, options=replace(OPTIONS, window=16_000))
    assert [text.startswith("error: ") for text in agent.told[:5]] == [True] * 4 + [False]
    assert "`word` is missing" in agent.told[0]
    assert len(agent.told[4]) < 10_000
    assert len(agent.context.steps[4].summary) <= 500


async def test_a_plugin_whose_tool_fails_is_switched_off_and_the_turn_goes_on(agent: Agent) -> None:
    asked: list[ToolUse] = []

    def broken(given: ToolUse) -> ToolOutcome:
        asked.append(given)
        raise KeyError("no dictionary")

    agent.context.tools = [plugged(broken), plugged(found, "second", "other")]
    result = await agent.plays([use("look_up", word="a"), use("look_up", word="b"), use("second", word="c"), report()])
    assert result.claim.state == "finished"
    assert agent.context.host.failures == [("dictionary", "register_tool", agent.context.host.failures[0][2])]
    assert "KeyError: 'no dictionary'" in agent.context.host.failures[0][2]
    assert agent.told[0].startswith("error: the tool look_up failed: KeyError")
    assert "is switched off" in agent.told[1]
    assert agent.told[2] == "c: a word"
    assert len(asked) == 1
    await agent.plays([report()], turn(2))
    assert "look_up" not in [spec.name for spec in agent.model.requests[0].tools]


@pytest.mark.parametrize("answer", [None, "text", ToolOutcome(None, "")])  # type: ignore[arg-type]
async def test_what_is_no_outcome_is_the_plugin_s_failure(agent: Agent, answer: object) -> None:
    agent.context.tools = [plugged(lambda given: answer)]  # type: ignore[arg-type, return-value]
    await agent.plays([use("look_up", word="a"), report()])
    assert "not a ToolOutcome" in agent.told[0]
    assert agent.context.host.off == {"dictionary"}


async def test_what_a_plugin_s_tool_can_not_do_is_no_failure(agent: Agent) -> None:
    def refusing(given: ToolUse) -> ToolOutcome:
        raise WorkspaceError("there is no such word")

    agent.context.tools = [plugged(refusing)]
    await agent.plays([use("look_up", word="a"), report()])
    assert agent.told[0] == "error: there is no such word"
    assert agent.context.host.off == frozenset()


@pytest.mark.conformance("C23")
async def test_a_plugin_s_tool_may_halt_in_its_plugin_s_name(agent: Agent) -> None:
    def halting(given: ToolUse) -> ToolOutcome:
        raise Halt("ask the librarian")

    agent.context.tools = [plugged(halting)]
    with pytest.raises(Halt, match="ask the librarian") as halt:
        await agent.plays([use("look_up", word="a"), report()])
    assert halt.value.plugin == "dictionary"
    assert agent.context.host.off == frozenset()


async def test_no_plugin_takes_the_place_of_a_built_in_tool(agent: Agent) -> None:
    agent.context.tools = [plugged(found, "list_files"), plugged(found), plugged(found, plugin="rival")]
    await agent.plays([use("list_files"), report()])
    assert agent.told[0].startswith("0 files")
    names = [spec.name for spec in agent.model.requests[0].tools]
    assert len(names) == len(set(names)) == 8


async def test_what_it_did_outlives_a_compaction(agent: Agent) -> None:
    agent.write("big.txt", "word " * 2_000)
    agent.context.tools = [plugged(found)]
    script = [use("look_up", word="goal"), *(use("read_file", path="big.txt", end_line=n) for n in range(1, 20))]
    await agent.plays([*script, report()], options=replace(OPTIONS, window=8_000))
    assert agent.context.compactions
    assert json.dumps({"word": "goal"}) in agent.context.compactions[0][0][0].text
