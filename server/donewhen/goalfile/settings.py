"""The keys of the front matter: their meaning, their values, and what is wrong with a value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from donewhen.core.errors import InvalidGoal
from donewhen.core.goal import Limits
from donewhen.core.panel import MOST, panel
from donewhen.core.workers import WORKERS
from donewhen.goalfile.front_matter import RawEntry, Scalar
from donewhen.goalfile.globs import glob_problem, plain_glob
from donewhen.goalfile.source import FileProblem, ProblemSeverity

UNLIMITED = "unlimited"

Kind = Literal["worker", "text", "panel", "whole", "duration", "money", "globs", "flag"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the front matter. `examples` are values worth offering; `unlimited` says whether it may be that."""

    name: str
    kind: Kind
    meaning: str
    examples: tuple[str, ...] = ()
    unlimited: bool = False


KEYS = (
    Key("worker", "worker", "Who works on the goal.", tuple(WORKERS)),
    Key("model", "text", "The model of the built-in agent, as litellm names it."),
    Key("judge_model", "panel", "The model that judges what no check decides; several: `A, B, C` or `3*A`."),
    Key("max_iterations", "whole", "How many worker turns at most; 10 if absent.", ("10", "3", "20"), unlimited=True),
    Key("timeout", "duration", "How long at most; `60m` if absent.", ("30m", "60m", "2h"), unlimited=True),
    Key("budget", "money", "US dollars that it may cost; no limit if absent.", ("5.00", "1.00"), unlimited=True),
    Key("token_budget", "whole", "Tokens that it may use; no limit if absent.", ("200000",), unlimited=True),
    Key("check_timeout", "duration", "How long one check may take; `10m` if absent.", ("10m", "90s")),
    Key("protect", "globs", "Files that the worker must not change.", ('["tests/**"]',)),
    Key("proof", "globs", "More files that are proof, besides tests and what configures them.", ('["data/gold/**"]',)),
    Key("may_change", "globs", "Tests that the goal wants changed.", ('["tests/test_api.py"]',)),
    Key("guard", "flag", "Once complete, check again after each edit; `false` if absent.", ("true", "false")),
    Key("stall_after", "whole", "Iterations without progress that end it; 3 if absent.", ("3", "5"), unlimited=True),
)
BY_NAME = {key.name: key for key in KEYS}

ELSEWHERE = frozenset([
    "api_base", "judge_api_base", "api_key", "judge_api_key", "prompt", "prompts", "price", "prices", "plugins",
    "validators", "server_path", "interpreter", "python", "worker_command", "allow", "allow_list", "approve",
    "approval", "sandbox", "environment", "env", "network", "state_dir", "state_folder", "judge_prompt",
    "judge_temperature", "judge_rule", "judge_calls", "judge_tokens", "temperature", "window", "max_tool_calls",
    "max_turn_tokens",
])  # fmt: skip
"""Settings that a workspace file may not hold: it could loosen what protects the person."""

_DURATION = re.compile(
    r"(?:(\d{1,9}(?:\.\d+)?)h\s*)?(?:(\d{1,9}(?:\.\d+)?)m\s*)?(?:(\d{1,9}(?:\.\d+)?)s)?", re.IGNORECASE
)
_WHOLE = re.compile(r"[+-]?\d{1,15}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})(?:[eE][+-]?\d{1,3})?")
_UNSUITABLE = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]")
_LIMITS = frozenset(each.name for each in fields(Limits))


@dataclass(frozen=True, slots=True)
class Settings:
    """The front matter's values, as far as they are good."""

    limits: Limits = field(default_factory=Limits)
    explicit_limits: frozenset[str] = frozenset()
    worker: str | None = None
    model: str | None = None
    judge_model: str | None = None
    protect: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    guard: bool = False


class _BadValue(Exception):
    """Why a value can't be used; `item` is the member of a list that is at fault."""

    def __init__(self, message: str, item: int | None = None) -> None:
        super().__init__(message)
        self.item = item


def read_settings(entries: Sequence[RawEntry]) -> tuple[Settings, tuple[FileProblem, ...]]:
    """The settings and every problem with keys and values; a bad value leaves its default."""
    values: dict[str, object] = {}
    problems: list[FileProblem] = []
    lines: dict[str, int] = {}
    for raw in entries:
        name = raw.entry.key.text
        if name in lines:
            message = f"`{name}` is set twice, first on line {lines[name] + 1}: remove one"
            problems.append(_at_key(raw, "duplicate-key", message))
            continue
        lines[name] = raw.entry.key.span.start_line
        problems.extend(_read_entry(raw, values))
    return _settings(values), tuple(problems)


def nearest_key(name: str) -> str | None:
    """The valid key that `name` was probably meant to be."""
    plain = re.sub(r"[\s-]+", "_", name.strip().casefold())
    if plain in BY_NAME:
        return plain
    near = difflib.get_close_matches(plain, BY_NAME, n=1, cutoff=0.6)
    return _SYNONYMS.get(plain) or (near[0] if near else None)


_SYNONYMS = {
    "iterations": "max_iterations", "max_turns": "max_iterations", "turns": "max_iterations", "max": "max_iterations",
    "time": "timeout", "time_limit": "timeout", "cost": "budget", "max_cost": "budget", "usd": "budget",
    "tokens": "token_budget", "max_tokens": "token_budget", "judge": "judge_model", "agent": "worker",
    "protected": "protect", "readonly": "protect", "stall": "stall_after",
}  # fmt: skip


def _read_entry(raw: RawEntry, values: dict[str, object]) -> list[FileProblem]:
    key = BY_NAME.get(raw.entry.key.text)
    if key is None:
        return [_unknown_key(raw)]
    try:
        value = _read_value(key, raw)
    except _BadValue as bad:
        return [_at_value(raw, "error", "bad-value", f"`{key.name}` {bad}", bad.item)]
    except InvalidGoal as bad:
        return [_at_value(raw, "error", "bad-value", str(bad))]
    values[key.name] = value
    if value is None:
        return [_at_value(raw, "warning", "unlimited", f"`{key.name}` is unlimited: nothing but you ends it there")]
    return []


def _read_value(key: Key, raw: RawEntry) -> object:
    if key.kind == "globs":
        return _globs(raw)
    scalar = _scalar(key, raw)
    if scalar.text == UNLIMITED and key.kind not in ("text", "panel", "worker", "flag"):
        if not key.unlimited:
            raise _BadValue(f"can't be unlimited: give {_EXPECTED[key.kind]}")
        return None
    if scalar.quoted and key.kind in ("whole", "money"):
        raise _BadValue(f"must be {_EXPECTED[key.kind]}, not text: remove the quotes")
    value = _READERS[key.kind](scalar)
    if key.name in _LIMITS:
        _limits({key.name: value})  # refuses what no limit can be, and names the field (C1)
    return value


def _scalar(key: Key, raw: RawEntry) -> Scalar:
    if not isinstance(raw.value, Scalar):
        raise _BadValue(f"must be {_EXPECTED[key.kind]}, not a list or a mapping")
    if raw.value.kind == "null" or not raw.value.text.strip():
        raise _BadValue(f"has no value: give {_EXPECTED[key.kind]}, or remove the line")
    return raw.value


def _worker(scalar: Scalar) -> str:
    if scalar.text in WORKERS:
        return scalar.text
    near = difflib.get_close_matches(scalar.text.casefold(), WORKERS, n=1)
    meant = f"did you mean `{near[0]}`? " if near else ""
    raise _BadValue(f"can't be `{_short(scalar)}`: {meant}use one of {', '.join(WORKERS)}")


def _text(scalar: Scalar) -> str:
    if scalar.kind != "str":
        raise _BadValue(f"must be the name of a model; it is {_short(scalar)}: put it in quotes if that is meant")
    if _UNSUITABLE.search(scalar.text) or len(scalar.text) > 200:
        raise _BadValue("must be the name of a model, without spaces")
    return scalar.text


def _panel(scalar: Scalar) -> str:
    if scalar.kind != "str" or not panel(scalar.text):
        raise _BadValue(f"must be {_EXPECTED['panel']}; it is {_short(scalar)}")
    return scalar.text


def _whole(scalar: Scalar) -> int:
    plain = scalar.text.replace("_", "")
    if not _WHOLE.fullmatch(plain):
        raise _BadValue(f"must be {_EXPECTED['whole']}; it is {_short(scalar)}")
    return int(plain)


def _money(scalar: Scalar) -> float:
    plain = scalar.text.replace("_", "")
    if not _NUMBER.fullmatch(plain):
        raise _BadValue(f"must be {_EXPECTED['money']}; it is {_short(scalar)}")
    return float(plain)


def _duration(scalar: Scalar) -> float:
    seconds = parse_duration(scalar.text)
    if seconds is None:
        raise _BadValue(f"must be {_EXPECTED['duration']}; it is {_short(scalar)}{_with_unit(scalar.text)}")
    return seconds


def _flag(scalar: Scalar) -> bool:
    if scalar.quoted or scalar.text.casefold() not in ("true", "false"):
        raise _BadValue(f"must be {_EXPECTED['flag']}; it is {_short(scalar)}")
    return scalar.text.casefold() == "true"


def parse_duration(text: str) -> float | None:
    """Seconds of `90s`, `30m`, `2h`, `1h30m`; None for anything else, bare numbers included."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def _globs(raw: RawEntry) -> tuple[str, ...]:
    items = raw.value if isinstance(raw.value, tuple) else (raw.value,)
    if not items:
        raise _BadValue('names no file: give globs such as ["tests/**"], or remove the line')
    globs: list[str] = []
    for number, item in enumerate(items):
        if item is None:
            raise _BadValue(f"must be {_EXPECTED['globs']}", number)
        if problem := glob_problem(item.text):
            raise _BadValue(f"can't be used: {problem}", number)
        globs.append(plain_glob(item.text))
    return tuple(dict.fromkeys(globs))


_EXPECTED: dict[Kind, str] = {
    "worker": f"one of {', '.join(WORKERS)}",
    "text": "the name of a model",
    "panel": f"the name of a model, or up to {MOST} of them such as `A, B` or `3*A`",
    "whole": "a whole number of at least 1",
    "duration": "a time such as 90s, 30m, 2h or 1h30m",
    "money": "a number of US dollars greater than 0",
    "flag": "true or false",
    "globs": 'a list of globs such as ["tests/**"]',
}
_READERS: dict[Kind, Callable[[Scalar], object]] = {
    "worker": _worker, "text": _text, "panel": _panel, "whole": _whole, "duration": _duration, "money": _money,
    "flag": _flag,
}  # fmt: skip


def _settings(values: Mapping[str, object]) -> Settings:
    limits = {name: value for name, value in values.items() if name in _LIMITS}
    others = {name: value for name, value in values.items() if name not in _LIMITS}
    # The values were read by kind and checked one by one; their types follow from KEYS.
    return Settings(_limits(limits), frozenset(limits), **cast("dict[str, Any]", others))


def _limits(values: Mapping[str, object]) -> Limits:
    return Limits(**cast("Mapping[str, Any]", values))


def _unknown_key(raw: RawEntry) -> FileProblem:
    name = raw.entry.key.text
    if re.sub(r"[\s-]+", "_", name.casefold()) in ELSEWHERE:
        message = f"`{name}` can't be set in a goal file: set it in your settings or on the command line"
        return _at_key(raw, "unknown-key", message)
    near = nearest_key(name)
    advice = f"did you mean `{near}`?" if near else f"the keys are {', '.join(BY_NAME)}"
    return _at_key(raw, "unknown-key", f"unknown key `{name[:80]}`: {advice}", near)


def _at_key(raw: RawEntry, code: str, message: str, suggestion: str | None = None) -> FileProblem:
    return FileProblem(raw.entry.key.span, "error", code, message, suggestion)


def _at_value(
    raw: RawEntry, severity: ProblemSeverity, code: str, message: str, item: int | None = None
) -> FileProblem:
    items = raw.entry.items
    value = items[item].span if item is not None and item < len(items) else raw.entry.value.span
    # An absent value has no width: its key is what can be underlined.
    empty = (value.start_line, value.start_column) == (value.end_line, value.end_column)
    return FileProblem(raw.entry.key.span if empty else value, severity, code, message)


def _short(scalar: Scalar) -> str:
    return scalar.text if len(scalar.text) <= 60 else scalar.text[:60] + "…"


def _with_unit(text: str) -> str:
    return f": write the unit, {text}s or {text}m" if text.isdecimal() and len(text) < 10 else ""
