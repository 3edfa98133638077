"""The agent's turn from its task to its claim."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed, OverBudget, WorkerFailed
from donewhen.core.hints import hint_in, hint_message
from donewhen.core.trouble import TroubleKind
from donewhen.core.verdict import RequirementView
from donewhen.core.work import TURN_STATES, Usage
from donewhen.ports import ModelFacts, ModelReply, ModelRequest
from donewhen.workers.agent.compaction import Facts
from donewhen.workers.tools.tool import VERSION

from .agent_models import ScriptedModel, call, calls, report, says, use
from .agent_turns import OPTIONS, Agent, agent_in, numbered
from .turns import GOAL, SECONDS, turn


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return agent_in(tmp_path)


async def test_it_looks_changes_runs_and_reports(agent: Agent) -> None:
    agent.write("a.py", "print('old')\n")
    result = await agent.plays(
        [
            use("read_file", path="a.py"),
            use("edit_file", path="a.py", old="'old'", new="'new'"),
            use("run_command", command=f"{shlex.quote(sys.executable)} a.py"),
            report("finished", "a.py prints new\nand that is all"),
        ]
    )
    assert result.claim.state == "finished"
    assert result.claim.text == "a.py prints new\nand that is all"
    assert result.summary == "a.py prints new"
    assert [step.kind for step in result.steps] == ["read_file", "edit_file", "run_command", "report"]
    assert all(step.ok for step in result.steps)
    assert result.usage == Usage()
    assert agent.text("a.py") == "print('new')\n"
    read, edited, ran, _ = agent.told
    assert VERSION.sub("", read) == "a.py, lines 1-1 of 1:\nprint('old')"
    assert VERSION.sub("", edited) == "edited a.py at line 1"
    assert ran.startswith("exit 0 after ")
    assert ran.endswith("\nnew")


@pytest.mark.conformance("C9")
@pytest.mark.parametrize("state", TURN_STATES)
async def test_a_report_ends_the_turn_with_its_state(agent: Agent, state: str) -> None:
    result = await agent.plays([report(state, "this is why")])
    assert (result.claim.state, result.claim.text) == (state, "this is why")
    assert result.summary.endswith("this is why")
    assert len(agent.model.requests) == 1


async def test_a_reply_in_words_after_work_ends_the_turn_as_finished(agent: Agent) -> None:
    result = await agent.plays([use("list_files"), says("It works now.")])
    assert (result.claim.state, result.claim.text) == ("finished", "It works now.")
    assert len(agent.model.requests) == 2


async def test_the_response_is_told_apart_by_what_was_said(agent: Agent) -> None:
    one, two, same = [await agent.plays([report("finished", text)]) for text in ("this", "that", "this")]
    assert one.response_digest == same.response_digest != two.response_digest


# ------------------------------------------------------------------------------------------- prompt


@pytest.mark.conformance("C13")
async def test_c13_what_the_model_is_told_first_holds_no_secret(agent: Agent) -> None:
    agent.mask = lambda text: text.replace(GOAL.title, "[masked]").replace(GOAL.objective, "[masked]")
    await agent.plays([report()])
    first = agent.model.requests[0].messages[0].text
    assert GOAL.objective not in first
    assert "[masked]" in first


@pytest.mark.conformance("C3")
async def test_the_prompt_begins_alike_in_every_call_and_turn(agent: Agent) -> None:
    await agent.plays([use("list_files"), report()])
    first = agent.model.requests
    views = tuple(RequirementView(r.id, r.number, "unmet", "still red") for r in GOAL.requirements)
    await agent.plays([report()], turn(2, views=views, feedback="R1 (unmet): the tests pass\n  at a.py:3: boom"))
    [later] = agent.model.requests
    for request in (*first, later):
        assert request.messages[0] == first[0].messages[0]
        assert request.tools == first[0].tools
        assert request.stable == len(request.messages)
    assert later.messages[: len(first[-1].messages)] == first[-1].messages
    system = first[0].messages[0]
    assert system.role == "system"
    assert GOAL.objective in system.text
    for requirement in GOAL.requirements:
        assert f"{requirement.label}: {requirement.text}" in system.text
    assert "`python -m pytest -q`" in system.text
    assert "unverified" not in system.text
    assert agent.root.name in system.text
    assert str(agent.root.parent) not in system.text


@pytest.mark.conformance("C3")
async def test_each_turn_begins_with_status_feedback_and_answers_word_for_word(agent: Agent) -> None:
    views = (
        RequirementView(GOAL.requirements[0].id, 1, "unmet", "1 test failed"),
        RequirementView(GOAL.requirements[1].id, 2, "met", "seen"),
    )
    feedback = "Not proven yet, 1 of 2:\n\nR1 (unmet): the tests pass\n  printed:\n    E assert 1 == 2"
    given = turn(2, views=views, feedback=feedback, answers=("use UTF-8\nwith a BOM",))
    await agent.plays([report()], given)
    task = agent.model.requests[0].messages[-1]
    assert task.role == "user"
    assert "- R1: unmet" in task.text
    assert "- R2: met" in task.text
    assert feedback in task.text
    assert "- use UTF-8\n  with a BOM" in task.text
    assert "not at what you remember" in task.text


@pytest.mark.conformance("C5")
async def test_it_goes_on_with_the_conversation_that_it_is_given(agent: Agent) -> None:
    await agent.plays([use("list_files"), report("finished", "first")])
    await agent.plays([report()], turn(2, feedback="R1 is red"))
    texts = [m.text for m in agent.model.requests[0].messages]
    assert any("files:" in text for text in texts)
    agent.context.said.clear()
    await agent.plays([report()], turn(3, feedback="R1 is red still"))
    assert [m.role for m in agent.model.requests[0].messages] == ["system", "user"]


async def test_the_model_s_options_reach_it(agent: Agent) -> None:
    options = replace(OPTIONS, temperature=0.25)
    await agent.plays([report()], options=options, facts=ModelFacts(window=100_000, max_output=64_000))
    [request] = agent.model.requests
    assert request.temperature == 0.25
    assert request.stream
    assert request.max_tokens == 20_000
    assert {spec.name for spec in request.tools} == {
        "run_command", "read_file", "list_files", "search", "write_file", "edit_file", "report",
    }  # fmt: skip


# --------------------------------------------------------------------------------------- tool calls


async def test_every_call_of_a_reply_is_answered_and_a_report_comes_last(agent: Agent) -> None:
    result = await agent.plays(
        [
            calls(
                call("write_file", path="a.txt", content="a"),
                call("report", state="finished", text="wrote both"),
                call("read_file", path="missing.txt"),
                call("write_file", path="b.txt", content="b"),
                text="Let me write.",
            )
        ]
    )
    assert result.claim.text == "wrote both"
    assert (agent.text("a.txt"), agent.text("b.txt")) == ("a", "b")
    assert [step.kind for step in agent.context.steps] == ["write_file", "read_file", "write_file", "report"]
    assert [step.ok for step in agent.context.steps] == [True, False, True, True]
    wanted = [one.id for one in agent.context.said[1].calls]
    assert sorted(m.answers for m in agent.context.said if m.role == "tool") == sorted(wanted)


def raw(name: str, arguments: str) -> ModelReply:
    return calls(ToolCall("x", name, arguments))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (raw("read_file", '{"path": "a'), "not valid JSON"),
        (raw("read_file", '["a.py"]'), "not a JSON object"),
        (raw("read_file", ""), "`path` is missing; the arguments are: path (string), start_line (integer, may be"),
        (raw("read_file", '{"path": 3}'), "`path` should be a JSON string; it is 3"),
        (raw("read_file", '{"path": "a", "start_line": "4"}'), "`start_line` should be a JSON integer"),
        (raw("read_file", '{"path": "a", "start_line": true}'), "`start_line` should be a JSON integer"),
        (raw("read_file", '{"path": "a", "start_line": 0}'), "at least 1"),
        (raw("read_file", '{"path": "a", "depth": 4}'), "there is no argument `depth`"),
        (raw("read_file", '{"path": "a", "file_path": "b"}'), "given twice"),
        (raw("read_file", '{"path": "\\ud800"}'), "surrogate"),
        (raw("run_command", '{"command": "true", "timeout_seconds": NaN}'), "should be a JSON number"),
        (raw("run_command", '{"command": "  "}'), "the command is empty"),
        (raw("report", '{"state": "done", "text": ""}'), "one of finished, blocked, impossible, question"),
        (raw("remove_file", '{"path": "a"}'), "there is no tool 'remove_file': use one of run_command, read_file"),
        (raw("search", '{"pattern": "("}'), "regular expression"),
        (raw("search", '{"pattern": ""}'), "the pattern is empty"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
async def test_a_call_that_is_wrong_is_answered_with_what_to_send(agent: Agent, reply: ModelReply, said: str) -> None:
    agent.write("some.txt", "text")
    result = await agent.plays([reply, report()])
    assert result.claim.text == "done"
    assert agent.told[0].startswith("error: ")
    assert said in agent.told[0]
    assert agent.context.steps[0].ok is False


async def test_a_time_without_any_measure_is_the_longest(agent: Agent) -> None:
    await agent.plays([raw("run_command", f'{{"command": "true", "timeout_seconds": {10**400}}}'), report()])
    assert agent.told[0].startswith("exit 0")


async def test_a_name_that_a_model_made_up_is_kept_short_on_record(agent: Agent) -> None:
    await agent.plays([raw("write\n" * 10_000, "{}"), raw("", "{}"), report()])
    assert len(agent.told[0]) < 300
    assert all(len(step.kind) <= 60 and step.kind for step in agent.context.steps)
    assert all(len(name) <= 60 and len(summary) <= 100 for name, summary in agent.context.started)


async def test_wrong_calls_over_and_over_end_the_turn(agent: Agent) -> None:
    result = await agent.plays(numbered(lambda n: raw("read_file", '{"path": "' + "x" * n), 100))
    assert "same calls" in result.claim.text
    assert len(agent.model.requests) == 6


async def test_arguments_may_have_the_names_that_other_agents_use(agent: Agent) -> None:
    await agent.plays(
        [
            use("write_file", file_path="a.txt", text="one two\n"),
            use("edit_file", filename="a.txt", old_string="one", new_string="1"),
            use("edit_file", path="a.txt", old_str="two", new_str="2"),
            use("edit_file", path="a.txt", old_text="1 ", new_text="1, "),
            report(),
        ]
    )
    assert agent.text("a.txt") == "1, 2\n"


# -------------------------------------------------------------------------------------- limits, loops


async def test_a_turn_has_a_limit_of_tool_calls(agent: Agent) -> None:
    options = replace(OPTIONS, tool_calls=3)
    three = calls(*(call("write_file", path=f"{n}.txt", content="x") for n in range(5)))
    result = await agent.plays([three], options=options)
    assert "limit of 3 tool calls" in result.claim.text
    assert sorted(p.name for p in agent.root.iterdir()) == ["0.txt", "1.txt", "2.txt"]
    assert len(agent.told) == 5
    assert "not done" in agent.told[-1]


async def test_a_turn_has_a_limit_of_tokens(agent: Agent) -> None:
    options = replace(OPTIONS, turn_tokens=1_000)
    spending = Usage(400, 100)
    script = numbered(lambda n: calls(call("search", pattern=f"x{n}"), usage=spending), 100)
    result = await agent.plays(script, options=options)
    assert "1,000 tokens" in result.claim.text
    assert len(agent.model.requests) == 2


def same(n: int) -> ModelReply:
    return use("list_files")


def alternating(n: int) -> ModelReply:
    return use("list_files", glob=("*.py", "*.md")[n % 2])


def in_threes(n: int) -> ModelReply:
    return use("run_command", command=("exit 1", "exit 2", "exit 3")[n % 3])


@pytest.mark.parametrize(("script", "replies"), [(same, 6), (alternating, 12), (in_threes, 18)])
async def test_going_round_in_circles_gets_a_nudge_and_then_ends_the_turn(
    agent: Agent, script: Callable[[int], ModelReply], replies: int
) -> None:
    result = await agent.plays(numbered(script, 100))
    assert "same calls" in result.claim.text
    assert len(agent.model.requests) == replies
    nudges = [m for m in agent.context.said if m.role == "user"][1:]
    assert len(nudges) == 1
    assert "Do something else" in nudges[0].text


async def test_the_same_call_with_another_result_is_no_circle(agent: Agent) -> None:
    count = "echo x >> log; wc -l < log"
    result = await agent.plays([*numbered(lambda _: use("run_command", command=count), 8), report()])
    assert result.claim.text == "done"
    assert not any("same calls" in m.text for m in agent.context.said)


# -------------------------------------------------------------------------------------------- faults


@pytest.mark.conformance("C8")
async def test_a_model_that_answers_nothing_is_an_error_after_one_nudge(agent: Agent) -> None:
    with pytest.raises(WorkerFailed, match="answers nothing at all") as failure:
        await agent.plays([says(""), says("  \n")])
    assert not failure.value.final
    assert failure.value.trouble is not None
    assert failure.value.trouble.kind == "malformed"
    nudged = agent.model.requests[1].messages
    assert "Your reply was empty" in nudged[-1].text
    assert all(m.text.strip() or m.calls for m in nudged)


async def test_an_empty_reply_may_be_made_good(agent: Agent) -> None:
    assert (await agent.plays([says(""), use("list_files"), says(""), report()])).claim.text == "done"


@pytest.mark.conformance("C8")
async def test_a_reply_that_was_cut_off_does_not_count_as_finished(agent: Agent) -> None:
    result = await agent.plays([says("I will now wri", "length"), report()])
    assert result.claim.text == "done"
    assert "cut off" in agent.model.requests[1].messages[-1].text
    with pytest.raises(WorkerFailed, match="cut off"):
        await agent.plays([says("wri", "length") for _ in range(9)])


@pytest.mark.conformance("C8")
@pytest.mark.parametrize("kind", ["key_missing", "refused", "failing"])
async def test_a_model_that_can_not_be_asked_ends_the_turn(agent: Agent, kind: TroubleKind) -> None:
    failure = ModelFailed("set OPENAI_API_KEY", kind)
    with pytest.raises(WorkerFailed, match="set OPENAI_API_KEY") as failed:
        await agent.plays([use("list_files"), failure])
    assert failed.value.trouble == failure.trouble("worker", agent.model.name)
    assert [error for _, _, error in agent.context.calls.ended] == [None, "set OPENAI_API_KEY"]


async def test_a_spent_budget_passes_through(agent: Agent) -> None:
    agent.context.calls.allowed = 1
    with pytest.raises(OverBudget):
        await agent.plays([use("write_file", path="a", content="a"), report()])
    assert agent.text("a") == "a"


# ----------------------------------------------------------------------------------- activity, cancel


async def test_it_says_what_it_does_now(agent: Agent) -> None:
    agent.write("a.py", "x")
    await agent.plays(
        [use("read_file", path="a.py"), use("run_command", command="echo hello"), report()],
        streams=("Let me", "Let me look\nat a.py"),
    )
    lines = agent.context.activities
    assert lines[0].startswith("thinking (reading ")
    for wanted in ("reading a.py", "running `echo hello`"):
        assert wanted in lines, lines
    assert all("\n" not in line for line in lines)
    assert "Let me look\nat a.py" in agent.context.streamed
    assert agent.context.started == [
        ("read_file", "read a.py"),
        ("run_command", "run `echo hello`"),
        ("report", "report finished: done"),
    ]


class Silent(ScriptedModel):
    """A model that never answers."""

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if on_text:
            on_text("hm")
        return await asyncio.get_running_loop().create_future()


@pytest.mark.conformance("A3", "C19")
async def test_cancelling_takes_effect_at_once_in_a_call(agent: Agent) -> None:
    agent.model = Silent(())
    working = asyncio.create_task(agent.worker().work(turn(), agent.context))
    await agent.context.hears("hm")
    working.cancel()
    async with asyncio.timeout(1.0):
        with pytest.raises(asyncio.CancelledError):
            await working
    assert agent.context.calls.ended == []


@pytest.mark.conformance("A3", "C19")
async def test_cancelling_takes_effect_at_once_in_a_command(agent: Agent) -> None:
    agent.model = ScriptedModel([use("run_command", command="echo begun; sleep 600"), report()])
    working = asyncio.create_task(agent.worker().work(turn(), agent.context))
    await agent.context.hears("begun")
    working.cancel()
    async with asyncio.timeout(min(2.0, SECONDS)):
        with pytest.raises(asyncio.CancelledError):
            await working
    assert len(agent.model.requests) == 1
    assert agent.told == []


async def test_what_it_keeps_of_a_turn_is_bounded(agent: Agent) -> None:
    script = [*numbered(lambda n: use("list_files", glob=f"*.{n}"), 250), report("finished", "x" * 50_000)]
    result = await agent.plays(script, options=replace(OPTIONS, window=1_000_000), keep=False)
    assert len(result.steps) == 200
    assert len(result.claim.text) < 11_000
    assert len(result.summary) <= 200


async def test_a_message_s_text_never_breaks_the_record(agent: Agent) -> None:
    await agent.plays([use("run_command", command=r"printf 'a\000b\377c'"), report()])
    assert agent.told[0].endswith("a␀b�c")
    json.dumps([m.text for m in agent.context.said]).encode()
    assert all(isinstance(m, Message) for m in agent.context.said)


async def test_a_hint_is_told_before_the_next_call_between_the_answers_and_the_question(agent: Agent) -> None:
    def then(request: ModelRequest) -> ModelReply:
        agent.context.hints = ["look at b.py"]
        return use("list_files")

    async def keep(message: Message) -> None:
        agent.context.said.append(message)
        agent.context.hints = []

    agent.context.keep = keep  # type: ignore[method-assign]
    await agent.plays([then, report("finished", "done")])
    roles = [message.role for message in agent.model.requests[1].messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert hint_in(agent.model.requests[1].messages[-1]) == "look at b.py"


async def test_a_hint_outlives_a_compaction() -> None:
    told = Facts.of([hint_message("look at b.py,\nnot at a.py"), Message("assistant", "I will")]).message(10_000)
    assert "- look at b.py,\n  not at a.py" in told.text
    assert Facts.of([told]).said == ["look at b.py,\nnot at a.py"]
