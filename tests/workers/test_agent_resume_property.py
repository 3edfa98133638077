"""However often, and wherever, a turn of the agent is halted: what it does is what it would have done without."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.plugging import Halt, ResumeDirective, ToolOutcome, ToolUse
from donewhen.ports import ModelReply, PluginHost, PluginTool, ToolDoer, ToolSpec
from tests.tools import examples

from .agent_models import ScriptedModel, call, calls, report
from .agent_turns import Agent, AgentContext, agent_in
from .turns import turn

Moment = Literal["go", "before", "after"]
STEP = ToolSpec("step", "Counts.", {"type": "object", "properties": {"number": {"type": "integer"}}})

replies = st.lists(st.integers(1, 4), min_size=1, max_size=4)
moments = st.lists(st.sampled_from(["go", "before", "after"]), max_size=30)


class Stage:
    """One run of the agent in as many processes as it takes: what is kept between them is what the engine keeps."""

    def __init__(self, root: Path, script: list[ModelReply], moments: Iterator[Moment]) -> None:
        self.agent: Agent = agent_in(root)
        self.model = ScriptedModel(script)
        self.done: list[int] = []
        self._moments = moments
        self._completed: dict[str, ToolOutcome] = {}

    async def play(self) -> str:
        """The claim that the turn ends with, after all halts."""
        self.agent.model = self.model
        directive: ResumeDirective | None = None
        while True:
            said = list(self.agent.context.said)
            self.agent.context = AgentContext(self.agent.context.workspace, said=said, wrap=self._wrap)
            self.agent.context.tools = [PluginTool("counter", STEP, self._step)]
            try:
                return (await self.agent.worker().work(turn(1, resume=directive), self.agent.context)).claim.text
            except Halt:
                directive = ResumeDirective(completed=dict(self._completed))
                self._completed.clear()

    async def _step(self, host: PluginHost, use: ToolUse) -> ToolOutcome:
        self.done.append(use.input["number"])
        return ToolOutcome(f"step {use.input['number']}", "a step")

    async def _wrap(self, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        moment = next(self._moments, "go")
        if moment == "before":
            raise Halt("before")
        outcome = await do(use)
        if moment == "after":
            self._completed[use.call_id] = outcome
            raise Halt("after")
        return outcome


@pytest.mark.conformance("C23")
@examples(60)
@given(replies, moments, st.booleans())
def test_c23_halts_change_nothing_of_what_is_done(counts: list[int], halts: list[Moment], same_ids: bool) -> None:
    script: list[ModelReply] = []
    expected = 0
    for count in counts:
        ids = "same" if same_ids else f"r{len(script)}"
        script.append(calls(*(call("step", id=ids, number=expected + at) for at in range(count))))
        expected += count
    script.append(report("finished", "all steps"))
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), script, iter(halts))
        claim = asyncio.run(stage.play())
    assert claim == "all steps"
    assert stage.done == list(range(expected))
    assert len(stage.model.requests) == len(script)
    told = [one.text for one in stage.agent.context.said if one.role == "tool"]
    assert told == [*(f"step {number}" for number in range(expected)), "noted; the turn ends"]
