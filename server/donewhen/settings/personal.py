"""What a person says in their own settings, and nowhere else: approvals and plugins, what models cost, and the checks
that they hold out from workers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from donewhen.core.errors import InvalidGoal
from donewhen.core.work import ModelFacts, Price
from donewhen.regular import expanded

if TYPE_CHECKING:  # rules are rare, and what judges command lines costs start-up time
    from donewhen.core.approval import ApprovalRule, Permit

# `allow`, `ask`, `deny`, `[[rules]]`, `plugins` and `plugins_off`.


ACTIONS: tuple[Permit, ...] = ("allow", "ask", "deny")
APPROVAL_KEYS = (*ACTIONS, "rules", "plugins", "plugins_off")
"""What `take_approvals` reads, and what no workspace file may hold."""
ESSENTIAL = ("approval",)
"""Plugins that no run goes without."""
_EXAMPLE_RULE = '[[rules]]; tool = "edit_file"; pattern = "docs/**"; action = "ask"'
_RULE_FIELDS = ("tool", "pattern", "action")


@dataclass(frozen=True, slots=True)
class Approvals:
    """`plugins` name code (`package.module:Attribute` or the full path of a file), `plugins_off` plugins."""

    rules: tuple[ApprovalRule, ...] = ()
    plugins: tuple[str, ...] = ()
    plugins_off: tuple[str, ...] = ()


def take_approvals(table: dict[str, Any], where: str) -> Approvals:
    """Takes these keys out of a table of settings. Raises InvalidGoal that names the key and says how it is written."""
    rules: list[ApprovalRule] = []
    for action in ACTIONS:
        patterns = _texts(action, table.pop(action, []), '["pytest *", "git status"]', where)
        rules += [_rule_of(None, one, action, action, where) for one in patterns]
    for named, values in _tables("rules", table.pop("rules", []), _RULE_FIELDS, _EXAMPLE_RULE, where):
        rules.append(_approval_rule(named, values, where))
    plugins = _texts("plugins", table.pop("plugins", []), '["package.module:Plugin"]', where)
    off = _texts("plugins_off", table.pop("plugins_off", []), '["name"]', where)
    for name in ESSENTIAL:
        if name in off:
            raise InvalidGoal(f"plugins_off can't hold `{name}`: every run needs it (in {where})")
    return Approvals(tuple(dict.fromkeys(rules)), plugins, off)


def _approval_rule(named: str, values: Mapping[str, object], where: str) -> ApprovalRule:
    tool, pattern, action = (values.get(key) for key in _RULE_FIELDS)
    if not isinstance(tool, str) or not isinstance(pattern, str):
        raise InvalidGoal(f"{named}, needs `tool` and `pattern`, both text, such as {_EXAMPLE_RULE} (in {where})")
    if action not in ACTIONS:
        raise InvalidGoal(f"{named}, needs `action`, one of {', '.join(ACTIONS)}; it is {action!r} (in {where})")
    return _rule_of(tool.strip(), pattern.strip(), action, named, where)


def _rule_of(tool: str | None, pattern: str, action: Permit, named: str, where: str) -> ApprovalRule:
    """Without a tool it is about commands."""
    from donewhen.core.approval import COMMAND_TOOL, ApprovalRule, rule_problem  # lazy: see above

    rule = ApprovalRule(COMMAND_TOOL if tool is None else tool, pattern, action)
    problem = rule_problem(rule)
    if problem is not None:
        raise InvalidGoal(f"{named}: {problem} (in {where})")
    return rule


def _table_of(entry: object, named: str, keys: Sequence[str], example: str, where: str) -> Mapping[str, object]:
    """The entry, which must be a table with none but these keys. Raises InvalidGoal."""
    if not isinstance(entry, dict):
        raise InvalidGoal(f"{named} must be a table such as {example}; it is {entry!r} (in {where})")
    values = cast("Mapping[str, object]", entry)
    for key in values:
        if key not in keys:
            raise InvalidGoal(f"{named} has no key `{key}`: it takes {', '.join(keys)} (in {where})")
    return values


def _tables(
    key: str, given: object, keys: Sequence[str], example: str, where: str
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The entries of a list of tables, each with what errors call it. Raises InvalidGoal."""
    if not isinstance(given, list):
        raise InvalidGoal(f"{key} must be tables such as {example}; it is {given!r} (in {where})")
    for number, entry in enumerate(cast("list[object]", given), start=1):
        named = f"{key}, number {number}"
        yield named, _table_of(entry, f"{named},", keys, example, where)


def _texts(key: str, given: object, example: str, where: str) -> tuple[str, ...]:
    items = cast("list[object]", given) if isinstance(given, list) else [None]
    texts = [one.strip() for one in items if isinstance(one, str) and one.strip()]
    if len(texts) != len(items):
        raise InvalidGoal(f"{key} must be a list such as {example}; it is {given!r} (in {where})")
    return tuple(dict.fromkeys(texts))


# `[[hidden_checks]]`: checks that a person holds out from workers.


HIDDEN_KEY = "hidden_checks"
_CHECK_FIELDS = ("workspace", "name", "command")
_EXAMPLE_CHECK = (
    '[[hidden_checks]]; workspace = "~/shop"; name = "Quotes are doubled"; command = "pytest -q ~/held/test.py"'
)
_HOME = re.compile(r"(?<![^\s=:])~(?=/|\s|$)")


@dataclass(frozen=True, slots=True)
class HiddenCheck:
    """`name` is all that a worker hears of it. `command` is run in a room before a run completes."""

    name: str
    command: str


def take_hidden(table: dict[str, Any], root: Path | None, where: str) -> tuple[HiddenCheck, ...]:
    """Takes them out of a table of settings: those for the workspace folder `root`. `~` of a command is the person's
    home, which a room's own is not. Raises InvalidGoal that says how they are written."""
    home = os.path.expanduser("~")  # noqa: PTH111 # never raises, for any user
    found: dict[str, HiddenCheck] = {}
    for named, values in _tables(HIDDEN_KEY, table.pop(HIDDEN_KEY, []), _CHECK_FIELDS, _EXAMPLE_CHECK, where):
        workspace, name, command = (_line_of_text(values, field, named, where) for field in _CHECK_FIELDS)
        if root is None or expanded(workspace).resolve() != root.resolve():
            continue
        if name in found:
            raise InvalidGoal(
                f"{HIDDEN_KEY} has two of the name {name!r} for {workspace}: give each its own (in {where})"
            )
        found[name] = HiddenCheck(name, _HOME.sub(lambda _: home, command))
    return tuple(found.values())


def _line_of_text(values: Mapping[str, object], field: str, named: str, where: str) -> str:
    text = values.get(field)
    if not isinstance(text, str) or not text.strip() or "\n" in text:
        raise InvalidGoal(f"{named}: {field} must be a line of text, such as in {_EXAMPLE_CHECK} (in {where})")
    return text.strip()


# `[prices."provider/name"]`: what a person says that models cost.


PRICE_KEYS = ("input", "output", "cached", "window")


def read_prices(table: object, where: str) -> dict[str, ModelFacts]:
    """The prices by the name of the model, and its window where that is said. Raises InvalidGoal that says how one is
    written."""
    if not isinstance(table, dict):
        raise InvalidGoal(f"prices must be a table such as {_EXAMPLE_PRICE}; it is {table!r} (in {where})")
    prices: dict[str, ModelFacts] = {}
    for name, entry in cast(dict[str, object], table).items():
        values = _table_of(entry, f'prices."{name}"', PRICE_KEYS, _EXAMPLE_PRICE, where)
        given = _dollars(name, "input", values.get("input"), where)
        made = _dollars(name, "output", values.get("output"), where)
        cached = _dollars(name, "cached", values["cached"], where) if "cached" in values else None
        window = values.get("window")
        if window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
            message = f'`window` of prices."{name}" must be a whole number of tokens; it is {window!r} (in {where})'
            raise InvalidGoal(message)
        prices[name] = ModelFacts(window, price=Price(given, made, cached))
    return prices


def price_example(model: str) -> str:
    """The lines that set the price of a model."""
    return f'[prices."{model}"]\ninput = 1.00\noutput = 2.00'


_EXAMPLE_PRICE = price_example("provider/name").replace("\n", "; ")


def _dollars(name: str, key: str, value: object, where: str) -> float:
    # `value >= 0` is false for NaN too.
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value != float("inf"):
        return float(value)
    message = f'prices."{name}" needs `{key}`, US dollars per million tokens, at least 0; it is {value!r} (in {where})'
    raise InvalidGoal(message)
