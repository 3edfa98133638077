"""What requirements and large documents cost: an audit, a keystroke, an edit; over LSP with a real server process."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.lsp.rawclient import Process, RawClient

COUNTS = (10, 100, 1_000)
KEYS = 20
EDITS = 200
MEGABYTES = 10


def measure(counts: tuple[int, ...] = COUNTS) -> dict[str, Any]:
    """CPU milliseconds of the server: per requirement in an audit of one `test -e` each, and per keystroke in the goal
    file with its symbols asked for; then seconds for 200 edits of an open document of 10 MB, its answer included."""
    found: dict[str, Any] = {}
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            found |= _requirements(Path(folder), count)
    with tempfile.TemporaryDirectory() as folder:
        return found | _document(Path(folder))


def _requirements(folder: Path, count: int) -> dict[str, Any]:
    root = folder / "w"
    root.mkdir()
    for number in range(count):
        if number % 3:
            (root / f"f{number}").touch()
    text = "# Many\n\n" + "".join(f"- [ ] File {one} is there\n  - check: `test -e f{one}`\n" for one in range(count))
    goal = root / "GOAL.md"
    goal.write_text(text, encoding="utf-8")
    client, process = _started(root, folder / "state")
    _open(client, goal, text)
    _symbols(client, goal)
    _idle()
    begun = _cpu(process)
    for key in range(KEYS):
        _edit(client, goal, key + 2, (0, 6), "x")
        _symbols(client, goal)
        time.sleep(0.1)  # a person's pace: what can wait for a pause does
    typed = _cpu(process) - begun
    client.inbox.clear()
    begun = _cpu(process)
    client.execute("donewhen.goal.check", {"goalUri": goal.as_uri()}, 600.0)
    _idle()
    audited = _cpu(process) - begun
    sent = [one for one in client.inbox if "method" in one]
    _end(client)
    return {
        f"{count} requirements: keystroke, CPU ms": round(1000 * typed / KEYS, 1),
        f"{count} requirements: audit, CPU ms for each": round(1000 * audited / count, 1),
        f"{count} requirements: messages sent in the audit": len(sent),
    }


def _document(folder: Path) -> dict[str, Any]:
    root = folder / "w"
    root.mkdir()
    row = "a line of a large file, with some fifty characters\n"
    text = row * (MEGABYTES * 1024 * 1024 // len(row))
    client, process = _started(root, folder / "state")
    _open(client, root / "big.txt", text)
    _symbols(client, root / "big.txt")
    begun, cpu = time.perf_counter(), _cpu(process)
    for number in range(EDITS):
        _edit(client, root / "big.txt", number + 2, (number * 900, 7), "é")
    _symbols(client, root / "big.txt")
    found = {
        f"{EDITS} edits of {MEGABYTES} MB: s": round(time.perf_counter() - begun, 2),
        f"{EDITS} edits of {MEGABYTES} MB: CPU s": round(_cpu(process) - cpu, 2),
    }
    _end(client)
    return found


def _started(root: Path, state: Path) -> tuple[RawClient, Process]:
    process = Process([sys.executable, "-m", "donewhen", "serve", "--stdio"], cwd=root)
    client = RawClient(process)
    client.initialize(
        rootUri=root.as_uri(),
        workspaceFolders=[{"uri": root.as_uri(), "name": "w"}],
        initializationOptions={"trusted": True, "stateDir": str(state)},
    )
    return client, process


def _open(client: RawClient, path: Path, text: str) -> None:
    document = {"uri": path.as_uri(), "languageId": "markdown", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


def _edit(client: RawClient, path: Path, version: int, at: tuple[int, int], text: str) -> None:
    position = {"line": at[0], "character": at[1]}
    change = {"range": {"start": position, "end": position}, "text": text}
    document = {"uri": path.as_uri(), "version": version}
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})


def _symbols(client: RawClient, path: Path) -> None:
    client.request("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})


def _idle() -> None:
    time.sleep(1.0)


def _cpu(process: Process) -> float:
    """Seconds that the server has computed so far (Linux)."""
    fields = Path(f"/proc/{process.popen.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _end(client: RawClient) -> None:
    client.ignored |= {"textDocument/publishDiagnostics", "donewhen/snapshot", "$/progress"}
    client.inbox.clear()
    client.goodbye()


if __name__ == "__main__":
    print(measure(tuple(int(word) for word in sys.argv[1:]) or COUNTS))
