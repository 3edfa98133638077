"""The agent's tool that runs commands: bounded, allowed by a person, seen by the server."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core.work import Answer

from .agent_models import ScriptedModel, report, use
from .agent_turns import OPTIONS, Agent, agent_in
from .test_all_workers import CHILDREN, _alive
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
    assert time.monotonic() - begun < 5
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
    assert [pid for pid in pids if _alive(pid)] == []


@pytest.mark.conformance("A2")
async def test_a_command_waits_for_leave(agent: Agent) -> None:
    agent.model = ScriptedModel([use("run_command", command="echo run > ran"), report()])
    opened: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    async def permit(interrupt: object) -> Answer:
        agent.context.activity("asked")
        return await opened

    agent.context.permit = permit  # pyright: ignore[reportAttributeAccessIssue]
    working = asyncio.create_task(agent.worker().work(turn(), agent.context))
    await agent.context.hears("asked")
    assert not (agent.root / "ran").exists()
    assert agent.context.observed == []
    opened.set_result(Answer("approve"))
    await working
    assert (agent.root / "ran").exists()


async def test_the_question_shows_the_command(agent: Agent) -> None:
    await told(agent, "git push\n--force")
    [asked] = agent.context.asked
    assert (asked.kind, asked.about, asked.tool) == ("approval", "tool:run_command", "run_command")
    assert asked.input == {"command": "git push\n--force"}
    assert asked.preview == "git push\n--force"
    assert asked.title == "Run `git push --force`?"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer("deny", reason="never push"), "not run: it was not allowed: never push"),
        (Answer("deny"), "not run: it was not allowed."),
        (Answer("text", "use make deploy"), "not run: the person answered instead:\nuse make deploy"),
    ],
    ids=["reason", "bare", "text"],
)
async def test_what_a_person_does_not_allow_is_not_run(agent: Agent, answer: Answer, said: str) -> None:
    agent.context.answers = [answer]
    text = await told(agent, "echo x > ran")
    assert text.startswith(said)
    assert not (agent.root / "ran").exists()
    assert agent.context.observed == []


@pytest.mark.parametrize("answer", [Answer("edit", input={"command": "echo theirs"}), Answer("edit", "echo theirs")])
async def test_a_person_s_own_command_runs_instead(agent: Agent, answer: Answer) -> None:
    agent.context.answers = [answer]
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
@pytest.mark.parametrize("edited", [{}, {"command": " "}, {"command": 7}, {"cmd": "echo safe"}])
async def test_a_command_that_the_person_took_away_does_not_run(agent: Agent, edited: dict[str, object]) -> None:
    agent.context.answers.append(Answer("edit", input=edited))
    text = await told(agent, "echo run > ran")
    assert text.startswith("not run: the person changed it")
    assert not (agent.root / "ran").exists()
    assert agent.context.observed == []
