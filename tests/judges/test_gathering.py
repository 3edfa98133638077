"""Which files a judge is shown."""

from __future__ import annotations

from donewhen.core.goal import Requirement
from donewhen.judges.blocks import diff_lines
from donewhen.judges.llm import MAX_FILES, chosen_files
from tests.judges.models import requirement


def test_files_that_are_named_or_changed_are_chosen() -> None:
    files = ["README.md", "docs/a.md", "src/export.py", "src/other.py", "tests/test_x.py"]
    named = requirement(1, "It is documented in `README.md`, see docs/a.md.", files=("src/o*.py",))
    assert set(chosen_files([named], files, ["tests/test_x.py", "gone.py"])) == set(files) - {"src/export.py"}


def test_each_requirement_gets_its_first_file_before_any_gets_a_second() -> None:
    files = [f"area_{n}/part_{m}.py" for n in range(40) for m in range(20)]
    wanted = [Requirement(f"r-{n}", n, "x", files=(f"area_{n}/**",)) for n in range(40)]
    chosen = chosen_files(wanted, files, [])
    assert len(chosen) == MAX_FILES
    assert {path.partition("/")[0] for path in chosen} == {f"area_{n}" for n in range(40)}


def test_lines_that_a_diff_adds_are_found_by_file() -> None:
    diff = (
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@\n a\n+b\n c\n--- d\n+e\n"
        "--- a/y.py\n+++ b/y.py\n@@ -10 +20 @@\n-z\n"
    )
    assert diff_lines(diff) == {"x.py": {1, 3}, "y.py": {19}}
