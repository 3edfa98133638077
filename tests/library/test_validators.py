"""Validators in the hands of a library: what they are called with, and what is no verdict (C15)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from donewhen.app.program import NoCommands
from donewhen.core.errors import UsageError
from donewhen.core.evidence import Outcome
from donewhen.core.goal import Check
from donewhen.workers.callables.validators import NOTHING, ValidatorChecker

CHECK = Check("c-short", "short answer", kind="validator")


@pytest.mark.conformance("C15")
async def test_c15_keywords_go_to_validators_that_take_them() -> None:
    seen: list[dict[str, Any]] = []

    def takes(response: Any, agent: Any, **more: Any) -> bool:
        seen.append(more)
        return True

    for validator in (takes, lambda response, agent: True):
        checker = ValidatorChecker({CHECK.id: validator}, NoCommands(), "yes", extras={"attempt": 2})
        assert (await checker.run(CHECK, timeout=5, token="t")).passed
    assert seen == [{"attempt": 2}]


@pytest.mark.conformance("C15", "A4")
async def test_what_was_not_returned_yet_is_not_validated() -> None:
    asked: list[Any] = []

    def validator(response: Any, agent: Any) -> bool:
        asked.append(response)
        return True

    checker = ValidatorChecker({CHECK.id: validator}, NoCommands(), NOTHING, awaits_response=True, strict=True)
    result = await checker.run(CHECK, timeout=5, token="t")
    assert (result.outcome, asked) == (Outcome.NOT_RUN, [])
    checker.response = None  # None is a response, too
    assert (await checker.run(CHECK, timeout=5, token="t")).passed


@pytest.mark.conformance("C15")
async def test_c15_taken_strictly_a_wrong_value_is_an_error() -> None:
    checker = ValidatorChecker({CHECK.id: lambda response, agent: "true"}, NoCommands(), "", strict=True)
    with pytest.raises(UsageError, match="short answer: the validator returned 'true'"):
        await checker.run(CHECK, timeout=5, token="t")


@pytest.mark.conformance("C15")
@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    ("error", "said"),
    [(TimeoutError("the table is locked"), "TimeoutError: the table is locked"), (SystemExit(3), "SystemExit: 3")],
)
async def test_c15_whatever_a_validator_raises_is_a_failed_check(plain: bool, error: BaseException, said: str) -> None:
    def raises(response: Any, agent: Any) -> bool:
        raise error

    async def raises_later(response: Any, agent: Any) -> bool:
        raise error

    checker = ValidatorChecker({CHECK.id: raises if plain else raises_later}, NoCommands(), "yes")
    result = await checker.run(CHECK, timeout=5, token="t")
    assert (result.outcome, said in result.reason) == (Outcome.FAILED, True)


@pytest.mark.conformance("C15", "C4")
@pytest.mark.parametrize("plain", [True, False])
async def test_a_validator_that_takes_too_long_timed_out(plain: bool) -> None:
    release = threading.Event()

    async def waits(response: Any, agent: Any) -> bool:
        await asyncio.Event().wait()
        return True

    validator = (lambda response, agent: release.wait(60)) if plain else waits
    try:
        result = await ValidatorChecker({CHECK.id: validator}, NoCommands(), "yes").run(CHECK, timeout=0.01, token="t")
    finally:
        release.set()
    assert result.outcome is Outcome.TIMED_OUT
