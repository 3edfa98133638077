"""What tests of several folders share: programs that may be missing, and how often a property is tried."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import settings


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where the program is missing, but never in CI."""
    missing = shutil.which(program) is None and not os.environ.get("CI")
    return pytest.mark.skipif(missing, reason=f"{program} is not installed")


NPM = Path(sys.prefix) / "npm"
"""Where `.ci/run` installs programs from npm."""


def npm_program(name: str) -> str:
    """The path of a program that npm installed: there, or on the PATH; its bare name where it is missing."""
    return shutil.which(name, path=str(NPM / "node_modules" / ".bin")) or shutil.which(name) or name


def needs_npm(name: str) -> pytest.MarkDecorator:
    """As `needs`, for a program from npm."""
    return needs(npm_program(name))


def needs_tool(name: str) -> pytest.MarkDecorator:
    """As `needs`, for a program from PyPI that `.ci/run` installs beside this Python."""
    return needs(shutil.which(name, path=str(Path(sys.prefix) / "tools" / "bin")) or name)


def runs(process: int | psutil.Process) -> bool:
    """Whether it runs: a zombie has ended. The only way to ask: a process may end between any two looks at it."""
    try:
        found = psutil.Process(process) if isinstance(process, int) else process
        return found.is_running() and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def below(pid: int, word: str = "") -> list[psutil.Process]:
    """The processes below this one, of which each may end at any moment; those whose command line has the word."""
    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for one in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                if not word or word in " ".join(one.cmdline()):
                    found.append(one)
    return found


def examples(full: int, **others: Any) -> settings:
    """A property that is tried so often with `--hypothesis-profile=full`, and a fifth as often otherwise."""
    return settings(max_examples=max(1, full * settings().max_examples // 100), **others)
