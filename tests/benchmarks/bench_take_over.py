"""How long after the end of a process its run is offered to the window that follows it; two real servers."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.lsp.editor import SERVE, Editor

TIMES = 7
GOAL = "# Wait\n\n- [ ] `test -e done` passes\n"


def measure(times: int = TIMES) -> dict[str, Any]:
    """Milliseconds from SIGKILL of the server that pursues a run to the snapshot that offers it."""
    taken: list[float] = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            taken.append(1_000 * _once(Path(folder)))
    return {"from the kill to the offer, p50, ms": round(statistics.median(taken)), "worst, ms": round(max(taken))}


def _once(folder: Path) -> float:
    root = folder / "w"
    root.mkdir()
    (root / "GOAL.md").write_text(GOAL, encoding="utf-8")
    first, second = (Editor(folder / "state", command=SERVE) for _ in range(2))
    try:
        first.start(root=root)
        second.start(root=root)
        second.execute("donewhen.run.status", {})
        started = {"goalUri": first.open(root / "GOAL.md"), "worker": "human"}
        run_id = first.execute("donewhen.run.start", started)["runId"]
        second.snapshot(run_id, lambda one: one["counts"]["unmet"] == 1)
        begun = time.perf_counter()
        first.process.kill()
        second.snapshot(run_id, lambda one: one["takeOver"])
        return time.perf_counter() - begun
    finally:
        first.close()
        second.close()


if __name__ == "__main__":
    print(measure())
