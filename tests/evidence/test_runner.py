"""What checks prove, each run as a real process."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.evidence import Outcome, Problem, reason_lines
from donewhen.core.goal import Check
from donewhen.evidence.runner import CommandChecker
from donewhen.workspace.processes.running import SystemProcesses
from tests.tools import needs, runs

from .conftest import RunCheck

Write = Callable[[str, str], Path]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are written for a POSIX shell")

NOTHING = (
    "no test was executed; hint: no test was found there: look at the paths, at `-k` and `-m`, "
    "and at what the configuration collects"
)
CALC = """
import pytest

def test_adds():
    assert 1 + 1 == 2

class TestGroup:
    def test_multiplies(self):
        product = 2 * 3
        assert product == 7

@pytest.mark.skip(reason="later")
def test_later():
    assert False

@pytest.fixture
def broken():
    raise RuntimeError("no database")

def test_with_database(broken):
    pass
"""


# ------------------------------------------------------------------------------------------ plain commands


async def test_a_command_is_decided_by_its_exit_code(run: RunCheck) -> None:
    passed, failed = await run("echo fine"), await run("echo no >&2; exit 3")
    assert (passed.outcome, passed.reason, passed.output) == (Outcome.PASSED, "exit code 0", "fine\n")
    assert (failed.outcome, failed.reason, failed.output) == (Outcome.FAILED, "exit code 3: no", "no\n")
    assert passed.passed
    assert not failed.passed


async def test_another_exit_code_may_be_expected(run: RunCheck) -> None:
    assert (await run("exit 3", expected_exit=3)).passed
    refused = await run("true", expected_exit=3)
    assert (refused.outcome, refused.reason) == (Outcome.FAILED, "exit code 0, 3 expected")


async def test_a_missing_program_is_not_installed_rather_than_failed(run: RunCheck) -> None:
    result = await run("no-such-linter --strict .")
    assert result.outcome is Outcome.NOT_INSTALLED
    assert "`no-such-linter` is not installed here" in result.reason
    assert not result.outcome.decides


async def test_a_missing_program_is_not_hidden_by_a_pipe(run: RunCheck) -> None:
    assert (await run("no-such-linter . | tail -5")).outcome is Outcome.NOT_INSTALLED


async def test_a_missing_program_with_an_alternative_is_no_matter(run: RunCheck) -> None:
    assert (await run("no-such-linter . || true")).passed


async def test_a_missing_module_that_is_a_tool_is_not_installed(run: RunCheck, root: Path) -> None:
    result = await run(f"{sys.executable} -S -m pytest")
    assert result.outcome is Outcome.NOT_INSTALLED
    assert "pip install pytest" in result.reason


async def test_a_missing_file_of_the_workspace_is_a_failure(run: RunCheck) -> None:
    assert (await run("./build.sh")).outcome is Outcome.FAILED


async def test_killed_by_a_signal(run: RunCheck) -> None:
    result = await run("kill -SEGV $$")
    assert (result.outcome, result.reason) == (Outcome.KILLED, "ended by signal 11 (SIGSEGV)")


async def test_a_shell_tells_a_signal_by_an_exit_code(run: RunCheck) -> None:
    result = await run("sh -c 'kill -9 $$'; exit $?")
    assert result.outcome is Outcome.FAILED
    assert result.reason.startswith("exit code 137 (as after SIGKILL)")
    assert (await run("exit 200")).reason == "exit code 200"


async def test_never_ends(run: RunCheck) -> None:
    result = await run("sleep 300", timeout=0.2)
    assert (result.outcome, result.reason) == (Outcome.TIMED_OUT, "timed out after 0.2 s")


async def test_reads_standard_input(run: RunCheck) -> None:
    assert (await run("read line; test -z $line", timeout=10)).passed


async def test_floods_output(run: RunCheck) -> None:
    result = await run("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end", timeout=60)
    assert result.passed
    assert result.output_bytes == 20_000_005
    assert "bytes cut ...]" in result.output
    assert result.output.endswith("\nend\n")


async def test_prints_what_is_no_text(run: RunCheck) -> None:
    result = await run(r"printf 'a\377\000b \033[1;31mred\033[0m \033]0;title\007plain\r\n'")
    assert result.output == "a\ufffd␀b red plain\n"


async def test_forks_a_daemon(run: RunCheck, root: Path) -> None:
    command = "setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 & while [ ! -s pid ]; do sleep 0.01; done"
    assert (await run(command)).passed
    pid = int((root / "pid").read_text())
    assert not runs(pid)


async def test_deletes_its_own_working_folder(run: RunCheck, root: Path) -> None:
    assert (await run(f"rm -rf {root}")).passed
    again = await run("true")
    assert again.outcome is Outcome.NOT_RUN
    assert "no longer exists" in again.reason


async def test_a_command_that_no_shell_understands(run: RunCheck) -> None:
    assert (await run("echo 'open")).outcome is Outcome.FAILED
    assert (await run("a\0b")).outcome is Outcome.NOT_RUN


async def test_a_callable_is_not_given_to_a_shell(checker: CommandChecker, root: Path) -> None:
    check = Check("c-1", "touch ran", kind="validator")
    assert (await checker.run(check, timeout=5, token="t")).outcome is Outcome.NOT_RUN
    assert not has_text(root / "ran")


async def test_cancelling_ends_the_children(checker: CommandChecker, root: Path, tmp_path: Path) -> None:
    check = Check.of("echo $$ > pid; exec sleep 300")
    step = asyncio.create_task(checker.run(check, timeout=60, token="t"))
    async with asyncio.timeout(20):
        while not has_text(root / "pid"):  # noqa: ASYNC110 # no event crosses processes
            await asyncio.sleep(0.01)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert not runs(int((root / "pid").read_text()))
    assert not list((tmp_path / "scratch").glob("report-*"))


def has_text(file: Path) -> bool:
    return file.exists() and bool(file.read_text().strip())


async def test_what_a_crash_left_in_the_scratch_folder_goes(run: RunCheck, tmp_path: Path) -> None:
    old, young = tmp_path / "scratch/report-old", tmp_path / "scratch/report-young"
    old.mkdir(parents=True)
    young.mkdir()
    os.utime(old, (1_700_000_000, 1_700_000_000))
    await run("true")
    assert (old.exists(), young.exists()) == (False, True)


async def test_a_scratch_folder_that_can_not_be_written_is_said(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    checker = CommandChecker(SystemProcesses(), root, tmp_path / "file", lambda: dict(os.environ))
    result = await checker.run(Check.of("true"), timeout=5, token="t")
    assert result.outcome is Outcome.NOT_RUN
    assert "scratch" in result.reason


# -------------------------------------------------------------------------------------------------- pytest


@pytest.mark.conformance("A8")
async def test_pytest_is_read_test_by_test(run: RunCheck, write: Write, tmp_path: Path) -> None:
    write("tests/test_calc.py", CALC)
    result = await run("python -m pytest -q")
    assert result.outcome is Outcome.FAILED
    assert result.reason == (
        "2 of 3 tests failed: tests/test_calc.py:10: TestGroup.test_multiplies: assert 6 == 7; "
        'tests/test_calc.py:18: test_with_database: failed on setup with "RuntimeError: no database"'
    )
    assert {t.name.split("::", 1)[1]: (t.outcome, t.line) for t in result.tests} == {
        "test_adds": ("passed", 3),
        "TestGroup::test_multiplies": ("failed", 9),
        "test_later": ("skipped", 11),
        "test_with_database": ("error", 17),
    }
    assert result.problems[0] == Problem(
        "tests/test_calc.py", 9, "test_multiplies: assert 6 == 7", severity="error", source="test"
    )
    assert (result.totals.passed, result.totals.failed, result.totals.skipped) == (1, 2, 1)
    assert not list((tmp_path / "scratch").glob("report-*"))


async def test_a_failure_in_other_code_names_both_places(run: RunCheck, write: Write) -> None:
    write("calc.py", "def add(a, b):\n    return a + missing\n")
    write("test_calc.py", "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n")
    result = await run("python -m pytest -q")
    assert [(p.path, p.line) for p in result.problems] == [("test_calc.py", 3), ("calc.py", 1)]
    assert "name 'missing' is not defined" in result.problems[1].message


async def test_a_file_that_can_not_be_collected_names_its_line(run: RunCheck, write: Write) -> None:
    write("test_calc.py", "\nimport no_such_module\n")
    result = await run("python -m pytest -q")
    assert result.outcome is Outcome.FAILED
    assert [(p.path, p.line) for p in result.problems] == [("test_calc.py", 1)]


async def test_what_can_not_be_imported_is_said_and_how_to_install_it(run: RunCheck, write: Write) -> None:
    for name in "abcd":
        write(f"test_{name}.py", f"import no_such_module\n\ndef test_{name}(): pass\n")
    result = await run("python -m pytest -q")
    missing = "ModuleNotFoundError: No module named 'no_such_module'"
    assert result.reason == (
        f"4 test files could not be collected: test_a.py:1: {missing}; test_b.py:1: {missing}; test_c.py:1: {missing}; "
        "and 1 more; hint: `no_such_module` is not installed here: `python -m pip install -e .` if it is this "
        "project's own package, otherwise `python -m pip install no_such_module` in the workspace's environment"
    )
    assert reason_lines(result.reason, result)[:5] == [
        "4 test files could not be collected",
        *(f"test_{name}.py:1: {missing}" for name in "abc"),
        "and 1 more",
    ]
    write("conftest.py", "import no_such_module\n")
    assert (await run("python -m pytest -q")).reason.startswith(
        f"pytest broke off before any test (exit code 4): {missing}; hint: `no_such_module`"
    )


async def test_this_package_itself_is_looked_for_in_no_index(run: RunCheck, write: Write) -> None:
    write("test_a.py", "raise ModuleNotFoundError(\"No module named 'donewhen'\", name='donewhen')\n")
    reason = (await run("python -m pytest -q")).reason
    assert "`donewhen` is not installed here: " in reason
    assert "install it from a clone of it into the workspace's environment" in reason
    assert "pip install" not in reason


async def test_a_linter_says_what_is_wrong_and_where(run: RunCheck, write: Write) -> None:
    write("app.py", "\n" * 9)
    said = "".join(f"app.py:{line}:1: F401 `m{line}` imported but unused\\n" for line in range(1, 8))
    result = await run(f"printf '{said}'; exit 1")
    assert result.reason == (
        "exit code 1: app.py:1: `m1` imported but unused (F401); app.py:2: `m2` imported but unused (F401); "
        "app.py:3: `m3` imported but unused (F401); and 4 more"
    )


@pytest.mark.slow
async def test_pytest_in_another_folder(run: RunCheck, write: Write) -> None:
    write("sub/pytest.ini", "[pytest]\n")
    write("sub/test_a.py", "def test_a():\n    assert 0\n")
    result = await run("cd sub && python -m pytest -q")
    assert [(p.path, p.line) for p in result.problems] == [("sub/test_a.py", 1)]


@pytest.mark.conformance("A8")
@pytest.mark.parametrize(
    ("text", "command", "reason"),
    [
        ("", "python -m pytest -q", NOTHING),
        ("def test_a(): pass\n", "python -m pytest -q -k nothing", NOTHING),
        *(
            pytest.param("def test_a(): pass\n", f"python -m pytest -q {words}", NOTHING, marks=pytest.mark.slow)
            for words in ("-k nothing; true", "--collect-only")
        ),
        (
            "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n",
            "python -m pytest -q",
            "no test was executed (1 skipped)",
        ),
    ],
)
async def test_no_test_executed_is_no_pass(run: RunCheck, write: Write, text: str, command: str, reason: str) -> None:
    write("test_a.py", text)
    result = await run(command)
    assert (result.outcome, result.reason) == (Outcome.NO_TESTS, reason)
    assert not result.passed


@pytest.mark.conformance("A10")
async def test_a_masked_exit_code_masks_no_failure(run: RunCheck, write: Write) -> None:
    write("test_a.py", "def test_a():\n    assert 0\n")
    result = await run("python -m pytest -q || true")
    assert (result.outcome, result.exit_code) == (Outcome.FAILED, 0)
    assert result.reason == "1 of 1 test failed, although the exit code is 0: test_a.py:2: test_a: assert 0"


async def test_a_passing_run_with_a_failing_exit_code_fails(run: RunCheck, write: Write) -> None:
    write("test_a.py", "def test_a(): pass\n")
    result = await run("python -m pytest -q && exit 7")
    assert (result.outcome, result.reason) == (Outcome.FAILED, "exit code 7, although 1 test passed")


async def test_failing_tests_may_be_what_is_expected(run: RunCheck, write: Write) -> None:
    write("test_a.py", "def test_a():\n    assert 0\n")
    result = await run("python -m pytest -q", expected_exit=1)
    assert result.passed
    # Not a test run, now or later: those must not have a failed test.
    assert (result.is_test_run, result.tests) == (False, ())


@pytest.mark.slow
async def test_the_users_own_addopts_are_kept(run: RunCheck, write: Write, variables: dict[str, str]) -> None:
    variables["PYTEST_ADDOPTS"] = "-k 'one or three'"
    write("test_a.py", "def test_one(): pass\ndef test_two(): pass\n")
    assert [t.name for t in (await run("python -m pytest -q")).tests] == ["test_a.py::test_one"]


@pytest.mark.parametrize("where", ["command", "variable", "configuration"])
async def test_the_users_own_report_is_kept_and_read(
    run: RunCheck, write: Write, root: Path, variables: dict[str, str], where: str
) -> None:
    write("test_a.py", "def test_one(): pass\n")
    if where == "variable":
        variables["PYTEST_ADDOPTS"] = "--junitxml=out/mine.xml"
    if where == "configuration":
        write("pytest.ini", "[pytest]\naddopts = -q --junitxml=out/mine.xml\n")
    result = await run("python -m pytest" + (" --junitxml out/mine.xml" if where == "command" else ""))
    assert (result.outcome, result.reason) == (Outcome.PASSED, "1 test passed")
    assert result.totals.source == "junit"
    assert "xunit2" in (root / "out/mine.xml").read_text() or "testsuites" in (root / "out/mine.xml").read_text()


@pytest.mark.parametrize("configuration", ["[tox]\n# pytest --junitxml=x.xml\nskipsdist = 1\n", "broken ["])
async def test_other_configuration_names_no_report(run: RunCheck, write: Write, configuration: str) -> None:
    write("tox.ini", configuration)
    write("setup.cfg", "[options]\nscripts = pytest --junitxml=x.xml\n")
    write("pyproject.toml", '[tool.hatch.envs.default.scripts]\ntest = "pytest --junitxml=x.xml"\n')
    write("test_a.py", "def test_one(): pass\n")
    assert (await run("python -m pytest -q -c /dev/null --rootdir .")).passed


async def test_a_report_in_pyproject_is_read(run: RunCheck, write: Write) -> None:
    write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = ["-q", "--junitxml=mine.xml"]\n')
    write("test_a.py", "def test_one(): pass\n")
    assert (await run("python -m pytest")).totals.source == "junit"


@pytest.mark.parametrize(("test", "outcome"), [("pass", Outcome.PASSED), ("assert 0", Outcome.FAILED)])
async def test_without_a_report_of_pytest_its_totals_count(
    run: RunCheck, write: Write, test: str, outcome: Outcome
) -> None:
    write("test_a.py", f"def test_one(): {test}\n")
    result = await run("python -m pytest -q -p no:junitxml")
    assert (result.outcome, result.totals.source, result.totals.executed) == (outcome, "printed", 1)


@pytest.mark.conformance("A10")
async def test_a_later_run_on_the_same_line_hides_no_failure(run: RunCheck, write: Write) -> None:
    write("test_a.py", "def test_one():\n    assert 0\n")
    write("test_b.py", "def test_two(): pass\n")
    result = await run("python -m pytest -q test_a.py; python -m pytest -q test_b.py")
    assert (result.outcome, result.exit_code) == (Outcome.FAILED, 0)
    assert "1 failed test" in result.reason


BASE = """
class Base:
    value = 1

    def test_value(self):
        assert self.value == 1

    def test_kind(self):
        assert isinstance(self.value, int)
"""
HEIRS = """
from base import Base

class TestOne(Base):
    pass

class TestTwo(Base):
    value = 2
"""


@pytest.mark.conformance("A8")
async def test_inherited_tests_are_as_many_as_their_runner_says(run: RunCheck, write: Write) -> None:
    write("base.py", BASE)
    write("test_a.py", HEIRS)
    write("sub/test_b.py", "from base import Base\n\nclass TestOne(Base):\n    pass\n")
    check = Check.of("python -m pytest -q --rootdir . -p no:cacheprovider")
    before = await run(check.command)
    assert (before.totals.passed, before.totals.failed) == (5, 1)
    assert "5 passed" in before.output
    assert sorted(t.name for t in before.tests) == [
        "sub/test_b.py::TestOne::test_kind",
        "sub/test_b.py::TestOne::test_value",
        *(f"test_a.py::Test{n}::test_{what}" for n in ("One", "Two") for what in ("kind", "value")),
    ]
    write("test_a.py", HEIRS.split("class TestTwo")[0])
    after = await run(check.command)
    assert (after.passed, after.totals.passed) == (True, 4)


@pytest.mark.conformance("A8")
async def test_a_report_of_another_number_than_was_printed_proves_nothing(run: RunCheck, write: Write) -> None:
    write("test_a.py", "def test_one(): pass\n")
    command = "python -m pytest -q"
    assert (await run(command)).passed
    write(
        "conftest.py",
        "def pytest_report_teststatus(report):\n"
        "    return ('passed', '.', 'PASSED') if report.when != 'teardown' else None\n",
    )
    result = await run(command)
    assert (result.outcome, result.passed, result.outcome.decides) == (Outcome.NO_REPORT, False, False)
    assert result.reason == "its test report can't be trusted: its runner printed 2 tests, but it contains 1"


@pytest.mark.conformance("A8")
async def test_subtests_that_pass_make_no_report_wrong(run: RunCheck, write: Write) -> None:
    """pytest 9 counts them in its report, which has no element for them."""
    write(
        "test_a.py",
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n"
        "        for n in range(3):\n            with self.subTest(n=n):\n                self.assertLess(n, 3)\n",
    )
    counting = (
        "def pytest_sessionfinish(session):\n"
        "    plugins = session.config.pluginmanager.get_plugins()\n"
        "    next(one for one in plugins if type(one).__name__ == 'LogXML').stats['passed'] = 4\n"
    )
    write("conftest.py", "import pytest\n\n@pytest.hookimpl(tryfirst=True)\n" + counting)
    result = await run("python -m pytest -q")
    assert (result.outcome, result.reason) == (Outcome.PASSED, "1 test passed")


@pytest.mark.conformance("A8")
async def test_subtests_that_are_skipped_make_no_report_wrong(run: RunCheck, write: Write) -> None:
    """pytest 9 counts them in its report and in what it prints, and the report has no element for them."""
    write(
        "test_a.py",
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        for n in range(3):\n"
        "            with self.subTest(n=n):\n                self.skipTest('not here')\n"
        "    def test_more(self):\n        self.assertTrue(1)\n",
    )
    result = await run("python -m pytest -q")
    assert (result.outcome, result.passed) == (Outcome.PASSED, True), result.reason


PASSING_REPORT = '<testsuites><testsuite><testcase classname="a" name="test_a"/></testsuite></testsuites>'


@pytest.mark.conformance("A8")
async def test_a_report_left_over_from_an_earlier_run_is_never_read(run: RunCheck, write: Write) -> None:
    left = write("report.xml", PASSING_REPORT)
    os.utime(left, (time.time() + 1000, time.time() + 1000))
    result = await run("true --junitxml=report.xml")
    assert (result.totals, result.is_test_run) == (None, False)
    failed = await run("python -m pytest --no-such-option --junitxml=report.xml")
    assert failed.outcome is Outcome.FAILED
    assert failed.totals is None


@pytest.mark.parametrize("text", ["", "<testsuites><testsuite>", "<html/>", "no XML at all\0"])
async def test_a_broken_report_proves_nothing(run: RunCheck, write: Write, text: str) -> None:
    write("make_report.py", f"open('report.xml', 'w').write({text!r})")
    result = await run("python make_report.py --junitxml=report.xml")
    assert result.outcome is Outcome.NO_REPORT
    assert "test report can't be read" in result.reason
    assert not result.passed


@pytest.mark.conformance("A8")
@pytest.mark.parametrize(
    "command", ["echo '===== 5 passed in 0.1s ====='", "echo 'Ran 5 tests in 0.1s'; echo; echo OK"]
)
async def test_a_claim_in_the_output_counts_no_test(run: RunCheck, command: str) -> None:
    result = await run(command)
    assert (result.outcome, result.totals, result.passed) == (Outcome.NO_REPORT, None, False)
    assert "its output is that of a test runner" in result.reason


@pytest.mark.conformance("A8")
async def test_a_script_that_prints_what_a_runner_prints_is_a_test_run(run: RunCheck, write: Write) -> None:
    write("ci.sh", "printf '%s\\n' ' Test Files  1 skipped (1)' '      Tests  3 skipped (3)'\n")
    skipped = await run("sh ci.sh")
    assert (skipped.outcome, skipped.reason) == (Outcome.NO_TESTS, "no test was executed (3 skipped)")
    write("ci.sh", "printf '%s\\n' ' Test Files  1 passed (1)' '      Tests  2 passed | 1 skipped (3)'\n")
    passed = await run("sh ci.sh")
    assert (passed.outcome, passed.reason, passed.is_test_run) == (Outcome.PASSED, "2 tests passed, 1 skipped", True)
    write("ci.sh", "true\n")
    assert (await run("sh ci.sh")).outcome is Outcome.NO_REPORT


@pytest.mark.conformance("A8")
async def test_where_a_check_has_written_reports_what_it_prints_is_no_proof(run: RunCheck, write: Write) -> None:
    write("test_a.py", "def test_one(): pass\n")
    write("ci.sh", "python -m pytest -q\n")
    assert (await run("sh ci.sh")).passed
    write("ci.sh", "echo '1 passed in 0.1s'\n")
    assert (await run("sh ci.sh")).outcome is Outcome.NO_REPORT


@pytest.mark.conformance("A8")
async def test_go_is_asked_to_name_its_tests(
    run: RunCheck, write: Write, root: Path, variables: dict[str, str]
) -> None:
    """Without `-v` a package whose tests were all skipped is `ok`, like any other."""
    variables["PATH"] = f"{root / 'bin'}{os.pathsep}{variables['PATH']}"
    variables["GOFLAGS"] = "-mod=mod"
    write("bin/go", '#!/bin/sh\necho "flags $GOFLAGS"\ntest "$1" != vet || exit 0\nprintf "%s" "$SAYS"\n').chmod(0o755)
    variables["SAYS"] = "=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \ta\t0.002s\n"
    result = await run("go -C d test ./...")
    assert (result.outcome, result.reason) == (Outcome.NO_TESTS, "no test was executed (1 skipped)")
    assert "flags -mod=mod -v\n" in result.output
    assert "flags -mod=mod\n" in (await run("go vet ./...")).output


@pytest.mark.conformance("A8")
async def test_a_fake_pytest_proves_nothing_and_is_named(
    run: RunCheck, write: Write, variables: dict[str, str], root: Path
) -> None:
    fake = write("bin/pytest", "#!/bin/sh\necho '===== 5 passed in 0.1s ====='\n")
    fake.chmod(0o755)
    variables["PATH"] = f"{root / 'bin'}{os.pathsep}{variables['PATH']}"
    result = await run("pytest -q")
    assert result.outcome is Outcome.NO_REPORT
    assert result.program == str(fake)
    assert not result.passed


@pytest.mark.conformance("A8")
async def test_a_fake_pytest_module_in_the_workspace_proves_nothing(run: RunCheck, write: Write) -> None:
    write("pytest.py", "print('===== 5 passed in 0.1s =====')")
    assert (await run("python -m pytest -q")).outcome is Outcome.NO_REPORT


async def test_a_fake_that_is_not_on_path_is_not_run(run: RunCheck, write: Write) -> None:
    write("pytest", "#!/bin/sh\necho fake\n").chmod(0o755)
    write("test_a.py", "def test_one(): pass\n")
    result = await run("pytest -q")
    assert "fake" not in result.output
    assert result.passed


async def test_an_edit_within_one_second_is_tested_as_it_stands(run: RunCheck, write: Write) -> None:
    write("test_a.py", "from a import one\n\ndef test_one():\n    assert one == 1\n")
    for value, outcome in [(1, Outcome.PASSED), (2, Outcome.FAILED), (1, Outcome.PASSED)]:
        source = write("a.py", f"one = {value}\n")
        os.utime(source, (1_700_000_000, 1_700_000_000))
        assert (await run("python -m pytest -q")).outcome is outcome


@pytest.mark.conformance("A8")
async def test_forged_bytecode_in_the_workspace_is_not_read(run: RunCheck, write: Write, root: Path) -> None:
    import py_compile

    good, bad = write("good.py", "one = 1\n"), write("bad.py", "one = 2\n")
    tag = sys.implementation.cache_tag
    py_compile.compile(str(good), cfile=str(root / f"__pycache__/bad.{tag}.pyc"), doraise=True)
    os.utime(bad, (good.stat().st_mtime, good.stat().st_mtime))
    assert (await run("python -c 'import bad; assert bad.one == 2'")).passed


def _cached(bytecode: Path, root: Path, module: str) -> Path:
    return bytecode / root.resolve().relative_to(root.anchor) / f"{module}.{sys.implementation.cache_tag}.pyc"


@pytest.mark.conformance("A8")
async def test_forged_bytecode_in_the_folder_of_the_server_is_not_read(
    run: RunCheck, write: Write, root: Path, bytecode: Path
) -> None:
    import py_compile

    bad, good = write("bad.py", "one = 2\n"), write("good.py", "one = 1\n")
    os.utime(good, (bad.stat().st_mtime, bad.stat().st_mtime))
    await asyncio.sleep(1.1)  # until then no bytecode is trusted, whoever wrote it
    command = "python -c 'import bad; assert bad.one == 1'"
    assert (await run(command)).outcome is Outcome.FAILED
    cached = _cached(bytecode, root, "bad")
    assert cached.is_file()
    py_compile.compile(str(good), cfile=str(cached), dfile=str(bad), doraise=True)
    assert (await run(command)).outcome is Outcome.FAILED


@pytest.mark.slow
@needs("make")
async def test_pytest_inside_make_is_read(run: RunCheck, write: Write) -> None:
    write("Makefile", "test:\n\tpython -m pytest -q\n")
    write("test_a.py", "def test_one(): pass\n")
    result = await run("make test")
    assert (result.outcome, result.is_test_run, result.reason) == (Outcome.PASSED, True, "1 test passed")


async def test_a_check_that_once_reported_a_test_stays_a_test_run(run: RunCheck, write: Write, root: Path) -> None:
    write("test_a.py", "def test_one(): pass\n")
    write("run.sh", "python -m pytest -q\n")
    assert (await run("sh run.sh")).is_test_run
    write("run.sh", "true\n")
    result = await run("sh run.sh")
    assert (result.outcome, result.passed) == (Outcome.NO_REPORT, False)


async def test_a_check_that_is_known_to_be_a_test_run(root: Path, tmp_path: Path) -> None:
    check = Check.of("true")
    checker = CommandChecker(
        SystemProcesses(), root, tmp_path / "scratch", lambda: dict(os.environ), known_test_runs=[check.id]
    )
    assert (await checker.run(check, timeout=5, token="t")).outcome is Outcome.NO_REPORT


async def test_checks_side_by_side_keep_their_own_reports(run: RunCheck, write: Write) -> None:
    write("test_a.py", "def test_one(): pass\n")
    write("test_b.py", "def test_two():\n    assert 0\n")
    first, second = await asyncio.gather(run("python -m pytest -q test_a.py"), run("python -m pytest -q test_b.py"))
    assert [t.name for t in first.tests] == ["test_a.py::test_one"]
    assert [t.name for t in second.tests] == ["test_b.py::test_two"]


# ------------------------------------------------------------------------------------------ other runners


async def test_unittest_counts_by_what_it_prints(run: RunCheck, write: Write) -> None:
    write(
        "test_a.py",
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        pass\n\n"
        "    def test_two(self):\n        self.assertEqual(1, 2)\n",
    )
    result = await run("python -m unittest")
    assert (result.outcome, result.reason) == (
        Outcome.FAILED,
        "1 of 2 tests failed: test_a.py:8: test_two: AssertionError: 1 != 2",
    )
    assert [(p.path, p.line, p.message) for p in result.problems] == [
        ("test_a.py", 7, "test_two: AssertionError: 1 != 2")
    ]


async def test_unittest_without_tests_is_no_pass(run: RunCheck) -> None:
    result = await run("python -m unittest")
    assert (result.outcome, result.is_test_run) == (Outcome.NO_TESTS, True)


async def test_a_program_beside_a_runner_can_not_count_for_it(run: RunCheck) -> None:
    result = await run("python -m unittest --help >/dev/null; echo 'Ran 5 tests in 0.1s'; echo; echo OK")
    assert (result.outcome, result.totals) == (Outcome.NO_REPORT, None)


@needs("node")
async def test_node_counts_by_what_it_prints(run: RunCheck, write: Write) -> None:
    write(
        "a.test.mjs",
        "import test from 'node:test';\nimport assert from 'node:assert';\n"
        "test('adds', () => { assert.equal(1 + 1, 2); });\ntest('breaks', () => {\n  assert.equal(1, 2);\n});\n",
    )
    result = await run("node --test")
    assert result.outcome is Outcome.FAILED
    assert (result.totals.passed, result.totals.failed) == (1, 1)
    assert ("a.test.mjs", 4) in [(p.path, p.line) for p in result.problems]


@needs("node")
async def test_a_report_that_a_runner_prints_is_read(run: RunCheck, write: Write) -> None:
    write("a.test.mjs", "import test from 'node:test';\ntest('adds', () => {});\n")
    result = await run("node --test --test-reporter=junit")
    assert (result.outcome, result.totals.source) == (Outcome.PASSED, "junit")
    assert [t.outcome for t in result.tests] == ["passed"]


@pytest.mark.slow
@needs("cargo")
async def test_cargo_counts_by_what_it_prints(run: RunCheck, write: Write) -> None:
    write("Cargo.toml", '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n')
    write(
        "src/lib.rs",
        "#[test]\nfn good() {}\n\n#[test]\nfn bad() {\n    assert_eq!(1, 2);\n}\n\n#[test]\n#[ignore]\nfn later() {}\n",
    )
    result = await run("cargo test", timeout=100)
    assert result.outcome is Outcome.FAILED
    assert result.reason.startswith("1 of 2 tests failed: src/lib.rs:6: bad: assertion")
    assert ("src/lib.rs", 5) in [(p.path, p.line) for p in result.problems]


# ------------------------------------------------------------------------- environment, program, secrets


async def test_keys_do_not_reach_a_check(run: RunCheck, variables: dict[str, str]) -> None:
    variables |= {
        "OPENAI_API_KEY": "sk-0123456789abcdefghij",
        "GITHUB_TOKEN": "tokentoken",
        "AWS_SECRET_ACCESS_KEY": "secretsecret",
        "PGPASSWORD": "passpass",
        "DONEWHEN_STATE_DIR": "/nowhere",
        "CI": "true",
        "AWS_REGION": "eu-central-1",
    }
    names = {line.split("=")[0] for line in (await run("env")).output.splitlines()}
    assert not names & {"OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "DONEWHEN_STATE_DIR"}
    assert names >= {"CI", "AWS_REGION", "DONEWHEN_RUN_TOKEN", "PATH"}


@pytest.mark.conformance("C13")
async def test_secrets_are_masked_in_everything(run: RunCheck, write: Write, variables: dict[str, str]) -> None:
    variables["SERVICE_TOKEN"] = "correct-horse-battery"
    write("test_a.py", "def test_one():\n    assert 'correct-horse-battery' == 'ghp_0123456789abcdefghijABCDEFGHIJ'\n")
    result = await run("python -m pytest -q")
    everything = repr(result)
    assert "correct-horse-battery" not in everything
    assert "ghp_0123456789" not in everything
    assert "[masked]" in result.problems[0].message


def make_venv(home: Path) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "pyvenv.cfg").write_text("home = /usr/bin\n")
    python = home / "bin/python"
    python.write_text("#!/bin/sh\necho $0\n")
    python.chmod(0o755)
    return python


@pytest.mark.parametrize("name", [".venv", "venv"])
async def test_the_workspaces_environment_comes_first(run: RunCheck, root: Path, name: str) -> None:
    python = make_venv(root / name)
    result = await run("python; echo $VIRTUAL_ENV")
    assert result.program == str(python)
    assert result.output.splitlines()[1] == str(root / name)


async def test_a_conda_environment_comes_first(run: RunCheck, root: Path) -> None:
    make_venv(root / ".conda")
    (root / ".conda/pyvenv.cfg").unlink()
    (root / ".conda/conda-meta").mkdir()
    assert (await run("echo $CONDA_PREFIX")).output == f"{root / '.conda'}\n"
    assert (await run("python")).program == str(root / ".conda/bin/python")


async def test_the_editors_interpreter_comes_before_the_workspaces(root: Path, tmp_path: Path) -> None:
    make_venv(root / ".venv")
    selected = make_venv(tmp_path / "selected")
    checker = CommandChecker(
        SystemProcesses(), root, tmp_path / "scratch", lambda: dict(os.environ), interpreter=selected
    )
    result = await checker.run(Check.of("python"), timeout=10, token="t")
    assert result.program == str(selected)


async def test_another_interpreter_may_be_selected_later(checker: CommandChecker, root: Path, tmp_path: Path) -> None:
    first, second = make_venv(root / ".venv"), make_venv(tmp_path / "second")
    check = Check.of("python --version")
    before = checker.environment(check)
    assert checker.program(check) == str(first)
    checker.select_interpreter(second)
    assert checker.program(check) == str(second)
    assert checker.environment(check) != before


async def test_done_whens_own_environment_is_not_put_on_path(run: RunCheck, variables: dict[str, str]) -> None:
    variables["PATH"] = "/usr/bin:/bin"
    assert str(Path(sys.prefix)) not in (await run("echo $PATH $VIRTUAL_ENV")).output


def test_the_environments_digest_tells_programs_and_variables_apart(
    checker: CommandChecker, write: Write, variables: dict[str, str]
) -> None:
    check = Check.of("./tool.sh --x")
    before = checker.environment(check)
    assert before == checker.environment(check)
    write("tool.sh", "#!/bin/sh\ntrue\n").chmod(0o755)
    with_program = checker.environment(check)
    write("tool.sh", "#!/bin/sh\nfalse\n")
    other_program = checker.environment(check)
    variables["MODE"] = "fast"
    with_variable = checker.environment(check)
    variables["SHLVL"] = "7"
    assert len({before, with_program, other_program, with_variable}) == 4
    assert checker.environment(check) == with_variable


@pytest.mark.parametrize(
    "changed",
    [
        ".venv/lib/python3.11/site-packages/pytest_asyncio-1.2.0.dist-info/METADATA",
        "node_modules/.package-lock.json",
        "node_modules/.pnpm/lock.yaml",
    ],
)
def test_what_is_installed_is_part_of_the_environment(
    checker: CommandChecker, root: Path, write: Write, changed: str
) -> None:
    make_venv(root / ".venv")
    (root / ".venv/lib/python3.11/site-packages").mkdir(parents=True)
    checks = (Check.of("python -m pytest"), Check.of("make test"))
    before = [checker.environment(check) for check in checks]
    write(changed, "one")
    after = [checker.environment(check) for check in checks]
    assert not set(before) & set(after)
    write(changed, "one")
    assert [checker.environment(check) for check in checks] == after


@pytest.mark.skipif(sys.platform == "win32", reason="programs lie elsewhere there")
@pytest.mark.parametrize("program", ["tools/bin/python", "tools/bin/runner", "linked"])
def test_what_is_installed_beside_a_program_is_part_of_its_environment(
    checker: CommandChecker, root: Path, write: Write, program: str
) -> None:
    """Another environment than the one of the `python` that comes first on PATH."""
    make_venv(root / ".venv")
    make_venv(root / "tools")
    write("tools/bin/runner", "#!/bin/sh\n").chmod(0o755)
    (root / "linked").symlink_to("tools/bin/runner")
    (root / "tools/lib/python3.11/site-packages").mkdir(parents=True)
    check, other = Check.of(f"./{program} t.py"), Check.of("make test")
    before = (checker.environment(check), checker.environment(other))
    write("tools/lib/python3.11/site-packages/plugin-1.0.dist-info/METADATA", "one")
    assert checker.environment(check) != before[0]
    assert checker.environment(other) == before[1]


@pytest.mark.parametrize(
    ("files", "command", "reason"),
    [
        (
            {"pytest.ini": "[pytest]\nfilterwarnings = error\nasyncio_mode = auto\n"},
            "python -m pytest",
            "pytest broke off before any test: PytestConfigWarning: Unknown config option: asyncio_mode; "
            "hint: `pytest-asyncio` is not installed here",
        ),
        (
            {"conftest.py": "def pytest_runtest_logfinish():\n    raise ValueError('mid')\n"},
            "sh all",
            "pytest broke off after 1 test: ValueError: mid",
        ),
        pytest.param(
            {"conftest.py": "import pytest\ndef pytest_runtest_logfinish():\n    pytest.exit('no database')\n"},
            "sh all",
            "pytest broke off after 1 test: Exit: no database",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"conftest.py": "def pytest_runtest_logfinish():\n    raise KeyboardInterrupt\n"},
            "pytest -q",
            "pytest broke off after 1 test: KeyboardInterrupt",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"conftest.py": "raise RuntimeError('no')\n"},
            "pytest -q",
            "pytest broke off before any test (exit code 4): RuntimeError: no",
            marks=pytest.mark.slow,
        ),
        (
            {},
            "pytest nosuch.py",
            "pytest broke off before any test (exit code 4): ERROR: file or directory not found: nosuch.py",
        ),
    ],
    ids=["configuration", "in mid-run", "ended by a test", "interrupted", "conftest", "arguments"],
)
async def test_a_runner_that_breaks_off_is_no_failed_test(
    run: RunCheck, write: Write, files: dict[str, str], command: str, reason: str
) -> None:
    write("test_a.py", "def test_a():\n    pass\n")
    write("all", "python -m pytest\n")
    for path, text in files.items():
        write(path, text)
    result = await run(command)
    assert result.outcome is Outcome.FAILED
    assert result.reason.startswith(reason)
    assert not [test for test in result.tests if test.outcome == "failed"]


async def test_a_marker_that_is_not_declared_is_named_with_what_helps(run: RunCheck, write: Write) -> None:
    write("pytest.ini", "[pytest]\naddopts = --strict-markers\n")
    write("test_a.py", "import pytest\n@pytest.mark.slwo\ndef test_a():\n    pass\n")
    result = await run("pytest -q")
    assert "1 test file could not be collected" in result.reason
    assert "'slwo' not found in `markers` configuration option" in result.reason
    assert "or list `slwo` under `markers`" in result.reason


@pytest.mark.parametrize("command", ["python -m unittest", "python -m unittest nosuchmodule"])
async def test_a_module_that_unittest_can_not_load_is_no_failed_test(run: RunCheck, write: Write, command: str) -> None:
    write("test_a.py", "import nosuchmodule\n")
    result = await run(command)
    assert result.outcome is Outcome.FAILED
    assert result.reason.startswith("1 test file could not be collected")


BROKEN_OFF = [
    ("go test ./...", "# x [x.test]\n./a_test.go:5:2: undefined: f\nFAIL\tx [build failed]\nFAIL\n",
     "go test broke off before any test: x [build failed]: a_test.go:5: undefined: f"),
    ("go test ./...", "ok  \tx/a\t0.1s\n# x/b\nFAIL\tx/b [build failed]\nFAIL\n", "1 of 2 tests failed"),
    ("cargo test", "error[E0425]: cannot find value `nope` in this scope\n --> src/lib.rs:1:21\n\n"
     "error: could not compile `x` (lib test) due to 1 previous error\n",
     "cargo test broke off before any test: could not compile `x` (lib test) due to 1 previous error"),
    ("pytest -q", "INTERNALERROR>     raise\nINTERNALERROR> pytest.PytestWarning: x "
     "is unset.\nINTERNALERROR> It will be set.\n", "pytest broke off before any test: PytestWarning: x is unset."),
    ("vitest run", "failed to load config from /w/vitest.config.mjs\n\n⎯⎯⎯ Startup Error ⎯⎯⎯\nError: bad config\n"
     "    at load (node_modules/vite/node.js:3:1)\n", "vitest broke off before any test: Error: bad config"),
    ("jest", "● Validation Error:\n\n  Test environment x cannot be found. Make sure of it.\n\n  Configuration\n",
     "jest broke off before any test: Test environment x cannot be found. Make sure of it."),
    ("jest", "/w/jest.config.js:2\n\n\n\nSyntaxError: Unexpected end of input\n"
     "    at load (node_modules/vite/node.js:3:1)\n",
     "jest broke off before any test: SyntaxError: Unexpected end of input"),
    ("mocha", "\n✖ ERROR: Error: Cannot find module './nope.js'\n    at load (node_modules/vite/node.js:3:1)\n",
     "mocha broke off before any test: Error: Cannot find module './nope.js'"),
    ("mocha", "\n Exception during run: Error: boom\n", "mocha broke off before any test: Error: boom"),
    ("mocha", "\n Exception during run: /w/test/a.js:2\n\n\n\nSyntaxError: Unexpected end of input\n    at a\n",
     "mocha broke off before any test: SyntaxError: Unexpected end of input"),
    ("mocha", "\n  1 passing (2ms)\n  1 failing\n\n Exception during run: Error: boom\n", "1 of 2 tests failed"),
    ("sh all", "\n Exception during run: Error: boom\n", "mocha broke off before any test: Error: boom"),
    ("sh all", "TAP version 13\n1..3\nBail out! database is gone\n",
     "the test run broke off before any test: database is gone"),
    ("tap", "TAP version 13\n1..4\nok 1 - a\nnot ok 2 - b\nBail out!\n",
     "tap broke off after 2 tests (1 failed): Bail out!"),
    ("tap", "TAP version 13\nok 1 - a\nBail out! no disk\n", "tap broke off after 1 test: no disk"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "printed", "reason"), BROKEN_OFF)
async def test_other_runners_that_break_off_are_no_failed_test(
    run: RunCheck, write: Write, root: Path, command: str, printed: str, reason: str
) -> None:
    for path in ("a_test.go", "src/lib.rs", "node_modules/vite/node.js"):
        write(path, "a\n" * 9)
    write("printed", printed)
    write("all", "cat printed; exit 2\n")
    write(f"bin/{command.split()[0]}", "#!/bin/sh\ncat printed\nexit 1\n")
    (root / "bin" / command.split()[0]).chmod(0o755)
    result = await run(command if command == "sh all" else f"bin/{command}")
    assert result.outcome is Outcome.FAILED
    assert result.reason.startswith(reason)
    assert not [one for one in result.problems if "node_modules" in one.path]


async def test_a_stream_that_bails_out_proves_nothing_whatever_its_exit_code(run: RunCheck, write: Write) -> None:
    write("printed", "TAP version 13\nok 1 - a\nBail out! no disk\n")
    write("all", "cat printed\n")
    result = await run("sh all")
    assert (result.outcome, result.reason) == (Outcome.FAILED, "the test run broke off after 1 test: no disk")


@pytest.mark.conformance("A8")
@pytest.mark.parametrize(
    "says",
    [
        "warning: No Python files found under the given path(s)",
        "No Python files are present to be formatted. Nothing to do",
        "No source files found.",
        "No files matching the pattern 'src' were found.",
        'go: warning: "./..." matched no packages',
    ],
)
async def test_a_linter_that_checked_no_file_proves_nothing(run: RunCheck, write: Write, says: str) -> None:
    write("said.txt", f"{says}\n")
    result = await run("cat said.txt >&2")
    assert (result.outcome, result.passed) == (Outcome.NO_REPORT, False)
    assert result.reason == f"it checked no file: `{says}`"


async def test_other_words_about_files_are_no_matter(run: RunCheck, write: Write) -> None:
    write("test_a.py", "def test_one():\n    print('No Python files found')\n")
    assert (await run("python -m pytest -q -s")).passed
    assert (await run("echo 'it says so if no files were found'")).passed
