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

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

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
from tests.scripted_models.script import WHEN_OUT, Part, Prebuilt, WhenOut

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
_ALWAYS = ("delay", "pace", "expect", "headers", "times")
_ANSWER = ("text", "calls", "reasoning", "usage", "finish_reason", "piece")
_TEXTS = ("contains", "lacks", "matches", "matches_not", "last")
_FAIL = ("message", "code", "type", "param", "retry_after")


class BadScript(ValueError):
    """A script that says nothing that could be played; its text says where and what to do."""


def read_script(path: Path) -> dict[str, Part | Prebuilt]:
    """The parts that a file holds, by model. Raises BadScript, which also stands for a file that can't be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadScript(f"{path}: the script can't be read: {error}") from error
    try:
        return script_of(_parsed(path, text))
    except BadScript as error:
        raise BadScript(f"{path.name}: {error}") from error


def script_of(value: object) -> dict[str, Part | Prebuilt]:
    """The parts that a plain value of that shape describes. Raises BadScript."""
    whole = _mapping(value, "script", ("models", "when_out"))
    models = _mapping(whole.get("models"), "models")
    if not models:
        raise BadScript("models: write at least one model, such as `models: {worker: [It is done.]}`")
    when_out = _when_out(whole.get("when_out", "fail"), "when_out")
    return {name: _part(part, f"models.{name}", when_out) for name, part in models.items()}


def _parsed(path: Path, text: str) -> object:
    if path.suffix == ".json":
        try:
            return json.loads(text)
        except ValueError as error:
            raise BadScript(f"this is not JSON: {error}") from error
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadScript(f"this is not YAML: {error}") from error


def _part(value: object, where: str, when_out: WhenOut) -> Part | Prebuilt:
    if isinstance(value, list):
        return Part(_replies(cast(object, value), where), when_out)
    found = _mapping(value, where)
    if found.get("prebuilt"):
        return _prebuilt(_mapping(found, where, ("replies", "prebuilt")), where)
    _mapping(found, where, ("replies", "prebuilt", "when_out", "unsupported", "window"))
    window = found.get("window")
    return Part(
        _replies(found.get("replies"), f"{where}.replies"),
        _when_out(found.get("when_out", when_out), f"{where}.when_out"),
        _texts(found.get("unsupported", []), f"{where}.unsupported"),
        None if window is None else int(_number(window, f"{where}.window")),
    )


def _prebuilt(found: Mapping[str, Any], where: str) -> Prebuilt:
    try:
        return Prebuilt(*_replies(found.get("replies"), f"{where}.replies"))
    except ValueError as error:
        raise BadScript(f"{where}: {error}") from error


def _when_out(value: object, where: str) -> WhenOut:
    for known in WHEN_OUT:
        if value == known:
            return known
    raise BadScript(f"{where}: this is {value!r}, and has to be one of {', '.join(WHEN_OUT)}")


def _replies(value: object, where: str) -> tuple[Reply, ...]:
    found: list[Reply] = []
    for index, entry in enumerate(_list(value, where)):
        at = f"{where}[{index}]"
        mapping = {"text": entry} if isinstance(entry, str) else _mapping(entry, at)
        found += [_reply(mapping, at)] * int(_number(mapping.get("times", 1), f"{at}.times"))
    return tuple(found)


def _reply(found: Mapping[str, Any], where: str) -> Reply:
    made = _act(found, where)
    pauses = {name: _number(found[name], f"{where}.{name}") for name in ("delay", "pace") if name in found}
    headers = {key: str(text) for key, text in _mapping(found.get("headers", {}), f"{where}.headers").items()}
    wanted = found.get("expect")
    expectation = None if wanted is None else _expectation(wanted, f"{where}.expect")
    return replace(made, **pauses, headers={**made.headers, **headers}, expectation=expectation)


def _act(found: Mapping[str, Any], where: str) -> Reply:
    for key, allowed, make in (
        ("fail", _FAIL, _failure),
        ("garbage", ("after_events",), _garbage),
        ("body", ("status", "content_type"), _body),
    ):
        if key in found:
            return make(_mapping(found, where, (key, *allowed, *_ALWAYS)), where)
    return Reply(_answer(_mapping(found, where, (*_ANSWER, "fail", "garbage", "body", *_ALWAYS)), where))


def _answer(found: Mapping[str, Any], where: str) -> Answer:
    if not {"text", "calls", "reasoning"} & set(found):
        raise BadScript(f"{where}: a reply needs `text`, `calls`, `reasoning`, `fail`, `garbage` or `body`")
    counts = _mapping(found.get("usage", {}), f"{where}.usage", ("prompt", "completion", "cached"))
    usage = TokenCounts(**{name: int(_number(count, f"{where}.usage.{name}")) for name, count in counts.items()})
    made = _list(found.get("calls", []), f"{where}.calls")
    return Answer(
        text=_text(found.get("text", ""), f"{where}.text"),
        tool_calls=tuple(_call(one, f"{where}.calls[{index}]") for index, one in enumerate(made)),
        reasoning=_text(found.get("reasoning", ""), f"{where}.reasoning"),
        usage=usage,
        finish_reason=_text(found.get("finish_reason", ""), f"{where}.finish_reason"),
        piece=int(_number(found.get("piece", 24), f"{where}.piece")),
    )


def _call(value: object, where: str) -> ToolCall:
    found = _mapping(value, where, ("name", "arguments", "id"))
    arguments = found.get("arguments", {})
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(_text(found.get("name"), f"{where}.name"), raw, str(found.get("id", "")))


def _failure(found: Mapping[str, Any], where: str) -> Reply:
    kind = found["fail"]
    if isinstance(kind, str):
        if kind not in NAMED_FAILURES:
            raise BadScript(f"{where}.fail: there is no {kind!r}{_nearest(kind, NAMED_FAILURES)}")
        return NAMED_FAILURES[kind]()
    texts = {name: _text(found[name], f"{where}.{name}") for name in ("code", "type", "param") if name in found}
    status = int(_number(kind, f"{where}.fail"))
    return fails(status, str(found.get("message", "")), retry_after=found.get("retry_after"), **texts)


def _garbage(found: Mapping[str, Any], where: str) -> Reply:
    kind = _text(found["garbage"], f"{where}.garbage")
    if kind not in GARBAGE:
        raise BadScript(f"{where}.garbage: there is no {kind!r}{_nearest(kind, GARBAGE)}")
    return GARBAGE[kind](int(_number(found.get("after_events", 0), f"{where}.after_events")))


def _body(found: Mapping[str, Any], where: str) -> Reply:
    status = int(_number(found.get("status", 200), f"{where}.status"))
    body = found["body"]
    text = body if isinstance(body, str) else json.dumps(body)
    return verbatim(text, status=status, content_type=str(found.get("content_type", "application/json")))


def _expectation(value: object, where: str) -> Expectation:
    found = _mapping(value, where, (*_TEXTS, "tools", "response_format"))
    texts = {name: _texts(found[name], f"{where}.{name}") for name in _TEXTS if name in found}
    tools, form = found.get("tools"), found.get("response_format")
    try:
        return Expectation(
            **texts,
            tools=tools if tools is None or isinstance(tools, bool) else _texts(tools, f"{where}.tools"),
            response_format=form if form is None or isinstance(form, bool) else _text(form, f"{where}.response_format"),
        )
    except re.error as error:
        raise BadScript(f"{where}: {error.pattern!r} is not a regular expression: {error}") from error


# ---- plain values


def _mapping(value: object, where: str, known: Iterable[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadScript(f"{where}: this should be a mapping, and is {type(value).__name__}")
    found = cast(Mapping[str, Any], value)
    for key in found if known is not None else ():
        if key not in (names := list(known or ())):
            raise BadScript(f"{where}: unknown key {key!r}{_nearest(str(key), names)}")
    return found


def _list(value: object, where: str) -> list[object]:
    if isinstance(value, list):
        return cast(list[object], value)
    raise BadScript(f"{where}: this should be a list, and is {type(value).__name__}")


def _text(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    raise BadScript(f"{where}: this should be a text, and is {type(value).__name__}")


def _texts(value: object, where: str) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else _list(value, where)
    return tuple(_text(entry, f"{where}[{index}]") for index, entry in enumerate(entries))


def _number(value: object, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return value
    raise BadScript(f"{where}: this should be a number from 0, and is {value!r}")


def _nearest(key: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(key, names, 1)
    return f": did you mean {close[0]!r}?" if close else f": known are {', '.join(names)}"
