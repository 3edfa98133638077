"""Reports as runners write them: JUnit of several makes, SARIF, TAP; and the editor's own diagnostics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from donewhen.core.ecosystems.output import read_tap
from donewhen.core.evidence import Problem
from donewhen.core.goal import Requirement
from donewhen.evidence.editor import EditorDiagnostics
from donewhen.evidence.places import Places, frames
from donewhen.evidence.reports.junit import BrokenReport, Report, read_junit
from donewhen.evidence.reports.sarif import read_sarif
from donewhen.ports import EditorView


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "src").mkdir(parents=True)
    (folder / "src/app.test.js").write_text("")
    (folder / "test_a.py").write_text("")
    return folder


def junit(root: Path, text: str) -> Report:
    file = root.parent / "report.xml"
    file.write_text(text)
    return read_junit(file, Places(root))


def test_a_report_of_jest(root: Path) -> None:
    report = junit(
        root,
        '<testsuites name="jest tests"><testsuite name="sums">'
        '<testcase classname="sums adds" name="sums adds" file="src/app.test.js" time="0.01"/>'
        '<testcase classname="sums" name="breaks" file="src/app.test.js"><failure>Error: expect(1).toBe(2)\n'
        "    at Object.toBe (src/app.test.js:5:3)</failure></testcase></testsuite></testsuites>",
    )
    assert [(t.name, t.outcome, t.path) for t in report.tests] == [
        ("sums adds", "passed", "src/app.test.js"),
        ("sums.breaks", "failed", "src/app.test.js"),
    ]
    assert report.problems == (Problem("src/app.test.js", 4, "sums.breaks: Error: expect(1).toBe(2)", source="test"),)


def test_a_report_of_vitest_names_the_file_as_the_class(root: Path) -> None:
    report = junit(
        root,
        '<testsuites><testsuite><testcase classname="src/app.test.js" name="adds"><failure message="no">'
        " ❯ lib/deep.js:2:1\n ❯ src/app.test.js:7:3</failure></testcase></testsuite></testsuites>",
    )
    assert [(t.path, t.line) for t in report.tests] == [("src/app.test.js", 6)]


def test_the_innermost_place_in_the_workspace_is_last(root: Path) -> None:
    javascript = "Error: x\n    at deep (src/app.test.js:2:1)\n    at test (src/app.test.js:9:1)\n"
    python = f'  File "{root}/test_a.py", line 3, in test_x\n  File "{root}/test_a.py", line 8, in deep\n'
    rust = "thread 'a' panicked at test_a.py:4:5:\n"
    assert frames(javascript, Places(root)) == [("src/app.test.js", 8), ("src/app.test.js", 1)]
    assert frames(python, Places(root)) == [("test_a.py", 2), ("test_a.py", 7)]
    assert frames(rust, Places(root)) == [("test_a.py", 3)]


def test_equal_names_are_two_tests_and_are_told_apart(root: Path) -> None:
    report = junit(root, '<testsuite><testcase name="a"/><testcase name="a"><failure/></testcase></testsuite>')
    assert [(t.name, t.outcome) for t in report.tests] == [("a", "passed"), ("a[#2]", "failed")]
    twice = '<testcase classname="test_a" name="test_x[1]" file="test_a.py"/>' * 2
    names = [t.name for t in junit(root, f"<testsuite tests='2'>{twice}</testsuite>").tests]
    assert names == ["test_a.py::test_x[1]", "test_a.py::test_x[1][#2]"]


def test_an_inherited_test_belongs_to_the_class_that_was_collected(root: Path) -> None:
    (root / "lib.v2").mkdir()
    (root / "lib.v2/test_c.py").write_text("")
    inherited = "".join(
        f'<testcase classname="{owner}" name="test_x" file="src/base.py" line="3"/>'
        for owner in ("test_a.First", "test_a.Second.Inner", "src.base.Base", "lib.v2.test_c.Third")
    )
    (root / "src/base.py").write_text("")
    report = junit(root, f'<testsuite tests="4">{inherited}</testsuite>')
    assert [t.name for t in report.tests] == [
        "test_a.py::First::test_x",
        "test_a.py::Second::Inner::test_x",
        "src/base.py::Base::test_x",
        "lib.v2.test_c.Third::test_x",  # which of its dots are folders' is not known, and the name is its own
    ]
    assert {t.path for t in report.tests} == {"src/base.py"}
    assert report.miscounted == ""


CASE = '<testcase classname="test_a" name="test_x" file="test_a.py" line="3"'
TEARDOWN = '<error message="failed on teardown with &quot;boom&quot;"/>'


@pytest.mark.parametrize(
    ("cases", "declared", "outcomes"),
    [
        # A failed call and an error in its teardown: two elements, counted as one until pytest 9.1, then as two.
        (f"{CASE}><failure message='no'/></testcase>{CASE}>{TEARDOWN}</testcase>", (1, 2), ["failed"]),
        # A call that passed and an error in its teardown: one element, counted as two until pytest 9.1.
        (f"{CASE}>{TEARDOWN}</testcase>", (1, 2), ["error"]),
        # Subtests that failed are failures of their test.
        (f"{CASE}><failure message='a'/><failure message='b'/></testcase>", (1, 2), ["failed"]),
        (f'{CASE}/><testcase name="off" status="notrun"/>', (2,), ["passed", "skipped"]),
        # All tests of a suite, or only those directly in it, as mocha counts.
        (f'<testsuite name="inner" tests="1">{CASE}/></testsuite>{CASE}/>', (1, 2), ["passed", "passed"]),
    ],
)
def test_a_report_counts_as_its_runner_does(
    root: Path, cases: str, declared: tuple[int, ...], outcomes: list[str]
) -> None:
    for count in range(5):
        report = junit(root, f'<testsuite name="pytest" tests="{count}">{cases}</testsuite>')
        assert [t.outcome for t in report.tests] == outcomes
        assert (report.miscounted == "") == (count in declared), count


def test_a_report_that_declares_a_failure_holds_one(root: Path) -> None:
    report = junit(root, f'<testsuite tests="1" failures="1">{CASE}/></testsuite>')
    assert report.miscounted == "it declares 1 failed test, but contains none"


def test_entities_that_grow_without_bound_are_refused(root: Path) -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE t [<!ENTITY a0 "aaaaaaaaaa">{entities}]><testsuite><testcase name="&a11;"/></testsuite>'
    with pytest.raises(BrokenReport):
        junit(root, bomb)


def sarif(root: Path, **result: object) -> tuple[Problem, ...] | None:
    location = {
        "physicalLocation": {"artifactLocation": {"uri": "test_a.py"}, "region": {"startLine": 3, "startColumn": 5}}
    }
    whole = {"ruleId": "S1", "level": "error", "message": {"text": "no"}, "locations": [location]} | result
    log = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "lint"}}, "results": [whole]}]}
    return read_sarif(json.dumps(log), Places(root))


def test_sarif_results_have_their_place(root: Path) -> None:
    assert sarif(root) == (Problem("test_a.py", 2, "no (S1)", 4, "error", "lint"),)
    assert sarif(root, level="note") == (Problem("test_a.py", 2, "no (S1)", 4, "information", "lint"),)
    assert sarif(root, suppressions=[{"kind": "inSource"}]) == ()
    assert sarif(root, locations=[]) == ()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"runs": 3}', '{"runs": [3]}', "no"])
def test_what_is_no_sarif_is_told(root: Path, text: str) -> None:
    assert not read_sarif(text, Places(root))


def test_tap_of_a_nested_run_counts_the_outermost_level() -> None:
    tests = read_tap("TAP version 14\n    ok 1 - inner\n    1..1\nok 1 - outer\nnot ok 2 - bad # time=3ms\n1..2\n")
    assert tests == (("outer", "pass"), ("bad # time=3ms", "fail"))


def test_what_is_no_tap_is_told() -> None:
    assert read_tap("ok\nall is well") is None


def requirement(*globs: str) -> Requirement:
    return Requirement("r-1", 1, "No problems", problems=globs)


def test_nothing_is_known_until_a_client_forwards() -> None:
    report = EditorDiagnostics().report(requirement("**"))
    assert (report.forwarded, report.passed) == (False, False)


def test_what_the_editor_shows_now_is_reported_for_the_files_that_are_named() -> None:
    error, warning = Problem("src/a.py", 3, "no"), Problem("src/b.py", 1, "hm", severity="warning")
    shown = {"src/b.py": [warning], "src/a.py": [error]}
    editor = EditorDiagnostics(lambda: EditorView(shown, opened=("src/c.py",)))
    report = editor.report(requirement("src/*.py"))
    assert (report.problems, report.files, report.passed) == ((error, warning), 3, False)
    shown["src/a.py"] = []
    assert editor.report(requirement("src/**")).passed
    assert editor.report(requirement("src/c.py")).passed


def test_no_error_in_files_that_the_editor_never_looked_at_proves_nothing() -> None:
    report = EditorDiagnostics(lambda: EditorView({"src/a.py": []})).report(requirement("lib/**"))
    assert (report.files, report.passed) == (0, False)
    assert "open one" in report.doubt


def test_unsaved_text_anywhere_puts_the_report_in_doubt() -> None:
    error = Problem("a.py", 0, "no")
    editor = EditorDiagnostics(lambda: EditorView({"a.py": [error]}, ("a.py", "b.py"), unsaved=("a.py", "b.py")))
    report = editor.report(requirement("a.py"))
    assert (report.passed, report.errors) == (False, ())
    assert report.doubt == "the editor's diagnostics are about unsaved text in `a.py` and 1 more: save it"


def test_diagnostics_of_an_older_text_put_the_report_in_doubt() -> None:
    editor = EditorDiagnostics(lambda: EditorView({"a.py": [], "b.py": []}, ("a.py",), outdated=("a.py",)))
    assert "current text of `a.py`" in editor.report(requirement("*.py")).doubt
    assert editor.report(requirement("b.py")).passed
