"""Drafts goals for the newest releases of public projects, runs what was drafted, and the project's own command.

    python -m tests.drafts.try_projects FOLDER [NAME ...]

Each release is fetched from its registry by the ordinary client (pip, npm), gets an environment with what its tests
need under FOLDER, and keeps its result there: a second call goes on where the first ended. Then a table of them is
printed, of which docs/drafts.md has the sum. It takes up to an hour, needs a network, and never fails on a figure.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.drafts.projects import PROJECTS, Project

OBJECTIVE = "Keep everything as it is"
PATIENCE = 900.0
"""Seconds for one command."""
_COUNTS = re.compile(
    r"(?P<pytest>\d+) passed|Ran (?P<unittest>\d+) tests?|^ *(?P<mocha>\d+) passing|^# pass +(?P<tap>\d+)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one project is tried."""

    project: Project
    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "project"

    @property
    def result(self) -> Path:
        return self.folder / "result.json"

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DONEWHEN_", "VIRTUAL_ENV"))}
        path = os.pathsep.join((str(self.folder / "env" / "bin"), kept.get("PATH", os.defpath)))
        return {
            **kept,
            "PATH": path,
            "DONEWHEN_STATE_DIR": str(self.folder / "state"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, command: list[str] | str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                command, shell=isinstance(command, str), cwd=cwd or self.root, env=self.environment(),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                timeout=PATIENCE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(command, 124, str(late.stdout or ""))


def prepare(place: Place) -> str | None:
    """Fetches and installs; what went wrong, None where nothing did."""
    if (place.folder / "ready").exists():
        return None
    shutil.rmtree(place.folder, ignore_errors=True)
    place.folder.mkdir(parents=True)
    fetched = place.folder / "fetched"
    fetched.mkdir()
    name = place.project.name
    if place.project.registry == "npm":
        done = place.run(["npm", "pack", name], cwd=fetched)
    else:
        # Only the project itself: building its tools from source too would take hours.
        download = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", name, name]
        done = place.run(download, cwd=fetched)
    archives = [*fetched.glob("*.t*gz")]
    if done.returncode or not archives:
        return f"not fetched: {done.stdout[-300:]}"
    with tarfile.open(archives[0]) as archive:
        archive.extractall(fetched, filter="data")
    next(path for path in fetched.iterdir() if path.is_dir()).rename(place.root)
    if place.project.registry == "npm":
        done = place.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"])
    else:
        place.run([sys.executable, "-m", "venv", str(place.folder / "env")], cwd=place.folder)
        place.run("python -m pip install --quiet --upgrade pip")
        done = place.run(f"python -m pip install --quiet {place.project.install}")
    if done.returncode:
        return f"not installed: {done.stdout[-300:]}"
    (place.folder / "ready").touch()
    return None


def measure(place: Place) -> dict[str, Any]:
    """What was drafted, how its checks ended in an audit, and how the project's own command did."""
    donewhen = [sys.executable, "-m", "donewhen", "--workspace", str(place.root), "--json"]
    (place.root / "GOAL.md").unlink(missing_ok=True)
    drafted = _json(place.run([*donewhen, "init", OBJECTIVE]).stdout).get("checks", [])
    checks = [one for one in drafted if one["drafted"]]
    if any(one["standing"] in (None, "slow") for one in checks):
        # What was cut short when it was tried is run to its end.
        audited = _json(place.run([*donewhen, "check"]).stdout)
        ended = {requirement["text"]: requirement for requirement in audited.get("requirements", ())}
        for one in checks:
            found = ended.get(f"`{one['command']}` passes", {})
            one["audited"] = found.get("status")
            one["reason"] = found.get("reason", one["reason"])
    own = place.run(place.project.own)
    return {
        "release": next((place.folder / "fetched").glob("*.t*gz")).name,
        "drafted": drafted,
        "own": {"exit": own.returncode, "tests": _count(own.stdout), "end": own.stdout[-400:]},
    }


def _json(text: str) -> dict[str, Any]:
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {}


def _count(output: str) -> int:
    return sum(int(number) for match in _COUNTS.finditer(output) for number in match.groups() if number)


def row(project: Project, result: dict[str, Any]) -> str:
    """A line of the table: what was drafted, how it ended, how the project's own command did."""
    drafted = [one for one in result["drafted"] if one["drafted"]]
    cells = "<br>".join(f"`{one['command']}`: {_ended(one)}" for one in drafted) or "none"
    own = result["own"]
    ended = "passes" if own["exit"] == 0 else f"exit {own['exit']}"
    told = f"{project.documented}: {ended}, {own['tests']} passed"
    release = re.sub(r"\.(?:tar\.gz|tgz)$", "", result["release"])
    return f"| {release} | {project.kind} | {cells} | {told} | {'yes' if agrees(result) else '**no**'} |"


def agrees(result: dict[str, Any]) -> bool:
    """Whether a test command was drafted that ends as the project's own does."""
    tests = [one for one in result["drafted"] if one["drafted"] and one["purpose"] == "test"]
    return any(_passes(one) is (result["own"]["exit"] == 0) for one in tests)


def _passes(check: dict[str, Any]) -> bool:
    return check["standing"] == "green" or check.get("audited") == "met"


def _ended(check: dict[str, Any]) -> str:
    slow = "slow, then " if check["standing"] == "slow" else ""
    word = "passes" if _passes(check) else "red"
    reason = check["reason"].removeprefix(f"`{check['command']}`: ")
    return f"{slow}{word}, {reason.split(':')[0]}"


def main(folder: Path, wanted: list[str]) -> None:
    for project in PROJECTS:
        place = Place(project, folder / project.name)
        if place.result.exists() or (wanted and project.name not in wanted):
            continue
        problem = prepare(place)
        if problem is None:
            place.result.write_text(json.dumps(measure(place), indent=1), encoding="utf-8")
        print(f"{project.name}: {problem or 'measured'}", file=sys.stderr, flush=True)
    print("| release | what it is | drafted | the project's own | alike |")
    print("|---|---|---|---|---|")
    for project in PROJECTS:
        result = folder / project.name / "result.json"
        if result.exists():
            print(row(project, json.loads(result.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
