"""The one place where methods are bound to what handles them.

A handler is a function `(session, params)`, named here by module and function, and imported when it is first needed:
`initialize` pays for none of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from donewhen.lsp.hardening import Route

if TYPE_CHECKING:
    from donewhen.lsp.session import Session
    from donewhen.lsp.showing import Showing

Handler = Callable[["Session", Any], Awaitable[Any] | Any]


@dataclass(frozen=True, slots=True)
class Feature:
    """One method: the module of this package and the function in it. `raw` ones check their params themselves."""

    module: str
    function: str
    raw: bool = False
    early: bool = False
    """True for what is handled before the server has imported what it shows things with."""

    def load(self) -> Handler:
        return cast("Handler", getattr(import_module(f"donewhen.lsp.{self.module}"), self.function))


FEATURES: dict[str, Feature] = {
    "initialize": Feature("lifecycle", "initialize", raw=True, early=True),
    "initialized": Feature("lifecycle", "initialized", raw=True, early=True),
    "shutdown": Feature("lifecycle", "shutdown", raw=True, early=True),
    "$/setTrace": Feature("lifecycle", "ignore", raw=True, early=True),
    "textDocument/didOpen": Feature("synchronizing", "opened", early=True),
    "textDocument/didChange": Feature("synchronizing", "changed", early=True),
    "textDocument/didSave": Feature("synchronizing", "saved", early=True),
    "textDocument/didClose": Feature("synchronizing", "closed", early=True),
    "textDocument/diagnostic": Feature("diagnostics", "pull"),
    "textDocument/codeLens": Feature("lenses", "lenses"),
    "textDocument/hover": Feature("hover", "hover"),
    "textDocument/inlayHint": Feature("hints", "hints"),
    "textDocument/documentSymbol": Feature("symbols", "symbols"),
    "textDocument/definition": Feature("definition", "definition"),
    "textDocument/codeAction": Feature("actions", "actions"),
    "textDocument/completion": Feature("completion", "completion"),
    "textDocument/documentLink": Feature("links", "links"),
    "workspace/executeCommand": Feature("commands", "execute", raw=True),
    "workspace/didChangeConfiguration": Feature("workspaces", "configured", raw=True),
    "workspace/didChangeWorkspaceFolders": Feature("workspaces", "folders_changed"),
    "workspace/didChangeWatchedFiles": Feature("workspaces", "files_changed"),
    "window/workDoneProgress/cancel": Feature("progress", "cancelled"),
    "donewhen/didChangeTrust": Feature("trust", "changed", raw=True),
    "donewhen/setSecret": Feature("trust", "secret", raw=True),
    "donewhen/editorDiagnostics": Feature("forwarding", "editor_diagnostics", raw=True, early=True),
}


SHOWING = Feature("publishing", "Publisher")
EARLY_IMPORTS = (
    Feature("commands", "execute"),
    Feature("goal_view", "goal_view"),
    Feature("completion", "completion"),
)


def make_showing(session: Session) -> Showing:
    """What shows things to the client. Called in a thread: its imports would hold the loop for too long."""
    for feature in EARLY_IMPORTS:
        feature.load()
    return cast("Callable[[Session], Showing]", SHOWING.load())(session)


def routes(session: Session) -> dict[str, Route]:
    """Every method of the server, for one client's session."""
    return {method: Route(_bound(session, feature), feature.raw) for method, feature in FEATURES.items()}


def _bound(session: Session, feature: Feature) -> Callable[[Any], Awaitable[Any] | Any]:
    if feature.early:
        return lambda params: feature.load()(session, params)

    async def when_begun(params: Any) -> Any:
        await session.begin()
        result = feature.load()(session, params)
        return await result if inspect.isawaitable(result) else result

    return when_begun
