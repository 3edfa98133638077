"""`settings`: what is in force here, and which source says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from donewhen.cli.calling import Call
from donewhen.cli.formatting import one_line, shown_path
from donewhen.cli.goal_argument import read_goal, the_goal
from donewhen.cli.outcome import COMPLETE
from donewhen.core.errors import UsageError
from donewhen.core.feedback import MASK
from donewhen.core.goal import Goal, Limits
from donewhen.core.words import sentence
from donewhen.settings.kinds import UNLIMITED, Kind
from donewhen.settings.loading import LIMITS, Settings, limits_with_settings
from donewhen.settings.table import BY_NAME, GROUPS, KEYS, TABLES, Setting, nearest_name

_REACH = {"may": "may set it", "tighten": "may only tighten it", "never": "may not set it"}
_KEY = re.compile(r"([\w-]*(?:key|token|secret|password|passwd)[=:\s]\s*)[^\s&]+", re.IGNORECASE)
"""A key in a command line or an address, whatever it looks like."""
_HELD: Mapping[str, Callable[[Settings], Iterable[str]]] = {
    "prices": lambda settings: settings.prices,
    # Their names are enough: a worker may see these.
    "hidden_checks": lambda settings: (one.name for one in settings.hidden_checks),
}
"""Tables of the person's own file, each with the names in it: a setting that no other place may hold."""
_TABLE = Kind("table", "a table in your own settings file", str)
ROWS = dict(BY_NAME) | {name: Setting(name=name, kind=_TABLE, meaning=TABLES[name]) for name in _HELD}
"""What can be asked for by name."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What one source says of one setting. `place` says where, as a person would look for it."""

    source: str
    place: str
    value: Any


def settings(call: Call) -> int:
    """Prints all settings, or one with all that is said of it; 0. Raises UsageError for a name that isn't one."""
    named: str | None = call.arguments.setting
    held = (one for name, one in ROWS.items() if name not in _HELD or any(_HELD[name](call.settings)))
    chosen = tuple(held) if named is None else (_setting(named),)
    try:
        goal = read_goal(call.root / the_goal(call.root)).goal  # the one that `run` would take
    except (OSError, UsageError):
        goal = None
    found = {one.name: _resolved(call, one, goal) for one in chosen}
    if call.json:
        warnings = [{"code": one.code, "message": one.message} for one in call.settings.warnings]
        each = [_document(call, one, *found[one.name]) for one in chosen]
        call.terminal.document({"settings": each, "warnings": warnings})
        return COMPLETE
    lines = _settings_table(call, found) if named is None else _setting_lines(call, chosen[0], *found[chosen[0].name])
    for line in lines:
        call.terminal.result(line)
    return COMPLETE


def _setting(name: str) -> Setting:
    if (known := ROWS.get(name.lstrip("-").replace("-", "_"))) is not None:
        return known
    near = nearest_name(name, ROWS)
    meant = f"did you mean `{near}`?" if near else "`donewhen settings` lists them"
    raise UsageError(f"there is no setting {name!r}: {meant}")


def _resolved(call: Call, one: Setting, goal: Goal | None) -> tuple[_Said, tuple[_Said, ...]]:
    """What is in force, and what each source says, the nearest first."""
    said = _all_said(call, one, goal)
    if one.adds and said:
        members = tuple(dict.fromkeys(member for each in reversed(said) for member in each.value))
        return _Said(", ".join(each.source for each in said), ", ".join(each.place for each in said), members), said
    first = said[0] if said else None
    if first is not None and first.source in ("command line", "environment"):
        return first, said
    if one.name in LIMITS:
        return _limit(call, one, goal, first), said
    unset = call.settings.pick(one.name) if one.own and one.name not in _HELD else None
    default = one.default or None
    return first or _Said("default", "", default if unset is None else unset), said


def _limit(call: Call, one: Setting, goal: Goal | None, first: _Said | None) -> _Said:
    """What a run of the goal gets, within the person's ceiling."""
    limits, explicit = (goal.limits, goal.explicit_limits) if goal else (Limits(), frozenset[str]())
    value = getattr(limits_with_settings(limits, explicit, call.settings)[0], one.name)
    said = (None if first.value == UNLIMITED else first.value) if first else getattr(Limits(), one.name)
    if value != said:
        return _Said("ceiling", f"[ceiling] of {_user_file(call)}", value)
    return first or _Said("default", "", one.default or None)


def _all_said(call: Call, one: Setting, goal: Goal | None) -> tuple[_Said, ...]:
    if one.name in _HELD:
        names = tuple(_HELD[one.name](call.settings))
        return (_Said("your settings", _user_file(call), names),) if names else ()
    found: list[_Said] = []
    for source in call.settings.sources:
        if goal and source.name == "workspace" and (value := _of_goal(goal, one)) is not None:
            found.append(_Said("goal file", goal.path or "", value))
        if (value := getattr(source.choices, one.name)) is not None:
            place = {"command line": one.option, "environment": one.variable}.get(source.name, source.place)
            found.append(_Said(source.name, place, value))
    return tuple(found)


def _of_goal(goal: Goal, one: Setting) -> Any:
    """What its front matter says, None for silence."""
    if one.name in LIMITS:
        value = getattr(goal.limits, one.name)
        return (UNLIMITED if value is None else value) if one.name in goal.explicit_limits else None
    return (getattr(goal, one.name, None) or None) if one.name in KEYS else None


def _user_file(call: Call) -> str:
    return next((one.place for one in call.settings.sources if one.name == "your settings"), "your settings")


# ------------------------------------------------------------------------------------------------- what is printed


def _written(call: Call, one: Setting, value: Any) -> Any:
    """The value as a settings file has it, without keys."""
    if isinstance(value, tuple):
        return [_without_keys(call, str(member)) for member in cast("tuple[object, ...]", value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        units = _UNITS.get(one.kind.name)
        if units is None:
            return value
        # In the largest unit that divides it.
        factor, unit = next(((factor, unit) for factor, unit in units if value % factor == 0), units[-1])
        return f"{value / factor:g}{unit}"
    return _without_keys(call, str(value)) if isinstance(value, str | Path) else value


def _without_keys(call: Call, text: str) -> str:
    return _KEY.sub(rf"\1{MASK}", call.services.secrets_masked(text, call.terminal.environ))


_UNITS = {
    "time": ((3600, "h"), (60, "m"), (1, "s")),
    "age": ((86_400, "d"), (3600, "h")),
    "size": ((1024**4, "TB"), (1024**3, "GB"), (1024**2, "MB")),
}


def _document(call: Call, one: Setting, force: _Said, said: tuple[_Said, ...]) -> dict[str, Any]:
    def of(each: _Said) -> dict[str, Any]:
        return {"source": each.source, "place": each.place or None, "value": _written(call, one, each.value)}

    top = getattr(call.settings.ceiling, one.name, None)
    return {
        "name": one.name,
        **of(force),
        "workspace": one.of_workspace if one.own else None,
        "goalFile": one.goal_file,
        "ceiling": None if top is None else _written(call, one, top),
        "said": [of(each) for each in said],
    }


def _value_in_words(call: Call, one: Setting, value: Any) -> str:
    written = _written(call, one, value)
    if written is None:
        return "unlimited" if one.name in LIMITS and one.default else "not set"
    text = ", ".join(cast("list[str]", written)) if isinstance(written, list) else str(written)
    return one_line(text, 60)


def _from(said: _Said) -> str:
    if said.source in ("default", "command line", "environment"):
        return f"{said.source} ({said.place})" if said.place else said.source
    return shown_path(said.place or said.source)


def _reach(one: Setting) -> str:
    return f"the workspace {_REACH[one.of_workspace]}" if one.own else "only a goal file sets it"


def _settings_table(call: Call, found: dict[str, tuple[_Said, tuple[_Said, ...]]]) -> Iterator[str]:
    rows = {
        name: (name, _value_in_words(call, ROWS[name], force.value), _from(force)) for name, (force, _) in found.items()
    }
    wide = [max(len(row[column]) for row in rows.values()) for column in range(3)]
    for title in (*GROUPS, ""):
        yield title or "others"
        for name, row in rows.items():
            if ROWS[name].group == title:
                cells = (f"{cell:{width}}" for cell, width in zip(row, wide, strict=True))
                yield f"  {'  '.join(cells)}  {_reach(ROWS[name])}"
    yield f"Your settings: {shown_path(_user_file(call))}. An editor's own settings hold for the runs that it starts."
    yield "`donewhen settings NAME` says more about one; docs/settings.md has all of them."


def _setting_lines(call: Call, one: Setting, force: _Said, said: tuple[_Said, ...]) -> Iterator[str]:
    yield f"{one.name}: {_value_in_words(call, one, force.value)}  ({_from(force)})"
    yield f"  {one.sentence} {one.more}".rstrip()
    for each in said:
        yield f"  {_from(each)} says {_value_in_words(call, one, each.value)}"
    top = getattr(call.settings.ceiling, one.name, None)
    if top is not None:
        yield f"  your ceiling: {_value_in_words(call, one, top)}"
    reach = _reach(one) + ("; a goal file may set it" if one.own and one.goal_file else "")
    yield f"  {sentence(reach)}."
    yield f"  Write {one.expected}."
