"""A language server that pursues nothing: it sends one made-up snapshot after the other, each with the time at which
it was sent. So what the extension alone takes can be told apart from all else.

    python -m tests.benchmarks.snapshot_server serve --stdio

It sends a snapshot whenever the file that SNAPSHOT_TRIGGER names has grown, and appends to SNAPSHOT_TIMES when it did.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from donewhen.version import __version__
from donewhen.wire.snapshot import Snapshot
from donewhen.wire.view import requirement_rows, view_of

REQUIREMENTS, ITERATIONS = 200, 1_000
SHOWN = 20
"""How many iterations a snapshot holds, as those of the real server do."""
RUN = "00000000-0000-7000-8000-000000000001"
USAGE = {"inputTokens": 1_000, "outputTokens": 100, "cachedTokens": 0, "usd": 0.01}
WRITING = threading.Lock()


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with WRITING:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        sys.stdout.buffer.flush()


def received() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def requirement(number: int) -> dict[str, Any]:
    status = ("met", "unmet", "unverified")[number % 3]
    return {
        "id": f"requirement-{number}", "number": number, "text": f"Requirement {number} holds for every input",
        "status": status, "flaky": False, "reason": f"the reason of {number}", "evidenceIds": [f"E{number}"],
        "decidedBy": "check", "locations": [], "renewing": False,
    }  # fmt: skip


def iteration(number: int) -> dict[str, Any]:
    met = number * REQUIREMENTS // ITERATIONS
    return {
        "number": number, "startedAt": "2026-01-01T00:00:00Z", "seconds": 12.5, "score": met / REQUIREMENTS,
        "met": met, "total": REQUIREMENTS, "usd": 0.01 * number, "revision": f"r{number}",
        "changedFiles": [f"src/file{number}.py"], "summary": f"What was done in iteration {number}", "error": None,
    }  # fmt: skip


def detail(number: int) -> dict[str, Any]:
    return {
        "number": number, "seconds": 12.5, "claim": {"state": "finished", "text": "done"}, "error": None,
        "steps": [], "checks": [], "verdict": [], "calls": [], "changedFiles": [],
    }  # fmt: skip


def snapshot(sequence: int, goal_uri: str | None) -> dict[str, Any]:
    last = min(sequence, ITERATIONS)
    requirements = [requirement(number) for number in range(1, REQUIREMENTS + 1)]
    count = {name: sum(one["status"] == name for one in requirements) for name in ("met", "unmet", "unverified")}
    whole = {
        "schemaVersion": 1, "sequence": sequence, "runId": RUN, "goalUri": goal_uri, "title": "A large goal",
        "objective": "All of it", "worker": "agent", "status": "running", "phase": "working", "activity": "works",
        "reason": "", "iteration": last, "maxIterations": ITERATIONS, "elapsedSeconds": 1.0 * sequence,
        "revision": "r", "score": count["met"] / REQUIREMENTS, "complete": False, "missing": "much",
        "counts": {**count, "stale": 0, "regressed": 0, "waived": 0, "total": REQUIREMENTS},
        "requirements": requirements,
        "integrity": [], "interrupts": [], "halt": None, "warnings": [],
        "cost": {"usd": 1.0, "worker": USAGE, "judge": USAGE},
        "limits": {"maxIterations": ITERATIONS, "timeoutSeconds": None, "budgetUsd": None, "tokenBudget": None},
        "iterationsTotal": last, "iterations": [iteration(n) for n in range(max(1, last - SHOWN + 1), last + 1)],
        "lastRevertible": None, "pausedBy": None, "model": "made-up", "judge": None, "start": None,
    }  # fmt: skip
    told = Snapshot.model_validate(whole)
    view = view_of(told, rows=requirement_rows(told, {}))
    return {**whole, "view": view.model_dump(mode="json", by_alias=True)}


class Server:
    def __init__(self) -> None:
        self._trigger, self._times = Path(os.environ["SNAPSHOT_TRIGGER"]), Path(os.environ["SNAPSHOT_TIMES"])
        self._sequence = ITERATIONS - 1
        self._goal_uri: str | None = None

    def run(self) -> None:
        while (message := received()) is not None:
            if "id" in message and "method" in message:
                send({"id": message["id"], "result": self._answer(message["method"], message.get("params") or {})})
            elif message.get("method") == "initialized":
                threading.Thread(target=self._watch, daemon=True).start()
            elif message.get("method") == "exit":
                return

    def _answer(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            folders = params.get("workspaceFolders") or []
            self._goal_uri = f"{folders[0]['uri']}/GOAL.md" if folders else None
            info = {"name": "donewhen", "version": __version__}
            able = {"textDocumentSync": 1, "executeCommandProvider": {"commands": []}}
            return {"serverInfo": info, "capabilities": able}
        if method == "workspace/executeCommand":
            return self._command(params["command"], (params.get("arguments") or [{}])[0])
        return None

    def _command(self, name: str, argument: dict[str, Any]) -> Any:
        if name == "donewhen.run.status":
            return {"snapshots": [snapshot(self._sequence, self._goal_uri)]}
        if name == "donewhen.run.report":
            whole = snapshot(self._sequence, self._goal_uri)
            return {"text": json.dumps(whole | {"iterations": [iteration(n) for n in range(1, ITERATIONS + 1)]})}
        if name == "donewhen.run.iteration":
            return detail(int(argument["number"]))
        return {}

    def _watch(self) -> None:
        seen = 0
        while True:
            size = self._trigger.stat().st_size if self._trigger.exists() else 0
            if size > seen:
                seen = size
                self._sequence += 1
                whole = snapshot(self._sequence, self._goal_uri) | {"iteration": self._sequence}
                sent = time.time()
                send({"method": "donewhen/snapshot", "params": whole})
                with self._times.open("a") as times:
                    times.write(f"{self._sequence} {sent}\n")
            time.sleep(0.005)


if __name__ == "__main__":
    Server().run()
