"""Checks that are Python callables: run in this process, strict about what they return, never a crash."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from donewhen.core.errors import UsageError
from donewhen.core.evidence import CheckResult, EditorReport, Outcome
from donewhen.core.goal import Check, Requirement
from donewhen.core.verdict import judged
from donewhen.core.work import TurnResult
from donewhen.ports import Checker, Turn, TurnContext, Worker
from donewhen.threads import called

NOTHING: Any = object()
"""Stands for a response that isn't there: None is one."""

Validator = Callable[..., Any]
"""Called as `validator(response, agent, **kwargs)`; sync or async. Returns True, False, an object with `passed` and
`feedback`, or a dict with `passed` (a real boolean) and optionally `feedback`."""


@dataclass
class ValidatorChecker:
    """A `ports.Checker` for validators, by check id; every other check goes to `commands`.

    `response` is what the worker returned last, which `following` tells, and `responses` how many it returned. `agent`
    is whatever the validators were promised as their second argument, `extras` further keywords for validators that
    take any; these are the caller's to set before a check runs.

    `awaits_response`: what isn't there yet is not validated. `strict`: a value of a wrong type raises UsageError, which
    ends the run, since no turn of a worker can fix a validator; else its requirement is `unverified`.
    """

    validators: Mapping[str, Validator]
    commands: Checker
    response: Any = None
    agent: Any = None
    extras: Mapping[str, Any] = field(default_factory=dict[str, Any])
    awaits_response: bool = False
    strict: bool = False
    responses: int = 0

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        validator = self.validators.get(check.id)
        if validator is None:
            return await self.commands.run(check, timeout=timeout, token=token, test_run=test_run)
        started, begun = time.time(), time.perf_counter()
        if self.awaits_response and self.response is NOTHING:
            outcome, reason = Outcome.NOT_RUN, "the worker has returned nothing yet"
        else:
            outcome, reason = await self._validated(validator, timeout)
        if self.strict and outcome is Outcome.NOT_RUN and self.response is not NOTHING:
            raise UsageError(f"{check.command}: {reason}")
        seconds = time.perf_counter() - begun
        return CheckResult(
            check.id, check.command, outcome, reason, None, started, seconds, environment=self.environment(check)
        )

    def environment(self, check: Check) -> str:
        """Another response is another environment: that its result differs makes no validator flaky."""
        return f"response {self.responses}" if check.id in self.validators else self.commands.environment(check)

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return await self.commands.editor_report(requirement)

    def took(self, response: Any) -> None:
        """The worker returned something, or (NOTHING) failed to."""
        self.responses += 1
        self.response = response

    def following(self, worker: Worker) -> Worker:
        """The worker, with its responses handed on to the validators."""
        return _Followed(worker, self)

    async def _validated(self, validator: Validator, timeout: float) -> tuple[Outcome, str]:
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                extras = dict(self.extras) if takes_any_keyword(validator) else dict[str, Any]()
                # Async validators on the loop, sync ones beside it: neither holds the loop, nor the process's end.
                found = await called(validator, self.response, self.agent, **extras)
        except Exception as error:  # noqa: BLE001  # a validator's exception is a failed check with its message
            if limit.expired():
                return Outcome.TIMED_OUT, f"timed out after {timeout:g} s"
            return Outcome.FAILED, f"{type(error).__name__}: {error}"
        return judged(found)


def takes_any_keyword(function: Callable[..., Any]) -> bool:
    """True for a callable with `**kwargs`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin that doesn't tell
        return False
    return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)


class _Followed:
    """A `ports.Worker` around another one."""

    def __init__(self, worker: Worker, checker: ValidatorChecker) -> None:
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
        """What was returned before is not a response of this turn, however it ends."""
        self._checker.took(NOTHING)
        result = await self._worker.work(turn, context)
        if result.error is None and result.claim.state == "finished":
            response = getattr(self._worker, "response", result.response)
            self._checker.took(NOTHING if response is None and result.response is None else response)
        return result
