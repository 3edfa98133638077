"""Checks that are Python callables (C15): run in this process, strict about what they return, never a crash."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from donewhen.core.evidence import CheckResult, EditorReport, Outcome
from donewhen.core.goal import Check, Requirement
from donewhen.ports import Checker

Validator = Callable[..., Any]
"""Called as `validator(response, agent, **kwargs)`; sync or async. Returns True, False, an object with `passed` and
`feedback`, or a dict with `passed` (a real boolean) and optionally `feedback`."""


@dataclass
class ValidatorChecker:
    """A `ports.Checker` for validators, by check id; every other check goes to `commands`.

    `response` is what the worker returned last, `agent` whatever the validators were promised as their second
    argument; both are the caller's to set before a check runs.
    """

    validators: Mapping[str, Validator]
    commands: Checker
    response: Any = None
    agent: Any = None

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        validator = self.validators.get(check.id)
        if validator is None:
            return await self.commands.run(check, timeout=timeout, token=token, test_run=test_run)
        started, begun = time.time(), time.perf_counter()
        outcome, reason = await self._outcome(validator, timeout)
        seconds = time.perf_counter() - begun
        return CheckResult(check.id, check.command, outcome, reason, started_at=started, seconds=seconds)

    def environment(self, check: Check) -> str:
        return "" if check.id in self.validators else self.commands.environment(check)

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return await self.commands.editor_report(requirement)

    async def _outcome(self, validator: Validator, timeout: float) -> tuple[Outcome, str]:
        try:
            async with asyncio.timeout(timeout):
                found = await self._call(validator)
        except TimeoutError:
            return Outcome.TIMED_OUT, f"timed out after {timeout:g} s"
        except Exception as error:  # noqa: BLE001  # a validator's exception is a failed check with its message (C15)
            return Outcome.FAILED, f"{type(error).__name__}: {error}"
        return judged(found)

    async def _call(self, validator: Validator) -> Any:
        """Async validators on the loop, sync ones beside it: neither holds the loop."""
        if inspect.iscoroutinefunction(validator):
            return await validator(self.response, self.agent)
        found = await asyncio.to_thread(validator, self.response, self.agent)
        return await found if inspect.isawaitable(found) else found


def judged(found: Any) -> tuple[Outcome, str]:
    """What a validator's value says. Nothing is coerced: a value of any other type is an error, never a pass (C15)."""
    passed, feedback = found, None
    if isinstance(found, Mapping):
        record = cast("Mapping[str, Any]", found)
        passed, feedback = record.get("passed"), record.get("feedback")
    elif not isinstance(found, bool) and hasattr(found, "passed"):
        passed, feedback = found.passed, getattr(found, "feedback", None)
    if not isinstance(passed, bool) or not (feedback is None or isinstance(feedback, str)):
        return Outcome.NOT_RUN, f"the validator returned {found!r}: True, False, or `passed` and `feedback` is expected"
    return (Outcome.PASSED, "passed") if passed else (Outcome.FAILED, feedback or "the validator says no")
