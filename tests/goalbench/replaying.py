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

from donewhen.composition import Surroundings, engine_setup
from donewhen.config import Settings
from donewhen.core import events as e
from donewhen.core.evidence import CheckResult, Trial
from donewhen.engine.api import RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.store.memory import MemoryLedger

JSON = "application/vnd.pypi.simple.v1+json"
TABLE = Path(__file__).with_name("releases.yaml")


@dataclass(frozen=True)
class Release:
    """Two adjacent releases of a project, and how their own tests are run.

    `asked`: behaviour changed on purpose, so that tests of the old one fail: one question. `told`: one of those that
    the slow suite plays. `registry` is `pypi` or `npm`; `modules` are what the tests of an npm package need besides it.
    """

    project: str
    old: str
    new: str
    check: str
    asked: bool = False
    told: bool = False
    registry: str = "pypi"
    modules: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.project} {self.old} to {self.new}"


def releases() -> tuple[Release, ...]:
    """Every adjacent pair of the table."""
    table = yaml.safe_load(TABLE.read_text("utf-8"))
    checks = table["checks"]
    found: list[Release] = []
    for one in table["projects"]:
        registry, modules = one.get("registry", "pypi"), tuple(one.get("modules", "").split())
        asked, told = one.get("asked", []), one.get("told", [])
        for old, new in pairwise(one["versions"].split()):
            check = checks[one.get("check", "pytest")]
            found.append(Release(one["name"], old, new, check, new in asked, new in told, registry, modules))
    return tuple(found)


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
    npm = release.registry == "npm"
    kept = folder / f"{'npm-' if npm else ''}{release.project}-{version}"
    if kept.is_dir():
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        place = Path(scratch)
        archive = _packed(release.project, version, place) if npm else _sdist(release.project, version, place)
        with tarfile.open(archive) as packed:
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


def _packed(project: str, version: str, folder: Path) -> Path:
    words = ["npm", "pack", "--silent", "--ignore-scripts", f"{project}@{version}"]
    said = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return folder / said.stdout.split()[-1]


def _modules(release: Release, folder: Path) -> Path | None:
    """What the tests of an npm package need besides it; installed the first time."""
    if not release.modules:
        return None
    place = folder / f"npm-modules-{'-'.join(release.modules).replace('/', '-').replace('@', '')}"
    if not (place / "node_modules").is_dir():
        place.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *release.modules]
        subprocess.run(words, cwd=place, capture_output=True, check=True)
    return place / "node_modules"


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
    if path.relative_to(root) not in there and "node_modules" not in path.parts:
        path.unlink()
for path in sorted(there):
    if not (root / path).exists() or (root / path).read_bytes() != (new / path).read_bytes():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(new / path, root / path)
"""


async def replay(release: Release, kept: Path, folder: Path) -> Replayed:
    """Plays a release: real checks, real rooms, and a person who is asked and doesn't answer."""
    root, state = folder / "w", folder / "state" / "workspaces" / "w"
    shutil.copytree(unpacked(release, release.old, kept), root, symlinks=True)
    new = unpacked(release, release.new, kept)
    if (modules := _modules(release, kept)) is not None:
        shutil.copytree(modules, root / "node_modules", symlinks=True)
    # The tests of the old release are green: without this nobody would have anything to do.
    where = {"pypi": f"'^Version: {release.new}$' PKG-INFO", "npm": f"'\"version\": \"{release.new}\"' package.json"}
    released = f"grep -q {where[release.registry]}"
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
