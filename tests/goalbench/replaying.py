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
from pathlib import Path
from typing import Any

from donewhen.app.engine import engine_setup
from donewhen.app.surroundings import Surroundings
from donewhen.config import Settings
from donewhen.core import events as e
from donewhen.core.evidence import CheckResult, Trial
from donewhen.engine.api import RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.store.memory import MemoryLedger

JSON = "application/vnd.pypi.simple.v1+json"
SUITE = "python -m pytest -q -p no:cacheprovider"


@dataclass(frozen=True)
class Release:
    """Two adjacent releases of a project on the Python registry, and how their own tests are run.

    `asked`: behaviour changed on purpose, so that tests of the old one fail: one question.
    """

    project: str
    old: str
    new: str
    check: str = SUITE
    asked: bool = False

    @property
    def id(self) -> str:
        return f"{self.project} {self.old} to {self.new}"


IN_SRC = "PYTHONPATH=src python -m pytest -q -p no:cacheprovider"
RELEASES = (
    Release("addict", "2.3.0", "2.4.0"),
    Release("boltons", "26.1.0", "26.2.0", asked=True),
    Release("cachetools", "8.0.0", "8.0.1", IN_SRC),
    Release("colorama", "0.4.5", "0.4.6"),
    Release("deepmerge", "3.0.1", "4.0.0"),
    Release("inflection", "0.5.0", "0.5.1"),
    Release("iniconfig", "2.3.0", "2.3.1", IN_SRC, asked=True),
    Release("munch", "3.0.0", "4.0.0"),
    Release("schema", "0.7.7", "0.7.8", asked=True),
    Release("simpleeval", "1.0.7", "1.0.8"),
    Release("tinydb", "4.8.2", "4.9.0"),
    Release("uritemplate", "4.1.1", "4.2.0", asked=True),
    Release("voluptuous", "0.15.2", "0.16.0"),
)


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


def unpacked(project: str, version: str, folder: Path) -> Path:
    """The unpacked source distribution; from the registry the first time."""
    kept = folder / f"{project}-{version}"
    if kept.is_dir():
        return kept
    files: list[dict[str, Any]] = json.loads(_read(f"{index()}/{project}/", JSON))["files"]
    wanted = re.compile(rf"{re.sub('[-_.]+', '[-_.]+', project)}-{re.escape(version)}\.tar\.gz", re.IGNORECASE)
    link = next(one["url"] for one in files if wanted.fullmatch(one["filename"]))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        archive = Path(scratch) / "sdist.tar.gz"
        archive.write_bytes(_read(link))
        with tarfile.open(archive) as packed:
            packed.extractall(Path(scratch) / "out", filter="data")
        (inner,) = (Path(scratch) / "out").iterdir()
        inner.rename(kept)
    return kept


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


async def replay(release: Release, kept: Path, folder: Path) -> Replayed:
    """Plays a release: real checks, real rooms, and a person who is asked and doesn't answer."""
    root, state = folder / "w", folder / "state" / "workspaces" / "w"
    shutil.copytree(unpacked(release.project, release.old, kept), root, symlinks=True)
    new = unpacked(release.project, release.new, kept)
    # The tests of the old release are green: without this nobody would have anything to do.
    released = f"grep -q '^Version: {release.new}$' PKG-INFO"
    (root / "GOAL.md").write_text(
        f"---\nmax_iterations: 2\n---\n# Release\n\n- [ ] `{released}` passes\n- [ ] `{release.check}` passes\n"
    )
    worker = folder / "worker.py"
    worker.write_text(WORKER.format(new=str(new)))
    state.mkdir(parents=True)
    ledger, around = MemoryLedger(), Surroundings(interpreter=lambda: Path(sys.executable))
    supervisor = Supervisor(engine_setup(root, state, folder / "state/pycache", ledger, Settings(), around))
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
    finished = [x.event.evidence.observation for x in entries if isinstance(x.event, e.CheckFinished)]
    checks = [one for one in finished if isinstance(one, CheckResult) and one.is_test_run]
    audited = [x.at for x in entries if isinstance(x.event, e.AuditFinished)]
    asked = bool(state.interrupts)
    return Replayed(
        end="asked" if asked else str(state.end_status),
        findings=tuple(f"{one.finding.kind} {one.finding.message}" for one in state.open_findings),
        questions=sum(isinstance(x.event, e.InterruptOpened) for x in entries),
        trials=tuple(
            f"{one.tried} {'passed' if one.passed else 'failed'}" for one in observed if isinstance(one, Trial)
        ),
        changed=len(state.tried.changed) if state.tried is not None else 0,
        seconds=checks[-1].seconds if checks else 0.0,
        beyond=entries[-1].at - audited[-1],
        reason="; ".join((state.reason, *(one.reason for one in view.views if one.status != "met"))),
    )
