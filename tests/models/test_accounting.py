"""Calls are kept within what is left of a budget by bounding their replies."""

from __future__ import annotations

from donewhen.core.calls import Message
from donewhen.core.work import Usage
from donewhen.models.pricing import LEAST_REPLY, Estimator, within
from donewhen.ports import Left, ModelFacts, ModelReply, ModelRequest, Price
from tests.tools import each_row

REQUEST = ModelRequest((Message("user", "x" * 3_000),))


class Priced:
    """A model that is never asked."""

    name = "test/model"

    def __init__(self, facts: ModelFacts) -> None:
        self.facts = facts
        self._estimator = Estimator(facts)

    def estimate(self, request: ModelRequest) -> tuple[Usage, Usage]:
        return self._estimator.estimate(request)

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        raise AssertionError


@each_row(
    "left",
    [Left(tokens=4_000), Left(tokens=9_000), Left(usd=0.02), Left(usd=0.05), Left(tokens=6_000, usd=0.02)],
)
def test_a_bounded_reply_can_t_pass_what_is_left(left: Left) -> None:
    model = Priced(ModelFacts(price=Price(1.0, 5.0)))
    bounded = within(model, REQUEST, left)
    assert bounded.max_tokens is not None
    assert bounded.max_tokens >= LEAST_REPLY
    _, worst = model.estimate(bounded)
    assert left.tokens is None or worst.tokens <= left.tokens
    assert left.usd is None or (worst.usd or 0) <= left.usd


@each_row("left", [Left(), Left(tokens=1_000_000), Left(usd=5.0), Left(tokens=2_000), Left(usd=0.001)])
def test_enough_is_left_alone_and_too_little_is_left_to_be_refused(left: Left) -> None:
    model = Priced(ModelFacts(price=Price(1.0, 5.0)))
    assert within(model, REQUEST, left) == REQUEST


def test_without_a_price_only_tokens_bound_a_reply() -> None:
    model = Priced(ModelFacts())
    assert within(model, REQUEST, Left(usd=0.01)) == REQUEST
    assert within(model, REQUEST, Left(tokens=5_000)).max_tokens is not None
