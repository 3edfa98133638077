"""What a person says of approvals and plugins in their own settings, and nowhere else: `allow`, `ask`, `deny`,
`[[rules]]`, `plugins` and `plugins_off`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from donewhen.core.errors import InvalidGoal

if TYPE_CHECKING:  # rules are rare, and what judges command lines costs start-up time
    from donewhen.core.approval import ApprovalRule, Permit

ACTIONS: tuple[Permit, ...] = ("allow", "ask", "deny")
KEYS = (*ACTIONS, "rules", "plugins", "plugins_off")
"""What is read here, and what no workspace file may hold."""
ESSENTIAL = ("approval",)
"""Plugins that no run goes without."""
_EXAMPLE = '[[rules]]; tool = "edit_file"; pattern = "docs/**"; action = "ask"'
_FIELDS = ("tool", "pattern", "action")


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
    given = table.pop("rules", [])
    if not isinstance(given, list):
        raise InvalidGoal(f"rules must be tables such as {_EXAMPLE}; it is {given!r} (in {where})")
    for number, entry in enumerate(cast("list[object]", given), start=1):
        rules.append(_approval_rule(entry, number, where))
    plugins = _texts("plugins", table.pop("plugins", []), '["package.module:Plugin"]', where)
    off = _texts("plugins_off", table.pop("plugins_off", []), '["name"]', where)
    for name in ESSENTIAL:
        if name in off:
            raise InvalidGoal(f"plugins_off can't hold `{name}`: every run needs it (in {where})")
    return Approvals(tuple(dict.fromkeys(rules)), plugins, off)


def _approval_rule(entry: object, number: int, where: str) -> ApprovalRule:
    named = f"rules, number {number}"
    if not isinstance(entry, dict):
        raise InvalidGoal(f"{named}, must be a table such as {_EXAMPLE}; it is {entry!r} (in {where})")
    values = cast("Mapping[str, object]", entry)
    for key in values:
        if key not in _FIELDS:
            raise InvalidGoal(f"{named}, has no key `{key}`: it takes {', '.join(_FIELDS)} (in {where})")
    tool, pattern, action = (values.get(key) for key in _FIELDS)
    if not isinstance(tool, str) or not isinstance(pattern, str):
        raise InvalidGoal(f"{named}, needs `tool` and `pattern`, both text, such as {_EXAMPLE} (in {where})")
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


def _texts(key: str, given: object, example: str, where: str) -> tuple[str, ...]:
    items = cast("list[object]", given) if isinstance(given, list) else [None]
    texts = [one.strip() for one in items if isinstance(one, str) and one.strip()]
    if len(texts) != len(items):
        raise InvalidGoal(f"{key} must be a list such as {example}; it is {given!r} (in {where})")
    return tuple(dict.fromkeys(texts))
