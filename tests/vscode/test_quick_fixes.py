"""Quick fixes: what a person decides about findings, on the very line, while the run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.agent.site import judge_says
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.models import Models
from tests.vscode.site import BAR, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
---
max_iterations: 5
protect: [test_*.py]
---
# Make add right

- [ ] `python -m pytest -q` passes
- [ ] `cat said.txt && false` passes
- [ ] The code is a pleasure to read
"""
PASSING = "def test_{0}():\n    assert {0!r}.isalpha()\n"
SKIPPED = "import pytest\n\n\n@pytest.mark.skip\n" + PASSING
MARK = "import pytest"
WORK = """\
if [ -f began ]; then
  while [ ! -f go_on ]; do sleep 0.1; done
  exit 0
fi
touch began
cp skipped_one.txt test_one.py
cp skipped_two.txt test_two.py
"""


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[CodeServer]:
    own = {"donewhen.worker": "command", "donewhen.workerCommand": "sh work.sh"}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), models.settings() | own) as server:
        yield server


def begun(window: Workbench) -> None:
    """A run whose worker has done something, and is at its second turn until there is a file `go_on`."""
    window.notices.wait_bar(BAR, "Goal")
    window.palette.run("Done When: Start")
    window.notices.wait_bar(BAR, "2/5")


def adder(folder: Path) -> Path:
    """Two tests that pass; the worker puts them in another form."""
    project(folder, GOAL)
    (folder / "test_calc.py").unlink()
    (folder / "said.txt").write_text("so far\n", encoding="utf-8")
    for name in ("one", "two"):
        (folder / f"test_{name}.py").write_text(PASSING.format(name), encoding="utf-8")
        (folder / f"skipped_{name}.txt").write_text(SKIPPED.format(name), encoding="utf-8")
    (folder / "work.sh").write_text(WORK, encoding="utf-8")
    return folder


def test_findings_are_accepted_and_reverted_where_they_stand(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    models.play(judge=judge_says("unmet"))
    folder = adder(tmp_path / "adder")
    window = open_window(server, folder)
    begun(window)

    window.editor.open("test_one.py")
    window.editor.wait_marked(MARK)
    window.palette.go_to(1)
    (accept,) = [one for one in window.hovers.fixes() if one.startswith("Accept F")]
    window.hovers.fix(accept)
    window.until(lambda: "why is it right?" in window.palette.title(), "the question for the reason")
    window.palette.answer("It never worked")
    window.editor.wait_marked()
    assert (folder / "test_one.py").read_text() == SKIPPED.format("one")
    window.palette.run("View: Show Done When")
    window.views.wait_tree("Goals", "protected file, accepted: It never worked")

    # Files are put back only while nobody works on them.
    window.palette.run("Done When: Pause")
    window.until(lambda: "paused" in window.notices.bar_label(BAR), "paused")
    window.editor.open("test_two.py")
    window.editor.wait_marked(MARK)
    window.palette.go_to(1)
    (revert,) = [one for one in window.hovers.fixes() if one.startswith("Revert F")]
    window.hovers.fix(revert)
    window.until(lambda: (folder / "test_two.py").read_text() == PASSING.format("two"), "the file as it was")
    window.until(lambda: MARK not in window.editor.text(), "the file as it was, in the editor")
