"""Runs every benchmark and prints their figures as a Markdown list: `python -m tests.benchmarks.run [NAME ...]`.

They measure and never fail on a figure; docs/benchmarks.md says what is aimed at. Run them on an idle machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from tests.benchmarks import (
    bench_affected,
    bench_agent,
    bench_audit,
    bench_calls,
    bench_engine,
    bench_first_request,
    bench_fleet,
    bench_gate,
    bench_idle,
    bench_judge,
    bench_ledger,
    bench_library,
    bench_long,
    bench_lsp,
    bench_manifest,
    bench_replay,
    bench_requirements,
    bench_revision,
    bench_rooms,
    bench_save,
    bench_side_by_side,
    bench_snapshots,
    bench_start,
    bench_take_over,
)

BENCHMARKS: dict[str, Callable[[], Mapping[str, Any]]] = {
    "initialize and memory (bench_lsp)": bench_lsp.measure,
    "an audit over its checks (bench_audit)": bench_audit.measure,
    "a save to its diagnostics, 10,000 files (bench_save)": bench_save.measure,
    "a save to the first answer of affected tests, real projects (bench_affected)": bench_affected.measure,
    "the revision of 10,000 files (bench_revision)": lambda: bench_revision.measure(10_000),
    "the revision of 100,000 files (bench_revision)": lambda: bench_revision.measure(100_000),
    "a change among a million files (bench_manifest)": bench_manifest.measure,
    "rooms and trials (bench_rooms)": bench_rooms.measure,
    "releases of public projects replayed (bench_replay)": bench_replay.measure,
    "many requirements, and large documents (bench_requirements)": bench_requirements.measure,
    "what a client is sent of an audit (bench_snapshots)": bench_snapshots.measure,
    "runs side by side (bench_side_by_side)": bench_side_by_side.measure,
    "the offer of a run whose process was killed (bench_take_over)": bench_take_over.measure,
    "a fleet of goals (bench_fleet)": bench_fleet.measure,
    "the engine per iteration (bench_engine)": bench_engine.measure,
    "the ledger (bench_ledger)": bench_ledger.measure,
    "a run of 20,000 entries (bench_long)": bench_long.measure,
    "the Python library (bench_library)": bench_library.measure,
    "the start of the shortest commands (bench_start)": bench_start.measure,
    "an agent's hook where a fresh proof stands (bench_gate)": bench_gate.measure,
    "a server that has nothing to do (bench_idle)": bench_idle.measure,
    "the first request to a model (bench_first_request)": bench_first_request.measure,
    "one call to a model, by each way (bench_calls)": bench_calls.measure,
    "the prompts of a judge (bench_judge)": bench_judge.measure,
    "runs of the agent (bench_agent)": bench_agent.measure,
}


def main(wanted: list[str]) -> None:
    for name, measure in BENCHMARKS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        print(f"\n### {name}\n", flush=True)
        for figure, value in measure().items():
            print(f"- {figure}: {value}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
