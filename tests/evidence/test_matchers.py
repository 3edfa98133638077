"""What programs print, and the places that are found in it: a table for each program."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.evidence.known_runners import read_line, what_runs
from donewhen.evidence.places import Places, find_problems
from donewhen.evidence.reports.printed import printed_totals
from donewhen.evidence.text import Masker, strip_ansi

FILES = (
    "app.py",
    "src/app.ts",
    "src/main.rs",
    "src/lib.rs",
    "src/app.c",
    "src/app.test.js",
    "src/calc.js",
    "tests/test_app.py",
    "sums/sums_test.go",
    "main.go",
    "t/sums.t",
    "a b.py",
)

# name, output ({root} stands for the workspace's folder), [(path, line, column, severity, message)]
CASES: list[tuple[str, str, list[tuple[str, int, int, str, str]]]] = [
    (
        "gcc",
        "src/app.c: In function 'main':\n"
        "src/app.c:3:5: error: expected ';' before '}' token\n"
        "    3 |     return 0\n"
        "src/app.c:1:1: warning: unused variable 'x' [-Wunused-variable]\n"
        "src/app.c:9:2: note: declared here\n"
        "/usr/include/stdio.h:3:5: error: not ours\n",
        [
            ("src/app.c", 2, 4, "error", "expected ';' before '}' token"),
            ("src/app.c", 0, 0, "warning", "unused variable 'x' [-Wunused-variable]"),
            ("src/app.c", 8, 1, "information", "declared here"),
        ],
    ),
    (
        "gcc, fatal",
        "src/app.c:1:10: fatal error: nope.h: No such file or directory\n",
        [("src/app.c", 0, 9, "error", "nope.h: No such file or directory")],
    ),
    (
        "mypy",
        'app.py:12: error: Incompatible return value type (got "int", expected "str")  [return-value]\n'
        'app.py:14:5: note: Revealed type is "int"\nFound 1 error in 1 file (checked 2 source files)\n',
        [
            ("app.py", 11, 0, "error", 'Incompatible return value type (got "int", expected "str") (return-value)'),
            ("app.py", 13, 4, "information", 'Revealed type is "int"'),
        ],
    ),
    (
        "pyright",
        "{root}/app.py\n"
        '  {root}/app.py:4:12 - error: Type "int" is not assignable to "str" (reportReturnType)\n'
        "  {root}/app.py:5:1 - warning: Import is unused\n2 errors, 1 warning\n",
        [
            ("app.py", 3, 11, "error", 'Type "int" is not assignable to "str" (reportReturnType)'),
            ("app.py", 4, 0, "warning", "Import is unused"),
        ],
    ),
    (
        "tsc",
        "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n",
        [("src/app.ts", 2, 6, "error", "Type 'string' is not assignable to type 'number'. (TS2322)")],
    ),
    (
        "tsc, pretty",
        "src/app.ts:3:7 - error TS2322: Type 'string' is not assignable to type 'number'.\n\n3 const a = 1;\n",
        [("src/app.ts", 2, 6, "error", "Type 'string' is not assignable to type 'number'. (TS2322)")],
    ),
    (
        "eslint, stylish",
        "\n{root}/src/app.ts\n"
        "   1:10  error    'addOne' is defined but never used            no-unused-vars\n"
        "  12:3   warning  Unexpected console statement                  @scope/no-console\n\n"
        "✖ 2 problems (1 error, 1 warning)\n",
        [
            ("src/app.ts", 0, 9, "error", "'addOne' is defined but never used (no-unused-vars)"),
            ("src/app.ts", 11, 2, "warning", "Unexpected console statement (@scope/no-console)"),
        ],
    ),
    (
        "eslint, compact",
        "{root}/src/app.ts: line 1, col 10, Error - 'a' is defined but never used. (no-unused-vars)\n",
        [("src/app.ts", 0, 9, "error", "'a' is defined but never used. (no-unused-vars)")],
    ),
    (
        "eslint, unix",
        "{root}/src/app.ts:1:10: 'a' is defined but never used. [Error/no-unused-vars]\n\n1 problem\n",
        [("src/app.ts", 0, 9, "error", "'a' is defined but never used. (no-unused-vars)")],
    ),
    (
        "ruff, full",
        "F401 [*] `os` imported but unused\n --> app.py:1:8\n  |\n1 | import os\n  |        ^^\n  |\n"
        "help: Remove unused import: `os`\n\ninvalid-syntax: Expected an expression\n --> a b.py:2:5\n  |\n",
        [
            ("app.py", 0, 7, "error", "`os` imported but unused (F401)"),
            ("a b.py", 1, 4, "error", "Expected an expression (invalid-syntax)"),
        ],
    ),
    (
        "ruff, concise",
        "app.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
        [("app.py", 0, 7, "error", "`os` imported but unused (F401)")],
    ),
    (
        "flake8",
        "./app.py:1:1: E302 expected 2 blank lines, found 1\n",
        [("app.py", 0, 0, "error", "expected 2 blank lines, found 1 (E302)")],
    ),
    (
        "rustc",
        'error[E0308]: mismatched types\n --> src/main.rs:2:18\n  |\n2 |     let x: i32 = "a";\n'
        "warning: unused variable: `y`\n  --> src/main.rs:3:9\n",
        [
            ("src/main.rs", 1, 17, "error", "mismatched types (E0308)"),
            ("src/main.rs", 2, 8, "warning", "unused variable: `y`"),
        ],
    ),
    (
        "cargo test",
        "---- tests::adds stdout ----\nthread 'tests::adds' panicked at src/lib.rs:10:9:\n"
        "assertion `left == right` failed\n  left: 3\n right: 4\n",
        [("src/lib.rs", 9, 8, "error", "tests::adds: assertion `left == right` failed")],
    ),
    (
        "cargo test, older and newer",
        "thread 'a' panicked at 'boom', src/lib.rs:3:5\nthread 'b' (4711) panicked at src/lib.rs:4:1:\nbang\n",
        [("src/lib.rs", 2, 4, "error", "a: boom"), ("src/lib.rs", 3, 0, "error", "b: bang")],
    ),
    (
        "cargo test, a comparison before Rust 1.73",
        "thread 'bad' panicked at 'assertion failed: `(left == right)`\n  left: `1`,\n right: `2`', src/lib.rs:6:5\n",
        [("src/lib.rs", 5, 4, "error", "bad: assertion failed: `(left == right)`")],
    ),
    (
        "go build and vet",
        "# example.com/sums\n./main.go:3:5: undefined: x\nvet: ./main.go:4:2: y declared and not used\n",
        [
            ("main.go", 2, 4, "error", "undefined: x"),
            ("main.go", 3, 1, "error", "y declared and not used"),
        ],
    ),
    (
        "go test",
        "--- FAIL: TestSum (0.00s)\n    sums_test.go:12: got 3, want 4\nFAIL\nFAIL\texample.com/all/sums\t0.002s\n",
        [("sums/sums_test.go", 11, 0, "error", "got 3, want 4")],
    ),
    (
        "go test, a panic",
        "--- FAIL: TestSum (0.00s)\npanic: runtime error: index out of range [3] with length 0 [recovered]\n"
        "\tpanic: runtime error: index out of range [3] with length 0\n\ngoroutine 7 [running]:\n"
        "testing.tRunner.func1.2({0x518a00, 0xc00001a078})\n\t/usr/lib/go/src/testing/testing.go:1396 +0x24e\n"
        "x.F(...)\n\t{root}/main.go:2\nx.TestSum(0xc000007860?)\n\t{root}/sums/sums_test.go:5 +0x1a\n"
        "created by testing.(*T).Run\n\t/usr/lib/go/src/testing/testing.go:1493 +0x35f\nFAIL\tx\t0.007s\nFAIL\n",
        [("main.go", 1, 0, "error", "TestSum: panic: runtime error: index out of range [3] with length 0")],
    ),
    (
        "go test, no goroutine goes on",
        "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\nmain.main()\n"
        "\t{root}/main.go:9 +0x1a\n",
        [("main.go", 8, 0, "error", "fatal error: all goroutines are asleep - deadlock!")],
    ),
    (
        "Test::More of Perl",
        "#   Failed test 'sums'\n#   at t/sums.t line 3.\n#          got: '1'\n#     expected: '2'\n"
        "#   Failed test 'fine'\n#   at t/sums.t line 4.\n#   Failed test at t/sums.t line 5.\n"
        "#          got: 'a'\n#     expected: 'b'\n#   Failed test at t/sums.t line 6.\n# Looks like you failed 4.\n",
        [
            ("t/sums.t", 2, 0, "error", "sums: expected '2', got '1'"),
            ("t/sums.t", 3, 0, "error", "fine: Failed test"),
            ("t/sums.t", 4, 0, "error", "expected 'b', got 'a'"),
            ("t/sums.t", 5, 0, "error", "Failed test"),
        ],
    ),
    (
        "node:test, a file that can't be loaded",
        "TAP version 13\n# node:internal/modules/esm/resolve:283\n#     throw new ERR_MODULE_NOT_FOUND(\n"
        "# Error [ERR_MODULE_NOT_FOUND]: Cannot find module './nope.mjs' imported from app.test.js\n"
        "#     at finalizeResolution (node:internal/modules/esm/resolve:283:11) {\n# }\n"
        "# Node.js v20.20.2\n# Subtest: {root}/src/app.test.js\nnot ok 1 - {root}/src/app.test.js\n  ---\n"
        "  location: '{root}/src/app.test.js:1:1'\n  failureType: 'testCodeFailure'\n  exitCode: 1\n  signal: ~\n"
        "  error: 'test failed'\n  code: 'ERR_TEST_FAILURE'\n  ...\n1..1\n# tests 1\n# pass 0\n# fail 1\n",
        [
            (
                "src/app.test.js",
                0,
                0,
                "error",
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find module './nope.mjs' imported from app.test.js",
            )
        ],
    ),
    (
        "node-tap",
        "TAP version 14\nnot ok 1 - should be equal\n  ---\n  diff: |\n    --- expected\n    +++ actual\n"
        "    @@ -1,1 +1,1 @@\n    -2\n    +1\n  at:\n    fileName: src/app.test.js\n    lineNumber: 3\n"
        "    columnNumber: 5\n    isToplevel: true\n  source: |\n    t.equal(1, 2)\n  ...\n1..1\n",
        [("src/app.test.js", 2, 4, "error", "should be equal: expected 2, got 1")],
    ),
    (
        "node-tap, as it was",
        "TAP version 13\nnot ok 1 - should be equal\n  ---\n  found: 1\n  wanted: 2\n  compare: ===\n  at:\n"
        "    line: 3\n    column: 5\n    file: src/app.test.js\n  ...\n1..1\n",
        [("src/app.test.js", 2, 4, "error", "should be equal: expected 2, got 1")],
    ),
    (
        "Python traceback",
        'Traceback (most recent call last):\n  File "{root}/app.py", line 9, in <module>\n    main()\n'
        '  File "/usr/lib/python3.11/json/decoder.py", line 3, in decode\n    raise Broken\n'
        "json.decoder.JSONDecodeError: Expecting value: line 1\n",
        [("app.py", 8, 0, "error", "json.decoder.JSONDecodeError: Expecting value: line 1")],
    ),
    (
        "Python syntax error",
        '  File "{root}/app.py", line 3\n    def (:\n        ^\nSyntaxError: invalid syntax\n',
        [("app.py", 2, 0, "error", "SyntaxError: invalid syntax")],
    ),
    (
        "unittest",
        "FAIL: test_sum (tests.test_app.T.test_sum)\n-----\nTraceback (most recent call last):\n"
        '  File "{root}/tests/test_app.py", line 7, in test_sum\n    check(1)\n'
        '  File "{root}/app.py", line 2, in check\n    raise ValueError("no")\nValueError: no\n',
        [
            ("tests/test_app.py", 6, 0, "error", "test_sum: ValueError: no"),
            ("app.py", 1, 0, "error", "test_sum: ValueError: no"),
        ],
    ),
    (
        "pytest without a report",
        "    def test_a():\n>       assert 0\nE       assert 0\n\ntests/test_app.py:2: AssertionError\n",
        [("tests/test_app.py", 1, 0, "error", "AssertionError")],
    ),
    (
        "jest",
        "  ● sums › adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n"
        "      at fail (node_modules/expect/build/index.js:1:1)\n"
        "      at Object.toBe (src/app.test.js:5:21)\n      at run (src/calc.js:1:1)\n",
        [("src/app.test.js", 4, 20, "error", "sums › adds: expect(received).toBe(expected) // Object.is equality")],
    ),
    (
        "vitest",
        " FAIL  src/app.test.js > adds\nAssertionError: expected 3 to be 4 // Object.is equality\n"
        " ❯ src/app.test.js:5:21\n      3| \n",
        [
            (
                "src/app.test.js",
                4,
                20,
                "error",
                "src/app.test.js > adds: AssertionError: expected 3 to be 4 // Object.is equality",
            )
        ],
    ),
    (
        "mocha",
        "  1) sums\n       adds:\n     AssertionError [ERR_ASSERTION]: 1 == 2\n"
        "      at Context.<anonymous> (src/app.test.js:5:12)\n",
        [("src/app.test.js", 4, 11, "error", "sums adds: AssertionError [ERR_ASSERTION]: 1 == 2")],
    ),
    ("nothing", "all is well\n12:34:56 started\nhttp://localhost:80:1: x\n", []),
    ("no file of ours", "gone.py:3:1: F401 `os` imported but unused\n../outside.py:1:1: error: x\n", []),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    for name in FILES:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (folder / "go.mod").write_text("module example.com/all\n\ngo 1.22\n")
    (tmp_path / "outside.py").write_text("")
    return folder


@pytest.mark.parametrize(("output", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_places_are_found(root: Path, output: str, expected: list[tuple[str, int, int, str, str]]) -> None:
    found = find_problems(output.replace("{root}", str(root)), Places(root))
    assert [(p.path, p.line, p.column, p.severity, p.message) for p in found] == expected


TAPE = """\
TAP version 13
# long opts
ok 1 should be equivalent
# nums
not ok 57 should be deeply equivalent
  ---
    operator: deepEqual
    expected: |-
      { x: 1234, hex: 3735928559 }
    actual: |-
      { x: 1234, hex: '0xdeadbeef' }
    at: Test.<anonymous> ({root}/src/app.test.js:15:4)
    stack: |-
      Error: should be deeply equivalent
          at Test.assert [as _assert] ({root}/node_modules/tape/lib/test.js:548:48)
          at Test.<anonymous> ({root}/src/app.test.js:15:4)
          at process.processImmediate (node:internal/timers:483:21)
  ...
not ok 58 no throw
  ---
    operator: fail
    stack: |-
      Error: no throw
          at Test.assert [as _assert] ({root}/node_modules/tape/lib/test.js:548:48)
          at f ({root}/src/calc.js:3:9)
  ...

1..58
# tests 58
# pass  56
# fail  2
"""
NODE = """\
TAP version 13
# Subtest: sums
    # Subtest: adds
    not ok 1 - adds
      ---
      location: '{root}/src/app.test.js:2:3'
      failureType: 'testCodeFailure'
      error: |-
        Expected values to be strictly equal:
      expected: 2
      actual: 1
      stack: |-
        TestContext.<anonymous> (file://{root}/src/app.test.js:4:10)
      ...
    1..1
not ok 1 - sums
  ---
  location: '{root}/src/app.test.js:1:1'
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
1..1
"""
STACK = """\
Error: refused
    at connect ({root}/node_modules/pg/lib/client.js:10:2)
    at run ({root}/src/calc.js:7:3)
TypeError: deep
    at x ({root}/node_modules/pg/lib/client.js:12:2)
Traceback (most recent call last):
  File "{root}/app.py", line 3, in f
    g()
  File "{root}/.venv/lib/python3.11/site-packages/yaml/reader.py", line 9, in g
    raise ValueError("no")
ValueError: no
"""
DOCTEST = """\
**********************************************************************
File "app.py", line 3, in app
Failed example:
    f(2)
Expected:
    4
Got:
    2
**********************************************************************
1 items had failures:
"""


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            TAPE,
            [
                "src/app.test.js:15: nums: should be deeply equivalent: expected { x: 1234, hex: 3735928559 }, "
                "got { x: 1234, hex: '0xdeadbeef' }",
                "src/calc.js:3: nums: no throw",
            ],
        ),
        (NODE, ["src/app.test.js:4: adds: expected 2, got 1"]),
        (STACK, ["app.py:3: ValueError: no", "src/calc.js:7: Error: refused"]),
        (STACK.partition("TypeError")[2].partition("Traceback")[0], []),
        (
            "TypeError" + STACK.partition("TypeError")[2].partition("Traceback")[0],
            ["node_modules/pg/lib/client.js:12: TypeError: deep"],
        ),
        (DOCTEST, ["app.py:3: expected 4, got 2, from `f(2)`"]),
    ],
    ids=["tape", "node", "frames in packages", "a frame of nothing", "only a package's frame", "doctest"],
)
def test_a_failure_has_its_own_place_and_its_values(root: Path, output: str, said: list[str]) -> None:
    for path in ("node_modules/tape/lib/test.js", "node_modules/pg/lib/client.js"):
        (root / path).parent.mkdir(parents=True)
        (root / path).touch()
    reader = root / ".venv/lib/python3.11/site-packages/yaml/reader.py"
    reader.parent.mkdir(parents=True)
    reader.touch()
    found = find_problems(output.replace("{root}", root.as_posix()), Places(root))
    assert [f"{one.path}:{one.line + 1}: {one.message}" for one in found] == said


def test_errors_come_first_and_nothing_comes_twice(root: Path) -> None:
    output = "app.py:1:1: warning: w\napp.py:2:1: error: e\napp.py:2:1: error: e\n"
    assert [p.message for p in find_problems(output, Places(root))] == ["e", "w"]


def test_long_output_is_searched_in_bounded_time_and_space(root: Path) -> None:
    many = "".join(f"app.py:{n}:1: error: e{n}\n" for n in range(5_000))
    assert len(find_problems(many, Places(root))) == 200
    assert find_problems("app.py:1:1: " + "x" * 500_000, Places(root))[0].path == "app.py"
    assert find_problems(" " * 200_000 + "\n" + "a:" * 100_000, Places(root)) == ()


HOSTILE = [
    "a.",
    "app.py:1:",
    "  1:1  error  ",
    "<testsuite ",
    " at x (",
    "1 passed, ",
    "\x1b]",
    "Bearer a",
    "eyJ",
    "error[E1]: x\n --> ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_output_is_searched_in_bounded_time(root: Path, piece: str) -> None:
    output = piece * (262_144 // len(piece))
    begun = time.monotonic()
    text = Masker(["a.secret"]).mask(strip_ansi(output))
    find_problems(text, Places(root))
    for form in ("pytest", "unittest", "cargo", "go", "jest", "vitest", "mocha", "node", "tap", "phpunit"):
        printed_totals(text, (form,))
    assert time.monotonic() - begun < 10


@given(st.text())
def test_no_output_breaks_the_search(text: str) -> None:
    find_problems(text, Places(Path()))
    what_runs(read_line(text))


def test_a_link_out_of_the_workspace_is_not_followed(root: Path, tmp_path: Path) -> None:
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    assert find_problems("link.py:1:1: error: e", Places(root)) == ()


def test_folders_that_the_command_changes_into_are_looked_in(root: Path) -> None:
    assert [p.path for p in find_problems("test_app.py:1:1: error: e", Places(root, ["tests"]))] == [
        "tests/test_app.py"
    ]
