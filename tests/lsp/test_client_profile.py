"""What is understood of `initialize`, whatever a client sends."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from lsprotocol import types
from pydantic.alias_generators import to_camel

from donewhen.lsp.capabilities import COMMANDS, initialize_result
from donewhen.lsp.client_profile import read_profile
from donewhen.lsp.commands import COMMANDS as HANDLED
from donewhen.lsp.failures import InvalidParams
from donewhen.lsp.hardening_params import strict_converter
from donewhen.lsp.registry import EARLY_IMPORTS, FEATURES, SHOWING

FOLDER = {"uri": "file:///a", "name": "a"}


@pytest.mark.parametrize(
    ("params", "folders"),
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


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        None,
        {"general": None, "window": 3, "workspace": [], "textDocument": {"codeAction": True}},
        {"general": {"positionEncodings": "utf-8"}, "window": {"workDoneProgress": "yes"}},
    ],
)
def test_odd_capabilities_count_as_absent(capabilities: Any) -> None:
    profile = read_profile({"capabilities": capabilities})
    assert (profile.encoding, profile.progress, profile.action_literals) == ("utf-16", False, False)


@pytest.mark.parametrize(
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
    with pytest.raises(InvalidParams, match="initialize: "):
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


@pytest.mark.parametrize(
    ("able", "expected"),
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


def test_what_the_server_offers_is_valid_lsp() -> None:
    result = initialize_result("utf-8")
    typed = strict_converter().structure(result, types.InitializeResult)
    known = {to_camel(field.name) for field in attrs.fields(types.ServerCapabilities)}
    assert set(result["capabilities"]) <= known
    assert typed.capabilities.position_encoding == types.PositionEncodingKind.Utf8
    assert isinstance(typed.capabilities.code_lens_provider, types.CodeLensOptions)
    assert isinstance(typed.capabilities.diagnostic_provider, types.DiagnosticOptions)
    assert isinstance(typed.capabilities.execute_command_provider, types.ExecuteCommandOptions)


def test_every_offered_command_and_method_has_what_handles_it() -> None:
    assert set(COMMANDS) == set(HANDLED)
    for feature in (*FEATURES.values(), SHOWING, *EARLY_IMPORTS):
        assert callable(feature.load())
