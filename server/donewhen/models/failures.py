"""What a failed call means: whether and when to retry, and what to tell the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from donewhen.core.calls import CallRole
from donewhen.core.errors import ModelFailed
from donewhen.core.trouble import TroubleKind
from donewhen.core.words import duration
from donewhen.models.catalogue import at_its_provider
from donewhen.models.keys import named_variables
from donewhen.models.protocol import Failure

LONGEST_WAIT = 120.0
"""Seconds. A provider that asks for a longer wait is not asked again before: the run pauses, and says so."""
_SHOWN = 500
_LENGTH = re.compile(
    r"context[ _]?(?:length|window|size|limit)|maximum (?:context|prompt|input)|prompt is too long|input is too long"
    r"|too many (?:input )?tokens|reduce the length|exceeds? the (?:maximum|limit|model).*tokens"
    r"|request (?:entity )?too large",
    re.IGNORECASE | re.DOTALL,
)
_WINDOW = re.compile(
    r"(?:context|prompt) (?:length|window|size|limit)\D{0,30}?([\d,]+)|> ([\d,]+) maximum|\b([\d,]+) maximum context"
    r"|tokens allowed \(([\d,]+)\)",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"missing credentials|api[_ ]key client option|api[_ -]?key (?:is )?(?:not valid|invalid|missing|expired)"
    r"|(?:incorrect|invalid) (?:x-)?api[_ -]?key|no api[_ -]?key|unable to locate credentials|default credentials",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing|payment", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model_not_found|\bmodel\b.{0,80}(?:not found|does(?: not|n't) exist)|no such model", re.IGNORECASE
)
_NAMES_MODEL = re.compile(r"\bmodel\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:country|region|territory|location)\b.{0,40}not (?:supported|available)", re.IGNORECASE)
_PROVIDER = re.compile(r"LLM Provider NOT provided|unmapped llm provider|unknown provider", re.IGNORECASE)
_MODULE = re.compile(r"No module named '([\w.]+)'")
_CANNOT = r"(?:not (?:yet )?support|n't support|unsupported|not available|requires --)"
_TOOLS = re.compile(
    rf"\b(?:tools?|tool[ _](?:choice|calls?|calling|use)|functions?|function[ _]call\w*)\b.{{0,40}}{_CANNOT}"
    rf"|{_CANNOT}.{{0,40}}\b(?:tools?|functions?|tool[ _]\w+|function[ _]\w+)\b",
    re.IGNORECASE,
)
_LOADING = re.compile(r"loading|starting|warming up|not ready|initiali[sz]ing", re.IGNORECASE)
_PAGE = re.compile(r"\s*<(?:!doctype html|html)", re.IGNORECASE)
_TITLE = re.compile(r"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_SILENT = {"APITimeoutError", "Silence", "Timeout", "TimeoutError"}
_BEGUN = {*_SILENT, "BrokenOffError", "MidStreamFallbackError"}
_PAYMENT_REQUIRED = 402
_NO_SUCH_METHOD = 405
_OVERLOADED = {429, 503, 529}
_PASSING = {408, 409, 423, 425, *_OVERLOADED}
_UNREADABLE = {"EmptyReplyError", "UnreadableReplyError", "JSONDecodeError"}
_NO_REPLY = re.compile(r"empty or invalid response from LLM|unterminated string|expecting value", re.IGNORECASE)
"""What litellm says with a status of its own where the reply can't be read."""
_NOT_JSON = re.compile(r"\(char \d+\)$")
"""How Python's own words for that end."""

TRIES: Mapping[TroubleKind, int] = {
    "starting": 60,
    "overloaded": 5,
    "failing": 5,
    "silent": 2,
    "malformed": 5,
}
"""How often a call is tried; once where a retry can't help."""
STARTING_WAIT = 5.0
AFTER_A_REPLY = 4
"""How often a server is tried that answered before and now refuses the connection: it may be restarting."""


def tries_for(kind: TroubleKind, *, answered: bool, asked: float = 0.0) -> int:
    """How often a call is tried that fails so; `answered`: the same server has answered before, `asked`: the seconds
    that the provider asks to wait."""
    if asked > LONGEST_WAIT:
        return 1
    return AFTER_A_REPLY if kind == "unreachable" and answered else TRIES.get(kind, 1)


def meaning(
    failure: Failure,
    mask: Callable[[str], str],
    model: str,
    provider: str | None,
    role: CallRole,
    api_base: str | None = None,
    silence: float = 0.0,
    asked: float = 0.0,
) -> ModelFailed:
    """The failure in words for people, with secrets hidden. `silence`: how long nothing came; `asked`: the seconds that
    the provider asks to wait."""
    kind, said = kind_of(failure), failure.message
    if page := _PAGE.search(said):
        title = _TITLE.search(said)
        said = f"{said[: page.start()].rstrip()} a page of HTML{f', {title[1].strip()}' if title else ''}"
    words = mask(" ".join(said.split()))[:_SHOWN]
    return ModelFailed(
        _failure_sentence(kind, failure, words, model, api_base, silence, asked),
        kind,
        typed=_typed(kind, failure, model, provider, role, api_base),
        status=failure.status,
        window=window_in(failure.message) if kind == "too_long" else None,
    )


def window_in(refusal: str) -> int | None:
    """The model's context in tokens, where a refusal of a prompt that is too long names it."""
    found = _WINDOW.search(refusal)
    digits = next(filter(None, found.groups()), "").replace(",", "") if found else ""
    return int(digits) if digits and int(digits) > 0 else None


def wait_before(attempt: int, failure: Failure, asked: float | None, jitter: float) -> float:
    """Seconds before the next attempt: what the provider asks for, else 1, 3, 9, 27, with a jitter of a quarter; a
    server that starts is asked every 5 s."""
    if asked is not None:
        return asked
    if kind_of(failure) == "starting":
        return STARTING_WAIT
    return 3.0 ** (attempt - 1) * (0.875 + 0.25 * jitter)


def was_begun(failure: Failure) -> bool:
    """The provider was already working when the call broke off, and charges for that; no one reports how much."""
    connected = failure.network in ("", "broken_off")
    return connected and (failure.status == 408 or failure.type in _BEGUN)


def is_about_length(failure: Failure) -> bool:
    """The prompt is longer than the model's window."""
    said = f"{failure.type} {failure.code} {failure.message}"
    return failure.status in (None, 400, 413, 422, 500) and bool(
        failure.type == "ContextWindowExceededError" or failure.status == 413 or _LENGTH.search(said)
    )


def is_about_tools(failure: Failure) -> bool:
    """The model, or its server as it was started, doesn't support tool calls."""
    return failure.status in (400, 404, 422, 500, 501) and bool(_TOOLS.search(failure.message))


def kind_of(failure: Failure) -> TroubleKind:  # noqa: C901  # the order of the rules is the rule
    """The cause of a failed call."""
    said = f"{failure.code} {failure.message}"
    if failure.network == "no_host":
        return "wrong_address"
    if failure.network in ("refused", "not_connected"):
        return "unreachable"
    if failure.status == _PAYMENT_REQUIRED or (_NO_CREDIT.search(said) and failure.status in (400, 403, 429)):
        return "no_credit"
    if failure.status in (400, 403) and _PLACE.search(said):
        return "refused"
    if failure.status in (401, 403) or _KEY.search(said):
        return "key_refused"
    if is_about_length(failure):
        return "too_long"
    if _MODULE.search(said):
        return "support_missing"
    if _PROVIDER.search(said) or _NO_MODEL.search(said):
        return "no_such_model"
    if failure.status == 404:
        return "no_such_model" if _NAMES_MODEL.search(said) else "wrong_address"
    if failure.status == _NO_SUCH_METHOD:
        return "wrong_address"
    if failure.status == 503 and _LOADING.search(said):
        return "starting"
    if failure.status in _OVERLOADED:
        return "overloaded"
    if failure.type in _SILENT:
        return "silent"
    if failure.type in _UNREADABLE or _NO_REPLY.search(said):
        return "malformed"
    return "failing" if failure.status is None or failure.status >= 500 or failure.status in _PASSING else "refused"


def _failure_sentence(
    kind: TroubleKind,
    failure: Failure,
    words: str,
    model: str,
    api_base: str | None,
    silence: float,
    asked: float,
) -> str:
    """What is wrong, what was said, and what to do."""
    told = f"it asks to wait {duration(asked)}: resume then" if asked > LONGEST_WAIT else ""
    answers = f"{model} answers {failure.status}" if failure.status is not None else f"{model} fails"
    at = f" at {api_base}" if api_base else ""
    unread = "an empty reply, or one that is not JSON" if _NOT_JSON.search(failure.message) else words
    module = _MODULE.search(failure.message)
    nothing = words if words.startswith("sent nothing") else f"sent nothing for {silence:.0f} s"
    texts: Mapping[TroubleKind, str] = {
        "unreachable": f"{model} can't be reached{at}: {words}; "
        + ("start its server, or correct its address" if api_base else "check the network"),
        "wrong_address": f"{model} is not{at or ' there'}: "
        f"{words if failure.network else f'{failure.status} ({words})'}; correct the address (most end in /v1), or the "
        "name",
        "starting": f"the server of {model} is still starting: {words}; {told or 'wait until it is ready'}",
        "overloaded": f"{answers}: {words}; {told or 'wait a while'}, or set another model",
        "failing": f"{answers}: {words}; {told or 'try again later'}, or set another model",
        "silent": f"{model} {nothing}: its server hangs, or needs longer to read the prompt",
        "malformed": f"{model} sends something that is not a reply: {unread}; check its address",
        "key_refused": f"the key for {model} was not accepted: {words}",
        "too_long": f"the prompt is too long for {model}: {words}",
        "no_credit": f"the account for {model} has no credit left: {words}",
        "support_missing": f"{model} needs another package, {_package(module)}",
        "no_such_model": names_no_provider(model)
        if _PROVIDER.search(failure.message)
        else f"there is no model {model}: check the name (`provider/model`)"
        + (f", and that {api_base} is its base address" if api_base else "")
        + f": {words}",
    }
    return texts.get(kind, f"{model} refused the request: {words}")


def _typed(
    kind: TroubleKind, failure: Failure, model: str, provider: str | None, role: CallRole, api_base: str | None
) -> str:
    """What to set or to type in a terminal."""
    prefix = "--judge-" if role == "judge" else "--"
    if kind == "key_refused":
        return f"; check {named_variables(provider, role, at_provider=at_its_provider(model, api_base))}"
    if kind == "support_missing":
        return f": `pip install {_package(_MODULE.search(failure.message))}`"
    if kind == "wrong_address":
        return f" ({prefix}api-base, {prefix}model)"
    return f" ({prefix}api-base)" if kind == "malformed" or (kind == "unreachable" and api_base) else ""


def _package(module: re.Match[str] | None) -> str:
    return "" if module is None else module[1].partition(".")[0]


def names_no_provider(model: str) -> str:
    lacks = "model" if model.endswith("/") else "provider"
    return (
        f"`{model}` names no {lacks}: write `provider/model`, such as `anthropic/claude-sonnet-4-5`, or "
        f"`openai/{model.strip('/').rpartition('/')[2] or 'NAME'}` with an api_base for an endpoint of your own"
    )


def asked_wait(failure: Failure, now: float) -> float | None:
    """The seconds that the provider asks to wait, whether it names them or a date (RFC 9110, 10.2.3)."""
    text = failure.retry_after.strip()
    if not text:
        return None
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
