"""Models that don't call tools are asked for an action under a schema; what looks like a call reports nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core.errors import ModelFailed, WorkerFailed
from donewhen.ports import ModelFacts, ModelNote, ModelReply
from donewhen.store.model_notes import KeptModelNotes
from donewhen.workers.agent.actions import looks_like_call
from donewhen.workers.agent.window import BYTES_PER_TOKEN
from donewhen.workers.tools import TOOLS
from tests.tools import each_row

from .agent_models import report, says, use
from .agent_turns import OPTIONS, Agent, agent_in
from .turns import GOAL, turn


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return agent_in(tmp_path)


def action(tool: str, **arguments: object) -> ModelReply:
    """A reply in text, as a schema holds a model to it."""
    return says(json.dumps({"say": "now", "tool": tool, "arguments": arguments}))


WRITTEN = [
    "report, impossible",
    "Report: impossible",
    "report(state='finished', text='all done')",
    '{"name": "read_file", "arguments": {"path": "a.py"}}',
    '```json\n{"tool": "write_file", "arguments": {"path": "a.py", "content": "x"}}\n```',
    'I will read it first.\n```json\n{"name": "read_file", "parameters": {"path": "a.py"}}\n```\nThen I go on.',
    '<tool_call>\n{"name": "list_files", "arguments": {}}\n</tool_call>',
    "<function=run_command>{}</function>",
    '[TOOL_CALLS][{"name": "search", "arguments": {"pattern": "x"}}]',
    '[{"type": "function", "function": {"name": "search", "arguments": "{}"}}]',
    '{"state": "finished", "text": "done"}',
    'Sure: {"name": "read_file", "arguments": {"path": "a.py"}}',
    "read_file(path='a.py')",
    "run_command: `pytest -q`",
]
REPORTS = [
    "It works now.",
    "Report: I have written the exporter; its tests pass.",
    "I used read_file and edit_file, and `pytest` passes.",
    'The settings file is now:\n```json\n{"name": "csv-export", "version": 2}\n```',
    "Done: `write_row` quotes every field, see {writer.py}",
    "The goal can't be reached: the report module is missing.",
    "search finds nothing more (0 hits).",
]


@each_row("text", WRITTEN)
def test_a_call_that_is_only_written_down_is_told_from_a_report(text: str) -> None:
    assert looks_like_call(text, TOOLS)


@each_row("text", REPORTS)
def test_a_report_in_words_is_not_taken_for_a_call(text: str) -> None:
    assert not looks_like_call(text, TOOLS)


async def test_a_turn_in_words_is_asked_once_more_as_an_action(agent: Agent) -> None:
    result = await agent.plays(
        [
            says("First I would write a.py."),
            action("write_file", path="a.py", content="1\n"),
            action("report", state="finished", text="wrote it"),
        ]
    )
    first, second, third = agent.model.requests
    assert first.tools
    assert first.schema is None
    for asked in (second, third):
        assert not asked.tools
        assert asked.schema is not None
        assert "write_file" in asked.schema["properties"]["tool"]["enum"]
    assert agent.text("a.py") == "1\n"
    assert (result.claim.state, result.claim.text) == ("finished", "wrote it")


async def test_a_model_that_still_has_words_alone_has_reported(agent: Agent) -> None:
    result = await agent.plays([says("Nothing is left to do."), says("As I said: nothing is left to do.")])
    assert (result.claim.state, result.claim.text) == ("finished", "As I said: nothing is left to do.")
    assert len(agent.model.requests) == 2


@pytest.mark.parametrize("text", WRITTEN)
async def test_a_written_call_is_never_a_claim(agent: Agent, text: str) -> None:
    agent.write("a.py", "old\n")
    with pytest.raises(WorkerFailed, match="writes down tool calls as text"):
        await agent.plays([says(text), says("report, impossible"), says("report, impossible")])
    assert agent.text("a.py") == "old\n"
    assert not agent.context.steps


async def test_a_written_call_after_work_is_asked_for_as_an_action(agent: Agent) -> None:
    result = await agent.plays(
        [use("list_files"), says("report, impossible"), action("write_file", path="a", content=""), report()]
    )
    assert result.claim.state == "finished"
    assert [step.kind for step in agent.context.steps] == ["list_files", "write_file", "report"]


async def test_the_next_turn_of_the_run_begins_with_actions(agent: Agent) -> None:
    agent.model.script = [
        says("I would look."),
        action("report", state="finished", text="one"),
        action("report", state="finished", text="two"),
    ]
    worker = agent.worker()
    await worker.work(turn(), agent.context)
    await worker.work(turn(2, feedback="R1 is red"), agent.context)
    assert [bool(request.tools) for request in agent.model.requests] == [True, False, False]


async def test_the_next_run_begins_with_actions_for_that_model_at_that_address(agent: Agent, tmp_path: Path) -> None:
    here = replace(OPTIONS, api_base="http://127.0.0.1:8080/v1")
    agent.notes = KeptModelNotes(tmp_path)
    await agent.plays([says("I would look."), action("report", state="finished", text="one")], options=here)

    agent.notes = KeptModelNotes(tmp_path)
    agent.context.said.clear()
    await agent.plays([action("report", state="finished", text="two")], options=here)
    assert not agent.model.requests[0].tools
    await agent.plays([report()])  # the model of that name at its provider
    assert agent.model.requests[0].tools


async def test_a_model_that_calls_tools_is_not_remembered_by_one_reply_in_words(agent: Agent) -> None:
    await agent.plays([use("list_files"), report()])
    agent.context.said.clear()
    await agent.plays([says("Nothing to do, I think."), action("report", state="finished", text="so it is")])
    agent.context.said.clear()
    await agent.plays([report()])
    assert agent.model.requests[0].tools


async def test_what_was_called_before_a_restart_counts(agent: Agent) -> None:
    await agent.plays([use("list_files"), report()])
    result = await agent.plays([says("It works now.")], turn(2, feedback="R1 is red"))
    assert result.claim.text == "It works now."
    assert len(agent.model.requests) == 1


@each_row("content", ["", "{", "[]", '{"version": 9}', '{"version": 1, "models": {"m": 3}}'])
def test_notes_that_cannot_be_read_say_nothing_and_are_written_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "models.json").write_text(content)
    notes = KeptModelNotes(tmp_path)
    assert notes.of("m", None) == ModelNote()
    notes.add("m", None, ModelNote("actions"))
    assert KeptModelNotes(tmp_path).of("m", None) == ModelNote("actions")


# ------------------------------------------------------------------------------------- small windows


@pytest.mark.parametrize("window", [4_096, 8_192])
async def test_a_small_window_has_a_short_prompt_and_room_for_work(agent: Agent, window: int) -> None:
    agent.write("long.py", "".join(f"value_{number} = {number}\n" for number in range(3_000)))
    reads = [use("read_file", path="long.py", start_line=1 + 40 * number) for number in range(30)]
    await agent.plays([report()], facts=ModelFacts(window=128_000))
    whole = agent.model.sizes[0]
    agent.context.said.clear()

    result = await agent.plays([*reads, report("finished", "read it")], facts=ModelFacts(window=window))
    assert result.claim.text == "read it"
    assert agent.model.sizes[0] < 0.6 * whole
    assert agent.model.sizes[0] / BYTES_PER_TOKEN < 0.3 * window
    assert max(agent.model.sizes) / BYTES_PER_TOKEN < 0.9 * window
    first = agent.model.requests[0]
    assert {spec.name for spec in first.tools} == set(TOOLS)
    for requirement in GOAL.requirements:
        assert f"{requirement.label}: {requirement.text}" in first.messages[0].text
    states = next(spec for spec in first.tools if spec.name == "report").parameters["properties"]["state"]
    assert states == {"type": "string", "enum": ["finished", "blocked", "impossible", "question"]}


async def test_a_window_that_turns_out_small_gets_the_short_prompt(agent: Agent) -> None:
    agent.write("a.py", "x = 1\n" * 2_000)
    too_long = ModelFailed("the prompt is too long", "too_long")
    await agent.plays([use("read_file", path="a.py"), too_long, report()])
    whole, _, short = (request.messages[0].text for request in agent.model.requests)
    assert len(short) < 0.8 * len(whole)
    assert len(agent.model.requests[2].tools[0].description) < len(agent.model.requests[0].tools[0].description)


async def test_a_window_that_is_told_is_kept_for_the_next_turn_and_run(agent: Agent) -> None:
    agent.write("a.py", "x = 1\n" * 2_000)
    too_long = ModelFailed("the prompt is too long", "too_long", window=4_096)
    place = OPTIONS.model, OPTIONS.api_base
    await agent.plays([use("read_file", path="a.py"), too_long, report()])
    assert agent.notes.of(*place).window == 4_096
    await agent.plays([report()])
    short = agent.model.requests[0].messages[0].text

    # What a server tells of itself counts more; it is asked once in a run, and never where a person has said it.
    told = iter([64_000])
    agent.served_window = lambda: next(told)
    await agent.plays([report()])
    assert len(short) < 0.8 * len(agent.model.requests[0].messages[0].text)
    assert agent.notes.of(*place).window == 64_000
    await agent.plays([report()], options=replace(OPTIONS, window=4_096))
    assert agent.model.requests[0].messages[0].text == short
