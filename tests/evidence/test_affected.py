"""The command for the tests that a change may affect: made of the check's own, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.commands.simple import simple
from donewhen.core.evidence import CheckResult, Outcome, TestCase
from donewhen.evidence.affected import affected_command
from tests.evidence.conftest import RunCheck

Write = Callable[[str, str], Path]


def last(command: str, *tests: tuple[str, str]) -> CheckResult:
    cases = tuple(TestCase(name, outcome) for name, outcome in tests)  # type: ignore[arg-type]
    return CheckResult("c", command, Outcome.FAILED, "", tests=cases)


SUITE = (("tests/test_a.py::test_one", "passed"), ("tests/test_a.py::test_two", "failed"), ("tests/test_b.py::test_b", "passed"))  # fmt: skip # noqa: E501


@pytest.fixture
def project(root: Path, write: Write) -> Path:
    for path in ("tests/test_a.py", "tests/test_b.py", "tests/data.txt", "src/b.py", "src/c.py", "other/test_x.py"):
        write(path, "")
    return root


@pytest.mark.parametrize(
    ("command", "changed", "wanted"),
    [
        ("pytest -q", ["src/c.py"], "pytest -q tests/test_a.py::test_two"),
        ("pytest -q", ["tests/test_a.py"], "pytest -q tests/test_a.py"),
        ("pytest -q", ["src/b.py"], "pytest -q tests/test_b.py tests/test_a.py::test_two"),
        ("pytest -q", [], "pytest -q tests/test_a.py::test_two"),
        ("pytest -q", ["other/test_x.py"], "pytest -q tests/test_a.py::test_two"),
        ("pytest -q tests", ["tests/test_b.py"], "pytest -q tests/test_b.py tests/test_a.py::test_two"),
        ("python -m pytest -k 'a or b'", ["tests/test_a.py"], "python -m pytest -k 'a or b' tests/test_a.py"),
        ("uv run pytest -n 4 --cov=src --junitxml r.xml -x", ["tests/test_a.py"], "uv run pytest -x tests/test_a.py"),
        ("timeout 60 pytest", ["tests/test_a.py"], "timeout 60 pytest tests/test_a.py"),
        ("pytest -qx tests", ["tests/test_a.py"], "pytest -qx tests/test_a.py"),
    ],
)
def test_of_pytest_what_failed_last_and_the_tests_of_what_changed(
    project: Path, command: str, changed: list[str], wanted: str
) -> None:
    assert affected_command(project, last(command, *SUITE), changed) == wanted


@pytest.mark.parametrize(
    ("command", "changed", "wanted"),
    [
        ("npx vitest run", ["src/a.ts"], "npx vitest related --run --passWithNoTests src/a.ts"),
        ("npx vitest", ["src/a.ts"], "npx vitest related --run --passWithNoTests src/a.ts"),
        ("npx vitest run --coverage", ["src/a.ts"], "npx vitest related --run --passWithNoTests src/a.ts"),
        ("npx jest --ci", ["src/a.ts"], "npx jest --ci --passWithNoTests --coverage=false --findRelatedTests src/a.ts"),
        ("go test ./...", ["pkg/x.go"], "go test ./pkg"),
        ("go test -race ./... -count 1", ["pkg/x.go", "main.go"], "go test -race -count 1 ./pkg ."),
        ("cargo test --workspace -q", ["crates/a/src/lib.rs"], "cargo test -q --manifest-path crates/a/Cargo.toml"),
        ("npx vitest run", ["-o.ts"], "npx vitest related --run --passWithNoTests ./-o.ts"),
        ("npx vitest run", ["src/it's $(x).ts"], None),
    ],
)
def test_of_other_runners_what_changed(
    root: Path, write: Write, command: str, changed: list[str], wanted: str | None
) -> None:
    for path in (*changed, "go.mod", "Cargo.toml", "crates/a/Cargo.toml"):
        write(path, "")
    made = affected_command(root, last(command), changed)
    assert made == wanted if wanted is not None else (simple(made) or ("",))[-1] == changed[0]


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        pytest.param("pytest && echo", ["tests/test_a.py"], id="two commands"),
        pytest.param("pytest $ARGS", ["tests/test_a.py"], id="a variable"),
        pytest.param("cd tests && pytest", ["tests/test_a.py"], id="another folder"),
        pytest.param("A=1 pytest", ["tests/test_a.py"], id="an assignment"),
        pytest.param(
            "pytest --unknown tests", ["tests/test_a.py"], id="an option of which it isn't known what it takes"
        ),
        pytest.param("pytest -- tests", ["tests/test_a.py"], id="what comes after is not known"),
        pytest.param("make test", ["tests/test_a.py"], id="not a runner"),
        pytest.param("npm test", ["src/a.ts"], id="a script"),
        pytest.param("npx vitest run src", ["src/a.ts"], id="a filter"),
        pytest.param("npx vitest run", ["README.md"], id="not a source"),
        pytest.param("npx vitest run", ["src/gone.ts"], id="gone"),
        pytest.param("go test ./pkg", ["pkg/x.go"], id="one folder"),
        pytest.param("go test ./...", ["inner/y.go"], id="another module"),
        pytest.param("cargo test", ["crates/a/src/lib.rs"], id="not the whole workspace"),
        pytest.param("cargo test --workspace", ["crates/a/src/lib.rs", "crates/b/src/lib.rs"], id="two packages"),
        pytest.param("docker run image pytest", ["tests/test_a.py"], id="another environment"),
    ],
)
def test_there_is_none_where_the_line_or_the_change_is_not_understood(
    root: Path, write: Write, command: str, changed: list[str]
) -> None:
    for path in (*changed, "go.mod", "inner/go.mod", "Cargo.toml", "crates/a/Cargo.toml", "crates/b/Cargo.toml"):
        write(path, "")
    (root / "src/gone.ts").unlink(missing_ok=True)
    assert affected_command(root, last(command), changed) == ""


def test_what_failed_last_and_is_gone_is_left_out(project: Path) -> None:
    before = last("pytest", ("tests/gone.py::test_x", "failed"))
    assert affected_command(project, before, []) == ""


@pytest.mark.parametrize("name", ["--co", "@arguments.py"])
def test_no_name_becomes_an_option_or_a_file_of_arguments(root: Path, write: Write, name: str) -> None:
    write(name, "")
    assert affected_command(root, last("pytest", (f"{name}::x", "failed")), [name]) == ""


def test_on_windows_there_is_none_that_needs_quoting(project: Path) -> None:
    before = last("pytest", ("tests/test_a.py::test_one[a b]", "failed"))
    assert affected_command(project, before, [], windows=True) == ""
    assert affected_command(project, before, [], windows=False) == "pytest 'tests/test_a.py::test_one[a b]'"


def contexts(root: Path, *names: str) -> None:
    with sqlite3.connect(root / ".coverage") as data:
        data.execute("create table file (id integer, path text)")
        data.execute("create table context (id integer, context text)")
        data.execute("create table line_bits (file_id integer, context_id integer, numbits blob)")
        data.execute("create table arc (file_id integer, context_id integer)")
        data.execute("insert into file values (1, ?)", (str(root / "src/c.py"),))
        for number, name in enumerate(names):
            data.execute("insert into context values (?, ?)", (number, name))
            data.execute("insert into line_bits values (1, ?, x'01')", (number,))
    data.close()


def test_coverage_says_which_tests_ran_what_changed(project: Path) -> None:
    contexts(project, "tests/test_b.py::test_b|run", "tests/test_b.py::test_b|setup", "", "/etc/passwd::x|run")
    made = affected_command(project, last("pytest", *SUITE[:1], *SUITE[2:]), ["src/c.py"])
    assert made == "pytest tests/test_b.py::test_b"


@pytest.mark.timeout(20)
def test_coverage_data_that_never_ends_is_given_up(project: Path) -> None:
    contexts(project)
    with sqlite3.connect(project / ".coverage") as data:
        data.execute("drop table context")
        data.execute("create view context as with recursive n(i) as (select 1 union all select i+1 from n)"
                     " select 0 as id, i as context from n")  # fmt: skip
        data.execute("insert into line_bits values (1, 7, x'01')")
    data.close()
    assert affected_command(project, last("pytest", *SUITE), ["src/c.py"]) == "pytest tests/test_a.py::test_two"


def test_testmon_chooses_where_it_keeps_a_record(project: Path, write: Write) -> None:
    write(".testmondata", "")
    made = affected_command(project, last("pytest --testmon-noselect -q tests", *SUITE), ["src/c.py"])
    assert made == "pytest -q --testmon --testmon-nocollect tests"


async def test_pytest_knows_its_tests_by_the_names_that_the_command_has(
    root: Path, write: Write, run: RunCheck
) -> None:
    write("tests/test_a.py", "import pytest\n\nclass TestA:\n    @pytest.mark.parametrize('x', ['a b', 'c', \"d'e\"])\n"
          "    def test_it(self, x):\n        assert x == 'c'\n\ndef test_fine():\n    pass\n")  # fmt: skip
    whole = await run("python -m pytest -q -p no:cacheprovider")
    assert whole.totals
    assert (whole.totals.passed, whole.totals.failed) == (2, 2)
    some = await run(affected_command(root, whole, ["README.md"]))
    assert some.totals
    assert (some.totals.passed, some.totals.failed) == (0, 2)
    assert {test.name for test in some.tests} == {test.name for test in whole.tests if test.outcome == "failed"}
