"""What calls outside of a run took."""

from __future__ import annotations

import pytest

from donewhen.core.errors import ModelFailed
from donewhen.core.work import Usage
from donewhen.judges.alone import Account
from donewhen.judges.preflight import propose_requirements
from tests.judges.models import ScriptedModel

pytestmark = pytest.mark.conformance("A16")


async def test_every_call_counts_once() -> None:
    account = Account()
    one, two = await account.begin("m", Usage(5), Usage(9)), await account.begin("m", Usage(7), Usage(9))
    await account.end(two, Usage(6, 2, 1, 0.5))
    await account.end(two, Usage(6, 2, 1, 0.5))
    assert account.total == Usage(11, 2, 1, 0.5)
    await account.end(one, Usage(4, 1, 0, None))
    assert account.total == Usage(10, 3, 1, None)
    assert account.asked == 2


async def test_a_call_that_was_cut_off_counts_as_its_prompt() -> None:
    account = Account()
    await account.begin("m", Usage(5, usd=None), Usage(9, 9))
    assert account.total == Usage(5, usd=None)


async def test_failed_calls_and_corrections_count() -> None:
    account = Account()
    failed = ModelFailed("cut off", kind="failing", usage=Usage(3, 1))
    with pytest.raises(ModelFailed):
        await propose_requirements(ScriptedModel("nonsense", failed), "Export", [], [], account)
    assert account.total == Usage(13, 6)
    assert account.asked == 2
