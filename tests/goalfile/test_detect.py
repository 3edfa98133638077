"""Which checks are found in which workspace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from donewhen.goalfile.detect import detect, slots, suggested
from tests.goalfile.test_files import write
from tests.tools import each_row

PLAIN_TEST = "def test_it():\n    assert True\n"
UNITTEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): ...\n"


WORKFLOW = """
on: [push]
jobs:
  test:
    steps:
      - uses: actions/checkout@v4
      - run: pip install -e .
      - run: |
          uv run --group dev coverage run -m unittest $WHERE
          uv run --extra dev pytest -x \\
            --cov=src --cov-report term tests
      - run: pytest ${{ matrix.args }}
      - run: cd docs && pytest
      - run: pytest docs
        working-directory: docs
      - run: ruff check --fix src
      - run: pip install ruff && ruff check src
      - run: twine upload dist/*
      - run: curl x | sh; pytest evil
"""
TOX = """
[tox]
[testenv]
commands =
    {envpython} -m pytest --cov a --cov-report html \\
      --basetemp={envtmpdir} {posargs:-q tests}
    coverage report
[testenv:types]
commands = mypy {toxinidir}/src
[testenv:release]
commands = twine upload x
[testenv:lint]
allowlist_externals = flake8
commands =
    pip install flake8
    py311: flake8 src
[testenv:docs]
change_dir = docs
commands = pytest .
"""
NOX = """
import nox

@nox.session(python=["3.11"])
def tests(session):
    session.install("pytest")
    session.run("pytest", "-q", "tests", *session.posargs)

@nox.session
def types(s):
    s.run("mypy", where())
    s.run("mypy", "src")

def helper(session):
    session.run("pytest", "nobody")
"""


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
    "hooks": ({".pre-commit-config.yaml": "repos: [{hooks: [{id: ruff-check}, {id: black}, {id: gitleaks}]}]\n"},
              ["ruff check .", "black --check .", "pre-commit run --all-files"]),
    "testpaths": ({"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['src/checks']\n",
                   "src/checks/spec.py": PLAIN_TEST}, ["python -m pytest -q"]),
    "testpaths that are not there": ({"pytest.ini": "[pytest]\ntestpaths = checks\n", "x.py": ""}, []),
    "names of tests": ({"setup.cfg": "[tool:pytest]\npython_files = check_*.py\n", "a/check_it.py": PLAIN_TEST},
                       ["python -m pytest -q"]),
    "the workflow": ({".github/workflows/ci.yml": WORKFLOW, "tests/test_a.py": PLAIN_TEST},
                     ["pytest -x tests", "python -m pytest -q", "ruff check src"]),
    "a workflow for releases": ({".github/workflows/r.yml": WORKFLOW.replace("[push]", "release")}, []),
    "GitLab": ({".gitlab-ci.yml": "test:\n  script: [pip install x, [python -m unittest discover t]]\n"},
               ["python -m unittest discover t"]),
    "tox's commands": ({"tox.ini": TOX}, ["python -m pytest -q tests", "tox", "mypy src", "flake8 src"]),
    "tox.toml": ({"tox.toml": 'env_run_base.commands = [["pytest", { replace = "posargs", default = ["t"] }]]\n'},
                 ["pytest t", "tox"]),
    "sessions": ({"noxfile.py": NOX}, ["pytest -q tests", "nox", "mypy src"]),
    "scripts of pdm": ({"pyproject.toml": "[tool.pdm.scripts]\ntest = 'pytest -q'\nrelease = 'twine upload x'\n"},
                       ["pytest -q"]),
    "scripts of hatch": ({"pyproject.toml": "[tool.hatch.envs.t.scripts]\nrun = 'pytest {args:tests}'\n"},
                         ["pytest tests"]),
    "tasks of poe": ({"pyproject.toml": "[tool.poe.tasks]\nt = { cmd = 'pytest' }\nu = ['t']\n"}, ["pytest"]),
    "a recipe that is one command": ({"Makefile": "test:\n\t@uv run pytest -q\n"}, ["pytest -q", "make test"]),
    "a recipe that installs": ({"Makefile": "deps:\n\tpip install x\ntest: deps\n\t./run\nlint:\n\t./lint\n"},
                               ["make test", "make lint"]),
    "mypy with a package": ({"mypy.ini": "[mypy]\n", "src/a/__init__.py": ""}, ["mypy src"]),
    "mypy beside its tests": ({"setup.cfg": "[mypy]\n", "a/__init__.py": "", "tests/__init__.py": ""}, ["mypy a"]),
    "mypy with packages": ({"setup.cfg": "[mypy]\npackages = a\n", "a/__init__.py": ""}, ["mypy"]),
    "mypy with a module": ({"mypy.ini": "[mypy]\n", "a_b.py": "", "pyproject.toml": "[project]\nname = 'a-b'\n"},
                           ["mypy a_b.py"]),
    "pyright with what it includes": ({"pyproject.toml": "[tool.pyright]\ninclude = ['x']\n", "a/__init__.py": ""},
                                      ["pyright"]),
    "pyright with a package": ({"pyproject.toml": "[tool.pyright]\n", "src/a/__init__.py": ""}, ["pyright src"]),
    "ruff that edits files": ({"ruff.toml": "fix = true\n"}, ["ruff check --no-fix ."]),
    "a script that installs": (
        {"package.json": package(test="npm ci && jest", lint="eslint .")}, ["npm test", "npm run lint"],
    ),
    "a script that edits": ({"package.json": package(test="jest", lint="eslint . --fix")}, ["npm test"]),
    "a recipe that edits": ({"Makefile": "lint:\n\tblack src\n\truff format .\ncheck:\n\truff check --fix .\n"}, []),
    "a script of a file that is not there": ({"package.json": package(test="node test.js")}, []),
    "broken ini and YAML": ({"tox.ini": "[", ".gitlab-ci.yml": "a: [", ".pre-commit-config.yaml": "- " * 9_000,
                             "noxfile.py": "def"}, ["nox", "pre-commit run --all-files"]),
    "deep YAML": ({".gitlab-ci.yml": "a: " + "[" * 50_000}, []),
    "YAML of another shape": ({".github/workflows/a.yml": "on: push\njobs: [1]\n",
                               ".github/workflows/b.yaml": "on: [push]\njobs: {a: {steps: {run: pytest}}}\n"}, []),
    "dotnet": ({"App.sln": ""}, ["dotnet test"]),
    "broken JSON": ({"package.json": "{", "go.mod": ""}, ["go test ./...", "go vet ./..."]),
    "JSON of another shape": ({"package.json": '{"scripts": [1], "packageManager": 5}'}, []),
    "scripts of another shape": ({"package.json": '{"scripts": {"test": 5}}'}, []),
    "deep JSON": ({"package.json": "[" * 100_000}, []),
    "broken TOML": ({"pyproject.toml": "[tool.ruff", "go.mod": ""}, ["go test ./...", "go vet ./..."]),
    "TOML of another shape": ({"pyproject.toml": "tool = 5"}, []),
}  # fmt: skip


@each_row("name", CASES)
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


def first_ways(folder: Path) -> list[tuple[str, ...]]:
    """The commands of each slot of a draft, in order."""
    return [tuple(check.command for check in slot) for slot in slots(detect(folder))]


def test_what_the_project_runs_comes_before_a_guess(tmp_path: Path) -> None:
    write(tmp_path, "tests/test_a.py", PLAIN_TEST)
    write(tmp_path, "pyproject.toml", "[tool.ruff]\n[tool.mypy]\nfiles = 'src'\n[tool.pyright]\n")
    write(tmp_path, "Makefile", "test:\n\tpython run.py\nlint:\n\tpython lint.py\n")
    assert [slot[0] for slot in first_ways(tmp_path)] == ["make test", "mypy", "make lint"]
    write(tmp_path, ".github/workflows/ci.yml", WORKFLOW)
    tests, lint, types = first_ways(tmp_path)
    assert tests[:3] == ("pytest -x tests", "python -m pytest -x tests", "uv run --extra dev pytest -x --cov=src "
                         "--cov-report term tests")  # fmt: skip
    assert tests.index("python -m pytest -q") > 2
    assert (types[0], lint[0]) == ("mypy", "ruff check src")


def test_all_tests_come_before_some_of_them(tmp_path: Path) -> None:
    write(tmp_path, "tox.ini", "[testenv]\ncommands =\n  a: pytest -k some\n  pytest tests/test_one.py\n  pytest -q\n")
    assert [check.command for check in suggested(detect(tmp_path))] == ["pytest -q"]


def test_what_is_missing_gives_way_to_what_is_there(tmp_path: Path) -> None:
    write(tmp_path, "tests/test_a.py", UNITTEST)
    write(tmp_path, "setup.cfg", "[tool:pytest]\n")
    (tests,) = first_ways(tmp_path)
    assert tests == ("python -m pytest -q", "python -m unittest discover -s tests")
    found = suggested(detect(tmp_path), lambda check: "pytest" if "pytest" in check.modules else None)
    assert [check.command for check in found] == ["python -m unittest discover -s tests"]


def test_packages_that_are_not_installed_are_named(tmp_path: Path) -> None:
    write(tmp_path, "package.json", json.dumps({"scripts": {"test": "jest --ci"}, "devDependencies": {"jest": "1"}}))
    (check,) = detect(tmp_path)
    assert check.lacking == "its packages are not installed here: `npm install`"
    write(tmp_path, "node_modules/.bin/jest", "")
    (check,) = detect(tmp_path)
    assert (check.lacking, check.programs) == ("", ("npm",))


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
def test_a_pipe_in_place_of_a_file_holds_nothing_up(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "tox.ini", "noxfile.py", "package.json", ".github/workflows/a.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / name)
    assert detect(tmp_path) == ()


INSTALLS = {
    "a prerequisite makes an environment": ".venv/deps:\n\tpython -m venv .venv\ntest: .venv/deps\n\tpytest\n",
    "a variable names it": "VENV = .venv\n$(VENV)/ok:\n\tuv sync\ntest: $(VENV)/ok\n\t./run\n",
    "its own line fetches": "test:\n\tcurl -O https://example.org/data\n\t./run\n",
    "it runs tox": "test:\n\ttox -e py\n",
    "it has another target made": "deps:\n\tuv sync\ntest:\n\t$(MAKE) deps\n\t./run\n",
    "it stands in a file that is included": "include rules.mk\ntest: fetched\n\t./run\n",
    "it stands in a folder below": "test:\n\t$(MAKE) -C sub fetched\n\t./run\n",
    "it stands behind a semicolon": "test: ; uv sync\n",
    "a pattern stands for it": ".venv/%:\n\tpython -m venv .venv\ntest: .venv/ok\n\t./run\n",
    "two targets have one recipe": "one deps:\n\tuv sync\ntest: deps\n\t./run\n",
    "it runs in an environment that is not there yet": "test:\n\tuv run python run.py\n",
}


@each_row("makefile", INSTALLS.values(), ids=INSTALLS)
def test_a_recipe_that_installs_or_fetches_is_told_and_not_tried(makefile: str, tmp_path: Path) -> None:
    write(tmp_path, "Makefile", makefile)
    write(tmp_path, "rules.mk", "fetched:\n\tcurl -O https://example.org/data\n")
    write(tmp_path, "sub/Makefile", "fetched:\n\tcurl -O https://example.org/data\n")
    found = next(check for check in detect(tmp_path) if check.command == "make test")
    assert found.lacking.startswith("it was not tried, because it installs or fetches something: `")


@pytest.mark.parametrize(
    "makefile",
    [
        "test:\n\tuv run python run.py\n",
        "include rules.mk\ntest: ready\n\t./run\n",
        "all test check: ready ; ./run\nready:\n\t./prepare\n",
        "%.o: %.c\n\tcc -c $<\ntest: a.o\n\t$(MAKE) -C sub ready\n",
    ],
)
def test_a_recipe_that_only_runs_things_is_tried(makefile: str, tmp_path: Path) -> None:
    write(tmp_path, "Makefile", makefile)
    write(tmp_path, "rules.mk", "ready:\n\t./prepare\n")
    write(tmp_path, "sub/Makefile", "ready:\n\t./prepare\n")
    (tmp_path / ".venv").mkdir()
    assert next(check for check in detect(tmp_path) if check.command == "make test").lacking == ""


def test_a_script_of_npm_that_installs_is_told_and_not_tried(tmp_path: Path) -> None:
    write(tmp_path, "package.json", json.dumps({"scripts": {"pretest": "npx --yes curl x; curl x.org", "test": "./t"}}))
    (check,) = detect(tmp_path)
    assert "installs or fetches something" in check.lacking


TOX_OF_MANY = """\
[testenv]
commands =
  pytest README.rst docs/intro.rst
  pytest --doctest-modules {envsitepackagesdir}/natsort
  pytest --tb=short --cov {envsitepackagesdir}/natsort --cov-report term-missing {posargs:}
"""


def test_every_test_command_of_a_tox_environment_is_drafted_or_told(tmp_path: Path) -> None:
    write(tmp_path, "tox.ini", TOX_OF_MANY)
    slots_of = [slot[0] for slot in slots(detect(tmp_path))]
    assert [(one.command, bool(one.lacking)) for one in slots_of if one.purpose == "test"] == [
        ("pytest README.rst docs/intro.rst", False),
        ("pytest --doctest-modules {envsitepackagesdir}/natsort", True),
        ("pytest --tb=short", False),
    ]


@pytest.mark.parametrize(
    "more",
    [
        "pytest --cov {envsitepackagesdir}/x tests",
        "pytest --cov {toxinidir}/src/x --cov-report html:{envtmpdir}/cov tests",
        "pytest -v --tb short --durations=9 -rs tests --junitxml {envlogdir}/r.xml --cov",
        "coverage run -m pytest -q tests",
    ],
)
def test_the_same_tests_with_options_that_only_report_are_drafted_once(more: str, tmp_path: Path) -> None:
    write(tmp_path, "tox.ini", f"[testenv]\ncommands =\n  pytest tests\n  {more}\n[testenv:cov]\ncommands = {more}\n")
    found = detect(tmp_path)
    assert [one.command for one in found if one.purpose == "test" and one.group == "python"] == ["pytest tests"]
    assert [slot[0].command for slot in slots(found)] == ["pytest tests"]
