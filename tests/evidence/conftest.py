"""A workspace, and a checker of real processes in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from donewhen.core.evidence import CheckResult
from donewhen.core.goal import Check
from donewhen.evidence.runner import CommandChecker
from donewhen.workspace.processes.running import SystemProcesses

RunCheck = Callable[..., Coroutine[object, object, CheckResult]]


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def variables() -> dict[str, str]:
    """What Done When was started with: a plain environment, this Python first on PATH, without pytest's plugins."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "CARGO_NET_OFFLINE": "true",
    } | {name: value for name, value in os.environ.items() if name in ("RUSTUP_HOME", "CARGO_HOME")}


@pytest.fixture
def checker(root: Path, tmp_path: Path, variables: dict[str, str], bytecode: Path) -> CommandChecker:
    return CommandChecker(SystemProcesses(), root, tmp_path / "scratch", lambda: variables, bytecode=bytecode)


@pytest.fixture
def run(checker: CommandChecker) -> RunCheck:
    async def run_check(command: str, expected_exit: int = 0, timeout: float = 60) -> CheckResult:
        return await checker.run(Check.of(command, expected_exit), timeout=timeout, token="run-token")

    return run_check


@pytest.fixture
def write(root: Path) -> Callable[[str, str], Path]:
    def write_file(path: str, text: str) -> Path:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write_file
