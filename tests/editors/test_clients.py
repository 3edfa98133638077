"""What other editors declare and do, spoken as raw messages: nothing may be sent that they did not declare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import SERVE, Editor

GOAL = "# Note\n\n- [ ] `test -f note.txt` passes\n- [ ] It reads well\n"

EVERY_EDITOR = {
    "textDocument/publishDiagnostics",
    "window/showMessageRequest",
    "window/showMessage",
    "window/logMessage",
    "$/cancelRequest",
    "donewhen/snapshot",
}


@dataclass(frozen=True)
class Kind:
    """An editor: what it declares, whether it ever answers the server, and what it may be asked besides."""

    name: str
    capabilities: dict[str, Any]
    answers: bool
    may_be_asked: set[str] = field(default_factory=set[str])


def given(*names: str) -> dict[str, Any]:
    return {name: {"dynamicRegistration": False} for name in names}


# eglot 1.9: no work-done progress, no showDocument, no refresh of anything, no related information.
EGLOT = Kind(
    "eglot",
    {
        "workspace": {
            "applyEdit": True,
            "executeCommand": {"dynamicRegistration": False},
            "workspaceEdit": {"documentChanges": True},
            "didChangeWatchedFiles": {"dynamicRegistration": True},
            "configuration": True,
            "workspaceFolders": True,
        },
        "textDocument": given("completion", "definition", "documentSymbol", "references")
        | {
            "hover": {"contentFormat": ["plaintext"]},
            "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor"]}}},
            "publishDiagnostics": {"relatedInformation": False, "codeDescriptionSupport": False},
        },
        "experimental": {},
    },
    answers=True,
    may_be_asked={"client/registerCapability", "workspace/configuration", "workspace/applyEdit"},
)

# lsp-mode: declares much, sends rootUri alone, and lets the server's requests wait for ever.
LSP_MODE = Kind(
    "lsp-mode",
    {
        "workspace": {
            "applyEdit": True,
            "configuration": True,
            "codeLens": {"refreshSupport": True},
            "inlayHint": {"refreshSupport": True},
            "diagnostics": {"refreshSupport": False},
            "didChangeWatchedFiles": {"dynamicRegistration": True},
            "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        },
        "textDocument": given("completion", "hover", "definition", "codeLens", "diagnostic"),
        "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    },
    answers=False,
    may_be_asked={
        "client/registerCapability",
        "workspace/configuration",
        "workspace/applyEdit",
        "workspace/codeLens/refresh",
        "workspace/inlayHint/refresh",
        "window/workDoneProgress/create",
        "window/showDocument",
    },
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "project"
    found.mkdir()
    (found / "GOAL.md").write_text(GOAL, encoding="utf-8")
    return found


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    client = Editor(tmp_path / "state", command=SERVE)
    yield client
    client.close()


@pytest.mark.parametrize("kind", [EGLOT, pytest.param(LSP_MODE, marks=pytest.mark.slow)], ids=lambda kind: kind.name)
def test_an_editor_is_served_as_far_as_it_goes(editor: Editor, folder: Path, kind: Kind) -> None:
    offered = editor.start(root=folder, capabilities=kind.capabilities)["capabilities"]
    assert "diagnosticProvider" not in offered  # neither can be told to pull again
    heard = EVERY_EDITOR | kind.may_be_asked
    editor.ignored |= kind.may_be_asked
    goal = folder / "GOAL.md"
    uri = editor.open(goal)
    run_id = editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
    editor.diagnostics(goal, lambda marks: [one["code"] for one in marks if one["severity"] == 1] == ["R1"])
    editor.save(folder / "note.txt", "well")
    question = editor.wait_for(lambda m: m.get("method") == "window/showMessageRequest")
    assert [one["title"] for one in question["params"]["actions"]] == ["Leave it unproven", "Waive"]
    if kind.answers:
        editor.reply(question, {"title": "Waive"})
    else:
        (snapshot,) = editor.execute("donewhen.run.status", {"runId": run_id})["snapshots"]
        answer = {"runId": run_id, "interruptId": snapshot["interrupts"][0]["id"], "response": "approve"}
        editor.execute("donewhen.run.answer", answer)
        editor.expect("$/cancelRequest")  # the question is withdrawn
    editor.snapshot(run_id, lambda one: one["status"] == "complete")
    editor.diagnostics(goal, lambda marks: all(one["severity"] == 4 for one in marks))  # hints are about the text
    assert {message["method"] for message in editor.inbox if "method" in message} <= heard | {"$/progress"}
    assert editor.goodbye() == 0
