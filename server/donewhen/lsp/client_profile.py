"""What the client said about itself in `initialize`.

It is read from the JSON as it came, field by field: a capability that is absent or odd counts as absent, so that no
client is refused for it, and nothing of lsprotocol's hundred capability classes has to be built to answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from donewhen.lsp.failures import InvalidParams
from donewhen.lsp.positions import DEFAULT_ENCODING, Encoding, choose_encoding

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
    editor_diagnostics: bool = False
    """Forwards its diagnostics, and says so before there are any."""
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
    """Whether hover may be Markdown; plain text is what every client can show."""
    related_information: bool = False
    process_id: int | None = None
    """The process that started the server: it ends with it."""


def read_profile(params: object) -> ClientProfile:
    """Reads the params of `initialize`. Raises InvalidParams where what we must understand is malformed."""
    if not isinstance(params, dict):
        raise InvalidParams("initialize: params must be an object")
    params = cast("JsonObject", params)
    options = _options(params)
    has = _Capabilities(params.get("capabilities"))
    return ClientProfile(
        folders=_folders(params),
        process_id=_process_id(params),
        encoding=choose_encoding(has.sequence("general", "positionEncodings")),
        trusted=options.get("trusted") is True,
        token=options.get("token"),
        state_dir=_text(options.get("stateDir")),
        settings=_object(options.get("settings")),
        interrupts=_object(options.get("clientFeatures")).get("interrupts") is True,
        reasons=_object(options.get("clientFeatures")).get("reasons") is True,
        editor_diagnostics=_object(options.get("clientFeatures")).get("editorDiagnostics") is True,
        progress=has("window", "workDoneProgress"),
        lens_refresh=has("workspace", "codeLens", "refreshSupport"),
        hint_refresh=has("workspace", "inlayHint", "refreshSupport"),
        diagnostic_refresh=has("workspace", "diagnostics", "refreshSupport"),
        apply_edit=has("workspace", "applyEdit"),
        create_files="create" in has.sequence("workspace", "workspaceEdit", "resourceOperations"),
        configuration=has("workspace", "configuration"),
        watched_files=has("workspace", "didChangeWatchedFiles", "dynamicRegistration"),
        show_document=has("window", "showDocument", "support"),
        hierarchical_symbols=has("textDocument", "documentSymbol", "hierarchicalDocumentSymbolSupport"),
        action_literals=has.given("textDocument", "codeAction", "codeActionLiteralSupport"),
        markdown="markdown" in has.sequence("textDocument", "hover", "contentFormat"),
        related_information=has("textDocument", "publishDiagnostics", "relatedInformation")
        or has("textDocument", "diagnostic", "relatedInformation"),
    )


class _Capabilities:
    """Looks into nested objects of which any part may be missing."""

    def __init__(self, root: object) -> None:
        if root is not None and not isinstance(root, dict):
            raise InvalidParams("initialize: capabilities must be an object")
        self._root: object = cast("object", root)

    def _at(self, *path: str) -> object:
        value: object = self._root
        for name in path:
            value = _object(value).get(name)
        return value

    def __call__(self, *path: str) -> bool:
        return self._at(*path) is True

    def given(self, *path: str) -> bool:
        return isinstance(self._at(*path), dict)

    def sequence(self, *path: str) -> list[object]:
        value = self._at(*path)
        return cast("list[object]", value) if isinstance(value, list) else []


def _options(params: JsonObject) -> JsonObject:
    given = params.get("initializationOptions")
    if given is not None and not isinstance(given, dict):
        raise InvalidParams("initialize: initializationOptions must be an object")
    options = _object(cast("object", given))
    state_dir, trusted = options.get("stateDir"), options.get("trusted")
    if state_dir is not None and not isinstance(state_dir, str):
        raise InvalidParams("initialize: initializationOptions.stateDir must be a path or null")
    if trusted is not None and not isinstance(trusted, bool):
        raise InvalidParams("initialize: initializationOptions.trusted must be true or false")
    return options


def _process_id(params: JsonObject) -> int | None:
    pid = params.get("processId")
    if pid is not None and (not isinstance(pid, int) or isinstance(pid, bool)):
        raise InvalidParams("initialize: processId must be a whole number or null")
    return pid if pid is not None and 0 < pid < 2**31 else None


def _folders(params: JsonObject) -> tuple[str, ...]:
    """workspaceFolders, else rootUri (all that lsp-mode sends), else rootPath."""
    folders = params.get("workspaceFolders")
    if folders is not None and not isinstance(folders, list):
        raise InvalidParams("initialize: workspaceFolders must be a list or null")
    uris = [uri for folder in cast("list[object]", folders or []) if (uri := _text(_object(folder).get("uri")))]
    if uris:
        return tuple(uris)
    for name in ("rootUri", "rootPath"):
        if params.get(name) is not None and not isinstance(params[name], str):
            raise InvalidParams(f"initialize: {name} must be text or null")
    if root := _text(params.get("rootUri")):
        return (root,)
    if path := _text(params.get("rootPath")):
        from pygls.uris import from_fs_path

        return (uri,) if (uri := from_fs_path(path)) else ()
    return ()


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
