"""What a front end knows about the place where runs happen."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.ports import AskEditor, no_editor_to_ask

if TYPE_CHECKING:
    from donewhen.core.people import Where
    from donewhen.ports import EditorView
    from donewhen.settings.personal import Approvals


@dataclass(frozen=True, slots=True)
class WorkspaceContext:
    """`environment` is that of whoever started Done When; `interpreter` returns, at each start, the Python that the
    editor has selected; `trusted` is called before anything is executed. `secrets` are kept in memory only.
    """

    environment: Callable[[], Mapping[str, str]] = lambda: dict(os.environ)
    interpreter: Callable[[], Path | None] = lambda: None
    trusted: Callable[[], bool] = lambda: True
    watch: bool = True
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    unsaved: Callable[[str], str | None] = lambda path: None
    """The text that an editor holds for a file, if it differs from the text on disk."""
    where: Where | None = None
    """Where people who use this process act from; None: a terminal if the process has one, else a program."""
    editor: Callable[[], EditorView | None] = lambda: None
    """What an editor shows of the folder now; None if no client forwards its diagnostics."""
    ask_editor: AskEditor = no_editor_to_ask
    """Asks an editor's own models."""


def plugins_there() -> bool:
    """Whether there are any plugins, by the installed packages and the person's settings; False if those settings are
    wrong. No plugin is loaded."""
    from donewhen.core.errors import InvalidGoal
    from donewhen.settings.loading import load_settings  # lazy, as below: start-up time

    try:
        return any_plugins(load_settings({}, {}, None).approvals)
    except InvalidGoal:
        return False


def any_plugins(approvals: Approvals, root: Path | None = None) -> bool:
    """Whether these settings name plugins, or leave any installed plugin of the folder switched on."""
    from donewhen.plugins.loading import installed_points

    installed = (point.name not in approvals.plugins_off for point in installed_points(root))
    return bool(approvals.plugins) or any(installed)
