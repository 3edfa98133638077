"""Converts what a client raised, litellm in the model host or one of the official clients, to values for the server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

_LONGEST = 2_000
_SHORTEST_KEY = 8
_AFTER = re.compile(r"[. ]*(?:Original exception:|LiteLLM Retried|Traceback \(most recent)")
_PREFIXES = re.compile(
    r"^(?:litellm\.)?\w*(?:Error|Exception|Timeout): (?:\w+(?:Exception|Error) - )?|^\w+Exception - "
)


def described(error: BaseException, key: str | None = None, words: str | None = None) -> dict[str, Any]:
    """The fields of `protocol.Failure`; the key, which providers like to repeat, is hidden. `words` are the provider's
    own, where the error's text is more than these."""
    headers = _headers(error)
    status = getattr(error, "status_code", None)
    if isinstance(error, TimeoutError):
        status = 408
    return {
        "type": type(error).__name__,
        "message": _plain(_without(str(error) if words is None else words, key)) or type(error).__name__,
        "status": status if isinstance(status, int) else None,
        "code": _code(error),
        "retry_after": _retry_after(headers),
    }


def _without(text: str, key: str | None) -> str:
    return text.replace(key, "***") if key and len(key) >= _SHORTEST_KEY else text


def _plain(text: str) -> str:
    """The text without the exception names that litellm puts before the provider's words."""
    text = _AFTER.split(text, maxsplit=1)[0].strip()
    while (shorter := _PREFIXES.sub("", text)) != text:
        text = shorter
    return text[:_LONGEST]


def _code(error: BaseException) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        return str(cast(Mapping[str, Any], body).get("code") or "")
    return str(getattr(error, "code", None) or "")


def _headers(error: BaseException) -> Mapping[str, str]:
    found: dict[str, str] = {}
    response = getattr(error, "response", None)
    for headers in (getattr(response, "headers", None), getattr(error, "litellm_response_headers", None)):
        if headers is not None and hasattr(headers, "items"):
            found.update({str(name).lower(): str(value) for name, value in headers.items()})
    return found


def _retry_after(headers: Mapping[str, str]) -> str:
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.isdecimal():
        return str(int(milliseconds) / 1000)
    return headers.get("retry-after", "")
