"""An editor for end-to-end tests: it opens, edits and saves files, and keeps the last diagnostics of each."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from donewhen.app.services import Services
from donewhen.lsp.host import Host
from donewhen.lsp.server import Connect, serve_streams

from .rawclient import DEADLINE, InProcess, Message, Process, RawClient, Serve

SERVE = [sys.executable, "-m", "donewhen", "serve", "--stdio"]
NOISE = {"donewhen/snapshot", "textDocument/publishDiagnostics"}
GOAL = """\
# Ship it 🎯

- [ ] `test -f done.txt` passes
- [ ] 🎯🎯 says hi
  - check: `grep -n hi words.txt`
  - file: `words.txt`
"""

Diagnostics = list[dict[str, Any]]


async def served(connect: Connect) -> int:
    """The whole server, as `donewhen serve` has it."""
    return await serve_streams(Host(Services()), connect)


class Editor(RawClient):
    """A client that keeps up with diagnostics and snapshots, and fails on everything else that nobody reads.

    Its server runs in this process; with a `command` (`SERVE`) in one of its own.
    """

    def __init__(self, state: Path, *, command: list[str] | None = None, serve: Serve = served) -> None:
        super().__init__(InProcess(serve) if command is None else Process(command))
        self.ignored = set(NOISE)
        self.state = state
        self._versions: dict[str, int] = {}

    def start(self, *, trusted: bool = True, root: Path | None = None, **params: Any) -> Any:
        options: Message = {"trusted": trusted, "stateDir": str(self.state)} | params.pop("options", {})
        uri = None if root is None else root.as_uri()
        return self.initialize(rootUri=uri, initializationOptions=options, **params)

    def open(self, path: Path) -> str:
        uri = path.as_uri()
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": "markdown", "version": 1, "text": path.read_text(encoding="utf-8")}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def edit(self, path: Path, text: str) -> None:
        """Changes the whole text in the editor, unsaved."""
        uri = path.as_uri()
        self._versions[uri] += 1
        versioned = {"uri": uri, "version": self._versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": versioned, "contentChanges": [{"text": text}]})

    def save(self, path: Path, text: str) -> None:
        if path.as_uri() in self._versions:
            self.edit(path, text)
        path.write_text(text, encoding="utf-8")
        self.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}, "text": text})

    def diagnostics(self, path: Path, wanted: Callable[[Diagnostics], bool], timeout: float = DEADLINE) -> Diagnostics:
        """The next diagnostics published for the file that are as wanted; earlier ones are dropped."""
        method, uri = "textDocument/publishDiagnostics", path.as_uri()
        while True:
            message = self.wait_for(lambda m: m.get("method") == method and m["params"]["uri"] == uri, timeout)
            found: Diagnostics = message["params"]["diagnostics"]
            if wanted(found):
                return found

    def snapshot(self, run_id: str, wanted: Callable[[Message], bool], timeout: float = DEADLINE) -> Message:
        """The next snapshot of the run that is as wanted."""
        while True:
            message = self.wait_for(
                lambda m: m.get("method") == "donewhen/snapshot" and m["params"]["runId"] == run_id, timeout
            )
            if wanted(message["params"]):
                return message["params"]


def wait_until(reached: Callable[[], bool], timeout: float = DEADLINE) -> None:
    deadline = time.monotonic() + timeout
    while not reached():
        assert time.monotonic() < deadline, "not reached in time"
        time.sleep(0.01)


def codes(diagnostics: Diagnostics) -> list[str]:
    return [str(one["code"]) for one in diagnostics]
