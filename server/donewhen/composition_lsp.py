"""Puts the language server's parts together; everything heavy is imported when a workspace is opened."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from donewhen.lsp.places import file_path
from donewhen.lsp.services import Adviser, LspServices, OpenWorkspace

if TYPE_CHECKING:
    from donewhen.config import Settings
    from donewhen.core.survey import Survey
    from donewhen.engine.api import Runs
    from donewhen.lsp.goal_text import GoalFileFeatures


def lsp_services(state_dir: Path | None, client_process_id: int | None = None) -> LspServices:
    """The factories that the language server works with; `state_dir` is the one of the command line, and so is
    `client_process_id`."""

    async def open_workspace(wanted: OpenWorkspace) -> Runs:
        import asyncio

        composition = await asyncio.to_thread(_composition)
        around = composition.Surroundings(
            interpreter=lambda: _interpreter(wanted.settings(), wanted.root),
            trusted=wanted.trusted,
            secrets=wanted.secrets(),
            unsaved=wanted.unsaved,
            editor=wanted.editor,
            where="editor",
        )

        def settings() -> Settings:
            return editor_settings(wanted.root, wanted.settings())

        where = wanted.state_dir or state_dir or settings().state_dir
        return await composition.open_engine(wanted.root, where, settings, around)

    return LspServices(
        open_workspace,
        _goal_files,
        _open_adviser,
        lambda wanted, tries: _survey(wanted, tries, state_dir),
        client_process_id,
        lambda wanted: editor_settings(wanted.root, wanted.settings()).pick("judge_model") is not None,
    )


async def _survey(wanted: OpenWorkspace, tries: bool, state_dir: Path | None) -> Survey:
    import asyncio

    drafts = await asyncio.to_thread(import_module, "donewhen.composition_drafts")
    settings = await asyncio.to_thread(editor_settings, wanted.root, wanted.settings())
    where = wanted.state_dir or state_dir or settings.state_dir
    place = drafts.place_of(wanted.root, where, interpreter=_interpreter(wanted.settings(), wanted.root))
    trusted = wanted.trusted()
    # What tries a draft's checks opens no rooms: where checks are to run in them, none is tried.
    tries = tries and trusted and not settings.contains_checks
    return await drafts.survey(place, execute=trusted, tries=tries, patience=drafts.PATIENCE_IN_EDITORS)


@asynccontextmanager
async def _open_adviser(wanted: OpenWorkspace) -> AsyncGenerator[Adviser | None]:
    import asyncio

    settings = editor_settings(wanted.root, wanted.settings())
    if settings.adviser is None:
        yield None
        return
    composition = await asyncio.to_thread(_composition)
    advice = await asyncio.to_thread(import_module, "donewhen.composition_advice")
    around = composition.Surroundings(trusted=wanted.trusted, secrets=wanted.secrets())
    async with advice.adviser(wanted.root, settings, around) as adviser:
        yield adviser


def _interpreter(editor: Mapping[str, Any], root: Path) -> Path | None:
    """The Python that is selected for the folder: `interpreters` by the folder's uri, else the one for all."""
    by_folder = editor.get("interpreters")
    named = cast("dict[str, Any]", by_folder) if isinstance(by_folder, dict) else {}
    own = next((value for uri, value in named.items() if file_path(uri) == root), None)
    selected = own or editor.get("interpreter")
    return Path(selected) if isinstance(selected, str) and selected else None


EDITORS_WORKSPACE = "the workspace's settings in the editor"


def editor_settings(root: Path, editor: Mapping[str, Any]) -> Settings:
    """The settings of environment, workspace and user, with the editor's own over the user's.

    What `[tool.donewhen]` of the workspace tightened stays as strict. `workspace` in the editor's settings is what a
    file of the workspace says of them: it gets as far as `[tool.donewhen]` does. Raises InvalidGoal for a bad value.
    """
    from donewhen.config import capped, load_settings, read_setting, workspace_choices
    from donewhen.settings.table import OWN, choices_of

    user = load_settings({}, os.environ, None, terminal=True)
    settings = load_settings({}, os.environ, root, terminal=True)
    values: dict[str, Any] = {}
    for name, value in _said(editor).items():
        if (setting := OWN.get(name)) is not None:
            # Numbers may come as text, too: editors that have no settings page take what a person types.
            values[name] = read_setting(setting, value, "the editor's settings", text=isinstance(value, str))
    for name, setting in OWN.items():
        tightened = getattr(settings.configured, name) if setting.of_workspace == "tighten" else None
        if name in values and tightened not in (None, getattr(user.configured, name)):
            values[name] = max(values[name], tightened, key=setting.kind.choices.index)
    editors = choices_of(values)
    configured, warnings = editors.over(settings.configured), list(settings.warnings)
    workspace = workspace_choices(_said(editor.get("workspace")), EDITORS_WORKSPACE, configured, warnings)
    return replace(
        settings,
        configured=capped(workspace, settings.ceiling, warnings).over(configured),
        warnings=tuple(warnings),
        own=settings.given.over(editors).over(settings.own),
    )


def _said(editor: Any) -> dict[str, Any]:
    """The editor's settings by our names; what is empty says nothing."""
    table = cast("dict[str, Any]", editor) if isinstance(editor, dict) else {}
    named = {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).casefold(): value for key, value in table.items()}
    return {name: value for name, value in named.items() if value is not None and value != "" and value != []}


PARTS = (
    "engine.clock engine.runs evidence.editor evidence.runner store.faults "
    "store.folders store.sqlite workspace.folder workspace.locks workspace.processes"
)


def _composition() -> Any:
    """Runs in a thread: what opening a workspace imports would hold the loop for longer than a handler may."""
    for name in PARTS.split():
        import_module(f"donewhen.{name}")
    return import_module("donewhen.composition")


def _goal_files() -> GoalFileFeatures:
    """Runs in a thread."""
    import donewhen.goalfile.files
    from donewhen.composition_goal_text import goal_texts

    assert donewhen.goalfile.files
    return goal_texts()
