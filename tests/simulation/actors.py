"""Who works and who judges on the simulated machine: badly, late, too much, or not at all."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from donewhen.core.errors import JudgeOutage, WorkerFailed, WorkspaceError
from donewhen.core.evidence import ObservedDiff, ObservedFile
from donewhen.core.verdict import Finding, RequirementVerdict, Verdict
from donewhen.core.work import Claim, Interrupt, TurnResult, Usage
from donewhen.ports import AuditContext, Calls, Judgement, JudgeTask, Turn, TurnContext
from tests.simulation.scenario import GOAL_FILE, PROTECTED

if TYPE_CHECKING:
    from tests.simulation.machine import Machine, Process

PRICE = 0.001
"""US dollars for a token."""


async def call_model(machine: Machine, run_id: str, calls: Calls) -> None:
    """One call to a model. Raises OverBudget where it may not be made, and WorkerFailed in an outage."""
    tokens = machine.random.randint(5, 60)
    prompt, worst = Usage(tokens, 0, usd=tokens * PRICE), Usage(tokens, 100, usd=(tokens + 100) * PRICE)
    number = await calls.begin("simulated/model", prompt, worst)
    await machine.pause(0.1)
    if machine.chance(machine.scenario.outage / 3):
        await calls.end(number, prompt, error="the model is down")
        raise WorkerFailed("the model is down")
    said = machine.random.randint(1, 100)
    await calls.end(number, Usage(tokens, said, usd=(tokens + said) * PRICE))
    machine.calls_recorded.append((run_id, number))


class SimulatedWorker:
    """`ports.Worker`."""

    name = "command"

    def __init__(self, machine: Machine, process: Process, *, waits_for_person: bool) -> None:
        self._machine = machine
        self._process = process
        self.waits_for_person = waits_for_person

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        machine = self._machine
        machine.begins(turn)
        if self.waits_for_person:
            await context.settled()
            return TurnResult(usage=Usage())
        name = (self._process, turn.iteration)
        machine.turns.append(name)
        try:
            with machine.working():
                await self._works(turn.run_id, context)
            if machine.chance(0.05):
                await context.ask(Interrupt("", "question", "May I go on?", "worker"))
        finally:
            if self._process.alive:
                machine.turns.remove(name)
        return TurnResult(self._claim(), Usage(), summary="it worked")

    async def _works(self, run_id: str, context: TurnContext) -> None:
        machine, scenario = self._machine, self._machine.scenario
        if scenario.metered:
            for _ in range(machine.random.randint(0, 2)):
                await call_model(machine, run_id, context.calls)
        if machine.chance(scenario.defect):
            raise RuntimeError("a defect of the worker")
        for _ in range(machine.random.randint(0, 2)):
            await machine.pause(0.2)
            self._writes(machine.random.choice(("a.py", "b.py")), machine.content(machine.chance(scenario.skill)))
        if machine.chance(scenario.hanging):
            await asyncio.sleep(1e6)
        if machine.chance(scenario.mischief):
            goal_file = b"%d of the worker's own\n" % machine.random.randint(0, 2)
            path, data = machine.random.choice(((GOAL_FILE, goal_file), (PROTECTED, machine.content(False))))
            self._writes(path, data)
        if machine.chance(scenario.failing):
            raise WorkerFailed("it failed", final=machine.chance(0.1))

    def _writes(self, path: str, data: bytes) -> None:
        if self._process.alive:
            self._machine.edit(path, data, "the worker")

    def _claim(self) -> Claim:
        if self._machine.random.random() > 0.08:
            return Claim()
        return Claim(self._machine.random.choice(("blocked", "impossible", "question")), "it says so")


class SimulatedJudge:
    """`ports.Judge`: honest, or one of several kinds of nonsense."""

    identity = "simulated"

    def __init__(self, machine: Machine, process: Process) -> None:
        self._machine = machine
        self._process = process

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        machine = self._machine
        await machine.pause(0.1)
        if machine.chance(machine.scenario.outage):
            raise JudgeOutage("the judge is down", final=machine.chance(0.05))
        with suppress(WorkerFailed):
            await call_model(machine, task.run_id, context.calls)
        if task.claim is not None:
            return Judgement(None, Usage(), confirmed=machine.random.choice((True, False, None)))
        await self._looks(context)
        kinds = ("honest", "gullible", "refusing", "undecided", "garbage", "hostile")
        kind = machine.scenario.judge if machine.scenario.judge != "mixed" else machine.random.choice(kinds)
        if kind == "garbage":
            return Judgement(None, Usage(), reason="the reply could not be read")
        return Judgement(self._verdict(task, kind or "honest"), Usage())

    async def _looks(self, context: AuditContext) -> None:
        """What it is shown is on record, so that it can be cited."""
        self._shown: list[str] = []
        with suppress(WorkspaceError):
            diff = ObservedDiff("start", tuple(await context.changed()), await context.diff())
            self._shown.append((await context.record(diff)).id)
            content = await context.read("a.py")
            seen = ObservedFile("a.py", "", len(content), content.decode())
            self._shown.append((await context.record(seen)).id)

    def _verdict(self, task: JudgeTask, kind: str) -> Verdict:
        cited = (*(evidence.id for evidence in task.evidence), *self._shown)
        if kind == "hostile":
            cited = ("E999999",)
        finding: Finding = "met"
        if kind in ("refusing", "undecided"):
            finding = "unmet" if kind == "refusing" else "unverified"
        elif kind == "honest" and not self._machine.passes("alpha"):
            finding = "unmet"
        found = [RequirementVerdict(one.id, finding, f"{kind}", cited) for one in task.requirements]
        if kind == "hostile":
            found.append(RequirementVerdict("r-invented", "met", "and this one", ("E1",)))
        return Verdict(tuple(found))
