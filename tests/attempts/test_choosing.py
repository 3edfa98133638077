"""Which of several attempts is kept, and what each may spend."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.errors import UsageError
from donewhen.core.goal import Limits
from donewhen.core.work import Usage
from donewhen.extras.attempts.choosing import MOST, Result, chosen, shares
from tests.tools import each_row


def result(
    number: int, usd: float | None = 0.0, tokens: int = 0, seconds: float = 1.0, *, proven: bool = True
) -> Result:
    return Result(number, proven, Usage(tokens, usd=usd), seconds)


@each_row(
    "results, kept",
    [
        ([result(1, 0.3), result(2, 0.1), result(3, 0.2)], 2),
        ([result(1, 0.1, 900), result(2, 0.1, 800)], 2),
        ([result(1, 0.1, 900, 5), result(2, 0.1, 900, 4)], 2),
        ([result(1), result(2)], 1),
        ([result(1, None), result(2, 9.0)], 2),
        ([result(1, 0.1, proven=False), result(2, 9.0)], 2),
        ([result(1, proven=False)], None),
        ([], None),
    ],
    ids=["money", "tokens", "time", "order", "unknown-cost", "unproven", "none-proven", "none"],
)
def test_the_cheapest_of_all_that_are_proven_is_kept(results: list[Result], kept: int | None) -> None:
    assert chosen("cheapest", results) == kept
    assert chosen("ask", results) is None


@given(
    st.one_of(st.none(), st.floats(0.001, 1e6)), st.one_of(st.none(), st.integers(MOST, 10**9)), st.integers(2, MOST)
)
def test_all_shares_together_never_pass_the_budgets(budget: float | None, tokens: int | None, attempts: int) -> None:
    usd, each = shares(Limits(budget=budget, token_budget=tokens), attempts)
    assert (usd is None) == (budget is None)
    assert (each is None) == (tokens is None)
    assert budget is None or usd is None or (usd > 0 and usd * attempts <= budget * (1 + 1e-12))
    assert tokens is None or each is None or (each > 0 and each * attempts <= tokens)


@pytest.mark.parametrize("limits", [Limits(budget=0.000_001), Limits(token_budget=3)], ids=["money", "tokens"])
def test_a_budget_that_leaves_nothing_for_each_is_refused(limits: Limits) -> None:
    with pytest.raises(UsageError, match="too small to be shared by 4 attempts: raise it"):
        shares(limits, 4)
