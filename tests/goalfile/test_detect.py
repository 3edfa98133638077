"""Which checks are found in which workspace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from donewhen.goalfile.detect import detect, suggested
from tests.goalfile.test_files import write

PLAIN_TEST = "def test_it():\n    assert True\n"
UNITTEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): ...\n"


def package(**scripts: str) -> str:
    return json.dumps({"name": "x", "scripts": scripts})


CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "an empty folder": ({}, []),
    "plain tests": ({"tests/test_a.py": PLAIN_TEST}, ["python -m pytest -q"]),
    "tests beside the code": ({"src/pkg/a_test.py": PLAIN_TEST}, ["python -m pytest -q"]),
    "configured pytest": ({"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/test_a.py": UNITTEST},
                          ["python -m pytest -q"]),
    "pytest configured, no test": ({"pytest.ini": "[pytest]\n"}, []),
    "unittest": ({"test_a.py": UNITTEST}, ["python -m unittest"]),
    "unittest in a folder": ({"tests/test_a.py": UNITTEST}, ["python -m unittest discover -s tests"]),
    "unittest in a package": ({"tests/__init__.py": "", "tests/test_a.py": UNITTEST}, ["python -m unittest"]),
    "unittest by suffix": ({"a_test.py": UNITTEST}, ['python -m unittest discover -p "*_test.py"']),
    "tests of a dependency": ({".venv/lib/test_a.py": PLAIN_TEST, "node_modules/a/test_b.py": PLAIN_TEST}, []),
    "ruff": ({"ruff.toml": ""}, ["ruff check ."]),
    "ruff in pyproject": ({"pyproject.toml": "[tool.ruff]\nline-length = 100\n[tool.ruff.format]\n"},
                          ["ruff check .", "ruff format --check ."]),
    "mypy": ({"mypy.ini": "[mypy]\n"}, ["mypy ."]),
    "mypy with targets": ({"pyproject.toml": '[tool.mypy]\nfiles = ["src"]\n'}, ["mypy"]),
    "pyright": ({"pyrightconfig.json": "{}"}, ["pyright"]),
    "flake8": ({"setup.cfg": "[flake8]\n"}, ["flake8"]),
    "tox": ({"tox.ini": "[tox]\n"}, ["tox"]),
    "a tox.ini that only configures flake8": ({"tox.ini": "[flake8]\n"}, ["flake8"]),
    "nox": ({"noxfile.py": ""}, ["nox"]),
    "npm": ({"package.json": package(test="jest", lint="eslint .", typecheck="tsc", build="vite build", start="x")},
            ["npm test", "npm run lint", "npm run typecheck", "npm run build"]),
    "npm's default test": ({"package.json": package(test='echo "Error: no test specified" && exit 1')}, []),
    "pnpm": ({"package.json": package(test="vitest", lint="eslint ."), "pnpm-lock.yaml": ""},
             ["pnpm test", "pnpm run lint"]),
    "yarn": ({"package.json": package(test="vitest", build="x"), "yarn.lock": ""}, ["yarn test", "yarn run build"]),
    "bun": ({"package.json": package(test="vitest"), "bun.lock": ""}, ["bun run test"]),
    "a declared manager": ({"package.json": json.dumps({"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}})},
                           ["pnpm test"]),
    "tsc": ({"package.json": "{}", "tsconfig.json": "{}"}, ["npx tsc --noEmit"]),
    "tsc with pnpm": ({"pnpm-lock.yaml": "", "tsconfig.json": "{}"}, ["pnpm exec tsc --noEmit"]),
    "eslint": ({"eslint.config.mjs": ""}, ["npx eslint ."]),
    "eslint by script": ({"eslint.config.js": "", "package.json": package(lint="eslint src")}, ["npm run lint"]),
    "cargo": ({"Cargo.toml": "[package]\n"}, ["cargo test", "cargo clippy --all-targets -- -D warnings"]),
    "go": ({"go.mod": "module x\n"}, ["go test ./...", "go vet ./..."]),
    "make": ({"Makefile": ".PHONY: test lint\ntest: deps\n\tx\nlint:\n\tx\ncheck := 1\ndeploy:\n\tx\n"},
             ["make test", "make lint"]),
    "just": ({"justfile": "test *args:\n  x\n@lint:\n  x\ncheck := 'x'\n"}, ["just test", "just lint"]),
    "pre-commit": ({".pre-commit-config.yaml": "repos: []\n"}, ["pre-commit run --all-files"]),
    "dotnet": ({"App.sln": ""}, ["dotnet test"]),
    "broken JSON": ({"package.json": "{", "go.mod": ""}, ["go test ./...", "go vet ./..."]),
    "JSON of another shape": ({"package.json": '{"scripts": [1], "packageManager": 5}'}, []),
    "scripts of another shape": ({"package.json": '{"scripts": {"test": 5}}'}, []),
    "deep JSON": ({"package.json": "[" * 100_000}, []),
    "broken TOML": ({"pyproject.toml": "[tool.ruff", "go.mod": ""}, ["go test ./...", "go vet ./..."]),
    "TOML of another shape": ({"pyproject.toml": "tool = 5"}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_checks_are_detected(name: str, tmp_path: Path) -> None:
    files, expected = CASES[name]
    for path, content in files.items():
        write(tmp_path, path, content)
    found = detect(tmp_path)
    assert [check.command for check in found] == expected
    assert all(check.why for check in found)


def test_the_reason_names_what_was_found(tmp_path: Path) -> None:
    write(tmp_path, "tests/test_a.py", PLAIN_TEST)
    write(tmp_path, "tests/unit/test_b.py", PLAIN_TEST)
    write(tmp_path, "ruff.toml", "")
    assert [check.why for check in detect(tmp_path)] == ["tests: tests/test_a.py and 1 more", "ruff.toml is here"]


def test_a_draft_takes_one_check_of_each_purpose(tmp_path: Path) -> None:
    write(tmp_path, "tests/test_a.py", PLAIN_TEST)
    write(tmp_path, "pyproject.toml", "[tool.ruff]\n[tool.ruff.format]\n[tool.mypy]\n[tool.pyright]\n")
    write(tmp_path, "Makefile", "test:\n\tx\n")
    write(tmp_path, "package.json", package(test="jest", build="x"))
    commands = [check.command for check in suggested(detect(tmp_path))]
    assert commands == ["python -m pytest -q", "npm test", "mypy .", "ruff check ."]


def test_a_draft_takes_the_task_runner_where_there_is_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "Makefile", "test:\n\tx\nlint:\n\tx\n")
    assert [check.command for check in suggested(detect(tmp_path))] == ["make test", "make lint"]


def test_nothing_is_found_where_nothing_can_be_read(tmp_path: Path) -> None:
    assert detect(tmp_path / "missing") == ()
    (tmp_path / "package.json").mkdir()
    write(tmp_path, "pyproject.toml", b"\xff\xfe\0")
    if os.name != "nt":
        (tmp_path / "Makefile").symlink_to(tmp_path / "Makefile")
    assert detect(tmp_path) == ()
