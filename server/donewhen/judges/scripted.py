"""Judges without a model: for tests, demonstrations, and as the smallest examples of the port."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from donewhen.core.errors import JudgeOutage
from donewhen.core.verdict import Finding, RequirementVerdict, Verdict
from donewhen.core.work import Usage
from donewhen.ports import AuditContext, Judgement, JudgeTask

Reply = Judgement | Verdict


class CallableJudge:
    """Asks a Python callable, sync or async. A bare Verdict counts as a judgement without cost."""

    def __init__(self, ask: Callable[[JudgeTask], Reply | Awaitable[Reply]], identity: str = "callable") -> None:
        self._ask = ask
        self._identity = identity
        self.tasks: list[JudgeTask] = []
        """The tasks so far, oldest first."""

    @property
    def identity(self) -> str:
        return self._identity

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        """The callable's reply. Its JudgeOutage passes through; any other exception is a defect of the callable."""
        self.tasks.append(task)
        reply = self._ask(task)
        if inspect.isawaitable(reply):
            reply = await reply
        return Judgement(reply, Usage()) if isinstance(reply, Verdict) else reply


class OutageJudge:
    """Unreachable for the first `times` calls (None: always), then asks `then`."""

    def __init__(
        self, times: int | None = None, then: CallableJudge | None = None, reason: str = "the judge is unreachable"
    ) -> None:
        self._left = times
        self._then = then or gullible_judge()
        self._reason = reason
        self.calls = 0

    @property
    def identity(self) -> str:
        return f"outage then {self._then.identity}"

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        """Raises JudgeOutage while the outage lasts."""
        self.calls += 1
        if self._left is None or self.calls <= self._left:
            raise JudgeOutage(self._reason)
        return await self._then.judge(task, context)


def gullible_judge() -> CallableJudge:
    """Finds everything met, and cites all evidence that it was given."""
    return CallableJudge(lambda task: uniform_verdict(task, "met", "it looks done"), "gullible")


def refusing_judge(reason: str = "the evidence does not show it") -> CallableJudge:
    """Finds nothing met."""
    return CallableJudge(lambda task: uniform_verdict(task, "unmet", reason), "refusing")


def undecided_judge(reason: str = "the evidence does not decide it") -> CallableJudge:
    """Finds that nothing can be verified."""
    return CallableJudge(lambda task: uniform_verdict(task, "unverified", reason), "undecided")


def garbage_judge(reason: str = "the reply could not be read: '<<<yes!!'") -> CallableJudge:
    """Answers with something that is not a verdict."""
    return CallableJudge(lambda _: Judgement(None, Usage(), reason=reason), "garbage")


def hostile_judge() -> CallableJudge:
    """Says that everything is met, and cites evidence that does not exist and requirements that were not asked
    about."""

    def ask(task: JudgeTask) -> Verdict:
        honest = [RequirementVerdict(r.id, "met", "trust me", ("E999999",)) for r in task.requirements]
        return Verdict((*honest, RequirementVerdict("r-invented", "met", "and this one", ("E1",))))

    return CallableJudge(ask, "hostile")


def uniform_verdict(task: JudgeTask, finding: Finding, reason: str) -> Verdict:
    """The same finding for every requirement asked about, citing all of the task's evidence."""
    cited = tuple(evidence.id for evidence in task.evidence)
    return Verdict(tuple(RequirementVerdict(r.id, finding, reason, cited) for r in task.requirements))
