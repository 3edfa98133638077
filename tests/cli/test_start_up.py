"""What the shortest commands load: little more than Python itself. Times are in tests/benchmarks/bench_start.py."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.app.engine import open_engine
from donewhen.extras import COMMANDS
from donewhen.settings.loading import Settings
from donewhen.version import __version__

HEAVY = {"pydantic", "pygls", "lsprotocol", "litellm", "rich", "markdown_it", "watchfiles", "pluggy", "cattrs", "yaml"}
OF_RUNS = {
    f"donewhen.{name}" for name in ("engine", "wire.snapshot", "app.engine", "evidence", "workspace", "core.state")
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def loaded(workspace: Path, *argv: str) -> tuple[set[str], subprocess.CompletedProcess[str]]:
    """The modules that a call imports, and how it ended."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DONEWHEN_", "COVERAGE_"))}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "donewhen", *argv], cwd=workspace, capture_output=True, text=True,
        env={**environment, "XDG_CONFIG_HOME": str(workspace.parent)}, timeout=60, check=False,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip() for line in lines}, done


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_loads_nothing_but_itself(option: str, workspace: Path) -> None:
    modules, done = loaded(workspace, option)
    assert (done.returncode, done.stdout) == (0, f"donewhen {__version__}\n")
    assert {name for name in modules if name.startswith("donewhen")} == {"donewhen", "donewhen.version"}
    assert not modules & {"argparse", "asyncio", "pathlib", "json", *HEAVY}


@pytest.mark.parametrize(
    ("argv", "code", "printed"),
    [
        pytest.param(["status"], 1, "", marks=pytest.mark.slow),
        (["status", "--json"], 1, "null\n"),
        (["list"], 0, ""),
        pytest.param(["list", "--json"], 0, "[]\n", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("opened", [pytest.param(False, marks=pytest.mark.slow), True])
def test_without_a_run_nothing_is_loaded_that_reads_one(
    argv: list[str], code: int, printed: str, opened: bool, workspace: Path
) -> None:
    state = workspace.parent / "state"
    if opened:
        asyncio.run(opened_once(workspace, state))
    modules, done = loaded(workspace, "--state-dir", str(state), *argv)
    assert (done.returncode, done.stdout) == (code, printed)
    assert ("there is no run in" in done.stderr) is not bool(printed)
    assert not {name for name in modules if name in OF_RUNS or name.split(".")[0] in HEAVY}
    assert state.exists() is opened


CLIENTS = {"temporalio", "litellm", "openai", "anthropic", "httpx", "httpx2", "opentelemetry"}
EDITORS = {"pygls", "lsprotocol", "cattrs", "donewhen.lsp"}
JUDGED = {"donewhen.judges", "donewhen.models"}
EXTRAS = {f"donewhen.extras.{one.folder}" for one in COMMANDS.values()}
NEEDLESS: dict[str, set[str]] = {
    "check": {*CLIENTS, *EDITORS, *JUDGED, *EXTRAS, "tree_sitter", "donewhen.app.models", "donewhen.library"},
    "status": {*CLIENTS, *EDITORS, *JUDGED, *EXTRAS, "tree_sitter", "donewhen.workers.agent", "donewhen.library"},
    "list": {*CLIENTS, *EDITORS, *JUDGED, *EXTRAS, "tree_sitter", "donewhen.workers.agent", "donewhen.library"},
}


@pytest.mark.slow
def test_no_command_loads_what_it_does_not_use(workspace: Path) -> None:
    """With a run on record, so that there is something to read."""
    (workspace / "GOAL.md").write_text("# Nothing\n\n- [ ] `true` passes\n", encoding="utf-8")
    state = ("--state-dir", str(workspace.parent / "state"))
    for command, needless in NEEDLESS.items():
        modules, done = loaded(workspace, *state, command)
        assert done.returncode == 0, done.stderr
        there = {name for name in modules if name in needless or name.split(".")[0] in needless}
        assert not there, command


async def opened_once(workspace: Path, state: Path) -> None:
    """An editor had the folder open, and nothing was run: there is a ledger without a run."""
    runs = await open_engine(workspace, state, Settings())
    await runs.close("closed")
