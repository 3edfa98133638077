"""Lines of the product that look at its tests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.trials.untried import Special, special_cases
from tests.tools import each_row

PROOF = ("tests/test_quotes.py", "tests/data/rows.txt", "src/__tests__/quote.test.ts", "conftest.py", "tox.ini")
TEST = """def test_quotes():
    assert quote("a,b") == 1234
"""


def found(path: str, *lines: str, before: str = "") -> list[Special]:
    now = before + "".join(f"{line}\n" for line in lines)
    return list(special_cases({path: (before.encode(), now.encode())}, PROOF, [TEST]))


@each_row(
    "path, line",
    [
        ("a.py", 'if "PYTEST_CURRENT_TEST" in os.environ:'),
        ("a.py", 'TESTED = "pytest" in sys.modules'),
        ("a.py", "if 'unittest' not in sys.modules:"),
        ("a.py", 'sys.modules.get("_pytest")'),
        ("a.py", 'if "pytest" in sys.argv[0]:'),
        ("a.py", 'frame.f_code.co_name.startswith("test_")'),
        ("a.py", 'any("test" in one.filename for one in inspect.stack())'),
        ("a.py", "os.getppid()"),
        ("a.py", 'open("/proc/self/cmdline").read()'),
        ("a.js", "if (process.env.JEST_WORKER_ID) return 1;"),
        ("a.ts", 'const tested = process.env.NODE_ENV === "test";'),
        ("a.mjs", "if (typeof describe === 'function') {"),
        ("a.ts", "if (process.env.VITEST) {"),
        ("a.js", "const parent = process.ppid;"),
        ("a.go", "if testing.Testing() {"),
        ("a.go", 'if flag.Lookup("test.v") != nil {'),
        ("a.go", 'if strings.HasSuffix(os.Args[0], ".test") {'),
        ("a.rs", "if cfg!(test) {"),
        ("a.rs", "#[cfg(not(test))]"),
        ("A.java", 'Class.forName("org.junit.Test");'),
        ("a.rb", "return 1 if defined?(RSpec)"),
        ("a.sh", "cat /proc/$PPID/cmdline"),
        ("a.sh", 'if [ -n "$BATS_TEST_NAME" ]; then'),
    ],
)  # fmt: skip
def test_what_asks_whether_a_test_runs(path: str, line: str) -> None:
    (one,) = found(path, line, before="first\n")
    assert (one.kind, one.path, one.line, one.text) == ("asks", path, 1, line)


@each_row(
    "path, line",
    [
        ("a.py", 'text = Path("tests/test_quotes.py").read_text()'),
        ("a.py", "rows = open('./tests/data/rows.txt')"),
        ("a.py", 'Path(__file__).parent / "test_quotes.py"'),
        ("a.ts", "readFileSync(`src/__tests__/quote.test.ts`)"),
    ],
)
def test_what_names_a_file_of_the_tests(path: str, line: str) -> None:
    assert [one.kind for one in found(path, line)] == ["names"]


@each_row("line", ['if text == "a,b":', '    "a,b": 7,', 'case "a,b":', "return 1234", 'x = "a,b" ? 1 : 2'])
def test_a_value_of_the_tests_in_a_branch_is_a_reason_to_ask(line: str) -> None:
    assert [one.kind for one in found("a.py", line)] == ["copied"]


@each_row(
    "path, line",
    [
        ("a.py", "if pytest_style:"),
        ("a.py", 'open("rows.txt")'),
        ("a.py", 'load("conftest.py", "tox.ini")'),
        ("a.py", 'if text == "other":'),
        ("a.py", "if count == 12:"),
        ("a.py", 'import_module("test_support")'),
        ("a.ts", "if (process.env.NODE_ENV === 'production') {"),
        ("a.rs", "#[cfg(test)]"),
        ("notes.md", "Set PYTEST_CURRENT_TEST, see tests/test_quotes.py"),
        ("data.bin", "\0PYTEST_CURRENT_TEST"),
    ],
)
def test_what_honest_work_holds_too(path: str, line: str) -> None:
    assert found(path, line) == []


def test_what_stood_there_is_no_special_case_wherever_it_is_moved() -> None:
    line = b'if "PYTEST_CURRENT_TEST" in os.environ:\n'
    assert special_cases({"a.py": (line, b""), "b.py": (None, b"x\n" + line)}, PROOF, [TEST]) == ()
    twice = special_cases({"a.py": (line, line), "b.py": (None, line)}, PROOF, [TEST])
    assert [(one.path, one.line) for one in twice] == [("b.py", 0)]
    assert found("a.py", 'if other == "a,b":', before='if text == "a,b":\n') == []


def test_tests_among_the_code_may_ask_what_they_like() -> None:
    inline = (
        "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    fn a() { if cfg!(test) {} }\n}\n\nfn g() { if cfg!(test) {} }\n"
    )
    (one,) = special_cases({"a.rs": (b"", inline.encode())}, PROOF, [TEST])
    assert (one.line, one.text) == (7, "fn g() { if cfg!(test) {} }")


@given(st.binary(max_size=200), st.binary(max_size=200), st.sampled_from(["a.py", "a.rs", "a.ts", "x"]))
def test_any_bytes_can_be_looked_at(before: bytes, now: bytes, path: str) -> None:
    assert special_cases({path: (now, now)}, PROOF, [TEST]) == ()
    for one in special_cases({path: (before, now)}, PROOF, [TEST]):
        assert one.line >= 0
