"""From a save to its diagnostics, over LSP with a real server process, in a workspace of 10,000 files."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.bench_revision import make_files
from tests.lsp.rawclient import Process, RawClient

SAVES = 40


def measure(size: int = 10_000, saves: int = SAVES) -> dict[str, float]:
    """Milliseconds from writing a file to the diagnostics that show the check's new result, less the check's own time
    (as its evidence states it): p50 and p95."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "w"
        make_files(root, size)
        (root / "value.txt").write_text("good", encoding="utf-8")
        (root / "never.txt").write_text("no", encoding="utf-8")
        checks = ("grep -q good value.txt", "grep -q yes never.txt")
        goal = "---\nworker: human\n---\n# Values\n\n" + "".join(f"- [ ] `{check}` passes\n" for check in checks)
        (root / "GOAL.md").write_text(goal, encoding="utf-8")
        return _measure(root, Path(folder) / "state", saves)


def _measure(root: Path, state: Path, saves: int) -> dict[str, float]:
    client = RawClient(Process([sys.executable, "-m", "donewhen", "serve", "--stdio"], cwd=root))
    goal = (root / "GOAL.md").as_uri()
    client.initialize(
        rootUri=root.as_uri(),
        workspaceFolders=[{"uri": root.as_uri(), "name": "w"}],
        initializationOptions={"trusted": True, "stateDir": str(state)},
    )
    text = (root / "GOAL.md").read_text(encoding="utf-8")
    client.notify(
        "textDocument/didOpen", {"textDocument": {"uri": goal, "languageId": "markdown", "version": 1, "text": text}}
    )
    run = client.execute("donewhen.run.start", {"goalUri": goal}, 60.0)
    took: list[float] = []
    shown = _wait(client, goal, {"R2"})
    for number in range(saves):
        good = number % 2 == 1
        _until_idle(client, run["runId"])
        begun = time.perf_counter()
        (root / "value.txt").write_text("good" if good else f"bad {number}", encoding="utf-8")
        shown = _wait(client, goal, {"R2"} if good else {"R1", "R2"})
        took.append(time.perf_counter() - begun - _own_time(client, run["runId"]))
    assert shown
    client.ignored |= {"textDocument/publishDiagnostics", "donewhen/snapshot"}
    client.goodbye()
    took.sort()
    return {
        "p50 ms": round(1000 * statistics.median(took), 1),
        "p95 ms": round(1000 * took[int(len(took) * 0.95)], 1),
        "files": sum(1 for _ in root.rglob("*")),
    }


def _wait(client: RawClient, uri: str, codes: set[str]) -> bool:
    """Reads until the goal file's diagnostics are exactly these, none of them being proven again."""

    def there(message: dict[str, Any]) -> bool:
        params = message.get("params") or {}
        if message.get("method") != "textDocument/publishDiagnostics" or params["uri"] != uri:
            return False
        return {one["code"] for one in params["diagnostics"] if "proven again" not in one["message"]} == codes

    client.wait_for(there)
    client.inbox.clear()
    return True


def _until_idle(client: RawClient, run_id: str) -> None:
    """A person saves while the server waits for it, not while it still keeps the files of the last iteration."""
    while client.execute("donewhen.run.status", {"runId": run_id})["snapshots"][0]["phase"] != "working":
        time.sleep(0.01)
    client.inbox.clear()


def _own_time(client: RawClient, run_id: str) -> float:
    """The seconds of the slower of the two checks that ran side by side."""
    snapshot = client.execute("donewhen.run.status", {"runId": run_id})
    seconds = [0.0]
    for requirement in snapshot["snapshots"][0]["requirements"]:
        for identity in requirement["evidenceIds"]:
            found = client.execute("donewhen.run.evidence", {"runId": run_id, "evidenceId": identity})
            seconds.append(float(found.get("observation", found).get("seconds", 0.0)))
    return max(seconds)


if __name__ == "__main__":
    print(measure(*(int(word) for word in sys.argv[1:])))
