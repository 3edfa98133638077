"""docs/library.md: every example runs as it is printed, and prints what stands below it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests import forked

DOCUMENT = Path(__file__).parents[2] / "docs" / "library.md"
_EXAMPLE = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = _EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8"))


def test_every_block_of_code_is_an_example_that_runs() -> None:
    assert len(EXAMPLES) == DOCUMENT.read_text(encoding="utf-8").count("```python")


@pytest.mark.parametrize(("code", "printed"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_stands_below_it(code: str, printed: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path / "home")}
    done = forked.run([sys.executable, "example.py"], cwd=tmp_path, env={**os.environ, **state}, timeout=60)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
