"""The manifest: the TOML file that lists the goals of a fleet (docs/scale.md)."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from donewhen.core.errors import UsageError
from donewhen.regular import expanded, read_text
from donewhen.settings.table import OWN

MOST_GOALS = 1_000
DEFAULT_QUEUE = "default"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEYS = {"name", "parallel", "max_cost", "iteration_cost", "lost_after", "settings", "goal"}
_GOAL_KEYS = {"id", "workspace", "file", "queue", "settings"}
_NOT_HERE = {"state_dir"}
"""Settings that belong to a machine: a manifest is for several."""


@dataclass(frozen=True, slots=True)
class FleetGoal:
    """One goal: its workspace is an absolute path on the machine that takes from `queue`, `file` relative to it.
    `settings` are texts by name, as flags of `donewhen run` would give them."""

    id: str
    workspace: str
    file: str = "GOAL.md"
    queue: str = DEFAULT_QUEUE
    settings: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def line(self) -> tuple[str, str]:
        """Goals of one line are worked on one after the other: a workspace has one run at a time."""
        return (self.queue, self.workspace)


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a manifest says. Money is US dollars: `iteration_cost` is what is set aside for an iteration before it
    begins, of `max_cost` for all. `lost_after` is how many seconds a host may be silent before its work goes to
    another worker of its queue (Temporal)."""

    name: str
    goals: list[FleetGoal]
    parallel: int = 2
    max_cost: float | None = None
    iteration_cost: float = 0.5
    lost_after: float = 10.0


def load_manifest(path: Path, *, parallel: int | None = None, max_cost: float | None = None) -> Fleet:
    """Reads a manifest; what is given here stands over what it says. Raises UsageError that names the key."""
    try:
        data = tomllib.loads(read_text(path))
    except FileNotFoundError:
        raise UsageError(f"there is no manifest {path}: see docs/scale.md for what it holds") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} can't be read: {error}") from error
    try:
        return _fleet(data, path, parallel, max_cost)
    except _Wrong as wrong:
        raise UsageError(f"{path}: {wrong}") from None


class _Wrong(Exception):
    """What is wrong with the manifest."""


def _fleet(data: Mapping[str, Any], path: Path, parallel: int | None, max_cost: float | None) -> Fleet:
    _refuse_unknown(data, _KEYS, "the manifest")
    common = _settings(data.get("settings", {}), "[settings]")
    name = data.get("name", path.stem)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise _Wrong(f"name must be letters, digits, dots and dashes, such as 'nightly', not {name!r}")
    listed: object = data.get("goal", [])
    if not isinstance(listed, list) or not listed:
        raise _Wrong("it lists no goal: write a [[goal]] table with `workspace` for each")
    tables = cast("list[object]", listed)
    if len(tables) > MOST_GOALS:
        raise _Wrong(f"it lists {len(tables):,} goals, and a fleet has at most {MOST_GOALS:,}: divide it")
    goals = [_fleet_goal(table, number, path.parent, common) for number, table in enumerate(tables, 1)]
    twice = [one for one, times in Counter(goal.id for goal in goals).items() if times > 1]
    if twice:
        raise _Wrong(f"two goals are called {twice[0]}: give each its own `id`")
    return Fleet(name=name, goals=goals, **_bounds(data, parallel, max_cost))


def _bounds(data: Mapping[str, Any], parallel: int | None, max_cost: float | None) -> dict[str, Any]:
    own: dict[str, Any] = {
        "parallel": parallel if parallel is not None else data.get("parallel", 2),
        "max_cost": max_cost if max_cost is not None else data.get("max_cost"),
        "iteration_cost": data.get("iteration_cost", 0.5),
        "lost_after": data.get("lost_after", 10.0),
    }
    if not isinstance(own["parallel"], int) or isinstance(own["parallel"], bool) or own["parallel"] < 1:
        raise _Wrong(f"parallel must be a whole number of at least 1, not {own['parallel']!r}")
    for key in ("max_cost", "iteration_cost", "lost_after"):
        value: object = own[key]
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise _Wrong(f"{key} must be a number above 0, not {value!r}")
    if own["max_cost"] is not None and own["iteration_cost"] > own["max_cost"]:
        if "iteration_cost" in data:
            raise _Wrong("iteration_cost is more than max_cost: no iteration could begin")
        own["iteration_cost"] = own["max_cost"]
    return own


def _fleet_goal(table: object, number: int, folder: Path, common: Mapping[str, str]) -> FleetGoal:
    where = f"goal {number}"
    if not isinstance(table, dict):
        raise _Wrong(f"{where} must be a [[goal]] table")
    data = cast("dict[str, Any]", table)
    _refuse_unknown(data, _GOAL_KEYS, where)
    workspace = data.get("workspace")
    if not isinstance(workspace, str) or not workspace:
        raise _Wrong(f"{where} names no workspace: write workspace = 'FOLDER'")
    file, queue = data.get("file", "GOAL.md"), data.get("queue", DEFAULT_QUEUE)
    root = (folder.resolve() / expanded(workspace)).as_posix()
    stem = f"{Path(root).name}" if file == "GOAL.md" else f"{Path(root).name}-{Path(str(file)).stem}"
    name = data.get("id", re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip(".-") or f"goal-{number}")
    for key, value in (("id", name), ("queue", queue)):
        if not isinstance(value, str) or not NAME.fullmatch(value):
            raise _Wrong(f"{where}: {key} must be letters, digits, dots and dashes, not {value!r}")
    if not isinstance(file, str) or not file:
        raise _Wrong(f"{where}: file must name a goal file in the workspace, not {file!r}")
    return FleetGoal(name, root, file, queue, {**common, **_settings(data.get("settings", {}), f"settings of {where}")})


def _settings(table: object, where: str) -> dict[str, str]:
    if not isinstance(table, dict):
        raise _Wrong(f"{where} must be a table of settings")
    found: dict[str, str] = {}
    for name, value in cast("dict[str, object]", table).items():
        setting = OWN.get(name)
        if setting is None or name in _NOT_HERE or "run" not in setting.commands:
            raise _Wrong(f"{where}: `donewhen run` takes no setting {name!r} here; docs/settings.md lists all")
        if isinstance(value, list):
            value = ",".join(str(one) for one in cast("list[object]", value))
        found[name] = ("on" if value else "off") if isinstance(value, bool) else str(value)
    return found


def _refuse_unknown(data: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(data) - known)
    if unknown:
        raise _Wrong(f"{where} has no key {unknown[0]!r}; it may have {', '.join(sorted(known))}")
