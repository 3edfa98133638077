"""`check --explain`: what the proof of a goal rests on."""

from __future__ import annotations

import json
from pathlib import Path

from donewhen.core.proof_files import ProofFiles, proof_basis
from tests.cli.fakes import desk
from tests.core.builders import requirement

FILES = [f"tests/test_{n}.py" for n in range(10)] + [
    "GOAL.md", "pyproject.toml", "src/lib.rs", "src/main.rs", "src/a.py", "verify.sh"
]  # fmt: skip
KNOWN = ProofFiles(may_change=("tests/test_3.py",), named=frozenset({"verify.sh"}), goal_path="GOAL.md")
BASIS = proof_basis(KNOWN, FILES, {"src/lib.rs"})


def test_files_are_grouped_by_the_reason_for_which_they_are_proof() -> None:
    assert [(group.role, len(group.files), group.partly) for group in BASIS.groups] == [
        ("goal", 1, False),
        ("named", 1, False),
        ("test", 10, False),
        ("inline", 1, True),
        ("shared", 1, True),
    ]
    assert (BASIS.may_change, BASIS.product) == (("tests/test_3.py",), 2)


def test_a_person_is_told_what_the_proof_rests_on_and_nothing_runs(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text("# G\n\n- [ ] `pytest` passes\n")
    call = desk(tmp_path)
    call.runs.basis = BASIS
    assert call("check", "--explain") == 0
    assert call.runs.calls == [("rests_on", "GOAL.md")]
    for line in (
        "1 file: a check runs it",
        "10 files: tests, with their helpers, data and snapshots",
        "tests/test_0.py  (**/test_*.py)",
        "and 2 more: --json lists all",
        "a part of 1 file: it may contain tests",
        "The goal wants these changed (may_change): tests/test_3.py",
        "Everything else is product: 2 files.",
    ):
        assert line in call.out


def test_a_program_gets_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text("# G\n\n- [ ] `pytest` passes\n")
    call = desk(tmp_path)
    call.runs.basis = BASIS
    assert call("check", "--explain", "--json") == 0
    told = json.loads(call.out)
    assert [group["role"] for group in told["proof"]] == ["goal", "named", "test", "inline", "shared"]
    assert len(told["proof"][2]["files"]) == 10
    assert told["product"] == 2


BY_REQUIREMENT = proof_basis(
    KNOWN,
    FILES,
    {"src/lib.rs"},
    (requirement(1, "a", "pytest tests/test_1.py"), requirement(2, "b", "sh verify.sh"), requirement(3, "c")),
)


def test_a_person_is_told_of_each_requirement_what_its_own_checks_rest_on(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text("# G\n\n- [ ] `pytest` passes\n")
    call = desk(tmp_path)
    call.runs.basis = BY_REQUIREMENT
    assert call("check", "--explain") == 0
    said = call.out.partition("By what each requirement's own checks run")[2]
    first, _, second = said.partition("  R2 (`sh verify.sh`):")
    assert "  R1 (`pytest tests/test_1.py`):\n    tests/test_1.py\n    part of pyproject.toml\n" in first
    assert "    verify.sh\n    of the whole goal: all of the above" in second
    assert "R3" not in said


def test_a_program_gets_what_each_requirement_rests_on(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text("# G\n\n- [ ] `pytest` passes\n")
    call = desk(tmp_path)
    call.runs.basis = BY_REQUIREMENT
    assert call("check", "--explain", "--json") == 0
    first, second = json.loads(call.out)["requirements"]
    assert (first["label"], first["checks"], first["narrowed"]) == ("R1", ["pytest tests/test_1.py"], True)
    assert [group["role"] for group in first["proof"]] == ["test", "shared"]
    assert (second["label"], second["narrowed"]) == ("R2", False)
    assert [one["path"] for one in second["proof"][0]["files"]] == ["verify.sh"]
