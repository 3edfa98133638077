"""What a run with the built-in agent costs beyond the model, the tools and the ledger's syncs; and how it grows."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from donewhen.app.engine import engine_setup
from donewhen.app.models import FolderModels
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core import calls as c
from donewhen.core.events import AgentOptions, TurnStarted
from donewhen.engine.api import StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.evidence.text import Masking
from donewhen.models.hosting import ModelHost
from donewhen.settings.loading import Settings
from donewhen.settings.table import Choices
from donewhen.store.folders import private_folder, workspace_folder
from tests.benchmarks.bench_engine import BareAppends, TimedLedger

if TYPE_CHECKING:
    from donewhen.core.events import Entry
    from donewhen.models.protocol import Answered, Call

GOAL = "# Rounds\n\n- [ ] All rounds are done\n  - file: `log.txt`\n"


class TimedModels(FolderModels):
    """Knows how long its calls took, and how many there were."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.seconds, self.calls = 0.0, 0
        ask = self._routes.ask

        async def timed(call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
            begun = time.perf_counter()
            try:
                return await ask(call, on_text)
            finally:
                self.seconds += time.perf_counter() - begun
                self.calls += 1

        self._routes.ask = timed  # type: ignore[method-assign]


@dataclass
class Seen:
    """What was noted from entry to entry."""

    between: list[float] = field(default_factory=list)
    """Milliseconds from a model's answer to the next question, tools' own time included."""
    tool_seconds: float = 0.0
    tools: int = 0
    answered: float = 0.0
    first_turn: float = 0.0

    def entry(self, run_id: str, entry: Entry) -> None:
        event = entry.event
        now = time.perf_counter()
        if isinstance(event, TurnStarted) and not self.first_turn:
            self.first_turn = now
        elif isinstance(event, c.CallFinished):
            self.answered = now
        elif isinstance(event, c.CallStarted) and self.answered and self.tools:
            self.between.append(1000 * (now - self.answered))
        elif isinstance(event, c.ToolFinished):
            self.tools += 1


@contextmanager
def served(tool_calls: int, rounds: int, tool: str, sizes: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.benchmarks.model_server", str(tool_calls), str(rounds), tool, str(sizes)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


async def pursue(folder: Path, url: str) -> tuple[dict[str, float], Seen]:
    root, state = folder / "w", folder / "state"
    root.mkdir()
    state.mkdir()
    (root / "GOAL.md").write_text(GOAL, encoding="utf-8")
    (root / "big.txt").write_text("".join(f"{n:049d}\n" for n in range(1000)), encoding="utf-8")
    settings = Settings(
        given=Choices(
            worker="agent", model="openai/worker", judge_model="openai/judge", api_base=url, judge_api_base=url,
            approve="auto", max_iterations=50, model_client=os.environ.get("DONEWHEN_MODEL_CLIENT", "auto"),
        )
    )  # fmt: skip
    context = WorkspaceContext()
    own = workspace_folder(state, root)
    ledger = await TimedLedger.open(own / "ledger.sqlite")
    masking = Masking(context.environment, {})
    models = TimedModels(context.environment, {}, lambda: settings, masking.mask, own / "verdicts")
    setup = engine_setup(root, own, private_folder(state / "pycache"), ledger, settings, context, models)
    seen = Seen()
    supervisor = Supervisor(replace(setup, observe=seen.entry))
    begun = time.perf_counter()
    models.warm(AgentOptions("openai/worker", url))
    if settings.pick("model_client") == "litellm":
        host = models._model_host()
        assert isinstance(host, ModelHost)
        await host.ready()
    else:
        await models._routes._clients._client("openai", url)
    warm = time.perf_counter() - begun
    me = psutil.Process()
    before = me.memory_info().rss
    cpu = time.process_time()
    begun = time.perf_counter()
    view = await supervisor.start("GOAL.md", StartOptions())
    async for one in supervisor.follow(view.state.run_id):
        view = one
    seconds = time.perf_counter() - seen.first_turn
    cpu = time.process_time() - cpu
    grown = me.memory_info().rss - before
    entries = await ledger.entries(view.state.run_id)
    seen.tool_seconds = sum(
        getattr(getattr(getattr(e.event, "evidence", None), "observation", None), "seconds", 0.0) for e in entries
    )
    await supervisor.close("measured")
    assert view.state.status == "complete", (view.state.status, view.state.lifecycle.reason)
    figures = {
        "seconds": seconds,
        "before the first turn": seen.first_turn - begun,
        "warm": warm,
        "cpu": cpu,
        "grown": grown / 1e6,
        "ledger": ledger.seconds,
        "syncs": ledger.syncs,
        "entries": len(entries),
        "requests": models.calls,
        "calls": models.seconds,
        "database": sum(file.stat().st_size for file in own.glob("ledger.sqlite*")) / 1e6,
    }
    return figures, seen


def one(tool_calls: int, rounds: int, tool: str = "run_command") -> tuple[dict[str, float], Seen, dict[str, list[int]]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = folder / "sizes.json"
        with served(tool_calls, rounds, tool, sizes) as url:
            figures, seen = asyncio.run(pursue(folder, url))
        bare = BareAppends(folder / "bare.sqlite")
        bare.append(int(figures["syncs"]))
        bare.close()
        figures["bare syncs"] = bare.seconds
        return figures, seen, json.loads(sizes.read_text(encoding="utf-8"))


def bare_tools(count: int) -> float:
    """Seconds of as many commands without anything around them."""
    begun = time.perf_counter()
    for number in range(count):
        subprocess.run(["/bin/sh", "-c", f"printf '%02000d' {number}"], capture_output=True, check=True)
    return time.perf_counter() - begun


def per_request() -> Mapping[str, object]:
    """3 iterations of 5 tool calls, 2 KB each: milliseconds per request, median of 5 runs."""
    rows: list[dict[str, float]] = []
    one(1, 1)  # what is imported at the first run is no part of a request
    for _ in range(5):
        figures, _, _ = one(5, 3)
        tools = bare_tools(15)
        requests = figures["requests"]
        rest = figures["seconds"] - tools - figures["bare syncs"]
        rows.append(
            {
                "requests": requests,
                "overhead": 1000 * rest / requests,
                "calls to the model": 1000 * figures["calls"] / requests,
                "ours": 1000 * (rest - figures["calls"]) / requests,
                "CPU of the server": 1000 * figures["cpu"] / requests,
                "tools": 1000 * tools / requests,
                "syncs": 1000 * figures["bare syncs"] / requests,
                "before the first turn": 1000 * figures["before the first turn"],
                "warm": figures["warm"],
            }
        )
    return {name: round(statistics.median(row[name] for row in rows), 2) for name in rows[0]}


def growth() -> Mapping[str, object]:
    """One iteration of 10, 100 and 1,000 calls."""
    one(1, 1)
    found: dict[str, object] = {}
    for count in (10, 100, 1_000):
        figures, _, sizes = one(count, 1)
        tools = bare_tools(count)
        rest = figures["seconds"] - tools - figures["bare syncs"]
        found[f"{count}: ms per request"] = round(1000 * rest / figures["requests"], 2)
        found[f"{count}: largest request, KB"] = round(max(sizes["worker"]) / 1000, 1)
        found[f"{count}: judge's prompt, KB"] = round(max(sizes["judge"]) / 1000, 2)
        found[f"{count}: CPU s of the server"] = round(figures["cpu"], 2)
        found[f"{count}: memory grown, MB"] = round(figures["grown"], 1)
        found[f"{count}: ledger, MB"] = round(figures["database"], 1)
    return found


def tool_calls() -> Mapping[str, object]:
    """Milliseconds between a model's answer and the next question, with a tool that costs next to nothing."""
    _, seen, _ = one(200, 1, "read_file")
    between = sorted(seen.between)
    return {"p50": round(statistics.median(between), 2), "p95": round(between[int(len(between) * 0.95)], 2)}


MEASURES: dict[str, Callable[[], Mapping[str, object]]] = {
    "per request": per_request, "growth": growth, "per tool call": tool_calls,
}  # fmt: skip


def measure() -> dict[str, object]:
    return {f"{part}, {name}": value for part, of in MEASURES.items() for name, value in of().items()}


if __name__ == "__main__":
    os.environ.pop("DONEWHEN_API_KEY", None)
    wanted = sys.argv[1:] or list(MEASURES)
    for name in wanted:
        print(name, dict(MEASURES[name]()), flush=True)
