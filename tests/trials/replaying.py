"""Adjacent releases of public projects as a worker's turn: the older one is the workspace, the newer one the work."""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from donewhen.app.engine import engine_setup
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core import events as e
from donewhen.core.evidence import CheckResult, Trial
from donewhen.engine.api import RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.settings.loading import Settings
from donewhen.store.memory import MemoryLedger

JSON = "application/vnd.pypi.simple.v1+json"
KEPT = Path(os.environ.get("DONEWHEN_RELEASES") or Path.home() / ".cache" / "donewhen-releases")
TABLE = Path(__file__).with_name("releases.yaml")


@dataclass(frozen=True)
class Release:
    """Two adjacent releases of a project, and how their own tests are run.

    `asked`: behaviour changed on purpose, so that tests of the old one fail: one question. `told`: one of those that
    the slow suite plays.
    """

    project: str
    old: str
    new: str
    check: str
    asked: bool = False
    told: bool = False

    @property
    def id(self) -> str:
        return f"{self.project} {self.old} to {self.new}"


def releases() -> tuple[Release, ...]:
    """Every adjacent pair of the table."""
    table = yaml.safe_load(TABLE.read_text("utf-8"))
    found: list[Release] = []
    for one in table["projects"]:
        check, asked, told = table["checks"][one.get("check", "pytest")], one.get("asked", []), one.get("told", [])
        pairs = pairwise(one["versions"].split())
        found += [Release(one["name"], old, new, check, new in asked, new in told) for old, new in pairs]
    return tuple(found)


def python_with_needs(folder: Path) -> Path:
    """A virtual environment with what the tests of the table need; made the first time."""
    python = folder / "python" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "python")], check=True)
        needs = yaml.safe_load(TABLE.read_text("utf-8"))["needs"].split()
        subprocess.run([str(python), "-m", "pip", "install", "-q", *needs], check=True)
    return python


@dataclass(frozen=True)
class Replayed:
    """How a release ended: `complete`, `asked` with what was found, or how else. Seconds: of the last audit's checks,
    and from its end to that of the run."""

    end: str
    findings: tuple[str, ...]
    trials: tuple[str, ...]
    questions: int
    changed: int
    seconds: float
    beyond: float
    reason: str


@cache
def index() -> str:
    """The registry that pip asks."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    said = os.environ.get("PIP_INDEX_URL") or asked.stdout.strip()
    if said:
        return said.rstrip("/")
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url).rstrip("/")


def unpacked(release: Release, version: str, folder: Path) -> Path:
    """The unpacked sources of a release; from the registry the first time."""
    kept = folder / f"{release.project}-{version}"
    if kept.is_dir():
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        place = Path(scratch)
        with tarfile.open(_sdist(release.project, version, place)) as packed:
            packed.extractall(place / "out", filter="data")
        (inner,) = (place / "out").iterdir()
        inner.rename(kept)
    return kept


def _sdist(project: str, version: str, folder: Path) -> Path:
    files: list[dict[str, Any]] = json.loads(_read(f"{index()}/{project}/", JSON))["files"]
    wanted = re.compile(rf"{re.sub('[-_.]+', '[-_.]+', project)}-{re.escape(version)}\.tar\.gz", re.IGNORECASE)
    link = next(one["url"] for one in files if wanted.fullmatch(one["filename"]))
    archive = folder / "sdist.tar.gz"
    archive.write_bytes(_read(link))
    return archive


def _read(url: str, accept: str = "*/*") -> bytes:
    trusted = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    asked = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(asked, context=trusted, timeout=60) as reply:
        return bytes(reply.read())


WORKER = """
import pathlib, shutil
root, new = pathlib.Path("."), pathlib.Path({new!r})
there = {{p.relative_to(new) for p in new.rglob("*") if not p.is_dir()}}
for path in [p for p in root.rglob("*") if not p.is_dir() and p.name != "GOAL.md"]:
    if path.relative_to(root) not in there:
        path.unlink()
for path in sorted(there):
    if not (root / path).exists() or (root / path).read_bytes() != (new / path).read_bytes():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(new / path, root / path)
"""


async def replay(release: Release, kept: Path, folder: Path, python: Path = Path(sys.executable)) -> Replayed:
    """Plays a release: real checks, real rooms, and a person who is asked and doesn't answer. `python` has what its
    tests need."""
    root, state = folder / "w", folder / "state" / "workspaces" / "w"
    shutil.copytree(unpacked(release, release.old, kept), root, symlinks=True)
    new = unpacked(release, release.new, kept)
    # The tests of the old release are green: without this nobody would have anything to do.
    released = f"grep -q '^Version: {release.new}$' PKG-INFO"
    (root / "GOAL.md").write_text(
        f"---\nmax_iterations: 2\n---\n# Release\n\n- [ ] `{released}` passes\n- [ ] `{release.check}` passes\n"
    )
    worker = folder / "worker.py"
    worker.write_text(WORKER.format(new=str(new)))
    state.mkdir(parents=True)
    ledger, context = MemoryLedger(), WorkspaceContext(interpreter=lambda: python)
    supervisor = Supervisor(engine_setup(root, state, folder / "state/pycache", ledger, Settings(), context))
    try:
        options = StartOptions(worker="command", worker_command=f"{sys.executable} {worker}", approve="ask")
        view = await supervisor.start("GOAL.md", options)
        async for seen in supervisor.follow(view.state.run_id):
            view = seen
            if view.state.interrupts:
                break
        return _replayed(view, await ledger.entries(view.state.run_id))
    finally:
        await supervisor.close("replayed")


def _replayed(view: RunView, entries: Any) -> Replayed:
    state = view.state
    observed = [x.event.evidence.observation for x in entries if isinstance(x.event, e.EvidenceRecorded)]
    checks = [one for one in observed if isinstance(one, CheckResult) and one.is_test_run]
    audited = [x.at for x in entries if isinstance(x.event, e.AuditFinished)]
    asked = bool(state.interrupts)
    return Replayed(
        end="asked" if asked else str(state.lifecycle.end_status),
        findings=tuple(f"{one.finding.kind} {one.finding.message}" for one in state.open_findings),
        questions=sum(isinstance(x.event, e.InterruptOpened) for x in entries),
        trials=tuple(
            f"{one.tried} {'passed' if one.passed else 'failed'}" for one in observed if isinstance(one, Trial)
        ),
        changed=len(state.trial.last.changed) if state.trial.last is not None else 0,
        seconds=checks[-1].seconds if checks else 0.0,
        beyond=entries[-1].at - audited[-1],
        reason="; ".join((state.lifecycle.reason, *(one.reason for one in view.views if one.status != "met"))),
    )
