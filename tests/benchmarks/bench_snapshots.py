"""What a client is sent while a goal of many requirements is audited: bytes by message, and the server's CPU."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.lsp.rawclient import Message, Process, RawClient

COUNTS = (10, 100, 1_000)
FEATURES: dict[str, dict[str, bool]] = {
    "whole": {"views": True, "interrupts": True},
    "sparse": {"views": True, "interrupts": True, "sparseSnapshots": True},
}


def measure(counts: tuple[int, ...] = COUNTS) -> dict[str, Any]:
    """For a client of views that takes whole snapshots and for one of sparse ones: KB of snapshots and diagnostics,
    how many messages of both, and CPU seconds, of the first audit of a goal in which a third of the requirements fails,
    and of one after an edit that makes one more of them met."""
    found: dict[str, Any] = {}
    for count in counts:
        for name, features in FEATURES.items():
            with tempfile.TemporaryDirectory() as folder:
                found |= {
                    f"{count} requirements, {name}: {key}": value for key, value in _of(Path(folder), count, features)
                }
    return found


def _of(folder: Path, count: int, features: dict[str, bool]) -> list[tuple[str, Any]]:
    root = folder / "w"
    root.mkdir()
    for number in range(count):
        if number % 3:
            (root / f"f{number}").touch()
    goal = root / "GOAL.md"
    lines = (f"- [ ] File {one} is there\n  - check: `test -e f{one}`\n" for one in range(count))
    goal.write_text("# Many\n\n" + "".join(lines), encoding="utf-8")
    process = Process([sys.executable, "-m", "donewhen", "serve", "--stdio"], cwd=root)
    client = RawClient(process)
    options = {"trusted": True, "stateDir": str(folder / "state"), "clientFeatures": features}
    client.initialize(rootUri=root.as_uri(), initializationOptions=options)
    document = {"uri": goal.as_uri(), "languageId": "markdown", "version": 1, "text": goal.read_text(encoding="utf-8")}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.request("textDocument/documentSymbol", {"textDocument": {"uri": goal.as_uri()}})
    time.sleep(1)
    rows: list[tuple[str, Any]] = []
    for audit in ("first audit", "next audit"):
        if audit == "next audit":
            (root / "f0").touch()
        client.inbox.clear()
        begun = _cpu(process)
        client.execute("donewhen.goal.check", {"goalUri": goal.as_uri()}, 600.0)
        time.sleep(1)
        client.request("textDocument/documentSymbol", {"textDocument": {"uri": goal.as_uri()}})
        rows += [(f"{audit}, {key}", value) for key, value in _sent(client.inbox)]
        rows.append((f"{audit}, CPU s", round(_cpu(process) - begun, 2)))
    client.close()
    return rows


def _sent(messages: list[Message]) -> list[tuple[str, Any]]:
    size: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for one in messages:
        method = str(one.get("method"))
        kind = "diagnostics" if "publishDiagnostics" in method else "snapshots" if "donewhen/snapshot" in method else ""
        if kind:
            size[kind] += len(json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode())
            number[kind] += 1
    return [
        row
        for kind in ("snapshots", "diagnostics")
        for row in ((kind, number[kind]), (f"KB of {kind}", round(size[kind] / 1_000, 1)))
    ]


def _cpu(process: Process) -> float:
    """Seconds that the server has computed so far (Linux)."""
    fields = Path(f"/proc/{process.popen.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    print(measure(tuple(int(word) for word in sys.argv[1:]) or COUNTS))
