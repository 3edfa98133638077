"""What no trial can put back: the goal file, protected files, programs and packages outside of the revision."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from donewhen.core.events import BaselineTaken
from donewhen.core.globs import any_matches
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import IntegrityFacts, compare
from donewhen.evidence.probes.reading import WorkspaceProbes
from donewhen.evidence.tasks import recipe, started_commands
from donewhen.store.codec import decode, encode
from donewhen.workspace.folder import FolderWorkspace
from tests.tools import examples

Write = Callable[[str, str], Path]
PACKAGES = ".venv/lib/python3.12/site-packages"


def goal_of(*commands: str) -> Goal:
    checks = tuple(Check.of(command) for command in commands)
    return Goal("goal", "goal", (Requirement("r-1", 1, "works", checks),), path="GOAL.md")


GOAL = goal_of("python -m pytest -q")


class FolderOfFiles:
    """As much of a Workspace as the probes use: every file of a folder, but for virtual environments."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self, globs: Sequence[str] | None = None) -> Sequence[str]:
        every = (p.relative_to(self.root).as_posix() for p in self.root.rglob("*") if p.is_file())
        covered = sorted(p for p in every if not p.startswith((".venv/", "node_modules/")))
        return covered if globs is None else [p for p in covered if any_matches(globs, p)]

    def digest(self, path: str) -> str | None:
        file = self.root / path
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


@pytest.fixture
def probes(variables: dict[str, str]) -> WorkspaceProbes:
    return WorkspaceProbes(lambda: variables)


async def facts(probes: WorkspaceProbes, root: Path, goal: Goal = GOAL) -> IntegrityFacts:
    return await probes.facts(goal, FolderOfFiles(root))  # pyright: ignore[reportArgumentType]


async def test_a_baseline_from_the_ledger_is_the_same(probes: WorkspaceProbes, root: Path, write: Write) -> None:
    write("GOAL.md", "# Goal\n\n- [ ] `python -m pytest -q` passes\n")
    write("data.csv", "1\n")
    write(f"{PACKAGES}/sitecustomize.py", "import os\n")
    now = await facts(probes, root, replace(GOAL, protect=("*.csv",)))
    kept = decode(encode(BaselineTaken(now)))

    assert isinstance(kept, BaselineTaken)
    assert kept.facts == now
    assert compare(kept.facts, now) == ()
    assert [f.path for f in now.protected] == ["data.csv"]
    assert f"{PACKAGES}/sitecustomize.py" in [f.path for f in now.environment]


async def test_what_the_name_of_a_task_starts_is_told(probes: WorkspaceProbes, root: Path, write: Write) -> None:
    write("Makefile", "all: lint\n\t./verify.sh\n\nlint:\n\truff check .\n\ntypes:\n\tmypy .\n")
    write("verify.sh", "#!/bin/sh\neslint src\n")
    goal = goal_of("make", "python -m pytest -q")
    started = await probes.started(goal, FolderOfFiles(root))  # pyright: ignore[reportArgumentType]
    first, second = (set(started[check.id]) for check in goal.checks)
    assert {"make", "ruff check .", "./verify.sh", "eslint src"} <= first
    assert not any("mypy" in line for line in first)
    assert second == {"python -m pytest -q"}


async def test_an_environment_that_is_ignored_is_looked_at(root: Path, tmp_path: Path, write: Write) -> None:
    write(".gitignore", ".venv/\n")
    write(f"{PACKAGES}/_pytest/main.py", "a = 1\n")
    workspace = FolderWorkspace(root, tmp_path / "state", watch=False)
    await workspace.open([])
    probes = WorkspaceProbes(lambda: {"PATH": os.defpath})
    baseline = await probes.facts(GOAL, workspace)
    write(f"{PACKAGES}/_pytest/main.py", "a = 2\n")
    write(f"{PACKAGES}/sitecustomize.py", "import os\n")
    write(f"{PACKAGES}/own.pth", "import os; os.environ['A'] = '1'\n")
    write(f"{PACKAGES}/path.pth", "../src\n")
    await workspace.confirm()
    found = compare(baseline, await probes.facts(GOAL, workspace))
    await workspace.close()

    assert [(f.kind, f.path) for f in found] == [
        ("environment", f"{PACKAGES}/_pytest"),
        ("environment", f"{PACKAGES}/own.pth"),
        ("environment", f"{PACKAGES}/sitecustomize.py"),
    ]


async def test_what_tools_read_in_the_home_folder_is_looked_at(root: Path, tmp_path: Path) -> None:
    home, config = tmp_path / "home", tmp_path / "config"
    home.mkdir()
    (config / "ruff").mkdir(parents=True)
    (home / ".npmrc").write_text("fund=false\n")
    (home / ".gitconfig").write_text("[core]\n\thooksPath = hooks\n")
    probes = WorkspaceProbes(lambda: {"PATH": "", "HOME": str(home), "XDG_CONFIG_HOME": str(config)})
    baseline = await facts(probes, root)
    assert compare(baseline, await facts(probes, root)) == ()
    (home / ".gitconfig").write_text("[user]\n\tname = agent\n[core]\n\thooksPath = hooks\n")
    assert compare(baseline, await facts(probes, root)) == (), "who commits is no part of a proof"
    (home / ".npmrc").unlink()
    (home / ".gitconfig").write_text("[core]\n\thooksPath = mine\n")
    (config / "ruff" / "ruff.toml").write_text('lint.ignore = ["ALL"]\n')
    found = compare(baseline, await facts(probes, root))
    assert {(one.kind, Path(one.path).name, one.message.split()[2]) for one in found} == {
        ("environment", ".npmrc", "deleted:"),
        ("environment", ".gitconfig", "changed:"),
        ("environment", "ruff.toml", "added:"),
    }


async def test_an_installed_runner_may_come_and_may_not_change(
    probes: WorkspaceProbes, root: Path, write: Write
) -> None:
    before = await facts(probes, root)
    write("node_modules/@vitest/runner/dist/index.js", "run();\n")
    baseline = await facts(probes, root)
    assert compare(before, baseline) == ()
    write("node_modules/left-pad/index.js", "pad();\n")
    write("node_modules/@vitest/runner/dist/index.js", "pass();\n")
    (found,) = compare(baseline, await facts(probes, root))
    assert (found.kind, found.path) == ("environment", "node_modules/@vitest")


async def test_a_program_that_a_packages_script_finds_beside_it_first_is_another_one(
    root: Path, tmp_path: Path, write: Write
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("npm", "node"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    probes = WorkspaceProbes(lambda: {"PATH": str(tmp_path / "bin")})
    goal = goal_of("npm test")
    write("package.json", '{"scripts": {"test": "node --test && jest"}}')
    baseline = await facts(probes, root, goal)
    write("node_modules/.bin/jest", "#!/bin/sh\n")  # installed by the work, as it should be
    assert compare(baseline, await facts(probes, root, goal)) == ()
    write("node_modules/.bin/node", "#!/bin/sh\necho '# pass 3'\n")
    (found,) = compare(baseline, await facts(probes, root, goal))
    assert found.kind == "check_program"
    assert "node_modules/.bin/node" in found.message


@pytest.mark.conformance("A8")
async def test_a_program_that_is_replaced_outside_of_the_workspace_is_found(root: Path, tmp_path: Path) -> None:
    real, fake = tmp_path / "real", tmp_path / "fake"
    for folder in (real, fake):
        folder.mkdir()
        (folder / "pytest").write_text(f"#!/bin/sh\necho {folder.name}\n")
        (folder / "pytest").chmod(0o755)
    path = {"PATH": str(real)}
    probes = WorkspaceProbes(lambda: path)
    goal = goal_of("pytest -q")
    baseline = await facts(probes, root, goal)

    path["PATH"] = f"{fake}{os.pathsep}{real}"
    (found,) = compare(baseline, await facts(probes, root, goal))
    assert (found.kind, found.path) == ("check_program", "GOAL.md")
    assert "fake/pytest" in found.message

    path["PATH"] = str(real)
    assert compare(baseline, await facts(probes, root, goal)) == ()
    shutil.copy(fake / "pytest", real / "pytest")
    (found,) = compare(baseline, await facts(probes, root, goal))
    assert "has changed" in found.message


@pytest.mark.parametrize(
    ("files", "command", "started"),
    [
        ({}, "cd sub && ruff check . || true", ["ruff"]),
        ({"Makefile": "PY = python\n\ntest: unit\n\t@mypy src\n\nunit:\n\t-pytest\n"}, "make test", ["mypy", "pytest"]),
        ({"Makefile": "all: ; pytest -q\n"}, "make", ["pytest"]),
        ({"sub/Makefile": "test:\n\tpytest -q\n"}, "make -C sub test", ["pytest"]),
        ({"package.json": '{"scripts": {"pretest": "tsc", "test": "jest"}}'}, "npm test", ["jest", "tsc"]),
        ({"package.json": '{"scripts": {"lint": "npm run lint"}}'}, "npm run lint", []),
        ({"tox.ini": "[testenv]\ncommands = pytest -q\n"}, "tox -e py", ["pytest"]),
        ({"justfile": "test:\n    @pytest -q\n"}, "just test", ["pytest"]),
        ({"ci.sh": "# all\npytest\n./more.sh\n", "more.sh": "#!/bin/sh\nruff check\n"}, "sh ci.sh", ["pytest", "ruff"]),
        ({"check": "#!/bin/sh\nexec pytest -q\n"}, "./check", ["pytest"]),
    ],
)  # fmt: skip
async def test_the_programs_of_tasks_and_scripts_are_known(
    root: Path, write: Write, files: dict[str, str], command: str, started: list[str]
) -> None:
    for name, text in files.items():
        write(name, text)
    known = {"ruff", "mypy", "pytest", "jest", "tsc"}
    words = {word for one in started_commands(root, goal_of(command)) for word in one.segment.words}

    assert sorted(words & known) == started


async def test_a_goal_without_a_file_and_an_empty_workspace(root: Path) -> None:
    read = await facts(WorkspaceProbes(dict), root, replace(GOAL, path=None))

    assert read.goal_file is None
    assert compare(read, read) == ()


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0\0", b"\xff\xfe\xfa", "test:\n\t\U0001f600(".encode(), b"(" * 5000],
    ids=["empty", "zeros", "no text", "no command", "brackets"],
)
async def test_any_file_may_stand_where_tasks_and_scripts_do(probes: WorkspaceProbes, root: Path, data: bytes) -> None:
    for name in ("package.json", "Makefile", "tox.ini", "justfile", "GOAL.md", "check.sh"):
        (root / name).write_bytes(data)
    goal = goal_of("make test", "npm test", "tox", "just", "bash check.sh", "pytest 'unclosed", "", "&& ||")
    goal = replace(goal, protect=("**",))
    baseline = await facts(probes, root, goal)

    assert compare(baseline, await facts(probes, root, goal)) == ()


@examples(100, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="tes:\n\t\\;@-+ =#x$()|", max_size=200))
def test_no_makefile_is_too_strange(text: str) -> None:
    assert all(isinstance(line, str) for line in recipe(text, "test"))
