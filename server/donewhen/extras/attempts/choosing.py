"""Several attempts at one goal: what each may spend, and which one is kept.

Pure: `pursuing.py` makes the folders in which they work and pursues the goal there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from donewhen.core.errors import UsageError
from donewhen.core.goal import Limits
from donewhen.core.work import Usage

Keep = Literal["first", "cheapest", "ask"]
"""Which attempt is applied: the first that is proven, the one of all proven that costs least, or a person's choice."""
KEEPS: tuple[Keep, ...] = get_args(Keep)
MOST = 16
"""How many attempts a goal may have at once: each is a copy of the workspace with an engine of its own."""
_SMALLEST = 1_000_000
"""Shares of money are whole millionths of a dollar."""


@dataclass(frozen=True, slots=True)
class Result:
    """How far one attempt came. `seconds` are seconds of work; `proven` only where its files still are those that were
    proven."""

    number: int
    proven: bool
    usage: Usage
    seconds: float


def chosen(keep: Keep, results: Sequence[Result]) -> int | None:
    """The number of the attempt to keep; None if none is proven, or a person is to choose. With `first` nobody else is
    proven as a rule; where two were at the same moment, the cheaper one is kept."""
    proven = [one for one in results if one.proven]
    if keep == "ask" or not proven:
        return None
    return min(proven, key=_cost_order).number


def _cost_order(one: Result) -> tuple[bool, float, int, float, int]:
    """Money, then tokens, then time. A cost that nobody knows may be any: it comes after those that are known."""
    usd = one.usage.usd
    return usd is None, usd or 0.0, one.usage.tokens, one.seconds, one.number


def shares(limits: Limits, attempts: int) -> tuple[float | None, int | None]:
    """What each attempt may spend in US dollars and in tokens, so that all together never pass the goal's budgets; None
    where there is no budget. Raises UsageError if nothing is left for each."""
    usd = None if limits.budget is None else int(limits.budget * _SMALLEST) // attempts / _SMALLEST
    tokens = None if limits.token_budget is None else limits.token_budget // attempts
    if usd == 0 and limits.budget:
        raise UsageError(f"a budget of ${limits.budget:g} is too small to be shared by {attempts} attempts: raise it")
    if tokens == 0 and limits.token_budget:
        raise UsageError(
            f"a token budget of {limits.token_budget} is too small to be shared by {attempts} attempts: raise it"
        )
    return usd, tokens
