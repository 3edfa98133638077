"""The calls that a person allowed permanently in one workspace: a file in the state folder, where no worker writes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, cast

from donewhen.core.approval import ApprovalRule, rule_problem
from donewhen.regular import read_text, write_whole

FILE = "allowances.json"
VERSION = 1
MAX_BYTES = 1_000_000
MOST = 2_000
"""How many rules are kept; when there are more, the oldest are dropped."""


class Allowances:
    """The file is read again each time, because another run of the workspace may have added to it. A file that can't
    be read allows nothing; `problem` says so."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.problem = ""

    def rules(self) -> tuple[ApprovalRule, ...]:
        """The oldest first; each with action `allow`."""
        self.problem = ""
        try:
            if self._path.stat().st_size > MAX_BYTES:
                raise ValueError("it is too large")
            found = tuple(dict.fromkeys(_rules(json.loads(read_text(self._path)))))
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, RecursionError) as error:
            self.problem = f"what you allowed in this workspace can't be read, so none of it applies: {error} "
            self.problem += f"(remove {self._path} to start over)"
            return ()
        return found

    def allow(self, rule: ApprovalRule) -> None:
        """Adds a rule; the file is written whole or not at all. Raises OSError."""
        kept = [one for one in self.rules() if one != rule][-(MOST - 1) :]
        if self.problem:
            # Moved away, so that nothing that a person may want back is overwritten.
            with contextlib.suppress(OSError):
                self._path.replace(self._path.with_name(f"{FILE}.unreadable"))
        table = [{"tool": one.tool, "pattern": one.pattern} for one in (*kept, rule)]
        text = json.dumps({"version": VERSION, "allowed": table}, indent=1, ensure_ascii=True) + "\n"
        write_whole(self._path, text)


def _rules(content: Any) -> list[ApprovalRule]:
    """Raises ValueError for anything that was not written by `allow`."""
    if not isinstance(content, dict):
        raise ValueError("it contains no table")
    table = cast("dict[str, Any]", content)
    if table.get("version") != VERSION:
        raise ValueError(f"it is of version {table.get('version')!r}, this one knows {VERSION}")
    listed = table.get("allowed")
    if not isinstance(listed, list):
        raise ValueError("it contains no list `allowed`")
    return [_exact_rule(one) for one in cast("list[Any]", listed)]


def _exact_rule(one: Any) -> ApprovalRule:
    entry = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
    tool, pattern = entry.get("tool"), entry.get("pattern")
    if not isinstance(tool, str) or not isinstance(pattern, str) or set(entry) != {"tool", "pattern"}:
        raise ValueError(f"{one!r} is not a rule")
    rule = ApprovalRule(tool, pattern, "allow")
    # Every rule that is kept allows exactly one call: a wildcard can't come from a person's answer.
    if tool.strip() == "*" or pattern.strip() == "*" or rule_problem(rule) is not None:
        raise ValueError(f"{one!r} is not a rule for one call")
    return rule
