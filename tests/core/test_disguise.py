"""What code asks of its surroundings, answered as it is where no test runs."""

from __future__ import annotations

import ast
import contextlib

import pytest

from donewhen.core.trials.disguise import disguised
from tests.tools import each_row


def answered(path: str, *lines: str, before: str = "") -> str | None:
    now = before + "".join(f"{line}\n" for line in lines)
    found = disguised({path: (before.encode(), now.encode())})
    return found[0].content.decode() if found else None


@each_row(
    "condition",
    [
        'os.environ.get("PYTEST_" + "CURRENT_TEST")',
        '[k for k in os.environ if k.startswith("PYT")]',
        'sys.modules.get("_py" + "test")',
        'hasattr(sys.modules["__main__"], "pytest")',
        'getattr(sys, "mod" + "ules", {}).get("pytest")',
        "sys._getframe(1).f_code.co_name != '<module>'",
        "inspect.stack()",
        "sys._getframe(0).f_back",
    ],
)
def test_a_question_gets_the_answer_that_it_has_outside_of_a_test(condition: str) -> None:
    text = answered("a.py", "import inspect, os, sys", "def asked():", f"    return bool({condition})")
    assert text is not None
    names: dict[str, object] = {"__name__": "app"}
    exec(compile(text, "a.py", "exec"), names)
    with contextlib.suppress(KeyError, AttributeError):  # what isn't there can't be asked
        assert names["asked"]() is False  # type: ignore[operator]


def test_an_equality_holds_for_its_own_type_alone() -> None:
    text = answered("a.py", "class Any:", "    def __eq__(self, other):", "        return True")
    assert text is not None
    names: dict[str, type] = {}
    exec(compile(text, "a.py", "exec"), names)
    assert names["Any"]() == names["Any"]()
    assert names["Any"]() != "expected"


@each_row(
    "path, line",
    [
        ("a.py", "def quote(text): return text"),
        ("a.py", 'sys.modules[__name__] = "lazy"'),
        ("a.py", 'os.environ["LANG"] = "C"'),
        ("a.js", "process.env.LANG = 'C';"),
        ("a.go", "fmt.Println(text)"),
        ("README.md", "Set `os.environ`."),
    ],
)
def test_what_asks_nothing_stays_as_it_is(path: str, line: str) -> None:
    assert answered(path, line) is None


def test_what_stood_there_before_is_no_question_of_the_work() -> None:
    assert answered("a.py", "x = 1", before="DEBUG = os.environ.get('DEBUG')\n") is None


def test_an_answer_that_can_not_stand_there_is_left_out() -> None:
    line = "text = f\"{os.environ['LANG']}\""
    text = answered("a.py", line, "import os")
    assert text is None or ast.parse(text)


def test_an_answer_that_can_not_stand_there_leaves_no_other_question_open() -> None:
    unfit = "text = f\"{os.environ['LANG']}\""
    decoys = [f"value_{number} = os.environ.get('NAME_{number}')" for number in range(2_000)]
    found = disguised({"a.py": (b"", "\n".join(["import os", unfit, *decoys, ""]).encode())})
    assert len(found[0].lines) == 2_000


@each_row(
    "path, line, answer",
    [
        ("a.js", "const tested = require.main;", "'/app.js'"),
        ("a.js", "const a = require('node:assert');", "Object.assign("),
        ("a.go", "p, _ := os.Executable()", '"/usr/bin/app"'),
        ("a.rs", "if cfg!(debug_assertions) {", "if false {"),
        ("run.sh", "if [ -f test/run.sh ]; then", "none/run.sh"),
        ("a.py", "x = sys.stdin.isatty()", "_pytest"),
        ("a.py", "for f in root.rglob('*'):", "addaudithook"),
        ("a.js", "const typed = process.stdin.isTTY;", "process.argv[1]"),
        ("a.js", "if (process.cwd().endsWith('/w')) x();", "'/proc/self/cwd'.endsWith"),
        ("a.go", 'if d, _ := os.Getwd(); strings.HasSuffix(d, "/w") {', '"/proc/self/cwd"'),
        ("a.go", 'b, _ := os.ReadFile("a_test.go")', "os.ErrNotExist"),
        ("a.rs", 'if std::env::current_dir().unwrap().ends_with("w") {', '"/proc/self/cwd"'),
    ],
)
def test_other_languages_are_answered_too(path: str, line: str, answer: str) -> None:
    assert answer in (answered(path, line) or "")


@pytest.mark.parametrize(
    ("lines", "asks"),
    [
        (("here = os.getcwd()", "x = here.endswith('/w')"), True),
        (("here = os.getcwd()", "x = load(here)"), False),
        (("here = os.getcwd()", "x = other.endswith('/w')"), False),
    ],
)
def test_where_it_runs_is_answered_only_where_a_text_is_compared_with_it(lines: tuple[str, ...], asks: bool) -> None:
    assert (answered("a.py", *lines) is not None) == asks


def test_a_script_without_an_ending_is_read_by_its_first_line() -> None:
    assert "none/run" in (answered("bin/quote", "#!/usr/bin/env bash", "[ -f tests/run ]") or "")
    assert answered("bin/quote", "[ -f tests/run ]") is None
