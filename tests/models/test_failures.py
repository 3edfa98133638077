"""What goes wrong with a provider: what is asked again and when, what isn't, and what the user is told."""

from __future__ import annotations

from typing import ClassVar

import pytest

from donewhen.core.errors import ModelFailed
from donewhen.core.trouble import FailedTry
from donewhen.models.described import described
from donewhen.models.direct.clients import DirectClients
from donewhen.models.failures import asked_wait, meaning, wait_before, window_in
from donewhen.models.hosted import Abilities, HostedModel, Transport
from donewhen.models.protocol import Failure, Network
from tests.agent.host import SharedHost
from tests.models.conftest import LOOK, NAME, Pauses, model, request, scripted
from tests.scripted_models import (
    ModelCall,
    Reply,
    ScriptedModels,
    breaks,
    calls,
    context_exceeded,
    drops,
    fails,
    hangs,
    html,
    out_of_quota,
    says,
    truncated,
    unsupported,
    verbatim,
)
from tests.tools import each_row

loop = pytest.mark.asyncio(loop_scope="session")


@loop
@pytest.mark.parametrize(
    ("broken", "stream"),
    [
        (fails(500), False),
        (fails(503), True),
        (fails(529), False),
        (fails(429), False),
        (html(), False),
        (html(), True),
        (html(502), False),
        (truncated(), False),
        (truncated(), True),
        (drops(), False),
        (drops(), True),
        (drops(2, "a longer text that is cut off in the middle of it"), False),
        (drops(2, "a longer text that is cut off in the middle of it"), True),
        (breaks(), True),
        (verbatim('{"error": {"message": "Rate limit exceeded", "code": 429}}'), False),
        (verbatim('{"choices": []}'), False),
        (verbatim(""), False),
        (verbatim("[]"), False),
        (verbatim('data: {"error": {"message": "Overloaded", "code": 503}}\n\n'), True),
    ],
)
async def test_what_a_retry_can_mend_is_asked_again(way: Transport, broken: Reply, stream: bool) -> None:
    pauses = Pauses()
    async with scripted(broken, says("well")) as server:
        heard: list[str] = []
        reply = await model(way, server, pauses).complete(request(stream=stream), heard.append)
    assert reply.message.text == "well"
    assert not stream or heard[-1] == "well"
    assert len(pauses.seconds) == 1
    assert 0.8 <= pauses.seconds[0] <= 1.2


@loop
async def test_a_reply_that_does_not_come_in_time_is_asked_again(way: Transport) -> None:
    async with scripted(hangs(2), says("well")) as server:
        reply = await model(way, server).complete(request(stream=True, timeout=0.3))
    assert reply.message.text == "well"


@pytest.mark.slow
@loop
async def test_silence_is_limited_and_not_a_reply_that_goes_on(way: Transport) -> None:
    """A stream takes longer than its limit, by text or by pieces of a call; one that stops is asked again."""
    slow = (
        says("one two three four five six seven eight nine ten").paced(0.15),
        calls("look", path="a" * 200).paced(0.15),
    )
    async with scripted(*slow, hangs(2), says("well")) as server:
        asked = model(way, server)
        text, called = [await asked.complete(request(stream=True, timeout=0.6, tools=(LOOK,))) for _ in slow]
        assert len(server.requests) == 2
        assert all(one.seconds > 0.7 for one in server.requests)
        assert (text.message.text[-3:], called.message.calls[0].name) == ("ten", "look")
        assert (await asked.complete(request(stream=True, timeout=0.6))).message.text == "well"
    assert len(server.requests) == 4


@pytest.mark.slow
@loop
async def test_how_long_a_model_was_silent_is_said(way: Transport) -> None:
    async with scripted(hangs(0), hangs(3)) as server:
        with pytest.raises(ModelFailed, match=f"{NAME} sent nothing for 1 s: its server hangs") as caught:
            await model(way, server, silence=0.6).complete(request(stream=True))
    assert caught.value.kind == "silent"


@loop
@pytest.mark.parametrize("asked", [0.2, 7, "Fri, 31 Dec 1999 23:59:59 GMT"])
async def test_what_the_provider_asks_for_is_waited(way: Transport, asked: float | str) -> None:
    pauses = Pauses()
    now = 946684799.0 - 33  # 33 s before that date
    async with scripted(fails(429, retry_after=asked), says("well")) as server:
        await model(way, server, pauses, clock=lambda: now).complete(request())
    assert pauses.seconds == [asked if isinstance(asked, int | float) else 33.0]


@loop
async def test_a_provider_that_asks_for_an_hour_is_not_asked_before(way: Transport) -> None:
    pauses = Pauses()
    async with scripted(fails(429, retry_after=3600)) as server:
        with pytest.raises(ModelFailed, match="it asks to wait 1 h 00 min: resume then, or set another") as caught:
            await model(way, server, pauses).complete(request())
        server.verify()
    assert (caught.value.kind, pauses.seconds) == ("overloaded", [])


@loop
async def test_a_stream_that_does_not_say_that_it_is_whole_is_asked_again(way: Transport) -> None:
    event = '{"choices": [{"index": 0, "delta": {"content": "half of"}}]}'
    half = verbatim(f"data: {event}\n\n", content_type="text/event-stream")
    pauses = Pauses()
    async with scripted(half, says("well")) as server:
        reply = await model(way, server, pauses).complete(request(stream=True))
    assert (reply.message.text, len(pauses.seconds)) == ("well", 1)


@loop
async def test_an_outage_ends_after_five_attempts_within_a_minute(way: Transport) -> None:
    pauses = Pauses()
    async with scripted(*(fails(500) for _ in range(5))) as server:
        with pytest.raises(ModelFailed, match=f"{NAME} answers 500") as caught:
            await model(way, server, pauses).complete(request())
        server.verify()
    assert (caught.value.kind, caught.value.status) == ("failing", 500)
    assert pauses.seconds == sorted(pauses.seconds)
    assert 30 < sum(pauses.seconds) < 60


@loop
async def test_a_server_that_never_streams_is_read_all_the_same(way: Transport) -> None:
    """Litellm can't read a complete reply there, and asks for no stream from then on."""
    whole = '{"choices": [{"index": 0, "message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]}'
    async with scripted(*(verbatim(whole) for _ in range(3))) as server:
        asked = model(way, server)
        heard: list[str] = []
        for _ in range(2):
            assert (await asked.complete(request(stream=True), heard.append)).message.text == "whole"
        streamed = [bool(one.body.get("stream")) for one in server.requests]
        assert streamed == ([True, True] if isinstance(way, DirectClients) else [True, False, False])
        assert heard[-1] == "whole"


@loop
async def test_an_error_that_comes_as_a_success_is_told_in_its_words(clients: DirectClients) -> None:
    error = verbatim('{"error": {"message": "Upstream is down", "code": 502}}')
    pauses = Pauses()
    async with scripted(*(error for _ in range(5))) as server:
        with pytest.raises(ModelFailed, match=f"{NAME} answers 502: Upstream is down") as caught:
            await model(clients, server, pauses).complete(request(stream=True))
        server.verify()
    assert (caught.value.kind, len(pauses.seconds)) == ("failing", 4)


@loop
async def test_events_that_are_called_json_are_a_stream(clients: DirectClients) -> None:
    event = '{"choices": [{"index": 0, "delta": {"content": "piece"}, "finish_reason": "stop"}]}'
    async with scripted(verbatim(f"data: {event}\n\ndata: [DONE]\n\n")) as server:
        assert (await model(clients, server).complete(request(stream=True))).message.text == "piece"


@loop
async def test_a_place_from_which_a_model_is_not_served_is_no_question_of_the_key(way: Transport) -> None:
    refused = fails(403, "Country, region, or territory not supported", code="unsupported_country_region_territory")
    async with scripted(refused) as server:
        with pytest.raises(ModelFailed, match="Country, region, or territory not supported") as caught:
            await model(way, server).complete(request())
    assert caught.value.kind == "refused"


@loop
async def test_a_server_that_only_streams_is_asked_for_streams_again(way: Transport) -> None:
    event = '{"choices": [{"index": 0, "delta": {"content": "piece"}, "finish_reason": "stop"}]}'
    stream = verbatim(f"data: {event}\n\ndata: [DONE]\n\n", content_type="text/event-stream")
    async with scripted(*[stream] * 4) as server:
        asked = model(way, server)
        assert (await asked.complete(request(stream=True))).message.text == "piece"
        for _ in range(2):
            assert (await asked.complete(request())).message.text == "piece"
        assert [bool(one.body.get("stream")) for one in server.requests] == [True, False, True, True]


@loop
async def test_nobody_listens(way: Transport) -> None:
    async with scripted() as server:
        address = server.base_url
    pauses = Pauses()
    asked = model(way, server, pauses, api_base=address)
    with pytest.raises(ModelFailed, match=rf"can't be reached at {address}: connection refused; start its") as caught:
        await asked.complete(request())
    assert caught.value.kind == "unreachable"
    assert pauses.seconds == []


@loop
async def test_a_server_that_has_answered_may_be_starting_anew(way: Transport) -> None:
    pauses = Pauses()
    async with scripted(says("well")) as server:
        asked = model(way, server, pauses)
        await asked.complete(request())
    with pytest.raises(ModelFailed, match="connection refused"):
        await asked.complete(request())
    assert len(pauses.seconds) == 3


@loop
async def test_a_host_that_is_not_known_is_told_at_once(way: Transport) -> None:
    pauses = Pauses()
    async with scripted() as server:
        asked = model(way, server, pauses, api_base="http://no-such-host.invalid/v1")
        with pytest.raises(ModelFailed, match="no host of that name is known; correct the address") as caught:
            await asked.complete(request())
    assert (caught.value.kind, pauses.seconds) == ("wrong_address", [])


@loop
async def test_an_address_without_v1_is_completed_and_that_is_said(way: Transport) -> None:
    heard = list[FailedTry]()

    async def hear(failed: FailedTry) -> None:
        heard.append(failed)

    async with scripted(says("well"), says("again")) as server:
        asked = model(way, server, api_base=server.base_url.removesuffix("/v1"))
        for _ in range(2):
            await asked.complete(request(on_failed_try=hear))
    (told,) = heard
    assert told.trouble.said.endswith("add /v1 to the address")


@loop
async def test_a_server_that_loads_its_model_is_waited_for(way: Transport) -> None:
    pauses, heard = Pauses(), list[FailedTry]()

    async def hear(failed: FailedTry) -> None:
        heard.append(failed)

    async with scripted(*[fails(503, "Loading model")] * 12, says("well")) as server:
        asked = model(way, server, pauses)
        assert (await asked.complete(request(on_failed_try=hear))).message.text == "well"
    assert pauses.seconds == [5.0] * 12
    assert {one.trouble.kind for one in heard} == {"starting"}
    assert [one.next_try for one in heard] == [*range(2, 14)]


@loop
@pytest.mark.parametrize(
    ("reply", "kind", "told"),
    [
        (fails(401), "key_refused", "check DONEWHEN_API_KEY"),
        (fails(403), "key_refused", "check DONEWHEN_API_KEY"),
        (context_exceeded(), "too_long", "too long"),
        (fails(413), "too_long", "too long"),
        (out_of_quota(), "no_credit", "no credit left"),
        (fails(404), "no_such_model", "there is no model"),
        (verbatim("404 page not found", status=404), "wrong_address", "most end in /v1"),
        (fails(500, "model 'llama9' not found, try pulling it first"), "no_such_model", "there is no model"),
        (fails(400, "The messages are odd."), "refused", "The messages are odd."),
    ],
)
async def test_what_no_retry_mends_is_told_at_once(way: Transport, reply: Reply, kind: str, told: str) -> None:
    pauses = Pauses()
    async with scripted(reply) as server:
        with pytest.raises(ModelFailed, match=told) as caught:
            await model(way, server, pauses).complete(request(tools=(LOOK,)))
        server.verify()
    assert caught.value.kind == kind
    assert not pauses.seconds


@loop
async def test_a_judge_is_told_of_the_judges_key(way: Transport) -> None:
    async with scripted(fails(401)) as server:
        with pytest.raises(ModelFailed, match="check DONEWHEN_JUDGE_API_KEY"):
            await model(way, server, role="judge").complete(request())


@loop
async def test_a_name_without_a_provider_is_told_how_to_write_it(host: SharedHost) -> None:
    async with scripted() as server:
        for name in ("llama-of-mine", "nobody/llama"):
            with pytest.raises(ModelFailed, match="write `provider/model`") as caught:
                await HostedModel(name, host, key=lambda: "k").complete(request())
            assert caught.value.kind == "no_such_model"
        assert not server.requests


@loop
async def test_a_schema_that_is_not_taken_is_never_sent_again(way: Transport) -> None:
    schema = {"type": "object"}
    refused = unsupported("response_format")
    async with scripted(refused, refused, says("{}"), says("{}")) as server:
        asked = model(way, server)
        for _ in range(2):
            await asked.complete(request(schema=schema))
        kinds = [(one.body.get("response_format") or {}).get("type") for one in server.requests]
    assert kinds == ["json_schema", "json_object", None, None]


@loop
async def test_each_parameter_that_is_not_taken_is_left_out_and_stays_out(way: Transport) -> None:
    replies = [unsupported("temperature"), unsupported("max_tokens"), says("a"), says("b")]
    async with scripted(*replies) as server:
        asked = model(way, server)
        for _ in range(2):
            await asked.complete(request(temperature=0.0, max_tokens=50))
        sent = [{*one.body} & {"temperature", "max_tokens", "max_completion_tokens"} for one in server.requests]
    without = {"max_completion_tokens"}
    assert sent == [{"temperature", "max_tokens"}, {"max_tokens"}, without, without]


@loop
async def test_a_refusal_without_a_reason_costs_one_parameter_after_another(way: Transport) -> None:
    def refuse(call: ModelCall) -> Reply:
        return fails(422, "unprocessable") if call.response_format else says("{}")

    async with ScriptedModels({"scripted": refuse}) as server:
        reply = await model(way, server).complete(request(schema={"type": "object"}))
    assert reply.message.text == "{}"


@loop
async def test_what_was_not_sent_is_not_left_out(way: Transport) -> None:
    async with scripted(unsupported("temperature")) as server:
        with pytest.raises(ModelFailed, match="temperature"):
            await model(way, server).complete(request())
        server.verify()


@loop
@pytest.mark.conformance("C13")
async def test_what_providers_say_is_masked(way: Transport) -> None:
    async with scripted(fails(401, "sk-secret is wrong, and so is hunter2")) as server:
        asked = model(way, server, key=lambda: "sk-secret", mask=lambda text: text.replace("hunter2", "*******"))
        with pytest.raises(ModelFailed) as caught:
            await asked.complete(request())
    assert caught.value.said.endswith(": *** is wrong, and so is *******")


def failure(message: str, status: int | None = 400, type: str = "BadRequestError", network: Network = "") -> Failure:
    return Failure(type, message, status, network=network)


def kind_of(failed: Failure) -> str:
    return meaning(failed, str, NAME, "openai", "worker").kind


@pytest.mark.parametrize(
    ("failed", "kind"),
    [
        (failure("prompt is too long: 210000 tokens > 200000 maximum"), "too_long"),
        (failure("input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000"), "too_long"),
        (
            failure("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
            "too_long",
        ),
        (failure("whatever", type="ContextWindowExceededError"), "too_long"),
        (failure("Missing credentials. Please pass an `api_key`", 500, type="InternalServerError"), "key_refused"),
        (failure("API key not valid. Please pass a valid API key."), "key_refused"),
        (failure("Unable to locate credentials", 500), "key_refused"),
        (failure("Your credit balance is too low to access the Anthropic API"), "no_credit"),
        (failure("No module named 'boto3'", 500), "support_missing"),
        (failure("blocked by the content policy"), "refused"),
        (failure("slow down", 429), "overloaded"),
        (
            failure("Rate limit reached: 30000 tokens per minute. The request exceeds the limit of tokens", 429),
            "overloaded",
        ),
        (failure("overloaded_error", 529), "overloaded"),
        (failure("'NoneType' object is not subscriptable", None, type="TypeError"), "failing"),
        (failure("Loading model", 503), "starting"),
        (failure("The engine is currently overloaded", 503), "overloaded"),
        (failure("Connection error", None, network="refused"), "unreachable"),
        (failure("nobody", None, network="no_host"), "wrong_address"),
        (failure("TimeoutError", 408, type="TimeoutError"), "silent"),
        (failure("odd", None, type="UnreadableReplyError"), "malformed"),
    ],
)
def test_the_words_of_providers_are_understood(failed: Failure, kind: str) -> None:
    assert kind_of(failed) == kind


def test_a_missing_package_is_named() -> None:
    said = str(meaning(failure("No module named 'boto3.session'", 500), str, NAME, "bedrock", "worker"))
    assert "pip install boto3`" in said


@each_row(
    "header, seconds",
    [("7", 7.0), ("0.5", 0.5), ("86400", 86400.0), ("Thu, 01 Jan 1970 00:00:40 GMT", 30.0), ("soon", 9.0)],
)
def test_the_wait_is_the_providers(header: str, seconds: float) -> None:
    failed = Failure("RateLimitError", "slow", 429, retry_after=header)
    assert wait_before(3, failed, asked_wait(failed, now=10.0), jitter=0.5) == seconds


def test_waits_spread() -> None:
    failed = failure("slow", 429)
    assert wait_before(1, failed, None, 0.0) < 1.0 < wait_before(1, failed, None, 1.0)


@pytest.mark.parametrize(
    "said",
    [
        "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 200.",
        "This model's maximum context length is 4096 tokens. However, you requested 5200 tokens (200 in the "
        "messages, 5000 in the completion). Please reduce the length of the messages or completion.",
    ],
)
def test_a_reply_limit_that_is_too_large_is_left_out_rather_than_the_prompt_cut(said: str) -> None:
    abilities = Abilities()
    failed = failure(said)
    assert abilities.step_down(failed, request(max_tokens=5000), stream=False)
    assert abilities.limit == "none"
    assert not abilities.step_down(failed, request(max_tokens=5000), stream=False)


@loop
async def test_a_reply_without_an_end_is_refused(way: Transport) -> None:
    async with scripted(says("x" * 4_100_000)) as server:
        with pytest.raises(ModelFailed, match="no end") as failed:
            await model(way, server).complete(request())
    assert failed.value.kind == "refused"


@each_row(
    "said, window",
    [
        ("request (1629 tokens) exceeds the available context size (1536 tokens), try increasing it", 1_536),
        ("the request exceeds the available context size. try increasing the context size", None),
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", 8_192),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("Prompt contains 40000 tokens, too large for model with 32,768 maximum context length", 32_768),
        ("prompt is too long", None),
    ],
)
def test_the_window_that_a_refusal_names_is_understood(said: str, window: int | None) -> None:
    assert window_in(said) == window


class StreamError(Exception):
    body: ClassVar = {"message": "context too long", "code": 400}


def test_an_error_in_a_stream_has_the_status_that_it_names() -> None:
    assert described(StreamError()).status == 400
