"""What is understood of `initialize`, whatever a client sends."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from lsprotocol import types
from pydantic.alias_generators import to_camel
from pygls.exceptions import JsonRpcInvalidParams

from donewhen.lsp import client_profile
from donewhen.lsp.arguments import Strict, argument_of
from donewhen.lsp.client_profile import ClientProfile
from donewhen.lsp.features import COMMANDS, FEATURES
from donewhen.lsp.protocol import initialize_params, lsp_converter
from tests.tools import each_row

from .rawclient import RawClient

CONVERTER = lsp_converter()
FOLDER = {"uri": "file:///a", "name": "a"}


def read_profile(params: object) -> ClientProfile:
    return client_profile.read_profile(initialize_params(params))


@each_row(
    "params, folders",
    [
        ({"workspaceFolders": [FOLDER, {"uri": "file:///b"}], "rootUri": "file:///c"}, ("file:///a", "file:///b")),
        ({"workspaceFolders": [], "rootUri": "file:///c", "rootPath": "/d"}, ("file:///c",)),
        ({"workspaceFolders": None, "rootUri": None, "rootPath": "/d"}, ("file:///d",)),
        ({"workspaceFolders": [7, {"name": "x"}]}, ()),
        ({}, ()),
    ],
)
def test_the_workspace_by_each_of_its_names(params: Any, folders: tuple[str, ...]) -> None:
    assert read_profile(params).folders == folders


@each_row(
    "capabilities",
    [
        {},
        None,
        {"general": None, "window": 3, "workspace": [], "textDocument": {"codeAction": True}},
        {"general": {"positionEncodings": "utf-8"}},
    ],
)
def test_odd_capabilities_count_as_absent(capabilities: Any) -> None:
    profile = read_profile({"capabilities": capabilities})
    assert (profile.encoding, profile.progress, profile.action_literals) == ("utf-16", False, False)


@each_row(
    "params",
    [
        None,
        [],
        {"capabilities": []},
        {"workspaceFolders": {}},
        {"rootUri": 3},
        {"rootPath": ["x"]},
        {"initializationOptions": []},
        {"initializationOptions": {"stateDir": 3}},
        {"initializationOptions": {"trusted": 1}},
    ],
)
def test_what_must_be_understood_and_is_malformed_is_refused(params: Any) -> None:
    with pytest.raises(JsonRpcInvalidParams, match="initialize: "):
        read_profile(params)


def test_options_and_capabilities_are_read() -> None:
    options = {
        "trusted": True,
        "stateDir": "/s",
        "settings": {"a": 1},
        "clientFeatures": {"interrupts": True, "reasons": True, "more": 1},
        "unknown": {},
    }
    window = {"workDoneProgress": True, "showDocument": {"support": True}}
    profile = read_profile({"capabilities": {"window": window}, "initializationOptions": options})
    assert (profile.trusted, profile.state_dir, profile.settings) == (True, "/s", {"a": 1})
    assert (profile.interrupts, profile.reasons, profile.progress, profile.show_document) == (True,) * 4
    assert read_profile({}).trusted is False


@each_row(
    "able, expected",
    [
        ({}, (False, False)),
        ({"hover": {"contentFormat": ["plaintext"]}}, (False, False)),
        ({"hover": {"contentFormat": ["plaintext", "markdown"]}}, (True, False)),
        ({"publishDiagnostics": {"relatedInformation": True}}, (False, True)),
        ({"publishDiagnostics": {"relatedInformation": False}}, (False, False)),
    ],
)
def test_what_the_client_can_show_is_understood(able: Any, expected: tuple[bool, bool]) -> None:
    profile = read_profile({"capabilities": {"textDocument": able}})
    assert (profile.markdown, profile.related_information) == expected


def test_one_odd_capability_does_not_hide_the_others() -> None:
    known = {"window": {"workDoneProgress": True, "showDocument": 7}, "workspace": {"applyEdit": True}}
    newer = {
        "textDocument": {
            "completion": {"completionItemKind": {"valueSet": [1, 999]}},
            "hover": {"contentFormat": ["markdown"]},
        }
    }
    profile = read_profile({"capabilities": {**known, **newer}})
    assert (profile.progress, profile.show_document, profile.apply_edit, profile.markdown) == (True, False, True, True)


@pytest.mark.parametrize("refreshes", [True, False])
def test_what_the_server_offers_is_valid_lsp(probe: RawClient, refreshes: bool) -> None:
    able = {"general": {"positionEncodings": ["utf-8"]}, "workspace": {"diagnostics": {"refreshSupport": refreshes}}}
    result = probe.initialize(capabilities=able)
    typed = CONVERTER.structure(result, types.InitializeResult)
    known = {to_camel(field.name) for field in attrs.fields(types.ServerCapabilities)}
    assert set(result["capabilities"]) <= known
    assert typed.server_info is not None
    assert typed.server_info.name == "donewhen"
    assert typed.capabilities.position_encoding == types.PositionEncodingKind.Utf8
    assert result["capabilities"]["textDocumentSync"]["save"] == {"includeText": True}
    assert result["capabilities"]["textDocumentSync"]["change"] == 2
    assert isinstance(typed.capabilities.code_lens_provider, types.CodeLensOptions)
    assert (typed.capabilities.diagnostic_provider is not None) is refreshes
    assert result["capabilities"]["executeCommandProvider"] == {"commands": list(COMMANDS)}
    assert probe.goodbye() == 0


def test_every_offered_command_and_method_has_what_handles_it() -> None:
    for feature in FEATURES.values():
        assert callable(feature.load())
    for command in COMMANDS.values():
        assert issubclass(argument_of(command.load()), Strict)
