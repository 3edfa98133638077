"""The agent's tool that runs commands: bounded, allowed by a person, seen by the server."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core.plugging import ToolOutcome, ToolUse
from donewhen.core.work import Answer
from donewhen.ports import ToolDoer
from tests.tools import runs

from .agent_models import ScriptedModel, report, use
from .agent_turns import OPTIONS, Agent, agent_in
from .test_all_workers import CHILDREN
from .turns import python, turn


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return agent_in(tmp_path)


async def told(agent: Agent, command: str, window: int | None = None, **more: object) -> str:
    options = replace(OPTIONS, window=window)
    await agent.plays([use("run_command", command=command, **more), report()], options=options)
    return agent.told[0]


async def test_the_server_sees_the_command_run(agent: Agent) -> None:
    text = await told(agent, "echo out; echo err >&2; exit 3")
    assert text.startswith("exit 3 after 0.")
    assert "out\nerr" in text
    [seen] = agent.context.observed
    assert (seen.command, seen.exit_code, seen.output) == ("echo out; echo err >&2; exit 3", 3, "out\nerr\n")
    assert seen.seconds >= 0
    assert agent.context.steps[0].ok is False


async def test_what_it_prints_is_shown_as_it_comes(agent: Agent) -> None:
    await told(agent, "echo first; echo last")
    assert "first\nlast\n" in agent.context.streamed


async def test_it_runs_in_the_root_without_input(agent: Agent) -> None:
    assert f"{agent.root}\n0" in await told(agent, "pwd; wc -c")


@pytest.mark.conformance("A12")
async def test_long_output_keeps_head_and_tail(agent: Agent) -> None:
    flood = python("print('first'); print('x' * 3_000_000); print('last')")
    text = await told(agent, flood, window=200_000)
    assert len(text) < 31_000
    assert "\nfirst\n" in text
    assert text.endswith("last")
    assert "cut" in text
    [seen] = agent.context.observed
    assert len(seen.output) < 4_100
    assert seen.output.startswith("first\n")
    assert seen.output.endswith("last\n")


async def test_output_is_bounded_by_the_model_s_window(agent: Agent) -> None:
    assert len(await told(agent, python("print('y' * 100_000)"), window=8_000)) < 4_000


async def test_a_command_that_takes_too_long_is_ended(agent: Agent) -> None:
    begun = time.monotonic()
    text = await told(agent, "echo begun; sleep 600", timeout_seconds=0.5)
    assert time.monotonic() - begun < 20
    assert text.startswith("timed out and was ended")
    assert text.endswith("begun")
    [seen] = agent.context.observed
    assert seen.exit_code is None


async def test_a_command_that_is_killed_says_so(agent: Agent) -> None:
    assert (await told(agent, "kill -9 $$")).startswith("killed by signal 9")


async def test_what_it_leaves_behind_is_ended(agent: Agent) -> None:
    (agent.root / "children.py").write_text(CHILDREN)
    wait = "while [ ! -f pids ]; do sleep 0.01; done; cat pids"
    text = await told(agent, f"{shlex.quote(sys.executable)} children.py & {wait}")
    pids = [int(pid) for pid in text.splitlines()[-1].split()]
    assert len(pids) == 2
    assert [pid for pid in pids if runs(pid)] == []


@pytest.mark.conformance("A2")
async def test_a_command_waits_for_leave(agent: Agent) -> None:
    agent.model = ScriptedModel([use("run_command", command="echo run > ran"), report()])
    opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def gate(use: ToolUse, do: ToolDoer) -> ToolOutcome:
        agent.context.activity("asked")
        await opened
        return await do(use)

    agent.context.wrap = gate
    working = asyncio.create_task(agent.worker().work(turn(), agent.context))
    await agent.context.hears("asked")
    assert not (agent.root / "ran").exists()
    assert agent.context.observed == []
    opened.set_result(None)
    await working
    assert (agent.root / "ran").exists()


async def test_a_command_is_shown_before_it_runs(agent: Agent) -> None:
    await told(agent, "git push\n--force")
    shown = agent.context.uses[0]
    assert (shown.tool, shown.input) == ("run_command", {"command": "git push\n--force"})
    assert shown.preview == "git push\n--force"
    assert shown.summary == "run `git push --force`"
    assert shown.call_id == "c-run_command-0"
    assert not shown.sensitive


async def test_what_a_person_does_not_allow_is_not_run(agent: Agent) -> None:
    agent.context.answers = [Answer("deny", reason="never push")]
    assert (await told(agent, "echo x > ran")).startswith("not run: it was not allowed: never push")
    assert not (agent.root / "ran").exists()
    assert agent.context.observed == []
    assert [step.ok for step in agent.context.steps] == [False, True]


async def test_a_person_s_own_command_runs_instead(agent: Agent) -> None:
    agent.context.answers = [Answer("edit", input={"command": "echo theirs"})]
    text = await told(agent, "echo mine")
    assert "the person changed the command; this ran instead: echo theirs\ntheirs" in text
    assert [seen.command for seen in agent.context.observed] == ["echo theirs"]


async def test_times_in_the_output_do_not_hide_a_circle(agent: Agent) -> None:
    slow = python("import time; print(f'1 failed in {time.perf_counter():.7f}s')") + "; exit 1"
    script = [use("run_command", command=slow)] * 20
    result = await agent.plays(script)
    assert "same calls" in result.claim.text
    assert len(agent.model.requests) == 6


@pytest.mark.conformance("A2")
@pytest.mark.parametrize("edited", [{"command": " "}, {"command": 7}, {"cmd": "echo safe"}, {"shell": "bash"}])
async def test_a_call_that_was_changed_to_none_is_not_run(agent: Agent, edited: dict[str, object]) -> None:
    agent.context.answers.append(Answer("edit", input=edited))
    text = await told(agent, "echo run > ran")
    assert text.startswith("error: not done: the call was changed to one that can't be made")
    assert not (agent.root / "ran").exists()
    assert agent.context.observed == []
