"""Converts what a client raised, litellm in the model host or one of the official clients, to values for the server."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from donewhen.models.protocol import Failure, Network

_LONGEST = 2_000
_SHORTEST_KEY = 8
_STATUS = re.compile(r"[45]\d\d")
_AFTER = re.compile(r"[. ]*(?:Original exception:|LiteLLM Retried|Traceback \(most recent)")
_PREFIXES = re.compile(
    r"^(?:litellm\.)?\w*(?:Error|Exception|Timeout): (?:\w+(?:Exception|Error) - )?|^\w+Exception - "
)


def described(error: BaseException, key: str | None = None, words: str | None = None) -> Failure:
    """Why a call failed; the key, which providers like to repeat, is hidden. `words` are the provider's own, where the
    error's text is more than these."""
    body, status = getattr(error, "body", None), getattr(error, "status_code", None)
    coded = cast(Mapping[str, Any], body).get("code") if isinstance(body, Mapping) else getattr(error, "code", None)
    code = str(coded or "")
    if status is None and _STATUS.fullmatch(code):
        status = int(code)  # in a stream, which has begun as a success
    if isinstance(error, TimeoutError):
        status = 408
    network, why = _network(error)
    if network:
        status, words = None, why  # litellm says 500 for it
    said = str(error) if words is None else words
    if key and len(key) >= _SHORTEST_KEY:
        said = said.replace(key, "***")
    # litellm puts the names of exceptions before the provider's words, and more of its own behind them.
    said = _AFTER.split(said, maxsplit=1)[0].strip()
    while (shorter := _PREFIXES.sub("", said)) != said:
        said = shorter
    return Failure(
        type(error).__name__,
        said[:_LONGEST] or type(error).__name__,
        status if isinstance(status, int) else None,
        code,
        _retry_after(error),
        network,
    )


_NOT_CONNECTED = {"ConnectError", "ConnectTimeout", "ClientConnectorError", "UnsupportedProtocol"}
_BROKEN_OFF = {"ReadError", "RemoteProtocolError", "ServerDisconnectedError", "WriteError"}


def _network(error: BaseException) -> tuple[Network, str]:
    """Whether the connection is why, and the words of the innermost cause; clients wrap it several times."""
    # A queue that is empty is how a client finds out, and not why.
    causes, network = [one for one in _causes(error) if not isinstance(one, LookupError)] or [error], ""
    for one in causes:
        name = type(one).__name__
        if isinstance(one, socket.gaierror):
            return "not_connected" if one.errno == socket.EAI_AGAIN else "no_host", "no host of that name is known"
        if isinstance(one, ConnectionRefusedError):
            return "refused", "connection refused"
        if name in _NOT_CONNECTED:
            network = "not_connected"
        elif name in _BROKEN_OFF and not network:
            network = "broken_off"
    return network, str(causes[-1]) or type(causes[-1]).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it, each once."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop(0)
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]  # of a group


def redirected_to(error: BaseException) -> str:
    """Of an error of httpx, or of a client on top of it: the address that failed in the place of the one that was
    asked; empty if there was no redirection."""
    response = getattr(error, "response", None)
    if getattr(response, "history", None):
        return str(getattr(response, "url", ""))
    asked: list[str] = []
    for one in _causes(error):
        with suppress(RuntimeError):  # httpx's way to say that there is none
            if (url := getattr(getattr(one, "request", None), "url", None)) is not None:
                asked.append(str(url))
    return asked[-1] if asked and asked[-1] != asked[0] else ""


def _retry_after(error: BaseException) -> str:
    headers: dict[str, str] = {}
    response = getattr(error, "response", None)
    for given in (getattr(response, "headers", None), getattr(error, "litellm_response_headers", None)):
        if given is not None and hasattr(given, "items"):
            headers.update({str(name).lower(): str(value) for name, value in given.items()})
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.isdecimal():
        return str(int(milliseconds) / 1000)
    return headers.get("retry-after", "")
