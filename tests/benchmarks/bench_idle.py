"""What a server costs that has nothing to do: CPU seconds and wake-ups, over LSP with a real server process."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.lsp.rawclient import Process, RawClient

SECONDS = 20.0
"""How long each is watched; the figures are of a minute."""

_SETTLE = 3.0


def measure(seconds: float = SECONDS) -> dict[str, float]:
    """CPU seconds a minute and wake-ups (voluntary context switches) a second: with no run, with a run that
    waits for a person's edits, with a complete one, and with a complete one on guard."""
    figures: dict[str, float] = {}
    for name in ("no run", "a run that waits", "a complete run", "on guard"):
        with tempfile.TemporaryDirectory() as folder:
            cpu, wakes = _watched(Path(folder), name, seconds)
        figures |= {f"{name}: CPU seconds a minute": cpu, f"{name}: wake-ups a second": wakes}
    return figures


def _watched(folder: Path, name: str, seconds: float) -> tuple[float, float]:
    root = folder / "w"
    root.mkdir()
    met = "no" if name == "a run that waits" else "yes"
    (root / "value.txt").write_text(met, encoding="utf-8")
    text = "---\nworker: human\n---\n# Values\n\n- [ ] `grep -q yes value.txt` passes\n"
    (root / "GOAL.md").write_text(text, encoding="utf-8")
    goal = (root / "GOAL.md").as_uri()
    client = RawClient(Process([sys.executable, "-m", "donewhen", "serve", "--stdio"], cwd=root))
    client.ignored |= {"textDocument/publishDiagnostics", "donewhen/snapshot"}
    client.initialize(
        rootUri=root.as_uri(),
        workspaceFolders=[{"uri": root.as_uri(), "name": "w"}],
        initializationOptions={"trusted": True, "stateDir": str(folder / "state")},
    )
    document = {"uri": goal, "languageId": "markdown", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    if name != "no run":
        run = client.execute("donewhen.run.start", {"goalUri": goal}, 60.0)
        wanted = "running" if name == "a run that waits" else "complete"
        _until(client, run["runId"], wanted)
        if name == "on guard":
            client.execute("donewhen.run.guard", {"runId": run["runId"], "on": True})
    process = psutil.Process(client.process.pid)
    time.sleep(_SETTLE)
    before, switched = process.cpu_times(), _wake_ups(process.pid)
    time.sleep(seconds)
    after = process.cpu_times()
    spent = after.user + after.system - before.user - before.system
    wakes = _wake_ups(process.pid) - switched
    client.goodbye()
    return round(60 * spent / seconds, 3), round(wakes / seconds, 2)


def _wake_ups(pid: int) -> int:
    """Those of all threads; psutil counts the first one's alone."""
    texts = (task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(int(found) for text in texts for found in re.findall(r"(?m)^voluntary_ctxt_switches:\s*(\d+)", text))


def _until(client: RawClient, run_id: str, status: str) -> None:
    while True:
        snapshot = client.execute("donewhen.run.status", {"runId": run_id})["snapshots"][0]
        if snapshot["status"] == status and snapshot["phase"] in (None, "working", "idle", "ended"):
            return
        time.sleep(0.05)


if __name__ == "__main__":
    for figure, value in measure().items():
        print(f"- {figure}: {value}")
