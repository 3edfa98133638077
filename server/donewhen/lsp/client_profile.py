"""What the client says about itself in `initialize`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from donewhen.lsp.positions import DEFAULT_ENCODING, Encoding, choose_encoding

if TYPE_CHECKING:
    from lsprotocol import types

JsonObject = Mapping[str, Any]


def said(path: str) -> Any:
    """A field that is true where the client says so, under that path of its capabilities or `clientFeatures`."""
    return field(default=False, metadata={"said": path})


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """`folders` are the uris of the workspace, in the client's order, whichever of the three ways it names them."""

    folders: tuple[str, ...] = ()
    encoding: Encoding = DEFAULT_ENCODING
    trusted: bool = False
    token: object = None
    state_dir: str | None = None
    settings: JsonObject = field(default_factory=dict[str, Any])
    interrupts: bool = said("clientFeatures.interrupts")
    reasons: bool = said("clientFeatures.reasons")
    views: bool = said("clientFeatures.views")
    """Snapshots should include their view."""
    sparse: bool = False
    """Snapshots with views hold what is seen at first, and what is new."""
    documents: bool = said("clientFeatures.documents")
    """Shows evidence as a document of its own, which a `donewhen:` uri names, and a command of its own opens."""
    editor_diagnostics: bool = said("clientFeatures.editorDiagnostics")
    """Forwards its diagnostics, and says so before there are any."""
    language_models: bool = said("clientFeatures.languageModels")
    """Answers `donewhen/model/complete` with the models that its editor offers."""
    progress: bool = said("window.workDoneProgress")
    lens_refresh: bool = said("workspace.codeLens.refreshSupport")
    hint_refresh: bool = said("workspace.inlayHint.refreshSupport")
    diagnostic_refresh: bool = said("workspace.diagnostics.refreshSupport")
    apply_edit: bool = said("workspace.applyEdit")
    create_files: bool = False
    configuration: bool = said("workspace.configuration")
    watched_files: bool = said("workspace.didChangeWatchedFiles.dynamicRegistration")
    show_document: bool = said("window.showDocument.support")
    hierarchical_symbols: bool = said("textDocument.documentSymbol.hierarchicalDocumentSymbolSupport")
    action_literals: bool = False
    markdown: bool = False
    """Whether hover may be Markdown; every client can show plain text."""
    related_information: bool = False
    process_id: int | None = None
    """The process that started the server: the server ends with it."""


def read_profile(params: types.InitializeParams) -> ClientProfile:
    """Raises JsonRpcInvalidParams if `initializationOptions` has invalid content. What is said of an ability in another
    way than LSP has it counts as nothing."""
    options = _options(cast("JsonObject", params.initialization_options))
    features = object_or_empty(options.get("clientFeatures"))
    able = {**object_or_empty(params.capabilities.experimental), "clientFeatures": features}
    pid = params.process_id

    def among(name: str, path: str) -> bool:
        names = at(able, path)
        return isinstance(names, list) and name in names

    return ClientProfile(
        folders=_folders(params),
        process_id=pid if pid is not None and 0 < pid < 2**31 else None,
        encoding=client_encoding(able),
        trusted=options.get("trusted") is True,
        token=options.get("token"),
        state_dir=options.get("stateDir") or None,
        settings=object_or_empty(options.get("settings")),
        sparse=features.get("views") is True and features.get("sparseSnapshots") is True,
        create_files=among("create", "workspace.workspaceEdit.resourceOperations"),
        action_literals=isinstance(at(able, "textDocument.codeAction.codeActionLiteralSupport"), dict),
        markdown=among("markdown", "textDocument.hover.contentFormat"),
        related_information=at(able, "textDocument.publishDiagnostics.relatedInformation") is True
        or at(able, "textDocument.diagnostic.relatedInformation") is True,
        **{one.name: at(able, one.metadata["said"]) is True for one in fields(ClientProfile) if "said" in one.metadata},
    )


def at(given: object, path: str) -> object:
    """What stands in a client's object under a dotted path; None for nothing."""
    for name in path.split("."):
        given = object_or_empty(given).get(name)
    return given


def client_encoding(capabilities: object) -> Encoding:
    offered = at(capabilities, "general.positionEncodings")
    return choose_encoding(cast("list[object]", offered) if isinstance(offered, list) else ())


def _options(options: JsonObject) -> JsonObject:
    state_dir, trusted = options.get("stateDir"), options.get("trusted")
    if state_dir is not None and not isinstance(state_dir, str):
        raise JsonRpcInvalidParams("initialize: initializationOptions.stateDir must be a path or null")
    if trusted is not None and not isinstance(trusted, bool):
        raise JsonRpcInvalidParams("initialize: initializationOptions.trusted must be true or false")
    return options


def _folders(params: types.InitializeParams) -> tuple[str, ...]:
    """workspaceFolders, else rootUri (all that lsp-mode sends), else rootPath."""
    if params.workspace_folders:
        return tuple(folder.uri for folder in params.workspace_folders)
    root = params.root_uri or (from_fs_path(params.root_path) if params.root_path else None)
    return (root,) if root else ()


def object_or_empty(value: object) -> JsonObject:
    """An object that a client gave; empty for anything else."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}
