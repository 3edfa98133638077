"""Fix This: an error in Problems, or a test in the Testing view, is made a goal with what proves it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, installed
from tests.vscode.site import BAR, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
BROKEN = "[\n  1\n  2\n]\n"

MANIFEST = {
    "name": "other-tests",
    "publisher": "donewhen-tests",
    "version": "0.0.1",
    "engines": {"vscode": "^1.101.0"},
    "main": "./extension.js",
    "activationEvents": ["onStartupFinished"],
}
# Its ids are those of the Python extension: where the file is, then what pytest calls the test.
PROGRAM = """\
const vscode = require('vscode');

exports.activate = () => {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  if (folder === undefined) return;
  const controller = vscode.tests.createTestController('others', 'Other Tests');
  const file = vscode.Uri.joinPath(folder.uri, 'test_calc.py');
  const test = controller.createTestItem(`${file.fsPath}::test_add`, 'test_add', file);
  controller.items.add(test);
  controller.createRunProfile('Run', vscode.TestRunProfileKind.Run, (request) => {
    const run = controller.createTestRun(request);
    run.failed(test, new vscode.TestMessage('assert -1 == 5'));
    run.end();
  }, true);
};
"""


def other_tests(target: Path) -> Path:
    """An extension with one test, which fails."""
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("extension/package.json", json.dumps(MANIFEST))
        archive.writestr("extension/extension.js", PROGRAM)
    return target


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    place = tmp_path_factory.mktemp("vscode")
    with installed(vsix, place, {}) as server:
        server.install(other_tests(place / "others.vsix"))
        yield server


def test_what_other_tools_report_is_made_a_goal(server: CodeServer, open_window: Opener, tmp_path: Path) -> None:
    folder = project(tmp_path / "adder")
    (folder / "data.json").write_text(BROKEN, encoding="utf-8")
    window = open_window(server, folder)

    # An error in Problems, by a quick fix: Problems decides.
    window.editor.open("data.json")
    window.views.wait_problem("Expected comma")
    window.editor.wait_marked("2")
    window.palette.go_to(3)
    (fix,) = [one for one in window.hovers.fixes() if "Fix This" in one]
    window.hovers.fix(fix)
    window.until(
        lambda: any("Set Goal and Start" in one and "Problems" in one for one in window.palette.options()), "the proof"
    )
    window.palette.dismiss()

    # A test of another extension, by its menu: it alone is run.
    window.palette.run("Testing: Focus on Test Explorer View")
    row = window.page.locator(".part.sidebar .monaco-list-row").filter(has_text="test_add").first
    window.until(lambda: row.count() == 1, "the test")
    row.click(button="right")
    window.until(lambda: "Done When: Fix This" in window.views.menu(), "in the test's menu")
    window.views.pick_menu("Done When: Fix This")

    alone = "python -m pytest -q test_calc.py::test_add"
    window.until(lambda: any(alone in one and "left out" not in one for one in window.palette.options()), "its check")
    window.until(lambda: any("Set Goal and Start" in one for one in window.palette.options()), "all that is needed")
    window.palette.accept()
    window.editor.shown("GOAL.md")
    window.editor.wait_marked(f"`{alone}` passes")
    text = (folder / "GOAL.md").read_text(encoding="utf-8")
    assert "# Make test_add pass\n" in text
    assert text.partition("<!--")[0].count("- [ ] ") == 1
    (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
    window.notices.wait_bar(BAR, "1 of 1 met")
