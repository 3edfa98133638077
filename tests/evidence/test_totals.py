"""The totals that runners print, by runner, and which command lines they count for."""

from __future__ import annotations

import pytest

from donewhen.evidence.known_runners import read_line, what_runs
from donewhen.evidence.reports.printed import printed_failures, printed_tests
from tests.tools import each_row

# command, output, (passed, failed, skipped) or None where nothing counts
CASES: list[tuple[str, str, tuple[int, int, int] | None]] = [
    ("python -m unittest", "...\n-----\nRan 3 tests in 0.001s\n\nOK\n", (3, 0, 0)),
    ("python -m unittest", "Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n", (1, 2, 1)),
    ("python -m unittest", "Ran 2 tests in 0.001s\n\nOK (expected failures=1)\n", (1, 0, 1)),
    ("python -m unittest", "\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", (0, 0, 0)),
    ("python -m unittest a && python -m unittest b", "Ran 1 test in 0s\n\nOK\nRan 2 tests in 0s\n\nOK\n", (3, 0, 0)),
    (
        "cargo test",
        "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        (4, 2, 1),
    ),
    ("cargo test", "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out\n", (0, 0, 0)),
    ("cargo nextest run", "     Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 2 skipped\n", (4, 1, 2)),
    ("go test ./...", "ok  \texample.com/a\t0.002s\n?   \texample.com/b\t[no test files]\n", (1, 0, 0)),
    (
        "go test ./...",
        "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.002s\nok  \texample.com/b\t0.1s\n",
        (1, 1, 0),
    ),
    ("go test ./...", "--- FAIL: TestA (0.00s)\nFAIL\nexit status 1\nFAIL\texample.com/a\t0.002s\nFAIL\n", (0, 1, 0)),
    ("go test ./...", "ok  \texample.com/a\t0.002s [no tests to run]\n", (0, 0, 0)),
    (
        "go test -v ./...",
        "--- PASS: TestA (0.00s)\n    --- SKIP: TestA/b (0.00s)\n--- FAIL: TestC (0.00s)\nFAIL\texample.com/a\t0.1s\n",
        (1, 1, 1),
    ),
    (
        "go test -json ./...",
        '{"Action":"pass","Package":"a","Test":"TestA"}\n{"Action":"fail","Package":"a","Test":"TestB"}\n'
        '{"Action":"pass","Package":"a"}\n',
        (1, 1, 0),
    ),
    ("npx jest", "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 skipped, 3 passed, 6 total\n", (3, 1, 2)),
    (
        "npx vitest run",
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 4 passed | 1 skipped (6)\n",
        (4, 1, 1),
    ),
    ("npm test", "  3 passing (5ms)\n  1 pending\n  2 failing\n", (3, 2, 1)),
    ("npx mocha", "  3 passing (5ms)\n", (3, 0, 0)),
    ("npx mocha", "  0 passing (1ms)\n", (0, 0, 0)),
    ("node --test", "# tests 3\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n", (1, 1, 1)),
    ("node --test", "ℹ tests 2\nℹ pass 2\nℹ fail 0\nℹ skipped 0\n", (2, 0, 0)),
    ("nox -s tests", "===== 2 passed, 1 skipped in 0.12s =====\nnox > Session tests was successful.\n", (2, 0, 1)),
    ("tox", "3.11: 1 failed, 2 passed in 0.10s\n1 failed, 2 passed in 0.10s\n2 passed in 0.20s\n", (4, 1, 0)),
    ("bun test", " 3 pass\n 1 fail\n 4 expect() calls\n", (3, 1, 0)),
    ("deno test", "ok | 3 passed | 0 failed | 1 ignored (5ms)\n", (3, 0, 1)),
    ("rspec", "3 examples, 1 failure, 1 pending\n", (1, 1, 1)),
    ("phpunit", "OK (3 tests, 5 assertions)\n", (3, 0, 0)),
    ("phpunit", "Tests: 3, Assertions: 5, Failures: 1.\n", (2, 1, 0)),
    ("mix test", "5 tests, 1 failure, 1 skipped\n", (3, 1, 1)),
    ("ctest", "67% tests passed, 1 tests failed out of 3\n", (2, 1, 0)),
    ("gotestsum", "DONE 5 tests, 1 skipped, 2 failures in 0.1s\n", (2, 2, 1)),
    ("dotnet test", "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4\n", (3, 0, 1)),
    ("prove -r t", "t/a.t .. ok\nFiles=1, Tests=3,  0 wallclock secs\nResult: PASS\n", (3, 0, 0)),
    ("tape a.js", "TAP version 13\nok 1 a\nnot ok 2 b\nok 3 c # SKIP later\n1..3\n", (1, 1, 1)),
    ("tape a.js", "TAP version 13\nnot ok 1 a # TODO soon\n1..3\n", (0, 2, 1)),
    # pytest itself always writes the report that it is asked for: what is printed counts for nothing.
    ("pytest -q", "5 passed in 0.1s\n", None),
    ("python -m pytest", "===== 5 passed in 0.1s =====\n", None),
    # A runner that surely ran prints its own: another program forges none where there is one.
    ("python prepare.py && python -m unittest", "Ran 2 tests in 0.1s\n\nOK\n", (2, 0, 0)),
    ("python prepare.py && python -m unittest", "Ran 2 tests in 0.1s\n\nOK\nRan 0 tests in 0.0s\n\nOK\n", None),
    ("python prepare.py || python -m unittest", "Ran 2 tests in 0.1s\n\nOK\n", None),
    # Programs that could have printed it themselves.
    ("echo 5 passed", "5 passed in 0.1s\n", None),
    ("npx jest; echo Tests: 5 passed", "Tests: 5 passed\n", None),
    ("cat log", "test result: ok. 3 passed; 0 failed; 0 ignored\n", None),
    ("./ci.sh | cat; cat log", "test result: ok. 3 passed; 0 failed; 0 ignored\n", None),
    ("./ci.sh && echo 'test result: ok. 3 passed; 0 failed; 0 ignored'", "test result: ok. 3 passed; 0 failed\n", None),
    ("ruff check .", "test result: ok. 3 passed; 0 failed; 0 ignored\n", None),
    # Programs that may run a runner: what it prints is believed as far as their exit code is, and not beyond.
    ("./ci.sh | cat; echo done", "test result: ok. 3 passed; 0 failed; 0 ignored\n", (3, 0, 0)),
    (
        "./ci.sh",
        "===== 2 passed in 0.1s =====\nok  \texample.com/a\t0.002s\n"
        " Test Files  1 passed (1)\n      Tests  3 skipped (3)\n",
        (3, 0, 3),
    ),
    ("./ci.sh", "===== 2 passed in 0.1s =====\nRunning 2 tests using 1 worker\n", None),
    ("cargo test | tee log", "test result: ok. 3 passed; 0 failed; 0 ignored\n", (3, 0, 0)),
    ("cd a && cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored\n", (3, 0, 0)),
    ("cargo test 'unfinished", "test result: ok. 3 passed; 0 failed; 0 ignored\n", None),
]


@each_row("command, output, expected", CASES)
def test_printed_totals(command: str, output: str, expected: tuple[int, int, int] | None) -> None:
    found = what_runs(read_line(command)).totals(output)
    assert (found and (found.passed, found.failed, found.skipped)) == expected


@each_row(
    "command, runner",
    [
        ("pytest -q", "pytest"),
        ("python -m pytest", "pytest"),
        ("python3.12 -X dev -m pytest tests", "pytest"),
        (".venv/bin/python -m pytest", "pytest"),
        ("CI=1 .venv/bin/pytest", "pytest"),
        ("uv run pytest", "pytest"),
        ("uv run --frozen python -m pytest", "pytest"),
        ("poetry run pytest", "pytest"),
        ("coverage run -m pytest && coverage report", "pytest"),
        ("timeout 60 pytest", "pytest"),
        ("env A=b pytest", "pytest"),
        ("cd server && pytest", "pytest"),
        ("(cd server; pytest)", "pytest"),
        ("pytest || true", "pytest"),
        ("npx --yes jest --ci", "jest"),
        ("pnpm exec vitest run", "vitest"),
        ("node --experimental-x --test", "node --test"),
        ("go test ./...", "go test"),
        ("cargo test --all", "cargo test"),
        ("pytest.exe", "pytest"),
        ("pnpm vitest run", "vitest"),
        ("pnpm --filter web vitest run", "vitest"),
        ("yarn vitest", "vitest"),
        ("yarn --cwd web run vitest --run", "vitest"),
        ("yarn workspace web jest", "jest"),
        ("bun run vitest", "vitest"),
        ("bunx --bun vitest", "vitest"),
        ("npx -p jest jest", "jest"),
        ("npx -c 'jest --ci'", "jest"),
        ("npm exec --workspace web -- jest", "jest"),
        ("cross-env CI=1 A=2 jest", "jest"),
        ("cargo --locked test", "cargo test"),
        ("cargo +nightly test", "cargo test"),
        ("cargo --manifest-path a/Cargo.toml --locked t", "cargo test"),
        ("rustup run nightly cargo test", "cargo test"),
        ("nice -n 10 python -m unittest", "unittest"),
        ("ionice -c 3 nice -10 python -m unittest", "unittest"),
        ("chrt -f 10 stdbuf -oL setsid -w chronic pytest", "pytest"),
        ("uv run --extra dev python -m unittest", "unittest"),
        ("uv --directory d run -m pytest", "pytest"),
        ("uv tool run --from pytest pytest", "pytest"),
        ("uvx --with a pytest", "pytest"),
        ("timeout -k 5 60 pytest", "pytest"),
        ("timeout --signal=KILL 1m pytest", "pytest"),
        ("env -u A -C d B=1 pytest", "pytest"),
        ("env -i PATH=/bin pytest", "pytest"),
        ("env -S 'A=1 pytest -q'", "pytest"),
        ("bash -c 'pytest -q'", "pytest"),
        ("bash -euo pipefail -c 'cd a && pytest -q'", "pytest"),
        ("sh -lc \"timeout 9 bash -c 'pytest'\"", "pytest"),
        ("eval 'pytest -q'", "pytest"),
        ("watch 'pytest -q'", "pytest"),
        ("flock -w 5 /tmp/lock -c 'pytest -q'", "pytest"),
        ("poetry run -C d pytest", "pytest"),
        ("poetry -C d run python -m pytest", "pytest"),
        ("pdm run -p d pytest", "pytest"),
        ("hatch -e test run pytest", "pytest"),
        ("hatch env run -e test py3.12:pytest", "pytest"),
        ("conda run -n env pytest", "pytest"),
        ("pixi run -e test pytest", "pytest"),
        ("tox exec -e py -- pytest", "pytest"),
        ("go -C d test ./...", "go test"),
        ("python -mpytest", "pytest"),
        ("python -Im pytest", "pytest"),
        ("py -3 -m pytest", "pytest"),
        ("python -W error -m coverage run --source a -m pytest", "pytest"),
        ("coverage run -p -m unittest discover", "unittest"),
        ("python -m cProfile -o out -m pytest", "pytest"),
        ("sudo -u me A=1 pytest", "pytest"),
        ("xvfb-run -a -s '-screen 0' pytest", "pytest"),
        ("docker compose -f x.yml run --rm -e A=1 app pytest -q", "pytest"),
        ("docker run -v .:/w image go test ./...", "go test"),
        ("mise exec python@3.12 -- pytest", "pytest"),
        ("direnv exec . pytest", "pytest"),
        ("nix develop -c pytest", "pytest"),
        ("time -p pytest", "pytest"),
        ("if ! pytest -q; then exit 1; fi", "pytest"),
        ("pytest > log 2>&1; tail log", "pytest"),
        ("npm test", None),
        ("yarn test", None),
        ("pnpm run vitest:ci", None),
        ("env -i echo pytest", None),
        ("uv run --frozen ruff check pytest", None),
        ("timeout 60 grep pytest a.txt", None),
        ("bash pytest.sh -c pytest", None),
        ("sudo cat pytest", None),
        ("bash -c 'echo pytest'", None),
        ("poetry run python pytest_helper.py", None),
        ("cargo build --package test", None),
        ("go vet ./test", None),
        ("python -c 'import pytest' -m pytest", None),
        ("make test", None),
        ("tox -e lint", None),
        ("node server.js", None),
        ("cargo build", None),
        ("ruff check .", None),
        ("echo pytest", None),
        ("grep pytest README.md", None),
        ("pip install pytest", None),
        ("", None),
    ],
)
def test_which_commands_are_test_runs_by_their_name(command: str, runner: str | None) -> None:
    found = what_runs(read_line(command)).runner
    assert (found.name if found else None) == runner


def test_failed_tests_are_named() -> None:
    output = "test a::good ... ok\ntest a::bad ... FAILED\n\nfailures:\n"
    assert [test.name for test in printed_failures(output, ("cargo",))] == ["a::bad"]


# command, output, the tests with their outcomes, in order; none where the output doesn't name all
NAMED: list[tuple[str, str, list[tuple[str, str]]]] = [
    (
        "cargo test",
        "test a::good ... ok\ntest a::bad - should panic ... FAILED\ntest later ... ignored, slow\n"
        "test result: FAILED. 1 passed; 1 failed; 1 ignored\n",
        [("a::good", "passed"), ("a::bad", "failed"), ("later", "skipped")],
    ),
    (
        "python -m unittest -v",
        "test_a (m.T.test_a) ... ok\ntest_b (m.T.test_b)\nWhat it does. ... FAIL\n"
        "test_c (m.T.test_c) ... skipped 'x'\n\nRan 3 tests in 0.1s\n\nFAILED (failures=1, skipped=1)\n",
        [("test_a (m.T.test_a)", "passed"), ("test_b (m.T.test_b)", "failed"), ("test_c (m.T.test_c)", "skipped")],
    ),
    (
        "go test -json ./...",
        '{"Action":"pass","Package":"a","Test":"TestA"}\n{"Action":"pass","Package":"b","Test":"TestA"}\n',
        [("a.TestA", "passed"), ("b.TestA", "passed")],
    ),
    ("go test -v", "--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\n", [("TestA", "passed"), ("TestB", "skipped")]),
    ("tape a.js", "TAP version 13\nok 1 a\nnot ok 2 b\n1..2\n", [("a", "passed"), ("b", "failed")]),
    ("cargo test", "test a ... ok\n[... 9 bytes cut ...]\ntest result: ok. 7 passed; 0 failed; 0 ignored\n", []),
    ("python -m unittest", "..\nRan 2 tests in 0.1s\n\nOK\n", []),
]


@each_row("command, output, expected", NAMED)
def test_tests_are_named_where_all_are(command: str, output: str, expected: list[tuple[str, str]]) -> None:
    runs = what_runs(read_line(command))
    tests = printed_tests(output, runs.all_forms(output), runs.totals(output))
    assert [(test.name, test.outcome) for test in tests] == expected


# What runners print where no test ran, or all were skipped.
NOTHING = [
    "\n===== no tests ran in 0.01s =====\n",
    "3 skipped in 0.02s\n",
    "collected 0 items\n\n===== 1 warning in 0.01s =====\n",
    "\n------\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n",
    "Ran 3 tests in 0.000s\n\nOK (skipped=3)\n",
    "Ran 2 tests in 0.000s\n\nPASSED (skips=2)\n",
    "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
    "running 2 tests\ntest result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n",
    "?   \texample.com/a\t[no test files]\n",
    "testing: warning: no tests to run\nPASS\nok  \texample.com/a\t0.002s [no tests to run]\n",
    "=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \texample.com/a\t0.002s\n",
    "--- PASS: TestA (0.00s)\n    --- SKIP: TestA/b (0.00s)\nPASS\nok  \texample.com/a\t0.002s\n",
    "Test Suites: 1 skipped, 0 of 1 total\nTests:       3 skipped, 3 total\n",
    "No tests found, exiting with code 0\n",
    " Test Files  1 skipped (1)\n      Tests  3 skipped (3)\n",
    "No test files found, exiting with code 0\n",
    "  0 passing (1ms)\n  3 pending\n",
    "# tests 3\n# pass 0\n# fail 0\n# skipped 3\n",
    "TAP version 13\n1..0\n",
    "  3 tests skipped\n",
    " 0 pass\n 3 skip\n 0 fail\nRan 3 tests across 1 file. [5ms]\n",
    "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 3\n",
    "[INFO] No tests to run.\n",
    "No tests were found!!!\n",
    "OK, but some tests were skipped!\nTests: 3, Assertions: 0, Skipped: 3.\n",
    "No tests executed!\n",
    "3 examples, 0 failures, 3 pending\n",
    "3 runs, 0 assertions, 0 failures, 0 errors, 3 skips\n",
    "3 tests, 0 failures, 3 skipped\n",
    "No test is available in /w/a.dll. Make sure that ...\n",
]


@pytest.mark.conformance("A8")
@each_row("output", NOTHING)
def test_output_of_a_runner_is_a_test_run_whatever_its_line(output: str) -> None:
    runs = what_runs(read_line("./anything --at all"))
    totals = runs.totals(output)
    assert runs.form_of(output)
    assert totals is not None
    assert totals.executed == 0


@each_row(
    "output",
    [
        "Found 7 errors.\n[*] 3 fixable with the `--fix` option.\nAll checks passed!\n",
        "Success: no issues found in 3 source files\n",
        "0 errors, 0 warnings, 0 informations\n",
        "✖ 3 problems (1 error, 2 warnings)\n",
        "3 files would be left unchanged.\n",
        "ruff.....................................................................Passed\n",
        "   Compiling a v0.1.0\n    Finished `dev` profile in 0.10s\n",
        "Name    Stmts   Miss  Cover\nTOTAL      10      0   100%\n",
        "a.py:3: Ran 0 tests in 0.1s\n 12 | 5 passed in 0.1s\n",
        "all tests passed, I think: 5 passed\nok then\nTests: fine\n",
    ],
)
def test_other_output_is_no_runners(output: str) -> None:
    assert what_runs(read_line("./anything")).form_of(output) == ()


def test_a_runner_in_an_environment_of_its_own_gets_no_report_and_is_counted_by_what_it_prints() -> None:
    for command in (
        "docker run image pytest",
        "env -i pytest",
        "sudo pytest",
        "tox exec -- pytest",
        "ssh a 'pytest -q'",
    ):
        found = what_runs(read_line(command)).totals("5 passed in 0.1s\n")
        assert found is not None, command
        assert found.passed == 5
