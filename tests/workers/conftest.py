from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.workspace.processes.running import SystemProcesses

from .turns import Context, Folder


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(Folder(tmp_path))


@pytest.fixture
def processes() -> SystemProcesses:
    return SystemProcesses()
