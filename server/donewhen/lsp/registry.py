"""The one place where methods are bound to what handles them.

A handler is a function `(session, params)`, named here by module and function, and imported when it is first needed:
`initialize` pays for none of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from donewhen.lsp.hardening import Route

if TYPE_CHECKING:
    from donewhen.lsp.session import Session

Handler = Callable[["Session", Any], Awaitable[Any] | Any]


@dataclass(frozen=True, slots=True)
class Feature:
    """One method: the module of this package and the function in it. `raw` ones check their params themselves."""

    module: str
    function: str
    raw: bool = False

    def load(self) -> Handler:
        return cast("Handler", getattr(import_module(f"donewhen.lsp.{self.module}"), self.function))


FEATURES: dict[str, Feature] = {
    "initialize": Feature("lifecycle", "initialize", raw=True),
    "initialized": Feature("lifecycle", "initialized", raw=True),
    "shutdown": Feature("lifecycle", "shutdown", raw=True),
    "$/setTrace": Feature("lifecycle", "ignore", raw=True),
    "textDocument/didOpen": Feature("synchronizing", "opened"),
    "textDocument/didChange": Feature("synchronizing", "changed"),
    "textDocument/didSave": Feature("synchronizing", "saved"),
    "textDocument/didClose": Feature("synchronizing", "closed"),
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
    "donewhen/editorDiagnostics": Feature("trust", "editor_diagnostics", raw=True),
}


def routes(session: Session) -> dict[str, Route]:
    """Every method of the server, for one client's session."""
    return {method: Route(_bound(session, feature), feature.raw) for method, feature in FEATURES.items()}


def _bound(session: Session, feature: Feature) -> Callable[[Any], Awaitable[Any] | Any]:
    return lambda params: feature.load()(session, params)
