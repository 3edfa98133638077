"""A turn of the agent that was halted goes on where it stood, and one that a critic sends back with their words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.plugging import Halt, ResumeDirective, ToolOutcome, ToolUse
from donewhen.core.work import Claim, TurnResult, Usage
from donewhen.ports import ModelReply, ToolDoer
from donewhen.workers.prompt import agent_task

from .agent_models import call, calls, report, says, use
from .agent_turns import Agent, AgentContext, Wrapper, agent_in
from .turns import turn


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    (tmp_path / "work").mkdir()
    return agent_in(tmp_path / "work")


def halting(tool: str = "run_command") -> Wrapper:
    """A wrapper that halts the loop before the first call of the tool."""

    async def wrap(given: ToolUse, do: ToolDoer) -> ToolOutcome:
        if given.tool == tool:
            raise Halt("wait")
        return await do(given)

    return wrap


async def halted(agent: Agent, *replies: ModelReply, at: str = "run_command") -> tuple[Message, ...]:
    """Plays until the halt; what was said by then. Its context is another one afterwards, as in another process."""
    agent.context.wrap = halting(at)
    with pytest.raises(Halt):
        await agent.plays(replies)
    said = agent.context.conversation
    agent.context = AgentContext(agent.context.workspace, said=list(said))
    return said


async def resumed(agent: Agent, *replies: ModelReply, **directive: object) -> TurnResult:
    return await agent.plays(replies, turn(1, resume=ResumeDirective(**directive)))


def line(name: str) -> ToolCall:
    return call("run_command", command=f"echo {name} >> ran")


# ------------------------------------------------------------------------------------------ resuming


@pytest.mark.conformance("C23")
async def test_c23_what_is_left_is_done_and_nothing_else(agent: Agent) -> None:
    asked = calls(
        call("write_file", path="a.txt", content="a\n"), line("x"), call("read_file", path="a.txt"), line("y")
    )
    said = await halted(agent, asked)
    assert [one.role for one in said] == ["user", "assistant", "tool"]
    (agent.root / "a.txt").write_text("a, and more\n")
    result = await resumed(agent, report("finished", "both ran"))
    assert result.claim.text == "both ran"
    assert agent.text("ran") == "x\ny\n"
    assert agent.text("a.txt") == "a, and more\n"
    assert [one.tool for one in agent.context.uses] == ["run_command", "read_file", "run_command", "report"]
    [request] = agent.model.requests
    assert request.messages[1 : 1 + len(said)] == said
    assert [one.answers for one in request.messages[3:]] == [one.id for one in said[1].calls]


@pytest.mark.conformance("C23")
async def test_c23_what_is_completed_is_answered_and_not_done(agent: Agent) -> None:
    said = await halted(agent, calls(line("x"), line("y")))
    first, _ = said[-1].calls
    done = {first.id: ToolOutcome("exit 0 after 1.0 s\nby hand", "ran by hand"), "another": ToolOutcome("?", "?")}
    await resumed(agent, report(), completed=done)
    assert agent.text("ran") == "y\n"
    assert agent.told[0] == "exit 0 after 1.0 s\nby hand"
    assert agent.context.steps[0].summary == "ran by hand"
    assert [name for name, _ in agent.context.started] == ["run_command", "report"]


@pytest.mark.conformance("C23")
async def test_c23_a_completed_report_ends_the_turn(agent: Agent) -> None:
    said = await halted(agent, report(), at="report")
    done = {said[-1].calls[0].id: ToolOutcome("noted", "report", claim=Claim("blocked", "by hand"))}
    for skip in (True, False):
        agent.context = AgentContext(agent.context.workspace, said=list(said))
        result = await resumed(agent, completed=done, skip_model_call=skip)
        assert (result.claim.state, result.claim.text) == ("blocked", "by hand")
        assert agent.model.requests == []


@pytest.mark.conformance("C23")
async def test_c23_without_skipping_the_model_is_asked_again_and_nothing_is_done(agent: Agent) -> None:
    said = await halted(agent, calls(call("write_file", path="a.txt", content="a\n"), line("x"), line("y")))
    done = {said[1].calls[2].id: ToolOutcome("exit 0 after 1.0 s", "ran by hand")}
    await resumed(agent, report(), skip_model_call=False, completed=done)
    assert agent.told[1:3] == ["error: not done: the turn was halted", "exit 0 after 1.0 s"]
    assert not (agent.root / "ran").exists()
    [request] = agent.model.requests
    assert [one.answers for one in request.messages[3:]] == [one.id for one in said[1].calls]


@pytest.mark.conformance("C23")
async def test_c23_a_restored_message_takes_the_place_of_the_last_one(agent: Agent) -> None:
    said = await halted(agent, use("list_files"), calls(call("list_files"), line("x")))
    kept, changed = said[3].calls
    other = ToolCall(changed.id, "run_command", '{"command": "echo other >> ran"}')
    await resumed(agent, report(), restore_message=Message("assistant", "Rather so.", (kept, other)))
    assert agent.text("ran") == "other\n"
    assert agent.context.compactions[0][1] == 0
    assert agent.context.conversation[3].text == "Rather so."
    assert [one.answers for one in agent.context.conversation[4:6]] == [kept.id, changed.id]
    assert [one.tool for one in agent.context.uses] == ["run_command", "report"]


@pytest.mark.conformance("C23")
async def test_c23_answers_to_calls_that_were_taken_back_go_with_them(agent: Agent) -> None:
    await halted(agent, calls(call("list_files"), line("x")))
    await resumed(agent, report(), restore_message=Message("assistant", "", (ToolCall("new", "list_files", "{}"),)))
    answered = [one.answers for one in agent.model.requests[0].messages if one.role == "tool"]
    assert answered == ["new"]
    assert not (agent.root / "ran").exists()


@pytest.mark.conformance("C23", "C13")
async def test_c23_a_restored_message_is_kept_without_secrets(agent: Agent) -> None:
    agent.mask = lambda text: text.replace("hunter2", "[masked]")
    await halted(agent, calls(line("x")))
    await resumed(agent, restore_message=Message("assistant", "It is hunter2."))
    assert agent.context.conversation[-1].text == "It is [masked]."


@pytest.mark.conformance("C23")
async def test_c23_a_message_in_words_ends_the_turn_unless_the_model_is_to_be_asked(agent: Agent) -> None:
    said = await halted(agent, calls(line("x")))
    result = await resumed(agent, restore_message=Message("assistant", "All is done."))
    assert (result.claim, agent.model.requests) == (Claim("finished", "All is done."), [])
    agent.context = AgentContext(agent.context.workspace, said=list(said))
    message = Message("assistant", "All is done.")
    result = await resumed(agent, report("finished", "now"), restore_message=message, skip_model_call=False)
    assert result.claim.text == "now"
    assert agent.model.requests[0].messages[-1].role == "user"


@pytest.mark.conformance("C23")
async def test_c23_a_turn_that_never_began_begins(agent: Agent) -> None:
    await resumed(agent, report())
    assert agent.model.requests[0].messages[1] == agent_task(turn(1))


@pytest.mark.conformance("C23")
async def test_c23_it_can_be_halted_again_and_again(agent: Agent) -> None:
    said: Sequence[Message] = await halted(agent, calls(line("x"), line("y")))
    for _ in range(3):
        agent.context.wrap = halting()
        with pytest.raises(Halt):
            await resumed(agent)
        assert agent.context.conversation == said
    agent.context.wrap = None
    await resumed(agent, report())
    assert agent.text("ran") == "x\ny\n"


@pytest.mark.conformance("C23")
async def test_c23_calls_with_the_same_id_are_told_apart_by_their_order(agent: Agent) -> None:
    twins = [ToolCall("same", one.name, one.arguments) for one in (call("list_files"), line("x"), line("y"))]
    await halted(agent, ModelReply(Message("assistant", "", tuple(twins)), Usage(100, 10)))
    await resumed(agent, report())
    assert agent.text("ran") == "x\ny\n"
    assert [one.tool for one in agent.context.uses] == ["run_command", "run_command", "report"]


# --------------------------------------------------------------------------------- files it had seen


@pytest.mark.conformance("C23")
@pytest.mark.parametrize("name", ["unix.txt", "dos.txt"])
async def test_c23_a_file_that_it_had_read_can_be_replaced_after_it(agent: Agent, name: str) -> None:
    agent.write(name, "one\r\ntwo\r\n" if name == "dos.txt" else "one\ntwo\n")
    pending = call("write_file", path=name, content="three\n")
    await halted(agent, use("read_file", path=name), calls(line("x"), pending))
    await resumed(agent, report())
    assert agent.told[2].startswith("wrote ")
    assert agent.text(name).strip() == "three"


@pytest.mark.conformance("C23")
async def test_c23_it_is_known_as_its_own_changes_left_it(agent: Agent) -> None:
    agent.write("a.txt", "one\ntwo\n")
    await halted(
        agent,
        use("read_file", path="a.txt"),
        use("edit_file", path="a.txt", old="one\n", new="1\n"),
        use("write_file", path="b.txt", content="b\n"),
        use("write_file", path="b.txt", content="bb\n"),
        use("run_command", command="true"),
    )
    await resumed(
        agent,
        use("write_file", path="a.txt", content="new a\n"),
        use("write_file", path="b.txt", content="new b\n"),
        report(),
    )
    assert (agent.text("a.txt"), agent.text("b.txt")) == ("new a\n", "new b\n")


@pytest.mark.conformance("C23", "A20")
@pytest.mark.parametrize("how", ["write_file", "edit_file"])
async def test_c23_what_a_person_changed_during_the_halt_is_kept(agent: Agent, how: str) -> None:
    agent.write("a.txt", "one\n")
    wanted = {
        "write_file": call("write_file", path="a.txt", content="mine\n"),
        "edit_file": call("edit_file", path="a.txt", old="one", new="mine"),
    }
    await halted(agent, use("read_file", path="a.txt"), calls(call("run_command", command="true"), wanted[how]))
    agent.write("a.txt", "one\nby a person\n")
    await resumed(agent, report())
    assert "changed since you read it" in agent.told[2]
    assert "by a person" in agent.told[2]
    assert agent.text("a.txt") == "one\nby a person\n"


@pytest.mark.conformance("C23", "A20")
async def test_c23_what_was_deleted_during_the_halt_is_not_made_again(agent: Agent) -> None:
    path = agent.write("a.txt", "one\n")
    pending = call("write_file", path="a.txt", content="mine\n")
    await halted(agent, use("read_file", path="a.txt"), calls(call("run_command", command="true"), pending))
    path.unlink()
    await resumed(agent, report())
    assert "was deleted since you read it" in agent.told[2]
    assert not path.exists()


@pytest.mark.conformance("C23", "A20")
async def test_c23_a_file_that_it_saw_in_part_can_be_changed_as_without_a_halt(agent: Agent) -> None:
    agent.write("a.txt", "".join(f"line {n}\n" for n in range(10)))
    edit = call("edit_file", path="a.txt", old="line 7\n", new="seven\n")
    write = call("write_file", path="a.txt", content="all of it\n")
    await halted(
        agent,
        use("read_file", path="a.txt", end_line=5),
        calls(call("run_command", command="true"), edit, write),
    )
    await resumed(agent, report())
    assert agent.told[2].startswith("edited a.txt at line 8")
    assert agent.text("a.txt") == "all of it\n"


# ------------------------------------------------------------------------------------------- critics


@pytest.mark.conformance("C17")
async def test_c17_a_turn_that_is_sent_back_goes_on_with_the_critic_s_words(agent: Agent) -> None:
    agent.write("a.txt", "one\n")
    await agent.plays([use("read_file", path="a.txt"), report("finished", "first")])
    before = agent.context.conversation
    again = turn(1, feedback="Say it in French.\n- twice", refinement=1)
    result = await agent.plays([use("write_file", path="a.txt", content="un\n"), says("Fait.")], again)
    assert result.claim.text == "Fait."
    first = agent.model.requests[0].messages
    assert first[1 : 1 + len(before)] == before
    assert len(first) == len(before) + 2
    assert "Say it in French.\n- twice" in first[-1].text
    assert "R1" not in first[-1].text
    assert agent.text("a.txt") == "un\n"


@pytest.mark.conformance("C17", "C23")
async def test_c17_a_turn_that_was_sent_back_may_be_halted_and_goes_on(agent: Agent) -> None:
    await agent.plays([report("finished", "first")])
    agent.context.wrap = halting()
    again = turn(1, feedback="Run it.", refinement=1)
    with pytest.raises(Halt):
        await agent.plays([calls(line("x"))], again)
    agent.context.wrap = None
    await resumed(agent, report())
    assert agent.text("ran") == "x\n"
    assert sum("Run it." in one.text for one in agent.model.requests[0].messages) == 1
