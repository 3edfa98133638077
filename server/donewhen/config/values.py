"""The settings that there are, how each is written, and how a written value is read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from donewhen.core.agents import NOTHING, OUR_OWN
from donewhen.core.errors import InvalidGoal
from donewhen.core.goal import Limits
from donewhen.core.panel import MOST, panel
from donewhen.core.workers import WORKERS
from donewhen.regular import read_bytes

Unlimited = Literal["unlimited"]
Kind = Literal[
    "choice",
    "name",
    "text",
    "url",
    "model",
    "panel",
    "prompt",
    "whole",
    "number",
    "duration",
    "money",
    "globs",
    "path",
    "variables",
    "size",
    "paths",
]
FromWorkspace = Literal["may", "tighten", "never"]

APPROVE = ("auto", "ask", "deny")
SANDBOX = ("off", "auto", "on")
NETWORK = ("on", "off")
CONTAINED = ("off", "on")
JUDGE_RULES = ("majority", "unanimity")
"""From the loosest to the strictest, as `APPROVE` and `SANDBOX` are."""

UNLIMITED: Unlimited = "unlimited"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: how it is written, and what a workspace file may do with it. `flag`: it is an option of `run`.

    A whole number is at least `least`, a number between `least` and `most`. `ceiling`: the user's ceiling bounds it.
    """

    name: str
    kind: Kind
    meaning: str
    workspace: FromWorkspace = "may"
    choices: tuple[str, ...] = ()
    unlimited: bool = False
    flag: bool = True
    least: int = 1
    most: int | None = None
    ceiling: bool = False

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "DONEWHEN_" + self.name.upper()


SETTINGS = (
    Setting("worker", "name", "who works on the goal; plugins may add to these", choices=tuple(WORKERS)),
    Setting("worker_command", "text", "the command of the workers `command` and `acp`", "never"),
    Setting(
        "pass_env",
        "variables",
        "a variable that the worker `command` gets though it holds a key (NAME or NAME_*)",
        "never",
    ),
    Setting("script", "text", "the recording that the worker `scripted` plays (YAML)", "never"),
    Setting("model", "model", "the model of the built-in agent, such as anthropic/NAME or openai/NAME"),
    Setting("judge_model", "panel", "the model that judges what no check decides; several: A,B,C or 3*A"),
    Setting("api_base", "url", "where the worker's model is served", "never"),
    Setting("judge_api_base", "url", "where the judge's model is served", "never"),
    Setting("max_iterations", "whole", "worker turns at most (10)", unlimited=True),
    Setting("timeout", "duration", "time for the whole run, such as 90s, 30m, 2h (60m)", unlimited=True),
    Setting("budget", "money", "US dollars that it may cost", unlimited=True),
    Setting("token_budget", "whole", "tokens that it may use", unlimited=True),
    Setting("approve", "choice", "what happens when a worker needs approval", "tighten", APPROVE),
    Setting("sandbox", "choice", "whether what a worker runs is contained in a room (auto)", "tighten", SANDBOX),
    Setting("network", "choice", "whether contained commands reach the network (off)", "tighten", NETWORK),
    Setting("sandbox_checks", "choice", "whether checks run in rooms as well (off)", "never", CONTAINED, flag=False),
    Setting("room_writes", "paths", "folders that contained commands may change, too", "never", flag=False),
    Setting("room_reads", "paths", "folders that contained commands may read, too", "never", flag=False),
    Setting("room_processes", "whole", "processes and threads of a contained command (4096)", "never", flag=False),
    Setting("room_memory", "size", "memory of a contained command (three quarters of it)", "never", flag=False),
    Setting("room_disk", "size", "what a contained command may fill the disk by (10 GB)", "never", flag=False),
    Setting("temperature", "number", "the temperature of the agent's model", least=0, most=2),
    Setting("window", "whole", "the context of the agent's model, in tokens", least=4_000),
    Setting("judge_rule", "choice", "what several judges must agree on (majority)", "tighten", JUDGE_RULES),
    Setting("judge_temperature", "number", "the temperature of the judge's model", "never", least=0, most=2),
    Setting("judge_prompt", "prompt", "what the judge is told to be (its rules stay), or @FILE", "never"),
    Setting("judge_calls", "whole", "how often a judge may look for itself (8)", least=0, ceiling=True),
    Setting("judge_tokens", "whole", "the longest prompt of a judge, in tokens (24000)", least=2_000, ceiling=True),
    Setting("max_tool_calls", "whole", "tool calls of the agent in one turn (2000)", flag=False, ceiling=True),
    Setting("max_turn_tokens", "whole", "tokens of the agent in one turn (50000000)", flag=False, ceiling=True),
    Setting("check_timeout", "duration", "time for one check (10m)", flag=False),
    Setting("stall_after", "whole", "iterations without progress that end a run (3)", unlimited=True, flag=False),
    Setting("protect", "globs", "files that a worker must not change", flag=False),
    Setting("state_dir", "path", "where runs are recorded", "never", flag=False),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
LIMITS = tuple(each.name for each in fields(Limits))
CAPPED = tuple(setting.name for setting in SETTINGS if setting.ceiling)
"""What the user's ceiling bounds besides `LIMITS`."""

_DURATION = re.compile(r"(?:(\d{1,9}(?:\.\d+)?)h)?(?:(\d{1,9}(?:\.\d+)?)m)?(?:(\d{1,9}(?:\.\d+)?)s)?", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s?(MB|GB|TB)", re.IGNORECASE)
_UNITS = {"MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\*?")
_WHOLE = re.compile(r"[+-]?\d{1,15}")
_EXPECTED: dict[Kind, str] = {
    "choice": "one of ",
    "name": "one of ",
    "text": "text",
    "url": "an address such as http://localhost:8000/v1",
    "model": "the name of a model without spaces, such as anthropic/NAME or openai/NAME",
    "panel": f"a model, or up to {MOST} of them such as openai/A,openai/B or 3*openai/A",
    "prompt": "text, or @FILE with a readable file of at most 100 KB",
    "whole": "a whole number of at least ",
    "number": "a number from ",
    "duration": "a time such as 90s, 30m, 2h or 1h30m",
    "money": "a number of US dollars greater than 0",
    "globs": 'a list of globs such as ["tests/**"]',
    "path": "a folder",
    "size": "a size such as 512MB or 8GB",
    "paths": 'a list of folders such as ["~/.my-agent"]',
    "variables": "names of variables such as OPENAI_API_KEY or OPENAI_*, without values; or none",
}


def written(setting: Setting, value: object, where: str) -> str:
    """A TOML value as it would be written on the command line, where its type is right."""
    numeric = setting.kind in ("whole", "money", "number")
    if isinstance(value, list):
        items = cast(list[object], value)
        if setting.kind in _JOINED and items and all(isinstance(item, str) for item in items):
            return _JOINED[setting.kind].join(map(str, items))
        raise _refused(setting, items, where)
    if isinstance(value, str) and (value == UNLIMITED or not (numeric or setting.kind in ("globs", "paths"))):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and numeric:
        return str(value)
    raise _refused(setting, value, where)


_JOINED: dict[Kind, str] = {"globs": "\n", "paths": "\n", "panel": ",", "variables": ","}
"""How the members of a list are written as one text."""


def read_value(setting: Setting, text: str, where: str, folder: Path | None = None) -> object:
    """The value of a setting written as `text`; raises InvalidGoal with a message that names the field (C1).

    `folder` is where `@FILE` is looked for, None: only an absolute path will do.
    """
    if setting.unlimited and text.strip() == UNLIMITED:
        return UNLIMITED
    if setting.kind == "choice":
        return _choice(setting, text, where)
    value = _prompt(text, folder) if setting.kind == "prompt" else _READERS[setting.kind](text)
    if value is None or not text.strip() or not _within(setting, value):
        raise _refused(setting, text, where)
    return _checked(setting, value, where)


def _panel_text(text: str) -> str | None:
    return text.strip() if panel(text) else None


def _model(text: str) -> str | None:
    return text.strip() if panel(text) == (text.strip(),) else None


def _url(text: str) -> str | None:
    """An address that can be asked at all: with any other, each call would be tried again for a minute."""
    try:
        parts = urlsplit(text.strip())
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none
        return None
    return text.strip() if whole and len(text.split()) == 1 else None


def _prompt(text: str, folder: Path | None) -> str | None:
    if not text.startswith("@"):
        return text
    path = Path(text[1:]).expanduser()
    if not path.is_absolute() and folder is None:
        return None
    try:
        content = read_bytes((folder or Path()) / path)
        return content.decode("utf-8") if 0 < len(content) <= 100_000 and content.strip() else None
    except (OSError, ValueError):
        return None


def _within(setting: Setting, value: object) -> bool:
    if setting.kind == "whole" and setting.name not in LIMITS:
        return cast(int, value) >= setting.least
    if setting.kind == "number":
        return setting.least <= cast(float, value) <= (setting.most or float("inf"))
    return True


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


def _name(text: str) -> str | None:
    """A name that plugins may have registered: whether one did is known only where they are loaded."""
    return text.strip() if _NAME.fullmatch(text.strip()) else None


def _variables(text: str) -> tuple[str, ...] | None:
    """Names of variables; what is Done When's own is none."""
    names = tuple(dict.fromkeys(name for one in text.split(",") if (name := one.strip())))
    fit = all(_VARIABLE.fullmatch(name) and not name.upper().startswith(OUR_OWN) for name in names)
    return names if names and fit and (NOTHING not in names or len(names) == 1) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _whole(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text.strip()) else None


def parse_duration(text: str) -> float | None:
    """Seconds of `90s`, `30m`, `2h`, `1h30m`; None for anything else, bare numbers included."""
    match = _DURATION.fullmatch(text.replace(" ", ""))
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def _size(text: str) -> int | None:
    """Bytes."""
    match = _SIZE.fullmatch(text.strip())
    return int(float(match[1]) * _UNITS[match[2].upper()]) or None if match else None


_READERS: dict[Kind, Callable[[str], object]] = {
    "name": _name,
    "text": lambda text: text,
    "url": _url,
    "model": _model,
    "panel": _panel_text,
    "whole": _whole,
    "number": _number,
    "duration": parse_duration,
    "money": _number,
    "globs": lambda text: tuple(text.split("\n")),
    "path": lambda text: Path(text).expanduser(),
    "paths": lambda text: tuple(text.split("\n")),
    "size": _size,
    "variables": _variables,
}


def _refused(setting: Setting, value: object, where: str) -> InvalidGoal:
    expected = _EXPECTED[setting.kind]
    if setting.kind == "choice":
        expected += ", ".join(setting.choices)
    elif setting.kind == "name":
        expected += f"{', '.join(setting.choices)}, or a name that a plugin registers"
    elif setting.kind == "whole":
        expected += f"{setting.least:,}"
    elif setting.kind == "number":
        expected += f"{setting.least} to {setting.most}"
    unlimited = ", or unlimited" if setting.unlimited else ""
    return InvalidGoal(f"{setting.name} must be {expected}{unlimited}; it is {value!r} ({where})")
