"""Linters that check less than before: ignored sources, and sources that ask for silence."""

from __future__ import annotations

from .integrity_case import Case

A = "import os\n\n\ndef f():\n    return 1\n"
SOURCES = {"src/a.py": A, "src/b.py": A}
IGNORED = "*.log\n__pycache__/\n"
RUFF = ("ruff check .",)
JS = {"src/a.js": "exports.a = 1;\n"}
ESLINT = ("npx eslint src",)


def ruff(name: str, after: dict[str, str | None], *found: str, checks: tuple[str, ...] = RUFF) -> Case:
    return Case(name, {**SOURCES, ".gitignore": IGNORED, ".git/info/exclude": "# git's own\n"}, after, found, checks)


UNCHECKED = (
    ruff("a source ignored by git", {".gitignore": IGNORED + "src/\n"}, "check_config .gitignore:2"),
    ruff("one source ignored", {".gitignore": "/src/b.py\n" + IGNORED}, "check_config .gitignore:0"),
    ruff("all sources ignored", {".gitignore": IGNORED + "**/*.py\n"}, "check_config .gitignore:2"),
    ruff("sources excluded", {".git/info/exclude": "# git's own\nsrc\n"}, "check_config .git/info/exclude:1"),
    ruff("sources passed over by .ignore", {".ignore": "src/\n"}, "check_config .ignore:0"),
    ruff("an ignore file that ignores itself", {"src/.gitignore": "*\n"}, "check_config src/.gitignore:0"),
    ruff("an ignore file above the workspace", {"../.ignore": "workspace/\n"}, "check_config ../.ignore:0"),
    ruff("above the repository", {"../.gitignore": "workspace/\n"}),
    Case(
        "ignored by a repository above",
        {**SOURCES, "../.git/info/exclude": ""},
        {"../.gitignore": "workspace/src\n"},
        ("check_config ../.gitignore:0",),
        RUFF,
    ),
    ruff("what did not exist ignored", {".gitignore": IGNORED + "gen/\n", "gen/c.py": A}),
    ruff("no source ignored", {".gitignore": IGNORED + "# mine\n.venv/\nsrc/*.pyc\n!src/a.py\n"}),
    ruff("an ignoring line taken back", {".gitignore": IGNORED + "src/*\n!src/*.py\n"}),
    ruff("ignore lines in another order", {".gitignore": "__pycache__/\n*.log\n"}),
    ruff("ignored, no linter", {".gitignore": IGNORED + "src/\n"}, checks=("pytest -q",)),
    ruff("ignored, a linter that does not care", {".gitignore": IGNORED + "src/\n"}, checks=("flake8 src",)),
    Case("ignored before", {**SOURCES, ".gitignore": "src/b.py\n"}, {".gitignore": "src/b.py\n*.log\n"}, (), RUFF),
    Case("ignored no more", {**SOURCES, ".gitignore": "src/b.py\n"}, {".gitignore": "*.log\n"}, (), RUFF),
    ruff("ruff: noqa", {"src/a.py": "# ruff: noqa\n" + A}, "check_config src/a.py:0"),
    ruff("ruff: noqa of one rule", {"src/a.py": '"""A."""\n\n# ruff: noqa: F401\n' + A}, "check_config src/a.py:2"),
    ruff("noqa on a line", {"src/a.py": A.replace("import os", "import os  # noqa: F401")}),
    ruff("a text about noqa", {"src/a.py": A + '\n\nX = "write # ruff: noqa at the top"\n'}),
    ruff("a new file with noqa", {"src/c.py": "# ruff: noqa\n" + A}),
    ruff("another linter's comment", {"src/a.py": "# mypy: ignore-errors\n" + A}),
    Case("noqa before", {"src/a.py": "# ruff: noqa\n" + A}, {"src/a.py": "# ruff: noqa\n\n" + A + "\n"}, (), RUFF),
    Case("noqa taken away", {"src/a.py": "# ruff: noqa\n" + A}, {"src/a.py": A}, (), RUFF),
    ruff("flake8: noqa", {"src/a.py": A + "# flake8: noqa\n"}, "check_config src/a.py:5", checks=("flake8 src",)),
    ruff("ignore-errors", {"src/a.py": "# mypy: ignore-errors\n" + A}, "check_config src/a.py:0", checks=("mypy .",)),
    ruff("type: ignore of a file", {"src/a.py": "# type: ignore\n" + A}, "check_config src/a.py:0", checks=("mypy .",)),
    ruff("type: ignore of a line", {"src/a.py": A.replace("os\n", "os  # type: ignore\n", 1)}, checks=("mypy .",)),
    Case(
        "eslint-disable",
        JS,
        {"src/a.js": "/* eslint-disable */\n" + JS["src/a.js"]},
        ("check_config src/a.js:0",),
        ESLINT,
    ),
    Case("eslint-disable-next-line", JS, {"src/a.js": "/* eslint-disable-next-line */\n" + JS["src/a.js"]}, (), ESLINT),
    Case(
        "ts-nocheck",
        {"src/a.ts": "let a = 1;\n"},
        {"src/a.ts": "// @ts-nocheck\nlet a = 1;\n"},
        ("check_config src/a.ts:0",),
        ("npx tsc --noEmit",),
    ),
    Case(
        "a test that patches its runner",
        {"a.py": A},
        {"tests/test_b.py": "from _pytest.python import Function\nFunction.runtest = None\n"},
        ("environment tests/test_b.py:0",),
    ),
    Case(
        "code that patches a test case",
        {"a.py": A},
        {"a.py": A + "\n\nimport unittest\nunittest.TestCase.assertEqual = print\n"},
        ("environment a.py:8",),
    ),
    Case("code that ends the runner", {"a.py": A}, {"a.py": A + "\n\nos._exit(0)\n"}, ("environment a.py:7",)),
    Case("a new test of pytest's", {"a.py": A}, {"tests/test_b.py": "import pytest\nimport unittest\n"}),
    Case("code that exits", {"a.py": A}, {"a.py": A + "\n\ndef stop():\n    raise SystemExit(0)\n"}),
    Case(
        "a plugin of pytest's, worked on",
        {"a.py": "import pluggy\n" + A},
        {"a.py": "import os\n\nimport pluggy\n\n\ndef f():\n    return 2\n"},
    ),
    Case(
        "another file of a plugin of pytest's",
        {"a.py": "import pluggy\n" + A},
        {"b.py": A + "import pluggy\n"},
    ),
    Case(
        "names for annotations",
        {"a.py": A},
        {"tests/test_b.py": "from _pytest.logging import LogCaptureFixture\n"},
    ),
    Case(
        "a test case's own attribute",
        {"a.py": A},
        {"tests/test_b.py": "class T(unittest.TestCase):\n    maxDiff = None\n"},
    ),
)
