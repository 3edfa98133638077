"""The totals that runners print, by runner, and which command lines they count for."""

from __future__ import annotations

import pytest

from donewhen.evidence.commandline import segments
from donewhen.evidence.known_runners import what_runs
from donewhen.evidence.printed_tests import printed_failures, printed_tests
from donewhen.evidence.totals import printed_totals

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
    # Programs that could have printed it themselves.
    ("echo 5 passed", "5 passed in 0.1s\n", None),
    ("npx jest; echo Tests: 5 passed", "Tests: 5 passed\n", None),
    ("cat log", "test result: ok. 3 passed; 0 failed; 0 ignored\n", None),
    ("cargo build", "test result: ok. 3 passed; 0 failed; 0 ignored\n", None),
    ("cargo test | tee log", "test result: ok. 3 passed; 0 failed; 0 ignored\n", (3, 0, 0)),
    ("cd a && cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored\n", (3, 0, 0)),
    ("cargo test 'unfinished", "test result: ok. 3 passed; 0 failed; 0 ignored\n", None),
]


@pytest.mark.parametrize(("command", "output", "expected"), CASES)
def test_printed_totals(command: str, output: str, expected: tuple[int, int, int] | None) -> None:
    found = printed_totals(output, what_runs(segments(command)).totals)
    assert (found and (found.passed, found.failed, found.skipped)) == expected


@pytest.mark.parametrize(
    ("command", "runner"),
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
        ("npm test", None),
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
    found = what_runs(segments(command)).runner
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


@pytest.mark.parametrize(("command", "output", "expected"), NAMED)
def test_tests_are_named_where_all_are(command: str, output: str, expected: list[tuple[str, str]]) -> None:
    forms = what_runs(segments(command)).totals
    tests = printed_tests(output, forms, printed_totals(output, forms))
    assert [(test.name, test.outcome) for test in tests] == expected
