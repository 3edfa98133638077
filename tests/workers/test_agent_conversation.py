"""A conversation that nears the model's window is made to fit, and nothing that still counts is lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed, WorkerFailed
from donewhen.core.work import Answer, Usage
from donewhen.ports import ModelFacts
from donewhen.workers.agent.compaction import MIN_NOTES, Facts, compacted, is_notes, size_of
from donewhen.workers.prompt import agent_task, answers_of, item, items
from tests.tools import examples

from .agent_models import ScriptedModel, call, calls, report, says, use
from .agent_turns import OPTIONS, Agent, agent_in, numbered
from .turns import turn

FEEDBACK = "Not proven yet, 1 of 2 requirements:\n\nR1 (unmet): the tests pass\n  printed:\n    E assert 1 == 2"
TASK = agent_task(turn(2, feedback=FEEDBACK, answers=("keep\n- the dashes\n\n## and this",)))
FIRST = agent_task(turn())
LONG = [Message("assistant", "y" * 9_000)]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return agent_in(tmp_path)


def spoken(name: str, answer: str, **arguments: object) -> list[Message]:
    """A call with its answer."""
    wanted = ToolCall("c", name, json.dumps(arguments))
    return [Message("assistant", "", (wanted,)), Message("tool", answer, answers="c")]


def pairs_are_whole(messages: tuple[Message, ...]) -> bool:
    """Every call is answered right after it, and every answer has its call."""
    open_ids: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.answers not in open_ids:
                return False
            open_ids.remove(message.answers)
        else:
            if open_ids:
                return False
            open_ids = [wanted.id for wanted in message.calls]
    return not open_ids


# ------------------------------------------------------------------------------------------ property

texts = st.text(max_size=200) | st.integers(0, 6_000).map(lambda n: "é" * n)
names = st.sampled_from(["run_command", "read_file", "write_file", "edit_file", "search", "report", "unknown"])


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """Something that is said between a worker and its model."""
    kind = draw(st.sampled_from(["calls", "calls", "words", "nudge", "task"]))
    if kind == "words":
        return [Message("assistant", draw(texts))]
    if kind == "nudge":
        return [Message("user", draw(texts))]
    if kind == "task":
        return [agent_task(turn(3, feedback=draw(texts), answers=tuple(draw(st.lists(texts, max_size=2)))))]
    arguments = st.fixed_dictionaries({"path": st.text(max_size=20)}) | st.fixed_dictionaries({"command": texts})
    given_ids = draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=4))
    wanted = tuple(ToolCall(key, draw(names), json.dumps(draw(arguments))) for key in given_ids)
    first = st.sampled_from(["exit 0 after 0.1 s\n", "error: ", "wrote a.py, 3 lines", "not run: it was not allowed: "])
    return [
        Message("assistant", "", wanted),
        *(Message("tool", draw(first) + draw(texts), answers=c.id) for c in wanted),
    ]


@examples(300)
@given(st.lists(exchanges(), max_size=25), st.integers(0, 2), st.integers(3_000, 60_000))
def test_compaction_keeps_pairs_and_the_latest_feedback_within_its_room(
    said: list[list[Message]], before: int, room: int
) -> None:
    messages = [message for block in [[FIRST], *said[:before], [TASK], *said[before:]] for message in block]
    latest = next(m for m in reversed(messages) if m.text.startswith(("Begin.", "The audit of")))
    once = compacted(messages, room)
    for after in (once, compacted(once.messages, room)):
        assert pairs_are_whole(after.messages)
        assert latest in after.messages
        assert sum(map(size_of, after.messages)) <= max(room, size_of(latest) + MIN_NOTES + 200)
        assert after.messages[0].role == "user"
    stayed = [message for message in once.messages if not is_notes(message)]
    assert once.dropped == len(messages) - len(stayed)
    assert once == compacted(messages, room)


@examples(200)
@given(st.lists(st.text()))
def test_a_list_is_read_as_it_was_written(given_texts: list[str]) -> None:
    wanted = [text.strip() for text in given_texts if "\r" not in text]
    lines = "\n".join(map(item, wanted)).split("\n")
    assert items(lines) == ([""] if wanted == [""] else wanted) or not wanted


# -------------------------------------------------------------------------------------------- facts


def test_what_is_open_stays_word_for_word() -> None:
    said = [
        *spoken("write_file", "made src/a.py, 10 lines", path="src/a.py", content="x" * 20_000),
        *spoken("run_command", "exit 1 after 0.3 s\n" + "noise\n" * 3_000, command="pytest -q"),
        *spoken(
            "edit_file", "error: `old` does not occur in b.py; nothing was written.", path="b.py", old="1", new="2"
        ),
        *spoken("edit_file", "edited src/a.py at line 7", path="src/a.py", old="1", new="2"),
        *spoken("run_command", "exit 0 after 9.0 s\n1 passed", command="pytest -q"),
        *spoken("run_command", "exit 2 after 0.1 s\nwhat", command="make\nall"),
        *spoken("run_command", "not run: the person answered instead:\nuse make deploy,\nplease", command="git push"),
        *spoken("run_command", "not run: it was not allowed: never | ever. Find", command="rm -rf build"),
        *LONG,
        TASK,
        Message("assistant", "the latest words"),
    ]
    after = compacted(said, 6_000)
    notes, task, *rest = after.messages
    assert task == TASK
    assert FEEDBACK in task.text
    assert rest == [said[-1]]
    assert is_notes(notes)
    for line in (
        "- edit src/a.py | edited src/a.py at line 7",
        "- run `pytest -q` | exit 0 after 9.0 s",
        "- run `make\n  all` | exit 2 after 0.1 s",
        "- edit b.py | error: `old` does not occur in b.py; nothing was written.",
        "- to `run `git push``: use make deploy,\n  please",
        "never | ever",
    ):
        assert f"{line}" in notes.text, notes.text
    assert "exit 1 after" not in notes.text
    assert "noise" not in notes.text
    assert after.dropped == len(said) - 2


def test_notes_are_taken_over_by_the_next_ones() -> None:
    said = [
        *spoken("write_file", "made a.py, 1 line", path="a.py", content="x"),
        *spoken("run_command", "exit 1 after 0.3 s", command="pytest -q"),
        *spoken("write_file", "error: no", path="b.py", content="x"),
        TASK,
    ]
    once = compacted([*said, Message("user", "x" * 9_000)], 5_000).messages
    later = [
        *once,
        agent_task(turn(3, feedback="green now")),
        *spoken("run_command", "exit 0 after 0.3 s", command="pytest -q"),
        *spoken("write_file", "made b.py, 1 line", path="b.py", content="x"),
        Message("user", "x" * 9_000),
    ]
    facts = Facts.of(compacted(later, 5_000).messages)
    assert facts.done == {
        "write a.py": "made a.py, 1 line",
        "run `pytest -q`": "exit 0 after 0.3 s",
        "write b.py": "made b.py, 1 line",
    }
    assert facts.open == {}
    assert facts.said == ["keep\n- the dashes\n\n## and this"]


def test_what_a_person_answered_in_an_earlier_turn_is_kept() -> None:
    assert answers_of(TASK) == ["keep\n- the dashes\n\n## and this"]
    later = agent_task(turn(3, feedback="other"))
    after = compacted([TASK, Message("assistant", "x" * 50_000), later], 5_000)
    assert "keep\n  - the dashes\n  \n  ## and this" in after.messages[0].text
    assert later in after.messages
    assert FEEDBACK not in after.messages[0].text


def test_too_many_facts_leave_the_person_s_words_for_last() -> None:
    said = [
        m for n in range(3_000) for m in spoken("run_command", f"exit 1 after {n} s", command=f"make {n} " + "x" * 90)
    ]
    refused = spoken("run_command", "not run: the person answered instead:\nmind the gap", command="go")
    [notes, task] = compacted([*refused, *said, *LONG, TASK], 4_000).messages
    assert task == TASK
    assert "mind the gap" in notes.text
    assert len(notes.text) < 3_000


def test_answers_that_are_too_long_by_themselves_keep_their_ends() -> None:
    wanted = tuple(ToolCall(f"c{n}", "read_file", "{}") for n in range(10))
    answers = [Message("tool", f"head {n} " + "x" * 50_000 + f" tail {n}", answers=f"c{n}") for n in range(10)]
    after = compacted([TASK, Message("assistant", "", wanted), *answers], 20_000).messages
    assert sum(map(size_of, after)) <= 20_000
    assert pairs_are_whole(after)
    for number, message in enumerate(after[-10:]):
        assert message.text.startswith(f"head {number} ")
        assert message.text.endswith(f" tail {number}")
        assert "characters cut" in message.text


# --------------------------------------------------------------------------------------- whole turns


async def test_a_thousand_calls_in_one_turn_have_bounded_prompts(agent: Agent) -> None:
    """Prompts stay within the window; the work for each call does not grow with their number."""
    agent.write("big.txt", "word " * 400)
    window = 16_000
    script = [
        *numbered(lambda n: use("read_file", path="big.txt", end_line=n + 1), 1_000),
        report("finished", "all read"),
    ]
    options = replace(OPTIONS, window=window)
    given_turn = turn(2, feedback=FEEDBACK)
    result = await agent.plays(script, given_turn, options, keep=False)
    assert result.claim.text == "all read"
    assert max(agent.model.sizes) <= 0.8 * 3.5 * window
    assert len(agent.context.conversation) < 100
    assert 30 < len(agent.context.compactions) < 120
    assert pairs_are_whole(agent.context.conversation)
    for messages, dropped in agent.context.compactions:
        assert dropped > 0
        assert any(FEEDBACK in m.text for m in messages)
        assert pairs_are_whole(messages)
        assert sum(map(size_of, messages)) < 0.45 * 3.5 * window


async def test_long_feedback_leaves_room_for_the_work(agent: Agent) -> None:
    agent.write("big.txt", "word " * 400)
    given_turn = turn(2, feedback="x" * 30_000)
    script = [*numbered(lambda n: use("read_file", path="big.txt", end_line=n + 1), 40), report()]
    await agent.plays(script, given_turn, replace(OPTIONS, window=16_000))
    assert max(agent.model.sizes) <= 0.8 * 3.5 * 16_000
    assert 2 < len(agent.context.compactions) < 20
    for request in agent.model.requests[1:]:
        assert any("x" * 30_000 in m.text for m in request.messages)
        assert "word word" in request.messages[-1].text


async def test_the_objective_stays_in_view_after_a_compaction(agent: Agent) -> None:
    agent.write("big.txt", "word " * 2_000)
    script = [*numbered(lambda n: use("read_file", path="big.txt", end_line=n + 1), 20), report()]
    await agent.plays(script, options=replace(OPTIONS, window=8_000))
    assert agent.context.compactions
    first, last = agent.model.requests[0], agent.model.requests[-1]
    assert last.messages[0] == first.messages[0]
    assert "read big.txt" in last.messages[1].text


async def test_what_a_person_said_in_this_turn_outlives_a_compaction(agent: Agent) -> None:
    agent.write("big.txt", "word " * 2_000)
    agent.context.answers = [Answer("text", "use the\nstaging server")]
    script = [
        use("run_command", command="deploy"),
        *numbered(lambda n: use("read_file", path="big.txt", end_line=n + 1), 20),
        report(),
    ]
    await agent.plays(script, options=replace(OPTIONS, window=8_000))
    assert len(agent.context.compactions) > 1
    assert "use the\n  staging server" in agent.model.requests[-1].messages[1].text


async def test_the_window_is_the_set_one_else_the_model_s_own(agent: Agent) -> None:
    agent.write("big.txt", "word " * 2_000)
    script = [*numbered(lambda n: use("read_file", path="big.txt", end_line=n + 1), 30), report()]
    await agent.plays(script, facts=ModelFacts(window=1_000_000))
    assert agent.context.compactions == []
    agent.context.said.clear()
    await agent.plays(script, facts=ModelFacts(window=8_000))
    assert agent.context.compactions != []


async def test_a_tokeniser_that_makes_more_of_it_is_learnt_from(agent: Agent) -> None:
    """One token for each byte: by the usual guess the prompts would be three times too long."""
    agent.write("big.txt", "word " * 2_000)

    def counted(request: object) -> object:
        number = len(agent.model.sizes)
        usage = Usage(agent.model.sizes[-1], 10)
        return calls(call("read_file", path="big.txt", end_line=number + 1), usage=usage) if number < 30 else report()

    await agent.plays([counted] * 40, options=replace(OPTIONS, window=32_000))
    assert max(agent.model.sizes) < 32_000


async def test_what_a_provider_adds_to_a_short_prompt_is_not_taken_for_its_tokens(agent: Agent) -> None:
    agent.write("big.txt", "word " * 2_000)

    def counted(request: object) -> object:
        number = len(agent.model.sizes)
        usage = Usage(agent.model.sizes[-1] // 4 + 3_000, 10)
        return calls(call("read_file", path="big.txt", end_line=number + 1), usage=usage) if number < 30 else report()

    await agent.plays([counted] * 40, options=replace(OPTIONS, window=200_000))
    assert agent.context.compactions == []


async def test_a_prompt_that_is_too_long_is_shortened_once(agent: Agent) -> None:
    agent.write("big.txt", "word " * 2_000)
    too_long = ModelFailed("maximum context length is 4096 tokens", "too_long")
    reads = list(numbered(lambda n: use("read_file", path="big.txt", end_line=n + 1), 8))
    await agent.plays([*reads, too_long, report()])
    assert agent.model.sizes[9] < agent.model.sizes[8] * 0.6
    assert [error for _, _, error in agent.context.calls.ended if error] == ["maximum context length is 4096 tokens"]
    with pytest.raises(WorkerFailed, match="larger window: maximum context"):
        await agent.plays([too_long, too_long, report()], turn(2))


async def test_a_window_that_was_found_smaller_stays_so(agent: Agent) -> None:
    """A model whose window nobody knew: 6,000 tokens of 4 bytes."""
    agent.write("big.txt", "word " * 2_000)

    def answer(request: object) -> object:
        number = len(agent.model.sizes)
        if agent.model.sizes[-1] > 24_000:
            return ModelFailed("too long", "too_long")
        return use("read_file", path="big.txt", end_line=number) if number < 60 else report()

    result = await agent.plays([answer] * 100)
    assert result.claim.text == "done"
    failed = [error for _, _, error in agent.context.calls.ended if error]
    assert 1 <= len(failed) <= 3


async def test_words_without_calls_are_kept_too(agent: Agent) -> None:
    await agent.plays([use("list_files"), says("first turn done")])
    await agent.plays([report()], turn(2, feedback="R1 is red"))
    roles = [m.role for m in agent.model.requests[0].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert isinstance(agent.model, ScriptedModel)


def test_a_command_that_failed_and_was_not_repeated_outlasts_those_that_went_well() -> None:
    messages: list[Message] = []
    for number in range(60):
        call = ToolCall(f"t{number}", "run_command", json.dumps({"command": f"step {number}"}))
        messages.append(Message("assistant", "", (call,)))
        ended = "exit 1 after 0.1 s" if number == 0 else "exit 0 after 0.1 s"
        messages.append(Message("tool", f"{ended}\nout", (), call.id))
    text = Facts.of(messages).message(3_000).text
    assert "run `step 0` | exit 1 after 0.1 s" in text
    assert "step 59" in text
