"""From a save to the first answer of the tests that it may affect, over LSP, in real projects from PyPI: over running
the same tests alone, by the same command, from a shell."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lsp.rawclient import Process, RawClient

CHECK = "python -m pytest -q tests"


@dataclass(frozen=True)
class Project:
    """A source archive. `source` is broken by replacing `old` with `new`; then a test fails."""

    name: str
    source: str
    old: str
    new: str
    needs: tuple[str, ...] = ()


PROJECTS = (
    Project(
        "more-itertools==10.5.0", "more_itertools/recipes.py", "    return sum(map(operator.mul, vec1, vec2))",
        "    return 0"
    ),
    Project(
        "packaging==24.1", "src/packaging/utils.py", '    value = _canonicalize_regex.sub("-", name).lower()',
        '    value = _canonicalize_regex.sub("-", name)', ("pretend",),
    ),
    Project(
        "jinja2==3.1.6", "src/jinja2/filters.py", "    return soft_str(s).upper()", "    return soft_str(s).lower()",
        ("markupsafe", "trio"),
    ),
)  # fmt: skip


def measure(saves: int = 5) -> dict[str, float]:
    """Per project: the median ratio of save to first answer over the same command run by hand, and both in seconds."""
    figures: dict[str, float] = {}
    for project in PROJECTS:
        with tempfile.TemporaryDirectory() as folder:
            answered, alone = _measured(project, Path(folder), saves)
        name = project.name.partition("=")[0]
        figures[f"{name} ratio"] = round(statistics.median(answered) / statistics.median(alone), 2)
        figures[f"{name} s"] = round(statistics.median(answered), 2)
        figures[f"{name} alone s"] = round(statistics.median(alone), 2)
    return figures


def _measured(project: Project, folder: Path, saves: int) -> tuple[list[float], list[float]]:
    environment = _python_with(folder, ("pytest", *project.needs))
    root = _unpacked(project, folder)
    environment["PYTHONPATH"] = os.pathsep.join([str(root / "src"), str(root)])
    goal = root / "GOAL.md"
    goal.write_text(
        f"---\nworker: human\n---\n# Watched\n\n- [ ] `{CHECK}` passes\n- [ ] `test -e never` passes\n", "utf-8"
    )
    client = RawClient(
        Process([sys.executable, "-m", "donewhen", "serve", "--stdio"], cwd=root, env={**os.environ, **environment})
    )
    client.initialize(
        rootUri=root.as_uri(),
        workspaceFolders=[{"uri": root.as_uri(), "name": "w"}],
        initializationOptions={"trusted": True, "stateDir": str(folder / "state")},
    )
    run = client.execute("donewhen.run.start", {"goalUri": goal.as_uri()}, 60.0)["runId"]
    source = root / project.source
    text = source.read_text("utf-8")
    assert project.old in text
    broken = text.replace(project.old, project.new)
    answered: list[float] = []
    alone: list[float] = []
    _idle(client, run)
    source.write_text(broken, "utf-8")
    _idle(client, run, 2)
    for number in range(saves):
        begun = time.perf_counter()
        source.write_text(f"{broken}# {number}\n", "utf-8")
        evidence = _first_answer(client, run)
        answered.append(time.perf_counter() - begun)
        command = client.execute("donewhen.run.evidence", {"runId": run, "evidenceId": evidence})
        _idle(client, run, number + 3)
        begun = time.perf_counter()
        subprocess.run(
            command["observation"]["result"]["command"],
            shell=True,
            cwd=root,
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        )  # as the check itself is run
        alone.append(time.perf_counter() - begun)
    client.ignored |= {"textDocument/publishDiagnostics", "donewhen/snapshot"}
    client.goodbye()
    return answered, alone


def _python_with(folder: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """The variables of an environment that has these packages."""
    python = folder / "python"
    subprocess.run([sys.executable, "-m", "venv", python], check=True)
    subprocess.run([python / "bin/pip", "install", "-q", *packages], check=True)
    return {"PATH": f"{python / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def _unpacked(project: Project, folder: Path) -> Path:
    archives = folder / "archives"
    words = ["download", "-q", "--no-deps", "--no-binary", ":all:", "-d", archives, project.name]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    with tarfile.open(next(archives.iterdir())) as archive:
        archive.extractall(folder / "sources", filter="data")
    return next((folder / "sources").iterdir())


def _idle(client: RawClient, run: str, iteration: int = 1) -> Mapping[str, Any]:
    """The snapshot once the server waits for a person's save."""
    while True:
        shown = client.execute("donewhen.run.status", {"runId": run})["snapshots"][0]
        if shown["phase"] == "working" and shown["iteration"] >= iteration:
            time.sleep(0.2)  # the tree of the last iteration is kept by then
            client.inbox.clear()
            return shown
        time.sleep(0.05)


def _first_answer(client: RawClient, run: str) -> str:
    """The id of the evidence, once the check's requirement is said to be unmet by affected tests."""

    def there(message: dict[str, Any]) -> bool:
        params = message.get("params") or {}
        if message.get("method") != "textDocument/publishDiagnostics":
            return False
        return any("may affect" in one["message"] for one in params["diagnostics"])

    found = client.wait_for(there, 120.0)
    client.inbox.clear()
    first = next(one for one in found["params"]["diagnostics"] if "may affect" in one["message"])
    return str(first["data"]["evidenceIds"][0])


if __name__ == "__main__":
    print(measure(*(int(word) for word in sys.argv[1:])))
