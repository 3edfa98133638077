"""What a front end knows of the place that runs happen in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donewhen.config import Approvals
    from donewhen.core.acts import Where
    from donewhen.ports import EditorView


@dataclass(frozen=True, slots=True)
class WorkspaceContext:
    """`environment` is that of whoever started Done When, `interpreter` is asked for the Python that the editor has
    selected at each start, `trusted` is asked before anything is executed. `secrets` are kept in memory only.
    """

    environment: Callable[[], Mapping[str, str]] = lambda: dict(os.environ)
    interpreter: Callable[[], Path | None] = lambda: None
    trusted: Callable[[], bool] = lambda: True
    watch: bool = True
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    unsaved: Callable[[str], str | None] = lambda path: None
    """The text that an editor holds for a file, where that differs from what is on disk."""
    where: Where | None = None
    """From where people act through this process; None: from a terminal where it has one, else it is a program."""
    editor: Callable[[], EditorView | None] = lambda: None
    """What an editor shows of the folder now; None if no client forwards its diagnostics."""


def plugins_there() -> bool:
    """Whether there are plugins at all, by what is installed and the person's settings: where those are wrong, it says
    no. Nothing of them is loaded."""
    from donewhen.config import load_settings  # lazy, as below: start-up time
    from donewhen.core.errors import InvalidGoal

    try:
        return any_plugins(load_settings({}, {}, None).approvals)
    except InvalidGoal:
        return False


def any_plugins(approvals: Approvals, root: Path | None = None) -> bool:
    """Whether these settings name plugins, or leave any on that is installed for the folder."""
    from donewhen.plugins.loading import installed_points

    installed = (point.name not in approvals.plugins_off for point in installed_points(root))
    return bool(approvals.plugins) or any(installed)
