"""What the server offers, as the JSON of `initialize`: a literal, so that answering costs nothing."""

from __future__ import annotations

from typing import Any

from donewhen import __version__
from donewhen.lsp.positions import Encoding

COMMANDS = (
    "donewhen.goal.set",
    "donewhen.goal.detect",
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
    "donewhen.run.revert",
    "donewhen.run.status",
    "donewhen.run.iteration",
    "donewhen.run.file",
    "donewhen.run.evidence",
    "donewhen.run.report",
)

SELECTOR = ({"pattern": "**/GOAL.md"}, {"pattern": "**/*.goal.md"})


def initialize_result(encoding: Encoding) -> dict[str, Any]:
    """The result of `initialize`."""
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
            "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor"]},
            "completionProvider": {"triggerCharacters": ["`", ":", " ", "/"]},
            "documentLinkProvider": {"resolveProvider": False},
            "diagnosticProvider": {
                "identifier": "donewhen",
                "interFileDependencies": True,
                "workspaceDiagnostics": False,
            },
            "executeCommandProvider": {"commands": list(COMMANDS)},
            "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
        },
    }
