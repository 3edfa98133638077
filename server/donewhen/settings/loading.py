"""Settings and their precedence: flag, environment, goal file, `[tool.donewhen]`, user settings, default.

`load_settings` reads all but the goal file; `goal_with_settings` puts what was configured under a goal's own front
matter. A workspace file may set models and limits within the user's ceiling, and may tighten safety; whatever else it
holds is ignored with a warning that names the key (invariant 10).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from donewhen.core.errors import InvalidGoal
from donewhen.core.goal import Goal, Limits
from donewhen.core.retention import Retention
from donewhen.core.verdict import panel
from donewhen.core.work import ModelFacts, RunWarning
from donewhen.regular import expanded, read_bytes, read_text
from donewhen.settings import kinds
from donewhen.settings.kinds import UNLIMITED, BadValue
from donewhen.settings.personal import (
    Approvals,
    HiddenCheck,
    read_prices,
    take_approvals,
    take_hidden,
)
from donewhen.settings.table import (
    BY_NAME,
    CEILING,
    KEYS,
    OWN,
    RECORD,
    Choices,
    Setting,
    choices_of,
    nearest_name,
    out_of_reach,
    setting_name,
)

if TYPE_CHECKING:
    from donewhen.core.approval import ApprovalRule

PROJECT_TABLE = "[tool.donewhen] of pyproject.toml"
LIMITS = tuple(each.name for each in fields(Limits))


@dataclass(frozen=True, slots=True)
class SettingSource:
    """What one source says by itself; of the workspace, what it is allowed to. `place` is the file's path or table,
    empty for the command line and the environment."""

    name: Literal["command line", "environment", "workspace", "your settings"]
    choices: Choices
    place: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings but the goal file's.

    `given` (flag, else environment) stands over the goal file, `configured` (`[tool.donewhen]`, else user settings)
    under it. `ceiling` bounds the limits that workspace files set. `prices` are the person's own, by model.
    """

    given: Choices = field(default_factory=Choices)
    configured: Choices = field(default_factory=Choices)
    ceiling: Choices = field(default_factory=Choices)
    warnings: tuple[RunWarning, ...] = ()
    prices: Mapping[str, ModelFacts] = field(default_factory=dict[str, ModelFacts])
    own: Choices = field(default_factory=Choices)
    """What the person alone says, no workspace file."""
    approvals: Approvals = field(default_factory=Approvals)
    """The person's rules for tools, and their plugins."""
    hidden_checks: tuple[HiddenCheck, ...] = ()
    """What the person holds out from workers in this workspace."""
    sources: tuple[SettingSource, ...] = field(default=(), compare=False)
    """Where `load_settings` found what it resolved, the nearest source first. An editor's settings are none of them."""
    editor: Choices = field(default_factory=Choices)
    """What the person says in the editor, where one asks."""

    def pick(self, name: str) -> Any:
        """What is given, else configured, of a setting that no goal file holds; None if nobody says anything."""
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
    def affected_first(self) -> bool:
        """After a person's edit, the tests that it may affect run before the whole check."""
        return self.pick("affected_first") != "off"

    @property
    def contains_checks(self) -> bool:
        return self.pick("sandbox_checks") == "on"

    @property
    def state_dir(self) -> Path | None:
        return self.given.state_dir or self.configured.state_dir


def retention(settings: Settings) -> Retention:
    """What of the record stays. It names no goal's own settings: only the person decides what is removed."""

    def limit(name: str) -> Any:
        value = settings.pick(name)
        value = BY_NAME[name].read(BY_NAME[name].default) if value is None else value
        return None if value == UNLIMITED else value

    return Retention(limit("keep_runs"), limit("older_than"), limit("max_size"))


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
    warnings: list[RunWarning] = []
    flag = _read_choices(
        [(OWN[n], v, OWN[n].option) for n, v in flags.items() if v is not None], warnings, Path(), text=True
    )
    variables = [(one, environ[one.variable], one.variable) for one in OWN.values() if environ.get(one.variable)]
    environment = _read_choices(variables, warnings, Path(), text=True)
    user_file = user_file or user_settings_file()
    person = _from_user(user_file, root, warnings)
    user = person.own.over(Choices(approve="ask" if terminal else "deny", sandbox="auto"))
    workspace = Choices()
    if root is not None:
        workspace = capped(_from_workspace(root / "pyproject.toml", user, warnings), person.ceiling, warnings)
    given = flag.over(environment)
    sources = (
        SettingSource("command line", flag),
        SettingSource("environment", environment),
        SettingSource("workspace", workspace, PROJECT_TABLE),
        SettingSource("your settings", person.own, str(user_file)),
    )
    return replace(
        person,
        given=given,
        configured=workspace.over(user),
        warnings=tuple(warnings),
        own=given.over(user),
        sources=sources,
    )


def user_settings_file() -> Path:
    """The user's own settings: `config.toml` in the platform's configuration folder."""
    from platformdirs import user_config_path  # lazy: start-up time

    try:
        return user_config_path("donewhen", appauthor=False) / "config.toml"
    except RuntimeError:  # a container's user without a home has none
        return Path(os.sep, ".config", "donewhen", "config.toml")


def goal_with_settings(goal: Goal, settings: Settings) -> tuple[Goal, tuple[RunWarning, ...]]:
    """The goal with what is configured where its file is silent, its limits within the user's ceiling."""
    others = dict[str, Any]()
    for name, setting in KEYS.items():
        configured = getattr(settings.configured, name)
        if configured is not None and name not in LIMITS:
            own = getattr(goal, name)
            others[name] = tuple(dict.fromkeys((*own, *configured))) if setting.adds else own or configured
    limits, explicit, warnings = limits_with_settings(goal.limits, goal.explicit_limits, settings)
    return replace(goal, limits=limits, explicit_limits=explicit, **others), warnings


def limits_with_settings(
    limits: Limits, explicit: frozenset[str], settings: Settings
) -> tuple[Limits, frozenset[str], tuple[RunWarning, ...]]:
    """A goal's limits, and which of them somebody set, with what is configured where its file is silent."""
    configured = {name: value for name in LIMITS if (value := getattr(settings.configured, name)) is not None}
    added = {name: _unlimited_as_none(value) for name, value in configured.items() if name not in explicit}
    limits = replace(limits, **added)
    warnings: list[RunWarning] = []
    for name in LIMITS:
        top, value = _unlimited_as_none(getattr(settings.ceiling, name)), getattr(limits, name)
        if top is not None and (value is None or value > top):
            limits = replace(limits, **{name: top})
            said = "unlimited" if value is None else f"{value:g}"
            message = f"{name} is {said} there; your ceiling of {top:g} holds"
            warnings.append(RunWarning("ceiling", message))
    return limits, explicit.union(added), tuple(warnings)


def capped(workspace: Choices, ceiling: Choices, warnings: list[RunWarning]) -> Choices:
    """What a workspace file sets that is not a limit of a goal, within the user's ceiling too."""
    for name in (name for name in CEILING if name not in LIMITS):
        top, value = getattr(ceiling, name), getattr(workspace, name)
        if top is not None and value is not None and value > top:
            workspace = replace(workspace, **{name: top})
            message = f"{name} of the workspace is {value}; your ceiling of {top} holds"
            warnings.append(RunWarning("ceiling", message))
    return workspace


def _unlimited_as_none(value: object) -> Any:
    return None if value == UNLIMITED else value


# ------------------------------------------------------------------------------------------------ sources


def _from_user(path: Path, root: Path | None, warnings: list[RunWarning]) -> Settings:
    """What the user's own settings hold: what they choose is `own`."""
    table = _toml(path)
    prices = read_prices(table.pop("prices", {}), str(path))
    approvals = take_approvals(table, str(path))
    hidden = take_hidden(table, root, str(path))
    ceiling = table.pop("ceiling", {})
    if not isinstance(ceiling, dict):
        raise InvalidGoal(f"[ceiling] must be a table of limits (in {path})")
    said = _of_table(table, str(path), OWN, warnings)
    highest = _of_table(cast(dict[str, object], ceiling), f"[ceiling] of {path}", CEILING, warnings)
    own = _read_choices(said, warnings, path.parent)
    top = _read_choices(highest, warnings)
    return Settings(ceiling=top, prices=prices, own=own, approvals=approvals, hidden_checks=hidden)


def _from_workspace(path: Path, user: Choices, warnings: list[RunWarning]) -> Choices:
    where = PROJECT_TABLE
    try:
        tool = _toml(path).get("tool", {})
        table = tool.get("donewhen", {}) if isinstance(tool, dict) else {}  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]  # TOML
    except InvalidGoal as broken:
        warnings.append(RunWarning("unreadable_settings", f"{broken}; its settings are not used"))
        return Choices()
    if not isinstance(table, dict):
        raise InvalidGoal(f"{where} must be a table")
    return workspace_choices(cast(dict[str, object], table), where, user, warnings)


def workspace_choices(table: Mapping[str, object], where: str, user: Choices, warnings: list[RunWarning]) -> Choices:
    """What a file of the workspace says, but for what is out of its reach; `user` is what it may only tighten."""
    reached: dict[str, object] = {}
    for name, value in table.items():
        if out_of_reach(name):
            advice = "a workspace file can't set it; use your own settings or the command line"
            warnings.append(_ignored(name, where, advice))
        else:
            reached[name] = value
    choices = _read_choices(_of_table(reached, where, OWN, warnings), warnings)
    for name, setting in OWN.items():
        value = getattr(choices, name)
        if setting.of_workspace == "tighten" and value is not None:
            order = setting.kind.choices
            if order.index(value) < order.index(getattr(user, name) or setting.default or order[0]):
                warnings.append(_ignored(name, where, "a workspace file may only make it stricter"))
                choices = replace(choices, **{name: None})
    return choices


def _ignored(name: str, where: str, why: str) -> RunWarning:
    return RunWarning("ignored_setting", f"`{name}` of {where} is ignored: {why}")


def _toml(path: Path) -> dict[str, Any]:
    if str(path) == os.devnull:  # what is named where no settings are wanted; it is not a regular file
        return {}
    try:
        return tomllib.loads(read_text(path))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InvalidGoal(f"{path} can't be read: {problem}") from problem


def _of_table(
    table: Mapping[str, object], where: str, known: Mapping[str, Setting], warnings: list[RunWarning]
) -> list[tuple[Setting, object, str]]:
    """What a table says of the settings that are `known` there; what else it holds is warned of."""
    found: list[tuple[Setting, object, str]] = []
    for name, value in table.items():
        setting = known.get(name.replace("-", "_"))
        if setting is None:
            warnings.append(_unknown(name, where, known))
        else:
            found.append((setting, value, where))
    return found


def _unknown(name: str, where: str, known: Mapping[str, Setting]) -> RunWarning:
    other = BY_NAME.get(setting_name(name))
    if other is not None and not other.own:
        said = f"`{name}` in {where} has no effect: it is a key of goal files"
    elif other is None and out_of_reach(name):
        said = f"`{name}` in {where} has no effect in this version"
    else:
        near = nearest_name(name, known)
        said = f"unknown setting `{name}` in {where}: " + (f"did you mean `{near}`?" if near else "it is ignored")
    return RunWarning("unknown_setting", said)


def _read_choices(
    said: Sequence[tuple[Setting, Any, str]],
    warnings: list[RunWarning],
    folder: Path | None = None,
    *,
    text: bool = False,
) -> Choices:
    values: dict[str, object] = {}
    for setting, value, where in said:
        values[setting.name] = read_setting(setting, value, where, folder, text=text)
        if values[setting.name] == UNLIMITED and setting.group != RECORD:
            message = f"{setting.name} is unlimited ({where}): this limit never ends a run"
            warnings.append(RunWarning("unlimited", message))
    return choices_of(values)


def read_setting(setting: Setting, value: Any, where: str, folder: Path | None = None, *, text: bool = False) -> Any:
    """What a setting is where it is said, as a value of TOML or JSON or, with `text`, as on a command line. `folder` is
    where `@FILE` is looked for, None: only an absolute path will do. Raises InvalidGoal that names the field."""
    try:
        read = setting.read(value) if text else setting.read_typed(value)
        return _prompt(setting, read, folder) if setting.kind is kinds.PROMPT else read
    except BadValue as bad:
        raise InvalidGoal(f"{setting.name} {bad} ({where})") from None


def _prompt(setting: Setting, text: str, folder: Path | None) -> str:
    """Raises BadValue for a file that can't be read."""
    if not text.startswith("@"):
        return text
    path = expanded(text[1:])
    try:
        within_reach = folder is not None or path.is_absolute()
        content = read_bytes((folder or Path()) / path) if within_reach else b""
        prompt = content.decode("utf-8") if len(content) <= 100_000 else ""
    except (OSError, ValueError):
        prompt = ""
    if not prompt.strip():
        raise BadValue(f"must be {setting.expected}; it is {text!r}")
    return prompt
