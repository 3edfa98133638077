"""The receipt for a job of GitHub Actions: a workflow command for each thing that is not proven."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from donewhen.core.decide import with_untried
from donewhen.core.evidence import Evidence
from donewhen.engine.api import RunView
from donewhen.wire.reports.alerts import Level, alerts, past_alerts
from donewhen.wire.reports.markdown import proven, verdict

COMMANDS: Mapping[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}
MOST = 10
"""GitHub shows this many annotations of each level for a step; the rest would be lost without a word."""
MAX_MESSAGE = 4_000


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """A line for each, errors first, at most ten of a level; a notice where everything is proven."""
    found = alerts(view, root)
    lines: list[str] = []
    for level, command in COMMANDS.items():
        same = [one for one in (*found, *past_alerts(view, root)) if one.level == level]
        shown = same if len(same) <= MOST else same[: MOST - 1]
        for one in shown:
            fields = {"file": one.path, "line": one.line, "col": one.column, "title": one.title}
            # In a property, a colon or a comma would end it.
            named = [
                f"{name}={_data(str(value)).replace(':', '%3A').replace(',', '%2C')}"
                for name, value in fields.items()
                if value is not None
            ]
            message = one.message if not one.accepted else f"{one.message} ({one.accepted})"
            lines.append(f"::{command} {','.join(named)}::{_data(message[:MAX_MESSAGE])}")
        if len(same) > len(shown):
            lines.append(f"::{command} title=Done When::and {len(same) - len(shown)} more: see the receipt")
    if not found:
        weak = view.state.judge_is_weak and any(one.decided_by == "judge" for one in view.views)
        told = f"{with_untried(verdict(view.state), view.state)}, {proven(view)}"
        said = f"{view.state.goal.title}: {told}{', by a weak judge' if weak else ''}"
        lines.append(f"::notice title=Done When::{_data(said)}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    """What the runner reads as the message: it is decoded there, and no line of it can begin a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
