"""What is known of models, what calls are expected to cost, and what they did cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed
from donewhen.core.work import Usage
from donewhen.models.catalogue import at_its_provider, facts_of, provider_of
from donewhen.models.hosted import Abilities, HostedModel
from donewhen.models.protocol import Answered, Call, CallFailed, Failure
from donewhen.ports import ModelFacts, ModelRequest, Price
from tests.models.conftest import LOOK, request

OWN = Price(2.0, 10.0, 0.5)


class Answers:
    """A host that answers at once, with these counts."""

    def __init__(self, given: int = 1000, taken: int = 100, cached: int = 0, written: int = 0) -> None:
        self.answered = Answered(Message("assistant", "yes" * 100), "stop", given, taken, cached, written)
        self.calls: list[Call] = []

    async def ask(self, call: Call, on_text: object = None) -> Answered:
        self.calls.append(call)
        return self.answered


async def cost(answers: Answers, name: str = "openai/gpt-4o", **options: object) -> Usage:
    model = HostedModel(name, answers, key=lambda: "k", **options)  # type: ignore[arg-type]
    return (await model.complete(request())).usage


@pytest.mark.conformance("A16")
async def test_a_price_of_ones_own_comes_first_and_knows_cached_tokens() -> None:
    used = await cost(Answers(1000, 100, 400), facts=ModelFacts(price=OWN), custom_price=True)
    assert used == Usage(1000, 100, 400, pytest.approx((600 * 2.0 + 400 * 0.5 + 100 * 10.0) / 1e6))


@pytest.mark.conformance("A16")
async def test_cached_tokens_without_a_price_cost_what_input_costs() -> None:
    used = await cost(Answers(1000, 100, 400), facts=ModelFacts(price=Price(2.0, 10.0)), custom_price=True)
    assert used.usd == pytest.approx((1000 * 2.0 + 100 * 10.0) / 1e6)


@pytest.mark.conformance("A16")
@pytest.mark.parametrize(("given", "taken", "cached"), [(-5, -7, 99_999), (-5, 0, -3), (0, 0, 0)])
async def test_counts_that_can_not_be_are_guessed_instead(given: int, taken: int, cached: int) -> None:
    used = await cost(Answers(given, taken, cached), facts=ModelFacts(price=OWN), custom_price=True)
    plain = await cost(Answers(0, 0, 0), facts=ModelFacts(price=OWN), custom_price=True)
    assert (used.input_tokens, used.output_tokens) == (plain.input_tokens, plain.output_tokens)
    assert used.output_tokens > 50
    assert 0 <= used.cached_tokens <= used.input_tokens
    assert used.usd is not None
    assert used.usd > 0


async def test_more_cached_tokens_than_tokens_are_not_saved() -> None:
    used = await cost(Answers(1000, 100, 5000), facts=ModelFacts(price=OWN), custom_price=True)
    assert used.cached_tokens == 1000
    assert used.usd == pytest.approx((1000 * 0.5 + 100 * 10.0) / 1e6)


async def test_then_the_catalogue_with_what_its_cache_costs() -> None:
    assert (await cost(Answers(1000, 100, 0))).usd == pytest.approx((1000 * 2.5 + 100 * 10.0) / 1e6)
    cached = await cost(Answers(1000, 100, 400, written=500), name="anthropic/claude-sonnet-4-5")
    assert cached.usd == pytest.approx((100 * 3 + 400 * 0.3 + 500 * 3.75 + 100 * 15) / 1e6)


@pytest.mark.conformance("A16")
async def test_tokens_that_a_cache_can_not_have_taken_save_nothing() -> None:
    plain = await cost(Answers(1000, 100, 0), name="anthropic/claude-sonnet-4-5")
    assert await cost(Answers(1000, 100, -9_000, written=-90_000), name="anthropic/claude-sonnet-4-5") == plain


@pytest.mark.conformance("A16")
async def test_an_unknown_price_is_unknown_and_tokens_are_counted() -> None:
    for options in ({"name": "openai/of-my-own"}, {"api_base": "http://127.0.0.1:1/v1"}):
        assert await cost(Answers(1000, 100, 0), **options) == Usage(1000, 100, 0, None)


@pytest.mark.conformance("A16")
async def test_a_server_that_counts_nothing_is_guessed_rather_than_free() -> None:
    used = await cost(Answers(0, 0), facts=ModelFacts(price=OWN), custom_price=True)
    assert used.input_tokens > 0
    assert used.output_tokens == 100
    assert used.usd


def test_the_catalogue_knows_models_by_both_of_their_names() -> None:
    facts = facts_of("openai/gpt-4o")
    assert facts == facts_of("gpt-4o") == ModelFacts(128_000, 16_384, Price(2.5, 10.0, 1.25))
    assert facts_of("anthropic/claude-sonnet-4-5").window
    assert facts_of("anthropic/gpt-4o") == ModelFacts()
    assert facts_of("openai/nobody-knows") == ModelFacts()


def test_what_the_user_says_comes_first() -> None:
    facts = facts_of("gpt-4o", None, {"gpt-4o": ModelFacts(5_000, price=OWN)})
    assert facts == ModelFacts(5_000, 16_384, OWN)
    assert facts_of("openai/mine", "http://here", {"openai/mine": ModelFacts(price=OWN)}) == ModelFacts(price=OWN)


def test_a_model_that_is_served_elsewhere_is_another_one() -> None:
    assert facts_of("openai/gpt-4o", "http://127.0.0.1:8000/v1") == ModelFacts()
    assert facts_of("openai/gpt-4o", "https://api.openai.com/v1") == facts_of("openai/gpt-4o")
    assert at_its_provider("azure/gpt-4o", "https://mine.openai.azure.com")
    assert not at_its_provider("openai/gpt-4o", "https://api.openai.com.example.org/v1")


def test_providers_are_known_by_name() -> None:
    names = ("gpt-4o", "claude-sonnet-4-5", "anthropic/x", "nobody-knows")
    assert [provider_of(name) for name in names] == ["openai", "anthropic", "anthropic", None]


def test_the_catalogue_is_read_without_importing_litellm() -> None:
    program = (
        "import sys; from donewhen.models.catalogue import facts_of; from donewhen.models.hosted import HostedModel;"
        "assert facts_of('gpt-4o').window; assert not {'litellm', 'openai', 'httpx'} & set(sys.modules)"
    )
    subprocess.run((sys.executable, "-c", program), check=True)


def estimates(name_or_facts: ModelFacts, asked: ModelRequest) -> tuple[Usage, Usage]:
    return HostedModel("openai/m", Answers(), facts=name_or_facts).estimate(asked)


def test_the_worst_case_is_more_than_any_english_prompt_needs_and_the_longest_reply() -> None:
    asked = request(Message("user", "word " * 3_000), max_tokens=500)
    prompt, worst = estimates(ModelFacts(price=OWN), asked)
    assert 4_000 < prompt.input_tokens < worst.input_tokens < 8_000
    assert prompt.usd == pytest.approx(prompt.input_tokens * 2.0 / 1e6)
    assert worst.output_tokens == 500
    assert worst.usd == pytest.approx((worst.input_tokens * 2.0 + 500 * 10.0) / 1e6)


@pytest.mark.parametrize(
    ("facts", "longest"),
    [(ModelFacts(max_output=700), 700), (ModelFacts(window=1_000, max_output=7_000), 992), (ModelFacts(), 16_384)],
)
def test_without_a_limit_the_reply_is_as_long_as_the_model_can(facts: ModelFacts, longest: int) -> None:
    assert estimates(facts, request(Message("user", "hi")))[1].output_tokens == pytest.approx(longest, abs=5)


def test_other_scripts_need_more_tokens_a_character() -> None:
    english = estimates(ModelFacts(), request(Message("user", "a" * 900)))[0].input_tokens
    chinese = estimates(ModelFacts(), request(Message("user", "证" * 900)))[0].input_tokens
    assert chinese > 2.5 * english


def test_tools_schema_and_calls_count() -> None:
    bare = estimates(ModelFacts(), request())[0].input_tokens
    for more in (
        request(tools=(LOOK,)),
        request(schema={"type": "object", "properties": {"score": {"type": "number"}}}),
        request(Message("assistant", "", (ToolCall("1", "write", "x" * 300),))),
    ):
        assert estimates(ModelFacts(), more)[0].input_tokens > bare


async def test_a_reply_teaches_how_many_tokens_a_text_has() -> None:
    asked = request(Message("user", "word " * 3_000))
    model = HostedModel("openai/m", Answers(3_100, 10), key=lambda: "k", facts=ModelFacts())
    before = model.estimate(asked)[1].input_tokens
    await model.complete(asked)
    after = model.estimate(asked)[1].input_tokens
    assert 3_100 < after < before


def test_an_unknown_price_is_unknown_in_the_estimate() -> None:
    assert [one.usd for one in estimates(ModelFacts(), request())] == [None, None]


class Breaking(Answers):
    """Answers after so many calls that broke off."""

    def __init__(self, *failures: Failure) -> None:
        super().__init__()
        self.failures = list(failures)

    async def ask(self, call: Call, on_text: object = None) -> Answered:
        if self.failures:
            raise CallFailed(self.failures.pop(0))
        return await super().ask(call, on_text)


async def at_once(seconds: float) -> None:
    return


TIMED_OUT = Failure("Timeout", "timed out", 408)
BROKEN = Failure("MidStreamFallbackError", "the connection broke", 503)
TURNED_AWAY = Failure("RateLimitError", "later", 429)


@pytest.mark.conformance("A16")
async def test_attempts_that_broke_off_count_as_their_prompt() -> None:
    host, facts = Breaking(TIMED_OUT, TURNED_AWAY, BROKEN), ModelFacts(price=OWN)
    model = HostedModel("openai/gpt-4o", host, key=lambda: "k", facts=facts, custom_price=True, sleep=at_once)
    prompt, _ = model.estimate(request())
    used = (await model.complete(request())).usage
    assert used.input_tokens == 1000 + 2 * prompt.input_tokens
    assert used.usd == pytest.approx((1000 * 2.0 + 100 * 10.0) / 1e6 + 2 * (prompt.usd or 0))


@pytest.mark.conformance("A16")
async def test_a_call_whose_attempts_all_broke_off_is_not_free() -> None:
    model = HostedModel("openai/gpt-4o", Breaking(*[TIMED_OUT] * 2), key=lambda: "k", sleep=at_once)
    prompt, _ = model.estimate(request())
    with pytest.raises(ModelFailed) as failed:
        await model.complete(request())
    assert failed.value.usage.input_tokens == 2 * prompt.input_tokens
    assert failed.value.usage.usd == pytest.approx(2 * (prompt.usd or 0))


async def test_a_bound_that_the_model_does_not_take_is_none_in_the_worst_case() -> None:
    abilities, facts = Abilities(limit="none"), ModelFacts(max_output=9_000, price=OWN)
    model = HostedModel("openai/gpt-4o", Answers(), key=lambda: "k", facts=facts, abilities=abilities)
    assert model.estimate(request(max_tokens=10))[1].output_tokens == 9_000
