"""What a workspace folder is opened with: the editor's settings, over the person's own settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from donewhen.app.services import Adviser, Look, Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.engine.api import Runs
from donewhen.goalfile.survey import Survey
from donewhen.lsp.client_profile import object_or_empty
from donewhen.lsp.positions import file_path
from donewhen.settings.loading import Settings, capped, load_settings, read_setting, workspace_choices
from donewhen.settings.table import OWN, choices_of

PATIENCE = 20.0
"""Seconds for one check that is tried for a draft: a person waits at an editor."""


@dataclass(frozen=True, slots=True)
class OpenWorkspace:
    """A workspace folder to open. `editor_settings` returns the editor's present settings (section `donewhen`,
    camelCase); `context` is what the editor tells of the folder, its interpreter aside, which is one of its settings.
    Runs are recorded in `state_dir`, else in the folder of the settings.
    """

    root: Path
    editor_settings: Callable[[], Mapping[str, Any]]
    context: WorkspaceContext
    state_dir: Path | None = None

    def settings(self) -> Settings:
        """The present settings. Raises InvalidGoal for a bad value."""
        return editor_settings(self.root, self.editor_settings())

    def interpreter(self) -> Path | None:
        """The Python that is selected for the folder: from `interpreters` by the folder's uri, else the one for all."""
        given = self.editor_settings()
        by_folder = object_or_empty(given.get("interpreters"))
        own = next((value for uri, value in by_folder.items() if file_path(uri) == self.root), None)
        selected = own or given.get("interpreter")
        return Path(selected) if isinstance(selected, str) and selected else None

    async def open_runs(self, services: Services) -> Runs:
        """Raises whatever the engine raises."""
        context = replace(self.context, interpreter=self.interpreter)
        return await services.open_runs(self.root, self._state_dir(), self.settings, context)

    async def survey(self, services: Services, *, tries: bool) -> Survey:
        """The checks of the folder; with `tries` those of a draft run once, if the workspace is trusted."""
        settings, trusted = self.settings(), self.context.trusted()
        # Trying a draft's checks opens no rooms: if checks must run in rooms, none is tried.
        tries = tries and trusted and not settings.contains_checks
        look = Look(self.root, self._state_dir(), trusted, tries, PATIENCE, self.interpreter())
        return await services.survey(look)

    def open_adviser(self, services: Services) -> AbstractAsyncContextManager[Adviser | None]:
        return services.open_adviser(self.root, self.settings(), self.context)

    def _state_dir(self) -> Path | None:
        return self.state_dir or self.settings().state_dir


EDITORS_WORKSPACE = "the workspace's settings in the editor"


def editor_settings(root: Path, editor: Mapping[str, Any]) -> Settings:
    """The settings of environment, workspace and user, with the editor's own over the user's.

    What the workspace's `[tool.donewhen]` tightened stays as strict. `workspace` in the editor's settings holds the
    values from a file of the workspace: they may do as much as `[tool.donewhen]`. Raises InvalidGoal for a bad value.
    """
    user = load_settings({}, os.environ, None, terminal=True)
    settings = load_settings({}, os.environ, root, terminal=True)
    values: dict[str, Any] = {}
    for name, value in _editor_settings(editor).items():
        if (setting := OWN.get(name)) is not None:
            # Numbers may come as text, too: editors without a settings page send what a person types.
            values[name] = read_setting(setting, value, "the editor's settings", text=isinstance(value, str))
    for name, setting in OWN.items():
        tightened = getattr(settings.configured, name) if setting.of_workspace == "tighten" else None
        if name in values and tightened not in (None, getattr(user.configured, name)):
            values[name] = max(values[name], tightened, key=setting.kind.choices.index)
    editors = choices_of(values)
    configured, warnings = editors.over(settings.configured), list(settings.warnings)
    workspace = workspace_choices(_editor_settings(editor.get("workspace")), EDITORS_WORKSPACE, configured, warnings)
    return replace(
        settings,
        configured=capped(workspace, settings.ceiling, warnings).over(configured),
        warnings=tuple(warnings),
        own=settings.given.over(editors).over(settings.own),
        editor=editors,
    )


def _editor_settings(editor: Any) -> dict[str, Any]:
    """The editor's settings by our names; empty values are left out."""
    given = object_or_empty(editor)
    named = {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).casefold(): value for key, value in given.items()}
    return {name: value for name, value in named.items() if value is not None and value != "" and value != []}
