"""Case files are read strictly: a mistake names its file and its case."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.extras.goalbench.cases import chosen, load_cases
from tests.tools import each_row

CASE = """
group: one
workspaces:
  base:
    a.txt: a
    b.txt: b
cases:
  - id: first
    base: base
    files: {b.txt: other, run.sh: {text: "#!/bin/sh", executable: true}, c.txt: {link: a.txt}}
    goal: "# Goal"
    worker: [[{say: done}]]
    decided_by: check
    truth: {R1: true}
    expect: {run: complete}
"""


def written(folder: Path, text: str, name: str = "cases.yaml") -> Path:
    (folder / name).write_text(text)
    return folder


def test_a_case_lays_its_files_over_its_workspace(tmp_path: Path) -> None:
    (case,) = load_cases(written(tmp_path, CASE))

    assert {path: file.text for path, file in case.files.items() if not file.link} == {
        "a.txt": "a",
        "b.txt": "other",
        "run.sh": "#!/bin/sh",
    }
    assert [path for path, file in case.files.items() if file.executable] == ["run.sh"]
    assert [(path, file.link) for path, file in case.files.items() if file.link] == [("c.txt", "a.txt")]
    assert (case.group, case.judge, case.max_iterations, case.honest) == ("one", "gullible", 1, True)


@each_row(
    "old, new, said",
    [
        ("base: base", "base: bass", "cases.yaml: first: there is no workspace 'bass'"),
        ("decided_by: check", "decided_by: nobody", "`decided_by` is one of `check`, `integrity`, `judge`"),
        ("truth: {R1: true}", "truth: {R1: maybe}", "`R1` should be true or false"),
        ("truth: {R1: true}", "truth: {}", "say of each requirement"),
        ("    expect", "    expcet: 1\n    expect", "unknown key `expcet`"),
        ("a.txt: a", "/etc/a.txt: a", "/etc/a.txt is outside of the workspace"),
        ("a.txt: a", "../a.txt: a", "../a.txt is outside of the workspace"),
        ("worker: [[{say: done}]]", "worker: done", "`worker` should be a list"),
        ("id: first", "id: 7", "`id` should be text"),
        ("group: one", "group: one\nother: two", "unknown key `other`"),
        ("goal: ", "judge: kind\n    goal: ", "`judge` is one of `honest`"),
        ("group: one", "group: [one", "cases.yaml line 3: this is not YAML"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(InvalidGoal) as told:
        load_cases(written(tmp_path, CASE.replace(old, new, 1)))

    assert said in str(told.value)
    assert "cases.yaml" in str(told.value)


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    written(tmp_path, CASE)
    with pytest.raises(InvalidGoal, match="several cases are called first"):
        load_cases(written(tmp_path, CASE, "more.yaml"))


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidGoal, match="there are no cases"):
        load_cases(tmp_path)


def test_cases_are_chosen_by_id_or_group(tmp_path: Path) -> None:
    written(tmp_path, CASE)
    cases = load_cases(written(tmp_path, CASE.replace("first", "second").replace("group: one", "group: two"), "z.yaml"))

    assert [case.id for case in chosen(cases, [])] == ["first", "second"]
    assert [case.id for case in chosen(cases, ["second"])] == ["second"]
    assert [case.id for case in chosen(cases, ["one", "second"])] == ["first", "second"]
    with pytest.raises(UsageError, match="there is no case 'third'"):
        chosen(cases, ["first", "third"])
