"""What a model judge is sent over ten audits of five commands each, and how long a proof lasts: no timing, exact."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from donewhen.core.events import JudgeOptions
from donewhen.core.evidence import ObservedCommand
from donewhen.core.goal import Goal, Limits, Requirement
from donewhen.core.work import TurnResult
from donewhen.judges.llm import LlmJudge
from donewhen.ports import ModelRequest, Turn, TurnContext
from tests.engine.world import GOAL, World, ended
from tests.judges.models import ScriptedModel, entry, verdict

AUDITS, CALLS = 10, 5
OUTPUT = "".join(f"{n:049d}\n" for n in range(40))  # 2 KB
ROUNDS = Goal(
    "Rounds",
    "All rounds are done",
    (Requirement("r-1", 1, "All rounds are done", files=("log.txt",)),),
    Limits(max_iterations=AUDITS, stall_after=None),
    path=GOAL,
)


class Rounds:
    """Runs its commands. The first of a turn appends to a file, with `every` all of them do: what ran before is older
    than the last edit then."""

    name = "agent"
    waits_for_person = False

    def __init__(self, world: World, every: bool, calls: int) -> None:
        self._world, self._every, self._calls = world, every, calls

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        for number in range(self._calls):
            command = f"python step.py {turn.iteration} {number}"
            if number == 0 or self._every:
                log = (self._world.workspace.read("log.txt") or b"") + b"."
                self._world.workspace.edit("log.txt", log)

            async def ran(command: str = command) -> ObservedCommand:
                return ObservedCommand(command, 0, 0.1, OUTPUT)

            await context.observe(ran())
        return TurnResult()


async def audits(folder: Path, *, every: bool, count: int = AUDITS, calls: int = CALLS) -> list[ModelRequest]:
    """What the judge was sent: one request for each audit, since it decides at once."""
    world = World(folder)
    world.goals[GOAL] = ROUNDS
    sent: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        sent.append(request)
        cited = re.findall(r'id="(E\d+)"', request.messages[1].text)[:1]
        return verdict(entry("R1", "met" if len(sent) == count else "unmet", cited))

    world.worker = Rounds(world, every, calls)  # type: ignore[assignment]
    world.judge = LlmJudge(ScriptedModel(*[answer] * count), JudgeOptions(("scripted/judge",)))
    supervisor = world.supervisor()
    try:
        view = await ended(supervisor, (await supervisor.start(GOAL)).state.run_id)
    finally:
        await world.close()
    assert view.state.status == "complete", view.state.lifecycle.reason
    return sent


def sent_text(request: ModelRequest) -> str:
    """All that is sent, in the form of the OpenAI API."""
    tools = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in request.tools
    ]
    messages = [{"role": message.role, "content": message.text} for message in request.messages]
    return json.dumps({"messages": messages, "tools": tools}, ensure_ascii=False)


def measure() -> dict[str, Any]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    encoding: Any = litellm.encoding  # type: ignore[attr-defined]
    found: dict[str, Any] = {}
    for every in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            texts = [sent_text(request) for request in asyncio.run(audits(Path(folder), every=every))]
        tokens = [len(encoding.encode(text)) for text in texts]
        name = "each command edits a file" if every else "the first command of a turn edits a file"
        found[f"judge's tokens over {AUDITS} audits of {CALLS} commands, {name}"] = (
            f"{sum(tokens):,} ({min(tokens):,} to {max(tokens):,} an audit, {sum(map(len, texts)):,} bytes)"
        )
    for calls in (10, 100, 1_000):
        with tempfile.TemporaryDirectory() as folder:
            (request,) = asyncio.run(audits(Path(folder), every=False, count=1, calls=calls))
        found[f"judge's prompt after {calls:,} commands of 2 KB that edit nothing"] = (
            f"{len(sent_text(request)):,} bytes"
        )
    return found
