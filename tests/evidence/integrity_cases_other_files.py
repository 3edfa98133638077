"""Honest work on files that no check depends on, or on parts of files that none reads."""

from __future__ import annotations

from .integrity_case import ADD, Case, T

MAKEFILE = "test:\n\tpytest -q\n"


def file(name: str, path: str, before: str | None, after: str, check: str = "pytest -q") -> Case:
    """A change, or the creation, of one file beside the tests."""
    there = {T: ADD} if before is None else {T: ADD, path: before}
    return Case(name, there, {path: after}, (), (check,))


OTHER_FILES = (
    file("requirements", "requirements.txt", "a==1\n", "a==2\n"),
    file("a workflow", ".github/workflows/test.yml", "a: 1\n", "a: 2\n"),
    file("the README", "README.md", None, "# Sums\n"),
    file("ignore rules", ".gitignore", "a\n", "b\n"),
    file("a new package", "mathx/__init__.py", None, "def add(a, b):\n    return a + b\n"),
    file("setup.py", "setup.py", "setup()\n", "setup(name='a')\n"),
    file("documentation", "docs/conf.py", "a = 1\n", "a = 2\n"),
    file("eslint, no such check", "eslint.config.js", "export default []\n", "export default [1]\n"),
    file("tsconfig, no such check", "tsconfig.json", "{}\n", '{"strict": true}\n'),
    file("mypy, no such check", "mypy.ini", None, "[mypy]\nstrict = false\n"),
    file("a script that no check runs", "scripts/deploy.sh", "a\n", "b || true\n"),
    file("a Makefile that no check runs", "Makefile", MAKEFILE, "test:\n\ttrue\n"),
    file("a new target", "Makefile", MAKEFILE, MAKEFILE + "\nlint:\n\truff check\n", "make test"),
    file("spaces of a Makefile", "Makefile", MAKEFILE, "\n" + MAKEFILE + "\n\n", "make test"),
    file("a variable that no recipe uses", "Makefile", MAKEFILE, "A = 1\n" + MAKEFILE, "make test"),
    file(
        "comments of tox.ini", "tox.ini", "[testenv]\ncommands = pytest\n", "# x\n[testenv]\ncommands = pytest\n", "tox"
    ),
    file("comments of a script", "test.sh", "pytest\n", "# all of them\npytest\n", "bash test.sh"),
    file(
        "a version",
        "package.json",
        '{"version": "1", "scripts": {"test": "jest"}}',
        '{"version": "2", "scripts": {"test": "jest"}}',
        "npm test",
    ),
    file(
        "formatting of package.json",
        "package.json",
        '{"scripts": {"test": "jest"}}',
        '{\n  "scripts": {\n    "test": "jest"\n  }\n}\n',
        "npm test",
    ),
    file("a lock file", "package-lock.json", "{}", '{"a": 1}', "npm test"),
    file("a runner installed by its package manager", "node_modules/.bin/jest", None, "#!/bin/sh\n", "npx jest"),
    file("a module that is worked on", "mathx.py", None, "print(1)\n", "python -m mathx"),
    file(
        "a table of another tool",
        "pyproject.toml",
        "[tool.black]\nline-length = 1\n",
        "[tool.black]\nline-length = 2\n",
    ),
    file("scripts of pyproject", "pyproject.toml", "[project]\n", "[project]\n\n[project.scripts]\na = 'a:b'\n"),
    file("data of tests", "tests/data/a.json", "1", "2"),
    file("an environment file", ".env", None, "A=1\n"),
    file("HTML of coverage", "coverage/index.html", None, "<html>"),
    file("a module named like a test", "src/contest.py", "A = 1\n", "A = 2\n"),
)
