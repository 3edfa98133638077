"""What a model turned out not to take: it is asked for the most first, and for less where it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from donewhen.models.failures import is_about_length, is_about_tools
from donewhen.models.protocol import Failure
from donewhen.ports import ModelRequest

Format = Literal["json_schema", "json_object", "none"]
Limit = Literal["max_tokens", "max_completion_tokens", "none"]

_FORMATS: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "none", "none": "none"}
_LIMITS: Mapping[Limit, Limit] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "none",
    "none": "none",
}
EMPTY = "EmptyReplyError"
"""The type of a failure that came with no reply at all."""
UNSAID = "UnprocessableError"
"""The type of a failure that keeps its reason to itself: then one parameter after another is left out."""

_ABOUT_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|json mode|structured output|guided|grammar|schema", re.IGNORECASE
)
_ABOUT_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)
_ABOUT_LIMIT = re.compile(r"max_(?:completion_|output_|new_)?tokens", re.IGNORECASE)
_TOO_LARGE = re.compile(r"too large|at most|exceed", re.IGNORECASE)
_IN_COMPLETION = re.compile(r"[1-9]\d* (?:tokens )?(?:in|for) the completion", re.IGNORECASE)
_UNREADABLE = {None, 500}
_REFUSALS = {400, 404, 415, 422, 501}


@dataclass(slots=True)
class Abilities:
    """What may still be sent to one model. Replies are parsed strictly in any case: a step down loses no safety."""

    format: Format = "json_schema"
    limit: Limit = "max_tokens"
    temperature: bool = True
    tools: bool = True
    stream: bool = True
    streamed: bool = False
    """A stream came through."""
    whole: bool = True

    def step_down(self, failure: Failure, request: ModelRequest) -> bool:
        """Whether something that the provider complains of was sent and now no longer is: then ask again."""
        if request.tools and self.tools and is_about_tools(failure):
            self.tools = False
            return True
        if failure.status not in _REFUSALS or (is_about_length(failure) and not _limit_too_large(failure)):
            return False
        if request.schema is not None and self.format != "none" and _says(failure, _ABOUT_FORMAT):
            self.format = _FORMATS[self.format]
        elif request.temperature is not None and self.temperature and _says(failure, _ABOUT_TEMPERATURE):
            self.temperature = False
        elif request.max_tokens is not None and self.limit != "none" and _is_about_limit(failure):
            self.limit = "none" if _limit_too_large(failure) else _LIMITS[self.limit]
        else:
            return False
        return True

    def without_stream(self, failure: Failure) -> None:
        """A server that answers a wish to stream with nothing may have answered it whole: so it is asked from then
        on."""
        if failure.type == EMPTY:
            self.stream = False

    def without_whole(self, failure: Failure) -> bool:
        """A server that streams may do nothing else: then a stream is asked for from now on. Whether to ask again."""
        if not (self.whole and self.streamed and failure.status in _UNREADABLE):
            return False
        self.whole = False
        return True


def parameters(request: ModelRequest, abilities: Abilities) -> dict[str, Any]:
    """The request's parameters as litellm takes them, as far as the model takes them."""
    found: dict[str, Any] = {}
    if request.tools:
        found["tools"] = [
            {
                "type": "function",
                "function": {"name": one.name, "description": one.description, "parameters": dict(one.parameters)},
            }
            for one in request.tools
        ]
    if request.schema is not None and (wanted := _response_format(request.schema, abilities.format)):
        found["response_format"] = wanted
    if request.temperature is not None and abilities.temperature:
        found["temperature"] = request.temperature
    if request.max_tokens is not None and abilities.limit != "none":
        found[abilities.limit] = request.max_tokens
    return found


def _response_format(schema: Mapping[str, Any], format: Format) -> dict[str, Any] | None:
    if format == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema), "strict": True}}
    return {"type": "json_object"} if format == "json_object" else None


def _says(failure: Failure, about: re.Pattern[str]) -> bool:
    return failure.type == UNSAID or bool(about.search(f"{failure.message} {failure.code}"))


def _is_about_limit(failure: Failure) -> bool:
    return _says(failure, _ABOUT_LIMIT) or _limit_too_large(failure)


def _limit_too_large(failure: Failure) -> bool:
    """Not the prompt is too long, but what the reply was allowed on top."""
    said = failure.message
    return bool(_IN_COMPLETION.search(said) or (_ABOUT_LIMIT.search(said) and _TOO_LARGE.search(said)))
