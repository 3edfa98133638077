"""An environment of its own with the packages whose agents are known: made once, kept in the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "strands-agents[openai]==1.62.0",
    "openhands-sdk==1.58.0",
    "cubeloop==0.15.3",
    "pydantic-ai-slim[openai]==2.31.1",
    "openai-agents==0.20.0",
    "langgraph==1.2.22",
    "langchain-openai==1.7.3",
    "uv==0.13.9",
)
"""Measured with these versions; uv resolves and installs them in a fraction of pip's time."""


def agents_python() -> Path:
    """The interpreter of the environment. Skips where it can't be made, on a machine that isn't CI's."""
    python = next(_pythons(), None)
    if python is None:
        return _missing("Python 3.12 or newer is needed: OpenHands runs on nothing older")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*PACKAGES, *project["dependencies"], "pytest"]
    name = hashlib.sha256("\n".join([python, *wanted]).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "donewhen-agents"
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            failed = _made(python, home, wanted)
            if failed:
                return _missing(f"the packages could not be installed:\n{failed}")
            (home / "ready").touch()
    return home / "bin" / "python"


def _made(python: str, home: Path, wanted: list[str]) -> str:
    """Makes it; returns what went wrong, empty where nothing did."""
    shutil.rmtree(home, ignore_errors=True)
    own = str(home / "bin" / "python")
    uv = next(one for one in PACKAGES if one.startswith("uv=="))
    index = {"UV_DEFAULT_INDEX": os.environ["PIP_INDEX_URL"]} if "PIP_INDEX_URL" in os.environ else {}
    for command in (
        [python, "-m", "venv", str(home)],
        [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", uv],
        [own, "-m", "uv", "pip", "install", "--quiet", "--python", own, *wanted],
    ):
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **index}, check=False)
        if done.returncode:
            return f"{' '.join(command[:4])}\n{done.stderr[-2000:]}"
    return ""


def _pythons() -> Iterator[str]:
    """Interpreters that are new enough, those of pyenv among them."""
    if sys.version_info >= (3, 12):
        yield sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(f"python3.{minor}") for minor in (12, 13)]
    found += [str(one) for minor in (12, 13) for one in sorted(pyenv.glob(f"3.{minor}.*/bin/python"))]
    for one in found:
        # pyenv's shims are there for versions that aren't chosen, too.
        if one and subprocess.run([one, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            yield one


def _missing(why: str) -> Path:
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
