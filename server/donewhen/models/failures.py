"""What a failed call means: whether and when to retry, and what to tell the user."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from donewhen.core.calls import CallRole
from donewhen.core.errors import FailureKind, ModelFailed
from donewhen.models.keys import refused_key
from donewhen.models.protocol import Failure

LONGEST_WAIT = 120.0
_SHOWN = 500
_LENGTH = re.compile(
    r"context[ _]?(?:length|window|size|limit)|maximum (?:context|prompt|input)|prompt is too long|input is too long"
    r"|too many (?:input )?tokens|reduce the length|exceeds? the (?:maximum|limit|model).*tokens"
    r"|request (?:entity )?too large",
    re.IGNORECASE | re.DOTALL,
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
_PROVIDER = re.compile(r"LLM Provider NOT provided|unmapped llm provider|unknown provider", re.IGNORECASE)
_MODULE = re.compile(r"No module named '([\w.]+)'")
_CANNOT = r"(?:not (?:yet )?support|n't support|unsupported|not available|requires --)"
_TOOLS = re.compile(
    rf"\b(?:tools?|tool[ _](?:choice|calls?|calling|use)|functions?|function[ _]call\w*)\b.{{0,40}}{_CANNOT}"
    rf"|{_CANNOT}.{{0,40}}\b(?:tools?|functions?|tool[ _]\w+|function[ _]\w+)\b",
    re.IGNORECASE,
)
_BEGUN = {"APITimeoutError", "BrokenOffError", "MidStreamFallbackError", "Timeout"}
_PASSING = {408, 409, 423, 425, 429, 529}


@dataclass(frozen=True, slots=True)
class Meaning:
    """`again`: another attempt may succeed."""

    error: ModelFailed
    again: bool = False


def meaning(
    failure: Failure,
    mask: Callable[[str], str],
    model: str,
    provider: str | None,
    role: CallRole,
    api_base: str | None = None,
) -> Meaning:
    """The failure in the words of `ModelFailed`, with secrets hidden."""
    kind = _kind(failure)
    text = _lead(kind, failure, model, provider, role, api_base)
    if not _PROVIDER.search(failure.message):
        text += f": {mask(' '.join(failure.message.split()))[:_SHOWN]}"
    return Meaning(ModelFailed(text, kind), again=kind == "outage")


def wait_before(attempt: int, failure: Failure, now: float, jitter: float) -> float:
    """Seconds before the next attempt: what the provider asks for, else 1, 3, 9, 27, with a jitter of a quarter."""
    asked = _retry_after(failure.retry_after, now)
    if asked is not None:
        return min(asked, LONGEST_WAIT)
    return 3.0 ** (attempt - 1) * (0.875 + 0.25 * jitter)


def was_begun(failure: Failure) -> bool:
    """The provider was already working when the call broke off, and charges for that; no one reports how much."""
    return failure.status == 408 or failure.type in _BEGUN


def is_about_length(failure: Failure) -> bool:
    """The prompt is longer than the model's window."""
    said = f"{failure.type} {failure.code} {failure.message}"
    return failure.status in (None, 400, 413, 422, 500) and bool(
        failure.type == "ContextWindowExceededError" or failure.status == 413 or _LENGTH.search(said)
    )


def is_about_tools(failure: Failure) -> bool:
    """The model, or its server as it was started, doesn't support tool calls."""
    return failure.status in (400, 404, 422, 500, 501) and bool(_TOOLS.search(failure.message))


def _kind(failure: Failure) -> FailureKind:
    said = f"{failure.code} {failure.message}"
    if _NO_CREDIT.search(said) and failure.status in (400, 402, 403, 429):
        return "refused"
    if failure.status in (401, 403) or _KEY.search(said):
        return "auth"
    if is_about_length(failure):
        return "context"
    if any(one.search(said) for one in (_PROVIDER, _MODULE, _NO_MODEL)):
        return "refused"
    passing = failure.status is None or failure.status >= 500 or failure.status in _PASSING
    return "outage" if passing else "refused"


def _lead(
    kind: FailureKind, failure: Failure, model: str, provider: str | None, role: CallRole, api_base: str | None
) -> str:
    if kind == "auth":
        return refused_key(model, provider, role)
    if kind == "context":
        return f"the prompt is too long for {model}"
    if kind == "outage":
        return f"{model} can't be reached"
    return _why_refused(failure, model, api_base)


def _why_refused(failure: Failure, model: str, api_base: str | None) -> str:
    said = f"{failure.code} {failure.message}"
    if module := _MODULE.search(said):
        return f"{model} needs another package: `pip install {module[1].partition('.')[0]}`"
    if _PROVIDER.search(said):
        return (
            f"`{model}` names no provider: write `provider/model`, such as `anthropic/claude-sonnet-4-5`, or "
            f"`openai/{model.rpartition('/')[2]}` with an api_base for an endpoint of your own"
        )
    if _NO_CREDIT.search(said):
        return f"the account for {model} has no credit left"
    if failure.status == 404 or _NO_MODEL.search(said):
        where = f", and that {api_base} is its base address" if api_base else ""
        return f"there is no model {model}: check the name (`provider/model`){where}"
    return f"{model} refused the request"


def _retry_after(header: str, now: float) -> float | None:
    """Seconds, or an HTTP date (RFC 9110, 10.2.3)."""
    text = header.strip()
    if not text:
        return None
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
