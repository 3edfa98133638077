"""Replies that go wrong, in the shapes that the real service gives them."""

from __future__ import annotations

from donewhen.testing.models.replies import Answer, Endless, Failure, Interrupted, Reply, Verbatim

RATE_LIMITED = "Rate limit reached for requests. Please try again later."
SERVER_ERROR = "The server had an error while processing your request. Sorry about that!"
HALF_OF_A_BODY = (
    '{"id": "chatcmpl-half", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assist'
)
PAGE = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_KINDS: dict[int, tuple[str, str, str | None]] = {
    401: ("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    403: ("You are not allowed to use this model.", "invalid_request_error", None),
    404: ("The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found"),
    429: (RATE_LIMITED, "requests", "rate_limit_exceeded"),
    503: ("The engine is currently overloaded, please try again later.", "server_error", None),
}


def fails(
    status: int,
    message: str = "",
    *,
    retry_after: float | str | None = None,
    code: str | None = None,
    type: str = "",
    param: str | None = None,
) -> Reply:
    """An error in OpenAI's shape. `retry_after` is in seconds, or an HTTP date."""
    fallback = (SERVER_ERROR, "server_error", None) if status >= 500 else ("The request is invalid.", "", None)
    known_message, known_type, known_code = _KINDS.get(status, fallback)
    kind = type or known_type or "invalid_request_error"
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after}"}
    return Reply(Failure(status, message or known_message, kind, param, code or known_code), headers=headers)


def out_of_quota() -> Reply:
    """A 429 that no waiting helps with."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return fails(429, message, type="insufficient_quota", code="insufficient_quota")


def context_exceeded(window: int = 8192, asked: int = 9000) -> Reply:
    """The conversation is longer than the model's window."""
    message = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in {asked} tokens. "
        "Please reduce the length of the messages."
    )
    return fails(400, message, param="messages", code="context_length_exceeded")


def unsupported(parameter: str) -> Reply:
    """The model refuses a parameter, such as `response_format`, `tools` or `temperature`."""
    message = f"Unsupported parameter: '{parameter}' is not supported with this model."
    return fails(400, message, param=parameter, code="unsupported_parameter")


def html(status: int = 200) -> Reply:
    """A proxy's page where JSON belongs."""
    return Reply(Verbatim(PAGE.encode(), content_type="text/html; charset=utf-8", status=status))


def truncated() -> Reply:
    """A whole HTTP message whose JSON stops in the middle."""
    return Reply(Verbatim(HALF_OF_A_BODY.encode(), f"data: {HALF_OF_A_BODY}\n\ndata: [DONE]\n\n".encode()))


def verbatim(body: bytes | str, *, status: int = 200, content_type: str = "application/json") -> Reply:
    """Any body."""
    return Reply(Verbatim(body.encode() if isinstance(body, str) else body, content_type=content_type, status=status))


def drops(after_events: int = 0, text: str = "This reply is cut off before its end.") -> Reply:
    """The connection closes: before any byte, or after some events of a stream (half of a plain body)."""
    return Reply(Interrupted(Answer(text), after_events, "drop"))


def hangs(after_events: int = 0, text: str = "This reply stops, and nothing follows.") -> Reply:
    """Nothing more comes, and the connection stays open."""
    return Reply(Interrupted(Answer(text), after_events, "hang"))


def breaks(after_events: int = 2, text: str = "This reply ends in an error.") -> Reply:
    """A stream that began well reports an error as an event; a plain request gets status 500."""
    return Reply(Interrupted(Answer(text), after_events, "error"))


def never_ends(piece: str = "and so on ", pace: float = 0.005) -> Reply:
    """A stream that goes on until the client leaves."""
    return Reply(Endless(piece), pace=pace)
