"""Many folders of one window, each with a run of its own: how long an editor's request waits, who gets on, and memory.

Over LSP with a real server process, whose workers and checks are processes too.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.lsp.rawclient import Process, RawClient

COUNTS = (1, 10, 50)
TURNS = 3
PACE = 0.02
WORKER = "sh -c 'for one in a b c; do [ -e $one ] || { touch $one; exit; }; done'"
GOAL = "# Side by side\n\n" + "".join(f"- [ ] File {one} is there\n  - check: `test -e {one}`\n" for one in "abc")


def measure(counts: tuple[int, ...] = COUNTS) -> dict[str, Any]:
    """For each number of runs that start at once: milliseconds of a request for symbols meanwhile (half of them, 99 of
    100), seconds until all are complete, and until the last one over until the first; MB that the server holds more
    than before."""
    found: dict[str, Any] = {}
    for count in counts:
        with tempfile.TemporaryDirectory() as folder, _server(Path(folder), count) as (client, process, goals):
            found |= {f"{count} runs: {name}": value for name, value in _pursued(client, process, goals).items()}
    return found


def _pursued(client: RawClient, process: psutil.Process, goals: list[Path]) -> dict[str, Any]:
    client.request("textDocument/documentSymbol", {"textDocument": {"uri": goals[0].as_uri()}})
    before = process.memory_info().rss
    begun = time.perf_counter()
    starting = [client.begin("workspace/executeCommand", _start(goal)) for goal in goals]
    waits: list[float] = []
    ended: dict[str, float] = {}
    while len(ended) < len(goals):
        goal, asked = goals[len(waits) % len(goals)], time.perf_counter()
        client.request("textDocument/documentSymbol", {"textDocument": {"uri": goal.as_uri()}})
        waits.append(time.perf_counter() - asked)
        for one in _taken(client, "donewhen/snapshot"):
            if one["status"] != "running":
                assert one["status"] == "complete", one["reason"]
                ended.setdefault(one["runId"], time.perf_counter() - begun)
        time.sleep(max(0.0, PACE - waits[-1]))
    for number in starting:
        client.response(number)
    return {
        "a request, p50 ms": round(1000 * statistics.median(waits), 1),
        "a request, p99 ms": round(1000 * statistics.quantiles(waits, n=100)[98], 1),
        "all complete, s": round(max(ended.values()), 2),
        "last over first": round(max(ended.values()) / min(ended.values()), 2),
        "MB for each": round((process.memory_info().rss - before) / len(goals) / 1e6, 2),
    }


def _taken(client: RawClient, method: str) -> list[dict[str, Any]]:
    """What came of this kind, and is no longer in the inbox."""
    found = [one for one in client.inbox if one.get("method") == method]
    client.inbox[:] = [one for one in client.inbox if "id" in one and "method" not in one]
    return [one["params"] for one in found]


def _start(goal: Path) -> dict[str, Any]:
    return {"command": "donewhen.run.start", "arguments": [{"goalUri": goal.as_uri()}]}


@contextmanager
def _server(place: Path, count: int) -> Iterator[tuple[RawClient, psutil.Process, list[Path]]]:
    folders = [place / f"f{number}" for number in range(count)]
    for folder in folders:
        folder.mkdir()
        (folder / "GOAL.md").write_text(GOAL, encoding="utf-8")
    process = Process([sys.executable, "-m", "donewhen", "serve", "--stdio"], cwd=place)
    client = RawClient(process)
    client.initialize(
        workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
        initializationOptions={
            "trusted": True,
            "stateDir": str(place / "state"),
            "settings": {"worker": "command", "workerCommand": WORKER, "maxIterations": TURNS + 1},
        },
    )
    goals = [folder / "GOAL.md" for folder in folders]
    for goal in goals:
        document = {"uri": goal.as_uri(), "languageId": "markdown", "version": 1, "text": GOAL}
        client.notify("textDocument/didOpen", {"textDocument": document})
    yield client, psutil.Process(process.popen.pid), goals
    client.ignored |= {"textDocument/publishDiagnostics", "donewhen/snapshot", "$/progress"}
    client.inbox.clear()
    client.goodbye()


if __name__ == "__main__":
    print(measure(tuple(int(word) for word in sys.argv[1:]) or COUNTS))
