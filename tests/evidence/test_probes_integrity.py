"""Files before, files after, and the findings that their difference is: through the probes and the comparison."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from donewhen.core.evidence import CheckResult
from donewhen.core.globs import any_matches
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import IntegrityFacts, IntegrityFinding, compare, moved
from donewhen.evidence.probes import WorkspaceProbes

from .integrity_case import Case
from .integrity_cases import CASES

Files = Mapping[str, str | None]


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


@dataclass
class Bench:
    """A workspace on disk, a PATH with two programs outside of it, and probes that look at them."""

    root: Path
    programs: Path

    def __post_init__(self) -> None:
        self.root.mkdir()
        self.programs.mkdir()
        for name in ("pytest", "python", "make", "npm", "ruff"):
            self.program(name, "#!/bin/sh\n# the real one\n")
        self.probes = WorkspaceProbes(lambda: {"PATH": f".venv/bin:{self.programs}"})

    def program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def write(self, files: Files) -> None:
        for name, text in files.items():
            path = self.root / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if "/bin/" in f"/{name}" else 0o644)

    def facts(self, goal: Goal, results: Sequence[CheckResult] = ()) -> IntegrityFacts:
        return asyncio.run(self.probes.facts(goal, FolderOfFiles(self.root), results))  # pyright: ignore[reportArgumentType]

    def findings(self, case: Case) -> tuple[IntegrityFinding, ...]:
        goal = goal_of(case)
        self.write(case.before)
        baseline = self.facts(goal)
        self.write(case.after)
        return compare(baseline, self.facts(goal))


def goal_of(case: Case) -> Goal:
    requirement = Requirement("r-1", 1, "works", tuple(Check.of(c) for c in case.checks), files=case.about)
    return Goal("goal", "goal", (requirement,), path="GOAL.md", protect=case.protect)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "workspace", tmp_path / "programs")


def described(findings: Sequence[IntegrityFinding]) -> list[str]:
    return sorted({f"{f.kind} {f.path}:{f.line}" for f in findings})


@pytest.mark.conformance("A10", "A8")
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_changes_of_the_proof_are_found_and_honest_work_is_not(bench: Bench, case: Case) -> None:
    findings = bench.findings(case)

    assert described(findings) == sorted(case.found), "\n".join(f.message for f in findings)
    assert len({f.key for f in findings}) == len(findings)
    assert all(f.fact and f.key.startswith(f"{f.kind}:") for f in findings)
    assert all("accept it" in f.message and "ndo the change" in f.message for f in findings)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.found and not any(".venv" in f for f in c.found)], ids=lambda c: c.name
)
def test_the_same_change_by_a_person_moves_the_baseline(bench: Bench, case: Case) -> None:
    goal = goal_of(case)
    bench.write(case.before)
    baseline = bench.facts(goal)
    bench.write(case.after)
    now = bench.facts(goal)

    assert compare(moved(baseline, now, set(case.after)), now) == ()


def test_the_table_is_half_honest_work() -> None:
    honest = sum(not case.found for case in CASES)

    assert len(CASES) >= 60
    assert honest * 2 >= len(CASES)
    assert len({case.name for case in CASES}) == len(CASES)


def test_what_is_found_twice_is_told_once(bench: Bench) -> None:
    test = "class ATest(TestCase):\n    def test_a(self):\n        self.assertTrue(f())\n"
    twice = test.replace("    def", "    @unittest.expectedFailure\n    @unittest.expectedFailure\n    def")
    found = bench.findings(
        Case(
            "twice",
            {"test_a.py": test, "Makefile": "test:\n\tpytest\n"},
            {"test_a.py": twice, "Makefile": "test:\n\tpytest\n\n.IGNORE:\n.IGNORE:\n"},
            checks=("make test",),
        )
    )

    assert sorted(f.kind for f in found) == ["exit_masked", "test_skipped"]
    assert all(f.message.count(".IGNORE") + f.message.count("expectedFailure") == 1 for f in found)
