"""The settings that there are, how each is written, and how a written value is read."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast

from donewhen.core.errors import InvalidGoal
from donewhen.core.goal import Limits

Unlimited = Literal["unlimited"]
Kind = Literal["choice", "text", "whole", "duration", "money", "globs", "path"]
FromWorkspace = Literal["may", "tighten", "never"]

WORKERS = ("agent", "human", "command", "acp", "scripted")
APPROVE = ("auto", "ask", "deny")
SANDBOX = ("off", "auto", "on")
"""From the loosest to the strictest, as `APPROVE` is."""

UNLIMITED: Unlimited = "unlimited"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: how it is written, and what a workspace file may do with it. `flag`: it is an option of `run`."""

    name: str
    kind: Kind
    meaning: str
    workspace: FromWorkspace = "may"
    choices: tuple[str, ...] = ()
    unlimited: bool = False
    flag: bool = True

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "DONEWHEN_" + self.name.upper()


SETTINGS = (
    Setting("worker", "choice", "who works on the goal", choices=WORKERS),
    Setting("worker_command", "text", "the command of the workers `command` and `acp`", "never"),
    Setting("script", "text", "the recording that the worker `scripted` plays (YAML)", "never"),
    Setting("model", "text", "the model of the built-in agent"),
    Setting("judge_model", "text", "the model that judges what no check decides"),
    Setting("api_base", "text", "where the worker's model is served", "never"),
    Setting("judge_api_base", "text", "where the judge's model is served", "never"),
    Setting("max_iterations", "whole", "worker turns at most (10)", unlimited=True),
    Setting("timeout", "duration", "time for the whole run, such as 90s, 30m, 2h (60m)", unlimited=True),
    Setting("budget", "money", "US dollars that it may cost", unlimited=True),
    Setting("token_budget", "whole", "tokens that it may use", unlimited=True),
    Setting("approve", "choice", "what happens when a worker needs approval", "tighten", APPROVE),
    Setting("sandbox", "choice", "whether commands are contained", "tighten", SANDBOX),
    Setting("check_timeout", "duration", "time for one check (10m)", flag=False),
    Setting("stall_after", "whole", "iterations without progress that end a run (3)", unlimited=True, flag=False),
    Setting("protect", "globs", "files that a worker must not change", flag=False),
    Setting("state_dir", "path", "where runs are recorded", "never", flag=False),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
LIMITS = tuple(each.name for each in fields(Limits))

_DURATION = re.compile(r"(?:(\d{1,9}(?:\.\d+)?)h)?(?:(\d{1,9}(?:\.\d+)?)m)?(?:(\d{1,9}(?:\.\d+)?)s)?", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,15}")
_EXPECTED: dict[Kind, str] = {
    "choice": "one of ",
    "text": "text",
    "whole": "a whole number of at least 1",
    "duration": "a time such as 90s, 30m, 2h or 1h30m",
    "money": "a number of US dollars greater than 0",
    "globs": 'a list of globs such as ["tests/**"]',
    "path": "a folder",
}


def written(setting: Setting, value: object, where: str) -> str:
    """A TOML value as it would be written on the command line, where its type is right."""
    numeric = setting.kind in ("whole", "money")
    if isinstance(value, list):
        items = cast(list[object], value)
        if setting.kind == "globs" and items and all(isinstance(item, str) for item in items):
            return "\n".join(map(str, items))
        raise _refused(setting, items, where)
    if isinstance(value, str) and (value == UNLIMITED or not (numeric or setting.kind == "globs")):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and numeric:
        return str(value)
    raise _refused(setting, value, where)


def read_value(setting: Setting, text: str, where: str) -> object:
    """The value of a setting written as `text`; raises InvalidGoal with a message that names the field (C1)."""
    value: object = text
    if setting.unlimited and text.strip() == UNLIMITED:
        return UNLIMITED
    if setting.kind == "choice":
        value = _choice(setting, text, where)
    elif setting.kind == "whole":
        value = int(text) if _WHOLE.fullmatch(text.strip()) else None
    elif setting.kind == "duration":
        value = parse_duration(text)
    elif setting.kind == "money":
        value = _number(text)
    elif setting.kind == "globs":
        value = tuple(text.split("\n"))
    elif setting.kind == "path":
        value = Path(text).expanduser() if text.strip() else None
    if value is None or not text.strip():
        raise _refused(setting, text, where)
    return _checked(setting, value, where)


def _checked(setting: Setting, value: object, where: str) -> object:
    if setting.name in LIMITS:
        try:
            Limits(**cast(dict[str, Any], {setting.name: value}))
        except InvalidGoal as bad:
            raise InvalidGoal(f"{bad} ({where})") from None
    return value


def _choice(setting: Setting, text: str, where: str) -> str:
    if text in setting.choices:
        return text
    near = difflib.get_close_matches(text.casefold(), setting.choices, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    listed = ", ".join(setting.choices)
    raise InvalidGoal(f"{setting.name} can't be {text!r}: {meant}use one of {listed} ({where})")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parse_duration(text: str) -> float | None:
    """Seconds of `90s`, `30m`, `2h`, `1h30m`; None for anything else, bare numbers included."""
    match = _DURATION.fullmatch(text.replace(" ", ""))
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def _refused(setting: Setting, value: object, where: str) -> InvalidGoal:
    expected = _EXPECTED[setting.kind] + (", ".join(setting.choices) if setting.kind == "choice" else "")
    unlimited = ", or unlimited" if setting.unlimited else ""
    return InvalidGoal(f"{setting.name} must be {expected}{unlimited}; it is {value!r} ({where})")
