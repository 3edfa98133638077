"""What the probes do besides telling facts: they read little, keep the loop free, and stand any file."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.core.events import BaselineTaken
from donewhen.core.evidence import CheckResult, Outcome, TestCase, TestTotals
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import IntegrityFacts, compare
from donewhen.evidence.probes import WorkspaceProbes
from donewhen.evidence.probes_configs import configs_in
from donewhen.evidence.probes_makefile import makefile_definition
from donewhen.evidence.probes_python import PythonNames, python_tests
from donewhen.evidence.probes_scripts import script_tests
from donewhen.store.codec import decode, encode
from donewhen.workspace.folder import FolderWorkspace

from .conftest import RunCheck
from .integrity_case import ADD, T
from .integrity_cases import CASES
from .test_probes_integrity import FolderOfFiles

Write = Callable[[str, str], Path]
CHECK = Check.of("python -m pytest -q")
GOAL = Goal("goal", "goal", (Requirement("r-1", 1, "works", (CHECK,)),), path="GOAL.md")


@pytest.fixture
def probes(variables: dict[str, str]) -> WorkspaceProbes:
    return WorkspaceProbes(lambda: variables)


async def facts(probes: WorkspaceProbes, root: Path, *results: CheckResult, goal: Goal = GOAL) -> IntegrityFacts:
    return await probes.facts(goal, FolderOfFiles(root), results)  # pyright: ignore[reportArgumentType]


async def test_an_unchanged_file_is_read_once(probes: WorkspaceProbes, root: Path, write: Write) -> None:
    write(T, ADD)
    write("tests/test_other.py", ADD)
    first = await facts(probes, root)
    write("tests/test_other.py", ADD + "\n# more\n")
    second = await facts(probes, root)

    assert second.tests[0] is first.tests[0]
    assert second.tests[1].digest != first.tests[1].digest


async def test_a_file_that_changes_while_it_is_looked_at_is_looked_at_again(root: Path, write: Write) -> None:
    path = write(T, ADD)

    class Late(FolderOfFiles):
        """Its digests are those of a moment ago."""

        def digest(self, path: str) -> str | None:
            return "0" * 64

    probes = WorkspaceProbes(dict)
    early = await probes.facts(GOAL, Late(root), ())  # pyright: ignore[reportArgumentType]
    path.write_text(ADD.replace("def test_zero", "@pytest.mark.skip\ndef test_zero"))
    late = await probes.facts(GOAL, Late(root), ())  # pyright: ignore[reportArgumentType]

    assert [f.kind for f in compare(early, late)] == ["test_skipped"]


async def test_a_baseline_from_the_ledger_is_the_same(probes: WorkspaceProbes, root: Path, write: Write) -> None:
    for case in CASES[:40]:
        for name, text in case.before.items():
            write(name, text)
    now = await facts(probes, root)
    kept = decode(encode(BaselineTaken(now)))

    assert isinstance(kept, BaselineTaken)
    assert kept.facts == now
    assert compare(kept.facts, now) == ()


async def test_the_loop_goes_on_while_a_large_workspace_is_read(
    root: Path, variables: dict[str, str], write: Write
) -> None:
    body = "".join(f"def test_{n}():\n    assert add({n}, 1) == {n + 1}\n\n\n" for n in range(40))
    for number in range(40):
        write(f"tests/test_{number}.py", body)
    longest, running = 0.0, True

    async def beat() -> None:
        nonlocal longest
        while running:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - before)

    beating = asyncio.create_task(beat())
    read = await facts(WorkspaceProbes(lambda: variables), root)
    running = False
    await beating

    assert sum(len(f.tests) for f in read.tests) == 1600
    assert longest < 0.5  # a machine under load; reading all of it takes several times as long


async def test_an_environment_that_is_ignored_is_looked_at(root: Path, tmp_path: Path, write: Write) -> None:
    write(".gitignore", ".venv/\n")
    write(T, ADD)
    packages = ".venv/lib/python3.12/site-packages"
    write(f"{packages}/_pytest/main.py", "a = 1\n")
    workspace = FolderWorkspace(root, tmp_path / "state", watch=False)
    await workspace.open([])
    probes = WorkspaceProbes(lambda: {"PATH": os.defpath})
    baseline = await probes.facts(GOAL, workspace, ())
    write(f"{packages}/_pytest/main.py", "a = 2\n")
    write(f"{packages}/sitecustomize.py", "import os\n")
    write(T, ADD.replace("== 0", "== 1"))
    await workspace.confirm()
    found = compare(baseline, await probes.facts(GOAL, workspace, ()))
    await workspace.close()

    assert [(f.kind, f.path) for f in found] == [
        ("environment", f"{packages}/_pytest"),
        ("environment", f"{packages}/sitecustomize.py"),
        ("test_modified", T),
    ]


@pytest.mark.conformance("A8")
async def test_a_program_that_is_replaced_outside_of_the_workspace_is_found(root: Path, tmp_path: Path) -> None:
    real, fake = tmp_path / "real", tmp_path / "fake"
    for folder in (real, fake):
        folder.mkdir()
        (folder / "pytest").write_text(f"#!/bin/sh\necho {folder.name}\n")
        (folder / "pytest").chmod(0o755)
    path = {"PATH": str(real)}
    probes = WorkspaceProbes(lambda: path)
    goal = replace(GOAL, requirements=(Requirement("r-1", 1, "works", (Check.of("pytest -q"),)),))
    baseline = await facts(probes, root, goal=goal)

    path["PATH"] = f"{fake}{os.pathsep}{real}"
    (found,) = compare(baseline, await facts(probes, root, goal=goal))
    assert (found.kind, found.path) == ("check_program", "GOAL.md")
    assert "fake/pytest" in found.message

    path["PATH"] = str(real)
    assert compare(baseline, await facts(probes, root, goal=goal)) == ()
    shutil.copy(fake / "pytest", real / "pytest")
    (found,) = compare(baseline, await facts(probes, root, goal=goal))
    assert "another content" in found.message


@pytest.mark.conformance("A10")
async def test_tests_that_pytest_no_longer_runs_are_found(
    probes: WorkspaceProbes, root: Path, run: RunCheck, write: Write
) -> None:
    write("test_a.py", "import mode\n\n\ndef test_a():\n    pass\n\n\nif mode.ON:\n\n    def test_b():\n        pass\n")
    write("mode.py", "ON = True\n")
    before = await facts(probes, root, await run(f"{sys.executable} -m pytest -q"))
    # Nothing in the tests themselves says so.
    write("mode.py", "ON = not True\n")
    after = await facts(probes, root, await run(f"{sys.executable} -m pytest -q"))

    assert {name for _, name, _ in before.executed} == {"test_a.py::test_a", "test_a.py::test_b"}
    assert [(f.kind, f.path, f.line) for f in compare(before, after)] == [("fewer_tests", "test_a.py", 9)]


async def test_a_module_that_could_not_be_imported_is_no_test_that_is_missed_later(
    probes: WorkspaceProbes, root: Path, run: RunCheck, write: Write
) -> None:
    """Tests come first, the module that they import later: as honest as can be."""
    write("test_price.py", "from price import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n")
    before = await facts(probes, root, await run(f"{sys.executable} -m pytest -q"))
    write("price.py", "def total(prices):\n    return sum(prices)\n")
    after = await facts(probes, root, await run(f"{sys.executable} -m pytest -q"))
    assert (before.executed, [run.executed for run in before.runs]) == ((), [0])
    assert {name for _, name, _ in after.executed} == {"test_price.py::test_total"}
    assert compare(before, after) == ()


async def test_results_become_runs_with_their_tests(probes: WorkspaceProbes, root: Path) -> None:
    ran = CheckResult(
        CHECK.id,
        CHECK.command,
        Outcome.FAILED,
        "1 of 2 tests failed",
        is_test_run=True,
        totals=TestTotals(1, 1),
        tests=(TestCase("test_a.py::test_a", "passed"), TestCase("test_a.py::test_b", "failed")),
    )
    broken = replace(ran, outcome=Outcome.NOT_INSTALLED, totals=None, tests=())

    read = await facts(probes, root, ran)
    assert [(r.passed, r.executed, r.command) for r in read.runs] == [(False, 2, CHECK.command)]
    assert (await facts(probes, root, broken)).runs == ()


async def test_a_goal_without_a_file_and_an_empty_workspace(root: Path) -> None:
    read = await facts(WorkspaceProbes(dict), root, goal=replace(GOAL, path=None))

    assert read.goal_file is None
    assert read.tests == ()
    assert compare(read, read) == ()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        b"\xff\xfe\xfa",
        "def test_\U0001f600(: pass".encode(),
        b"def test_a():\n" + b" " * 300 + b"pass",
        b"(" * 5000,
    ],
    ids=["empty", "zeros", "no text", "no Python", "deep", "brackets"],
)
async def test_any_file_may_stand_where_tests_and_configurations_do(
    probes: WorkspaceProbes, root: Path, data: bytes
) -> None:
    names = (
        "test_a.py",
        "a_test.go",
        "a.test.ts",
        "lib.rs",
        "pyproject.toml",
        "pytest.ini",
        "package.json",
        "Makefile",
        "tox.ini",
    )
    for name in (*names, "conftest.py", "GOAL.md", "check.sh"):
        (root / name).write_bytes(data)
    checks = tuple(
        Check.of(c) for c in ("make test", "npm test", "tox", "bash check.sh", "pytest 'unclosed", "", "&& ||")
    )
    goal = replace(GOAL, requirements=(Requirement("r-1", 1, "works", checks),), protect=("**",))
    baseline = await facts(probes, root, goal=goal)

    assert compare(baseline, await facts(probes, root, goal=goal)) == ()


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="dtesf_() :\n\t'\"`{}[];#/*\\=$|&@.,1x", max_size=200))
def test_no_text_is_too_strange(text: str) -> None:
    for path in ("test_a.py", "a.test.ts", "a_test.go", "lib.rs"):
        python_tests(path, "", text, PythonNames()) if path.endswith(".py") else script_tests(path, "", text)
    for path in ("conftest.py", "pyproject.toml", "setup.cfg", "package.json", "jest.config.js"):
        configs_in(path, text)
    makefile_definition(text, "test")
