"""What the server offers: the only place where methods and commands are registered with pygls.

A handler is a function `(session, params)`, named here by module and function, and imported when it is first needed:
the parts of the engine that handlers use would make `initialize` take half as long again.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types

if TYPE_CHECKING:
    from donewhen.lsp.session import ClientViews, Session

Handler = Callable[["Session", Any], Awaitable[Any] | Any]


@dataclass(frozen=True, slots=True)
class Feature:
    """One method: its module in this package, its function, and its entry in the answer to `initialize`."""

    module: str
    function: str
    options: Any = None
    early: bool = False
    """True for methods that are handled before the modules that show things are imported."""

    def load(self) -> Handler:
        return cast("Handler", getattr(import_module(f"donewhen.lsp.{self.module}"), self.function))


FEATURES: dict[str, Feature] = {
    types.INITIALIZE: Feature("lifecycle", "initialize", early=True),
    types.INITIALIZED: Feature("lifecycle", "initialized", early=True),
    types.SHUTDOWN: Feature("lifecycle", "shutdown", early=True),
    types.TEXT_DOCUMENT_DID_OPEN: Feature("synchronizing", "opened", early=True),
    types.TEXT_DOCUMENT_DID_CHANGE: Feature("synchronizing", "changed", early=True),
    types.TEXT_DOCUMENT_DID_SAVE: Feature("synchronizing", "saved", types.SaveOptions(include_text=True), early=True),
    types.TEXT_DOCUMENT_DID_CLOSE: Feature("synchronizing", "closed", early=True),
    types.TEXT_DOCUMENT_DIAGNOSTIC: Feature(
        "diagnostics", "pull", types.DiagnosticOptions(True, False, identifier="donewhen")
    ),
    types.TEXT_DOCUMENT_CODE_LENS: Feature("lenses", "lenses"),
    types.TEXT_DOCUMENT_HOVER: Feature("hover", "hover"),
    types.TEXT_DOCUMENT_INLAY_HINT: Feature("lenses", "hints"),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Feature("navigation", "symbols"),
    types.TEXT_DOCUMENT_DEFINITION: Feature("navigation", "definition"),
    types.TEXT_DOCUMENT_CODE_ACTION: Feature(
        "actions", "actions", types.CodeActionOptions(["quickfix", "refactor", "source.donewhen"])
    ),
    types.TEXT_DOCUMENT_COMPLETION: Feature("completion", "completion", types.CompletionOptions(["`", ":", " ", "/"])),
    types.TEXT_DOCUMENT_DOCUMENT_LINK: Feature("navigation", "links"),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: Feature("lifecycle", "configured"),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: Feature("lifecycle", "folders_changed"),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: Feature("lifecycle", "files_changed"),
    "donewhen/didChangeTrust": Feature("synchronizing", "trust_changed"),
    "donewhen/setSecret": Feature("synchronizing", "secret"),
    "donewhen/editorDiagnostics": Feature("synchronizing", "editor_diagnostics", early=True),
}

COMMANDS = (
    "donewhen.goal.set",
    "donewhen.goal.detect",
    "donewhen.goal.propose",
    "donewhen.goal.preflight",
    "donewhen.goal.amend",
    "donewhen.goal.check",
    "donewhen.goal.clear",
    "donewhen.run.start",
    "donewhen.run.pause",
    "donewhen.run.resume",
    "donewhen.run.stop",
    "donewhen.run.answer",
    "donewhen.run.override",
    "donewhen.run.dispute",
    "donewhen.run.acceptIntegrity",
    "donewhen.run.guard",
    "donewhen.run.revert",
    "donewhen.run.status",
    "donewhen.run.children",
    "donewhen.run.iteration",
    "donewhen.run.file",
    "donewhen.run.changes",
    "donewhen.run.proposed",
    "donewhen.run.evidence",
    "donewhen.run.report",
    "donewhen.run.document",
    "donewhen.run.activity",
    "donewhen.run.hint",
    "donewhen.run.tell",
    "donewhen.attempts.list",
    "donewhen.attempts.changes",
    "donewhen.attempts.apply",
    "donewhen.attempts.drop",
)

VIEWS = Feature("publisher", "Publisher")
EARLY_IMPORTS = (
    Feature("commands", "execute"),
    Feature("goal_view", "goal_view"),
    Feature("completion", "completion"),
)


def make_views(session: Session) -> ClientViews:
    """Makes the views for the client. Called in a thread: its imports would block the loop for too long."""
    for feature in EARLY_IMPORTS:
        feature.load()
    return cast("Callable[[Session], ClientViews]", VIEWS.load())(session)


def register(session: Session) -> None:
    """Registers everything with the session's server."""
    for method, feature in FEATURES.items():
        session.server.feature(method, feature.options)(_handler(session, feature))
    for name in COMMANDS:
        session.server.command(name)(_executor(session, name))


def _handler(session: Session, feature: Feature) -> Callable[..., Any]:
    if feature.early:

        def at_once(params: Any = None) -> Any:
            return feature.load()(session, params)

        return at_once

    async def when_begun(params: Any) -> Any:
        await session.begin()
        result = feature.load()(session, params)
        return await result if inspect.isawaitable(result) else result

    return when_begun


def _executor(session: Session, name: str) -> Callable[[Any], Awaitable[Any]]:
    async def execute(argument: Any) -> Any:
        await session.begin()
        from donewhen.lsp.commands import execute  # lazy, as every handler

        return await execute(session, name, argument)

    return execute
