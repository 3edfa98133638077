"""Open documents, kept as the client has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from donewhen.lsp.session import Session


def opened(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    session.documents.opened(params.text_document)


def changed(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    session.documents.changed(params)


def saved(session: Session, params: types.DidSaveTextDocumentParams) -> None:
    del session, params


def closed(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    session.documents.closed(params.text_document.uri)
