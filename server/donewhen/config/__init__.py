"""Settings and their precedence: flag, environment, goal file, `[tool.donewhen]`, user settings, default.

`load_settings` reads all but the goal file; `goal_with_settings` puts what was configured under a goal's own front
matter. A workspace file may set models and limits within the user's ceiling, and may tighten safety; whatever else it
holds is ignored with a warning that names the key (invariant 10).
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from donewhen.config.approvals import KEYS as APPROVAL_KEYS
from donewhen.config.approvals import Approvals, take_approvals
from donewhen.config.hidden import KEY as HIDDEN_KEY
from donewhen.config.hidden import HiddenCheck, take_hidden
from donewhen.config.prices import ModelPrice, price_example, read_prices
from donewhen.config.values import (
    BY_NAME,
    CAPPED,
    LIMITS,
    SETTINGS,
    UNLIMITED,
    Setting,
    Unlimited,
    parse_duration,
    read_value,
    written,
)
from donewhen.core.errors import InvalidGoal
from donewhen.core.goal import Goal, Limits
from donewhen.core.panel import panel
from donewhen.regular import read_text

if TYPE_CHECKING:
    from donewhen.core.approval import ApprovalRule

_OUT_OF_REACH = frozenset({
    "api_key", "judge_api_key", "prompt", "prompts", "price", "prices", "plugins", "validators", "server_path",
    "interpreter", "python", "allow", "allow_list", "allowlist", "environment", "env", "state_folder",
    "ceiling", "approvals", HIDDEN_KEY, *APPROVAL_KEYS,
})  # fmt: skip
"""What a workspace file must not hold, beyond the settings that say `never` themselves."""

PROJECT_TABLE = "[tool.donewhen] of pyproject.toml"
CAPS = (*LIMITS, *CAPPED)
"""What `[ceiling]` of the user's settings may hold."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What one source says; None is silence. Times are seconds, money US dollars.

    `judge_model` is a panel as it is written, `judge_prompt` a text: what was a file is read.
    """

    worker: str | None = None
    worker_command: str | None = None
    pass_env: tuple[str, ...] | None = None
    script: str | None = None
    model: str | None = None
    judge_model: str | None = None
    api_base: str | None = None
    judge_api_base: str | None = None
    max_iterations: int | Unlimited | None = None
    timeout: float | Unlimited | None = None
    budget: float | Unlimited | None = None
    token_budget: int | Unlimited | None = None
    approve: Literal["auto", "ask", "deny"] | None = None
    sandbox: Literal["off", "auto", "on"] | None = None
    network: Literal["on", "off"] | None = None
    sandbox_checks: Literal["off", "on"] | None = None
    room_writes: tuple[str, ...] | None = None
    room_reads: tuple[str, ...] | None = None
    room_processes: int | None = None
    room_memory: int | None = None
    room_disk: int | None = None
    temperature: float | None = None
    window: int | None = None
    judge_rule: Literal["majority", "unanimity"] | None = None
    judge_temperature: float | None = None
    judge_prompt: str | None = None
    judge_calls: int | None = None
    judge_tokens: int | None = None
    max_tool_calls: int | None = None
    max_turn_tokens: int | None = None
    check_timeout: float | None = None
    stall_after: int | Unlimited | None = None
    protect: tuple[str, ...] | None = None
    state_dir: Path | None = None

    def over(self, lower: Choices) -> Choices:
        """These choices, and those of `lower` where these say nothing; what either protects is protected."""
        unsaid = {name: getattr(lower, name) for name in BY_NAME if getattr(self, name) is None}
        protect = dict.fromkeys((*(lower.protect or ()), *(self.protect or ())))
        return replace(self, **{**unsaid, "protect": tuple(protect) or None})


@dataclass(frozen=True, slots=True)
class SettingWarning:
    """Something about settings that a person should know: `ignored_setting`, `unknown_setting`, `unlimited`, ..."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings but the goal file's.

    `given` (flag, else environment) stands over the goal file, `configured` (`[tool.donewhen]`, else user settings)
    under it. `ceiling` bounds the limits that workspace files set. `prices` are the person's own, by model.
    """

    given: Choices = field(default_factory=Choices)
    configured: Choices = field(default_factory=Choices)
    ceiling: Choices = field(default_factory=Choices)
    warnings: tuple[SettingWarning, ...] = ()
    prices: Mapping[str, ModelPrice] = field(default_factory=dict[str, ModelPrice])
    own: Choices = field(default_factory=Choices)
    """What the person alone says, no workspace file."""
    approvals: Approvals = field(default_factory=Approvals)
    """The person's rules for tools, and their plugins."""
    hidden_checks: tuple[HiddenCheck, ...] = ()
    """What the person holds out from workers in this workspace."""

    def pick(self, name: str) -> Any:
        """What is given, else configured, of a setting that no goal file holds; None where nobody says anything."""
        value = getattr(self.given, name)
        return getattr(self.configured, name) if value is None else value

    @property
    def rules(self) -> tuple[ApprovalRule, ...]:
        return self.approvals.rules

    @property
    def adviser(self) -> str | None:
        """The model that helps with writing a goal: the first judge, else the agent's, None without either."""
        judges = panel(self.pick("judge_model") or "")
        return judges[0] if judges else self.pick("model")

    @property
    def approve(self) -> Literal["auto", "ask", "deny"]:
        return self.given.approve or self.configured.approve or "deny"

    @property
    def sandbox(self) -> Literal["off", "auto", "on"]:
        return self.given.sandbox or self.configured.sandbox or "auto"

    @property
    def network(self) -> bool:
        """Contained commands reach it."""
        return self.pick("network") == "on"

    @property
    def contains_checks(self) -> bool:
        return self.pick("sandbox_checks") == "on"

    @property
    def state_dir(self) -> Path | None:
        return self.given.state_dir or self.configured.state_dir


def load_settings(
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    root: Path | None,
    *,
    user_file: Path | None = None,
    terminal: bool = False,
) -> Settings:
    """Reads flags (by setting name), DONEWHEN_ variables, the workspace's pyproject.toml and the user's settings.

    `terminal` decides the default of `approve`. Raises InvalidGoal for a bad value; the message names the field and
    where it stands.
    """
    warnings: list[SettingWarning] = []
    flag = _from_texts({n: (v, BY_NAME[n].option) for n, v in flags.items() if v is not None}, warnings)
    variables = {s.name: (environ[s.variable], s.variable) for s in SETTINGS if environ.get(s.variable)}
    environment = _from_texts(variables, warnings)
    own = _from_user(user_file or user_settings_file(), root, warnings)
    user = own.choices.over(Choices(approve="ask" if terminal else "deny", sandbox="auto", network="off"))
    workspace = Choices()
    if root is not None:
        workspace = capped(_from_workspace(root / "pyproject.toml", user, warnings), own.ceiling, warnings)
    given = flag.over(environment)
    configured, mine = workspace.over(user), given.over(user)
    return Settings(given, configured, own.ceiling, tuple(warnings), own.prices, mine, own.approvals, own.hidden)


def user_settings_file() -> Path:
    """The user's own settings: `config.toml` in the platform's configuration folder."""
    from platformdirs import user_config_path  # lazy: start-up time

    return user_config_path("donewhen", appauthor=False) / "config.toml"


def goal_with_settings(goal: Goal, settings: Settings) -> tuple[Goal, tuple[SettingWarning, ...]]:
    """The goal with what is configured where its file is silent, its limits within the user's ceiling."""
    limits, explicit = goal.limits, set(goal.explicit_limits)
    for name in LIMITS:
        configured = getattr(settings.configured, name)
        if configured is not None and name not in goal.explicit_limits:
            limits = replace(limits, **{name: _plain(configured)})
            explicit.add(name)
    limits, warnings = _within(limits, settings.ceiling)
    protect = dict.fromkeys((*goal.protect, *(settings.configured.protect or ())))
    configured_goal = replace(
        goal,
        limits=limits,
        explicit_limits=frozenset(explicit),
        worker=goal.worker or settings.configured.worker,
        model=goal.model or settings.configured.model,
        judge_model=goal.judge_model or settings.configured.judge_model,
        protect=tuple(protect),
    )
    return configured_goal, warnings


def _within(limits: Limits, ceiling: Choices) -> tuple[Limits, tuple[SettingWarning, ...]]:
    warnings: list[SettingWarning] = []
    for name in LIMITS:
        top, value = _plain(getattr(ceiling, name)), getattr(limits, name)
        if top is not None and (value is None or value > top):
            limits = replace(limits, **{name: top})
            said = "unlimited" if value is None else f"{value:g}"
            message = f"{name} is {said} there; your ceiling of {top:g} holds"
            warnings.append(SettingWarning("ceiling", message))
    return limits, tuple(warnings)


def capped(workspace: Choices, ceiling: Choices, warnings: list[SettingWarning]) -> Choices:
    """What a workspace file sets that is no limit of a goal, within the user's ceiling too."""
    for name in CAPPED:
        top, value = getattr(ceiling, name), getattr(workspace, name)
        if top is not None and value is not None and value > top:
            workspace = replace(workspace, **{name: top})
            message = f"{name} of the workspace is {value}; your ceiling of {top} holds"
            warnings.append(SettingWarning("ceiling", message))
    return workspace


def _plain(value: object) -> Any:
    return None if value == UNLIMITED else value


# ------------------------------------------------------------------------------------------------ sources


def _from_texts(texts: Mapping[str, tuple[str, str]], warnings: list[SettingWarning]) -> Choices:
    values: dict[str, object] = {}
    for name, (text, where) in texts.items():
        values[name] = read_value(BY_NAME[name], text, where, Path())
        _warn_unlimited(name, values[name], where, warnings)
    return _choices(values)


def _choices(values: Mapping[str, object]) -> Choices:
    """Values are read by kind, so that their types follow from SETTINGS."""
    return Choices(**cast(dict[str, Any], values))


@dataclass(frozen=True, slots=True)
class _UserFile:
    """What the user's own settings hold."""

    choices: Choices
    ceiling: Choices
    prices: Mapping[str, ModelPrice]
    approvals: Approvals
    hidden: tuple[HiddenCheck, ...]


def _from_user(path: Path, root: Path | None, warnings: list[SettingWarning]) -> _UserFile:
    table = _toml(path)
    prices = read_prices(table.pop("prices", {}), str(path))
    approvals = take_approvals(table, str(path))
    hidden = take_hidden(table, root, str(path))
    ceiling = table.pop("ceiling", {})
    if not isinstance(ceiling, dict):
        raise InvalidGoal(f"[ceiling] must be a table of limits (in {path})")
    values = _read_table(table, str(path), warnings, path.parent)
    limits = {n: v for n, v in cast(dict[str, object], ceiling).items() if n in CAPS}
    for name in sorted(set(cast(dict[str, object], ceiling)) - set(limits)):
        warnings.append(_unknown(name, f"[ceiling] of {path}", CAPS))
    highest = _choices(_read_table(limits, f"[ceiling] of {path}", warnings))
    return _UserFile(_choices(values), highest, prices, approvals, hidden)


def _from_workspace(path: Path, user: Choices, warnings: list[SettingWarning]) -> Choices:
    where = PROJECT_TABLE
    try:
        tool = _toml(path).get("tool", {})
        table = tool.get("donewhen", {}) if isinstance(tool, dict) else {}  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]  # TOML
    except InvalidGoal as broken:
        warnings.append(SettingWarning("unreadable_settings", f"{broken}; its settings are not used"))
        return Choices()
    if not isinstance(table, dict):
        raise InvalidGoal(f"{where} must be a table")
    return workspace_choices(cast(dict[str, object], table), where, user, warnings)


def workspace_choices(
    table: Mapping[str, object], where: str, user: Choices, warnings: list[SettingWarning]
) -> Choices:
    """What a file of the workspace says, but for what is out of its reach; `user` is what it may only tighten."""
    allowed: dict[str, object] = {}
    for name, value in table.items():
        if _reaches(name):
            allowed[name] = value
        else:
            warnings.append(_ignored(name, where))
    values = _read_table(allowed, where, warnings)
    return _choices({n: v for n, v in values.items() if _tightens(n, v, user, where, warnings)})


def _reaches(name: str) -> bool:
    """False for what a workspace file must not set."""
    plain = name.strip().casefold().replace("-", "_")
    setting = BY_NAME.get(plain)
    return plain not in _OUT_OF_REACH and (setting is None or setting.workspace != "never")


def _tightens(name: str, value: object, user: Choices, where: str, warnings: list[SettingWarning]) -> bool:
    setting = BY_NAME[name]
    if setting.workspace != "tighten":
        return True
    order = setting.choices
    if order.index(str(value)) >= order.index(str(getattr(user, name) or order[0])):
        return True
    message = f"`{name}` of {where} is ignored: a workspace file may only make it stricter"
    warnings.append(SettingWarning("ignored_setting", message))
    return False


def _ignored(name: str, where: str) -> SettingWarning:
    message = (
        f"`{name}` of {where} is ignored: a workspace file can't set it; use your own settings or the command line"
    )
    return SettingWarning("ignored_setting", message)


def _toml(path: Path) -> dict[str, Any]:
    if str(path) == os.devnull:  # what is named where no settings are wanted; it is not a regular file
        return {}
    try:
        return tomllib.loads(read_text(path))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InvalidGoal(f"{path} can't be read: {problem}") from problem


def _read_table(
    table: Mapping[str, object], where: str, warnings: list[SettingWarning], folder: Path | None = None
) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in table.items():
        setting = BY_NAME.get(name.replace("-", "_"))
        if setting is None:
            warnings.append(_unknown(name, where, tuple(BY_NAME)))
            continue
        values[setting.name] = read_value(setting, written(setting, value, where), where, folder)
        _warn_unlimited(setting.name, values[setting.name], where, warnings)
    return values


def _unknown(name: str, where: str, known: Sequence[str]) -> SettingWarning:
    if name.replace("-", "_") in _OUT_OF_REACH:
        return SettingWarning("unknown_setting", f"`{name}` in {where} has no effect in this version")
    near = difflib.get_close_matches(name.replace("-", "_"), known, n=1)
    advice = f"did you mean `{near[0]}`?" if near else "it is ignored"
    return SettingWarning("unknown_setting", f"unknown setting `{name}` in {where}: {advice}")


def _warn_unlimited(name: str, value: object, where: str, warnings: list[SettingWarning]) -> None:
    if value == UNLIMITED:
        warnings.append(SettingWarning("unlimited", f"{name} is unlimited ({where}): nothing but you ends it there"))


__all__ = [
    "BY_NAME",
    "LIMITS",
    "SETTINGS",
    "Approvals",
    "Choices",
    "ModelPrice",
    "Setting",
    "SettingWarning",
    "Settings",
    "capped",
    "goal_with_settings",
    "load_settings",
    "parse_duration",
    "price_example",
    "read_value",
    "user_settings_file",
    "workspace_choices",
]
