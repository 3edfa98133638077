"""What the client says about itself in `initialize`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from donewhen.lsp.positions import DEFAULT_ENCODING, Encoding, choose_encoding

if TYPE_CHECKING:
    from lsprotocol import types

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """`folders` are the uris of the workspace, in the client's order, whichever of the three ways it names them."""

    folders: tuple[str, ...] = ()
    encoding: Encoding = DEFAULT_ENCODING
    trusted: bool = False
    token: object = None
    state_dir: str | None = None
    settings: JsonObject = field(default_factory=dict[str, Any])
    interrupts: bool = False
    reasons: bool = False
    views: bool = False
    """Snapshots should include their view."""
    sparse: bool = False
    """Snapshots with views hold what is seen at first, and what is new."""
    documents: bool = False
    """Shows evidence as a document of its own, which a `donewhen:` uri names, and a command of its own opens."""
    editor_diagnostics: bool = False
    """Forwards its diagnostics, and says so before there are any."""
    language_models: bool = False
    """Answers `donewhen/model/complete` with the models that its editor offers."""
    progress: bool = False
    lens_refresh: bool = False
    hint_refresh: bool = False
    diagnostic_refresh: bool = False
    apply_edit: bool = False
    create_files: bool = False
    configuration: bool = False
    watched_files: bool = False
    show_document: bool = False
    hierarchical_symbols: bool = False
    action_literals: bool = False
    markdown: bool = False
    """Whether hover may be Markdown; every client can show plain text."""
    related_information: bool = False
    process_id: int | None = None
    """The process that started the server: the server ends with it."""


def read_profile(params: types.InitializeParams) -> ClientProfile:
    """Raises JsonRpcInvalidParams if `initializationOptions` has invalid content."""
    options = _options(cast("JsonObject", params.initialization_options))
    features = object_or_empty(options.get("clientFeatures"))
    pid = params.process_id

    def has(path: str) -> bool:
        return get_capability(params.capabilities, path) is True

    def among(name: str, path: str) -> bool:
        return name in (get_capability(params.capabilities, path) or ())

    return ClientProfile(
        folders=_folders(params),
        process_id=pid if pid is not None and 0 < pid < 2**31 else None,
        encoding=choose_encoding(get_capability(params.capabilities, "general.position_encodings") or ()),
        trusted=options.get("trusted") is True,
        token=options.get("token"),
        state_dir=options.get("stateDir") or None,
        settings=object_or_empty(options.get("settings")),
        interrupts=features.get("interrupts") is True,
        reasons=features.get("reasons") is True,
        views=features.get("views") is True,
        sparse=features.get("views") is True and features.get("sparseSnapshots") is True,
        documents=features.get("documents") is True,
        editor_diagnostics=features.get("editorDiagnostics") is True,
        language_models=features.get("languageModels") is True,
        progress=has("window.work_done_progress"),
        lens_refresh=has("workspace.code_lens.refresh_support"),
        hint_refresh=has("workspace.inlay_hint.refresh_support"),
        diagnostic_refresh=has("workspace.diagnostics.refresh_support"),
        apply_edit=has("workspace.apply_edit"),
        create_files=among("create", "workspace.workspace_edit.resource_operations"),
        configuration=has("workspace.configuration"),
        watched_files=has("workspace.did_change_watched_files.dynamic_registration"),
        show_document=has("window.show_document.support"),
        hierarchical_symbols=has("text_document.document_symbol.hierarchical_document_symbol_support"),
        action_literals=get_capability(params.capabilities, "text_document.code_action.code_action_literal_support")
        is not None,
        markdown=among("markdown", "text_document.hover.content_format"),
        related_information=has("text_document.publish_diagnostics.related_information")
        or has("text_document.diagnostic.related_information"),
    )


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
