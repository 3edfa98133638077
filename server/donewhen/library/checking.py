"""Validators of one run: each result holds for the response that it was made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from donewhen.core.evidence import CheckResult
from donewhen.core.goal import Check
from donewhen.core.work import TurnResult
from donewhen.evidence.validators import NOTHING, ValidatorChecker
from donewhen.ports import Turn, TurnContext, Worker


@dataclass
class ResponseChecker(ValidatorChecker):
    """A ValidatorChecker that is told each response by the run's worker (`following`)."""

    responses: int = 0

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        result = await super().run(check, timeout=timeout, token=token, test_run=test_run)
        # Another response is another environment: that its result differs makes no validator flaky.
        return replace(result, environment=self.environment(check)) if check.id in self.validators else result

    def environment(self, check: Check) -> str:
        return f"response {self.responses}" if check.id in self.validators else super().environment(check)

    def took(self, response: Any) -> None:
        """The worker returned something, or (NOTHING) failed to."""
        self.responses += 1
        self.response = response

    def following(self, worker: Worker) -> Worker:
        """The worker, with its responses handed on to the validators."""
        return _Followed(worker, self)


class _Followed:
    """A `ports.Worker` around another one."""

    def __init__(self, worker: Worker, checker: ResponseChecker) -> None:
        self._worker = worker
        self._checker = checker

    @property
    def name(self) -> str:
        return self._worker.name

    @property
    def waits_for_person(self) -> bool:
        return self._worker.waits_for_person

    @property
    def left_behind(self) -> str:
        return getattr(self._worker, "left_behind", "")

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """What was returned before is no response of this turn, however it ends (A4)."""
        self._checker.took(NOTHING)
        result = await self._worker.work(turn, context)
        if result.error is None and result.claim.state == "finished":
            response = getattr(self._worker, "response", result.response)
            self._checker.took(NOTHING if response is None and result.response is None else response)
        return result
