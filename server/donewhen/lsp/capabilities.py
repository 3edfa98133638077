"""What the server offers, as the JSON of `initialize`: a literal, so that answering costs nothing."""

from __future__ import annotations

from typing import Any

from donewhen.lsp.positions import Encoding
from donewhen.version import __version__

COMMANDS = (
    "donewhen.goal.set",
    "donewhen.goal.detect",
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
    "donewhen.run.iteration",
    "donewhen.run.file",
    "donewhen.run.evidence",
    "donewhen.run.report",
    "donewhen.run.activity",
    "donewhen.run.hint",
)

SELECTOR = ({"pattern": "**/GOAL.md"}, {"pattern": "**/*.goal.md"})


def initialize_result(encoding: Encoding, *, pull: bool = True) -> dict[str, Any]:
    """The result of `initialize`.

    `pull`: whether diagnostics are offered to be pulled. A client that can't be told to pull again (Neovim 0.11)
    would keep what it pulled beside what is pushed later.
    """
    pulled = {"identifier": "donewhen", "interFileDependencies": True, "workspaceDiagnostics": False}
    return {
        "serverInfo": {"name": "donewhen", "version": __version__},
        "capabilities": {
            "positionEncoding": encoding,
            "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}},
            "codeLensProvider": {"resolveProvider": False},
            "hoverProvider": True,
            "inlayHintProvider": {"resolveProvider": False},
            "documentSymbolProvider": True,
            "definitionProvider": True,
            "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor", "source.donewhen"]},
            "completionProvider": {"triggerCharacters": ["`", ":", " ", "/"]},
            "documentLinkProvider": {"resolveProvider": False},
            **({"diagnosticProvider": pulled} if pull else {}),
            "executeCommandProvider": {"commands": list(COMMANDS)},
            "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
        },
    }
