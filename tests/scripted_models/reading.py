"""Scripts as files, YAML or JSON:

    when_out: repeat_last            # fail (the default), repeat_last, repeat_all
    models:
      worker:
        - text: I start with the tests.
          calls: [{name: run_command, arguments: {command: pytest -q}}]
        - fail: 429
          retry_after: 0.1
        - It is done.                # a text alone
      judge:
        unsupported: [json_schema, temperature]
        window: 8192                 # prompt tokens, as estimated
        replies:
          - text: '{"verdicts": []}'
            expect: {contains: [R1], response_format: true}

A reply is one of these four:
- `text`, `calls`, `reasoning`, with `usage`, `finish_reason`, `piece`;
- `fail`, a status or one of NAMED_FAILURES, with `message`, `code`, `type`, `param`, `retry_after`;
- `garbage`, one of GARBAGE, with `after_events`;
- `body`, a text or a value, with `status`, `content_type`.

Any has `delay`, `pace`, `expect`, `headers`, and `times`, how often it stands there. A part with `prebuilt: true` has
nothing but `replies`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from donewhen.core.errors import InvalidGoal
from donewhen.yaml_shapes import Count, Items, Number, Shape, nearest, read
from tests.scripted_models.calls import Expectation, ToolCall
from tests.scripted_models.replies import (
    Answer,
    Reply,
    TokenCounts,
    breaks,
    context_exceeded,
    drops,
    fails,
    hangs,
    html,
    never_ends,
    out_of_quota,
    truncated,
    unsupported,
    verbatim,
)
from tests.scripted_models.script import Part, Prebuilt, WhenOut

NAMED_FAILURES: dict[str, Callable[[], Reply]] = {
    "context_exceeded": context_exceeded,
    "out_of_quota": out_of_quota,
    "rate_limited": lambda: fails(429),
    "unauthorized": lambda: fails(401),
    **{
        f"unsupported_{name}": lambda name=name: unsupported(name)
        for name in ("response_format", "tools", "temperature")
    },
}
GARBAGE: dict[str, Callable[[int], Reply]] = {
    "html": lambda _: html(),
    "truncated": lambda _: truncated(),
    "never_ends": lambda _: never_ends(),
    "drops": drops,
    "hangs": hangs,
    "breaks": breaks,
}
_ALWAYS = {"delay", "pace", "expect", "headers", "times"}
_KINDS = {
    "fail": {"message", "code", "type", "param", "retry_after"},
    "garbage": {"after_events"},
    "body": {"status", "content_type"},
    "": {"text", "calls", "reasoning", "usage", "finish_reason", "piece"},
}


def read_script(path: Path) -> dict[str, Part | Prebuilt]:
    """The parts that a file holds, by model.

    Raises InvalidGoal with the line of a mistake, and for a file that can't be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidGoal(f"{path}: the script can't be read: {error}") from error
    script = read(_Script, text, path.name)
    return {name: part.made(script.when_out) for name, part in script.models.items()}


def _known(name: str, known: dict[str, Any]) -> str:
    if name not in known:
        raise ValueError(f"there is no `{name}`{nearest(name, known)}")
    return name


def _texts(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[Items[str], BeforeValidator(_texts)]
"""A text, or a list of texts."""


class _Expect(Shape):
    contains: Texts = ()
    lacks: Texts = ()
    matches: Texts = ()
    matches_not: Texts = ()
    last: Texts = ()
    tools: Texts | bool | None = None
    response_format: str | bool | None = None

    @property
    def made(self) -> Expectation:
        return Expectation(**{name: getattr(self, name) for name in type(self).model_fields})

    @model_validator(mode="after")
    def _has_patterns(self) -> Self:
        try:
            _ = self.made
        except re.error as error:
            raise ValueError(f"{error.pattern!r} is not a regular expression: {error}") from error
        return self


class _Call(Shape):
    name: str
    arguments: Any = Field(default_factory=dict)
    id: str = ""

    @property
    def made(self) -> ToolCall:
        given = self.arguments
        return ToolCall(self.name, given if isinstance(given, str) else json.dumps(given, ensure_ascii=False), self.id)


class _Usage(Shape):
    prompt: Count | None = None
    completion: Count | None = None
    cached: Count = 0


class _Reply(Shape):
    text: str = ""
    calls: Items[_Call] = ()
    reasoning: str = ""
    usage: _Usage = _Usage()
    finish_reason: str = ""
    piece: Count = 24
    fail: Count | str = ""
    message: str = ""
    code: str | None = None
    type: str = ""
    param: str | None = None
    retry_after: Number | str | None = None
    garbage: str = ""
    after_events: Count = 0
    body: Any = None
    status: Count = 200
    content_type: str = "application/json"
    delay: Number = 0.0
    pace: Number = 0.0
    expect: _Expect | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    times: Count = 1

    @field_validator("fail")
    @classmethod
    def _names_a_failure(cls, fail: int | str) -> int | str:
        return _known(fail, NAMED_FAILURES) if isinstance(fail, str) else fail

    @field_validator("garbage")
    @classmethod
    def _names_garbage(cls, garbage: str) -> str:
        return _known(garbage, GARBAGE)

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        kind = next((kind for kind in _KINDS if kind in self.model_fields_set), "")
        for key in sorted(self.model_fields_set - _KINDS[kind] - _ALWAYS - {kind}):
            raise ValueError(f"`{key}` does not belong to {f'`{kind}`' if kind else 'an answer'}")
        if not kind and not {"text", "calls", "reasoning"} & self.model_fields_set:
            raise ValueError("a reply needs `text`, `calls`, `reasoning`, `fail`, `garbage` or `body`")
        return self

    @property
    def made(self) -> tuple[Reply, ...]:
        made = self._act()
        expectation = self.expect.made if self.expect else None
        headers = {**made.headers, **self.headers}
        pace = self.pace if "pace" in self.model_fields_set else made.pace
        return (replace(made, delay=self.delay, pace=pace, headers=headers, expectation=expectation),) * self.times

    def _act(self) -> Reply:
        if isinstance(self.fail, int):
            more = {"code": self.code, "type": self.type, "param": self.param}
            return fails(self.fail, self.message, retry_after=self.retry_after, **more)
        if self.fail:
            return NAMED_FAILURES[self.fail]()
        if self.garbage:
            return GARBAGE[self.garbage](self.after_events)
        if "body" in self.model_fields_set:
            text = self.body if isinstance(self.body, str) else json.dumps(self.body)
            return verbatim(text, status=self.status, content_type=self.content_type)
        usage = TokenCounts(self.usage.prompt, self.usage.completion, self.usage.cached)
        calls = tuple(call.made for call in self.calls)
        return Reply(Answer(self.text, calls, self.reasoning, usage, self.finish_reason, self.piece))


def _text_alone(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


class _Part(Shape):
    replies: Items[Annotated[_Reply, BeforeValidator(_text_alone)]]
    prebuilt: bool = False
    when_out: WhenOut | None = None
    unsupported: Texts = ()
    window: Count | None = None

    @model_validator(mode="after")
    def _may_be_prebuilt(self) -> Self:
        if self.prebuilt:
            if more := self.model_fields_set - {"replies", "prebuilt"}:
                raise ValueError(f"a prebuilt part has nothing but `replies`, and no `{min(more)}`")
            self.made("fail")
        return self

    def made(self, when_out: WhenOut) -> Part | Prebuilt:
        replies = tuple(reply for one in self.replies for reply in one.made)
        if self.prebuilt:
            return Prebuilt(*replies)
        return Part(replies, self.when_out or when_out, self.unsupported, self.window)


def _replies_alone(value: object) -> object:
    return {"replies": value} if isinstance(value, list) else value


class _Script(Shape):
    models: dict[str, Annotated[_Part, BeforeValidator(_replies_alone)]]
    when_out: WhenOut = "fail"

    @field_validator("models")
    @classmethod
    def _has_one(cls, models: dict[str, _Part]) -> dict[str, _Part]:
        if not models:
            raise ValueError("write at least one model, such as `models: {worker: [It is done.]}`")
        return models
