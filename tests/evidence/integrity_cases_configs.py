"""Configurations, protected files, the goal file; programs and what runs inside of them."""

from __future__ import annotations

from .integrity_case import ADD, Case, T

PROJECT = '[project]\nname = "mathx"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
FIXTURES = "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n"

CONFIGS = (
    Case("another dependency", {"pyproject.toml": PROJECT}, {"pyproject.toml": PROJECT.replace("mathx", "maths")}),
    Case(
        "a linter's table, no such check",
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": PROJECT + "\n[tool.ruff]\nselect = []\n"},
    ),
    Case(
        "pytest's table in another order",
        {"pyproject.toml": PROJECT + 'testpaths = ["a"]\n'},
        {"pyproject.toml": PROJECT.replace('addopts = "-q"\n', 'testpaths = ["a"]\naddopts = "-q"\n')},
    ),
    Case("comments of conftest.py", {"conftest.py": FIXTURES}, {"conftest.py": "# fixtures\n" + FIXTURES}),
    Case(
        "comments of pytest.ini",
        {"pytest.ini": "[pytest]\naddopts = -q\n"},
        {"pytest.ini": "[pytest]\n# quiet\naddopts = -q\n"},
    ),
    Case(
        "other sections of setup.cfg", {"setup.cfg": "[metadata]\nname = a\n"}, {"setup.cfg": "[metadata]\nname = b\n"}
    ),
    Case(
        "addopts",
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": PROJECT.replace("-q", "-q --collect-only")},
        ("check_config pyproject.toml:4",),
    ),
    Case(
        "python_files narrowed",
        {"pytest.ini": "[pytest]\n", T: ADD},
        {"pytest.ini": "[pytest]\npython_files = check_*.py\n"},
        ("check_config pytest.ini:1", f"test_uncollected {T}:3", f"test_uncollected {T}:7"),
    ),
    Case(
        "pytest's table added",
        {"pyproject.toml": "[project]\n"},
        {"pyproject.toml": "[project]\n\n[tool.pytest.ini_options]\ntestpaths = ['x']\n"},
        ("check_config pyproject.toml:2",),
    ),
    Case(
        "pytest.ini added", {T: ADD}, {"pytest.ini": "[pytest]\naddopts = -k nothing\n"}, ("check_config pytest.ini:0",)
    ),
    Case(
        "conftest.py changed",
        {"tests/conftest.py": FIXTURES},
        {"tests/conftest.py": FIXTURES.replace("return 2", "return 3")},
        ("check_config tests/conftest.py:5",),
    ),
    Case(
        "conftest.py added", {T: ADD}, {"conftest.py": 'collect_ignore = ["tests"]\n'}, ("check_config conftest.py:0",)
    ),
    Case("conftest.py deleted", {"conftest.py": FIXTURES}, {"conftest.py": None}, ("check_config conftest.py:0",)),
    Case(
        "setup.cfg",
        {"setup.cfg": "[metadata]\n"},
        {"setup.cfg": "[metadata]\n\n[tool:pytest]\naddopts = --co\n"},
        ("check_config setup.cfg:2",),
    ),
    Case(
        "ruff's table, such a check",
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": PROJECT + "\n[tool.ruff]\nselect = []\n"},
        ("check_config pyproject.toml:6",),
        ("ruff check .",),
    ),
    Case(
        "tsconfig",
        {"tsconfig.json": "{}"},
        {"tsconfig.json": '{"exclude": ["src"]}'},
        ("check_config tsconfig.json:0",),
        ("npx tsc --noEmit",),
    ),
    Case(
        "Cargo's test profile",
        {"Cargo.toml": "[package]\nname='a'\n"},
        {"Cargo.toml": "[package]\nname='a'\n\n[profile.test]\ndebug-assertions = false\n"},
        ("check_config Cargo.toml:3",),
        ("cargo test",),
    ),
    Case(
        "a dependency of Cargo",
        {"Cargo.toml": "[package]\nname='a'\n"},
        {"Cargo.toml": "[package]\nname='a'\n\n[dependencies]\nserde = '1'\n"},
        (),
        ("cargo test",),
    ),
    Case(
        "the goal file",
        {"GOAL.md": "# Goal\n\n- [ ] `pytest` passes\n"},
        {"GOAL.md": "# Goal\n\n- [ ] `true` passes\n"},
        ("goal_file GOAL.md:2",),
    ),
    Case("the goal file deleted", {"GOAL.md": "# Goal\n"}, {"GOAL.md": None}, ("goal_file GOAL.md:0",)),
    Case(
        "a protected file",
        {"data/a.csv": "1"},
        {"data/a.csv": "2"},
        ("protected_file data/a.csv:0",),
        protect=("data/**",),
    ),
    Case(
        "a protected file created",
        {"data/a.csv": "1"},
        {"data/b.csv": "2"},
        ("protected_file data/b.csv:0",),
        protect=("data/**",),
    ),
    Case(
        "a protected file deleted",
        {"data/a.csv": "1"},
        {"data/a.csv": None},
        ("protected_file data/a.csv:0",),
        protect=("data/**",),
    ),
    Case(
        "a protected test is one finding",
        {T: ADD},
        {T: ADD.replace("def test_zero", "@pytest.mark.skip\ndef test_zero")},
        (f"protected_file {T}:7",),
        protect=("tests/**",),
    ),
    Case("beside a protected file", {"data/a.csv": "1", "a.py": ""}, {"a.py": "a = 1\n"}, (), protect=("data/**",)),
)

NAMED = (
    Case(
        "a configuration that the command names",
        {"ci.ini": "[pytest]\naddopts = -q\n"},
        {"ci.ini": "[pytest]\naddopts = -q -k nothing\n"},
        ("exit_masked ci.ini:1",),
        ("pytest -c ci.ini",),
    ),
    Case(
        "spaces of a configuration that the command names",
        {"ci.ini": "[pytest]\naddopts = -q\n"},
        {"ci.ini": "[pytest]\n\naddopts = -q\n"},
        (),
        ("pytest -c ci.ini",),
    ),
    Case(
        "a plugin that conftest.py names",
        {"conftest.py": 'pytest_plugins = ["tests.plugin"]\n', "tests/plugin.py": "a = 1\n"},
        {"tests/plugin.py": "a = 2\n"},
        ("check_config tests/plugin.py:0",),
    ),
    Case(
        "comments of a plugin",
        {"conftest.py": 'pytest_plugins = ["tests.plugin"]\n', "tests/plugin.py": "a = 1\n"},
        {"tests/plugin.py": "a = 1  # one\n"},
    ),
    Case(
        "a configuration above the workspace",
        {T: ADD},
        {"../pytest.ini": "[pytest]\n"},
        ("check_config ../pytest.ini:0",),
    ),
    Case("a file above the workspace", {T: ADD}, {"../notes.txt": "[pytest]\n"}),
    Case(
        "conftest.py above the workspace, below pytest's root",
        {T: ADD, "../pytest.ini": "[pytest]\n"},
        {"../conftest.py": FIXTURES},
        ("check_config ../conftest.py:0",),
    ),
    Case("conftest.py above pytest's root", {T: ADD}, {"../conftest.py": FIXTURES}),
    Case(
        "another shell for npm's scripts",
        {"package.json": '{"scripts": {"test": "node --test"}}', ".npmrc": "registry=https://example.org\n"},
        {".npmrc": "registry=https://example.org\nscript-shell=/tmp/fake\n"},
        ("check_config .npmrc:1",),
        ("npm test",),
    ),
    Case(
        "another registry for npm",
        {"package.json": '{"scripts": {"test": "node --test"}}', ".npmrc": "script-shell=/bin/bash\n"},
        {".npmrc": "registry=https://example.org\nscript-shell=/bin/bash\n"},
        (),
        ("npm test",),
    ),
)

VENV = ".venv/lib/python3.12/site-packages"
PROGRAMS = (
    Case(
        "a fake pytest in the environment",
        {T: ADD},
        {".venv/bin/pytest": "#!/bin/sh\necho 5 passed\n"},
        ("check_program .venv/bin/pytest:0",),
    ),
    Case(
        "pytest of the environment rewritten",
        {".venv/bin/pytest": "#!/bin/sh\nreal\n"},
        {".venv/bin/pytest": "#!/bin/sh\necho 5 passed\n"},
        ("check_program .venv/bin/pytest:0",),
    ),
    Case(
        "pytest.py in the root",
        {T: ADD},
        {"pytest.py": "print('5 passed')\n"},
        ("check_program pytest.py:0",),
        ("python -m pytest",),
    ),
    Case(
        "unittest in the root",
        {T: ADD},
        {"unittest/__init__.py": ""},
        ("check_program unittest/__init__.py:0",),
        ("python -m unittest",),
    ),
    Case(
        "a program of that name in the root",
        {T: ADD},
        {"pytest": "#!/bin/sh\necho 5 passed\n"},
        ("check_program pytest:0",),
    ),
    Case(
        "a module that the runner loads of the library",
        {T: ADD},
        {"difflib.py": "import os\nos._exit(0)\n"},
        ("check_program difflib.py:0", "environment difflib.py:1"),
        ("python -m unittest",),
    ),
    Case("a folder called as a module", {T: ADD}, {"email/letter.txt": "a\n"}, (), ("python -m unittest",)),
    Case(
        "node among the programs of the packages",
        {"package.json": '{"scripts": {"test": "node --test"}}'},
        {"node_modules/.bin/node": "#!/bin/sh\n"},
        ("check_program node_modules/.bin/node:0",),
        ("npm test",),
    ),
    Case(
        "a plugin of pytest that the workspace announces",
        {T: ADD},
        {"a.egg-info/entry_points.txt": "[pytest11]\na = a.plugin\n"},
        ("environment a.egg-info/entry_points.txt:0",),
    ),
    Case(
        "a plugin of pytest in a folder that a .pth names",
        {f"{VENV}/a.pth": "../../../../src\n", "src/a.py": ""},
        {"src/a-1.0.dist-info/entry_points.txt": "[pytest11]\na = a.plugin\n"},
        ("environment src/a-1.0.dist-info/entry_points.txt:0",),
    ),
    Case("sitecustomize.py", {T: ADD}, {"sitecustomize.py": "import sys\n"}, ("environment sitecustomize.py:0",)),
    Case(
        "sitecustomize.py in the environment",
        {f"{VENV}/a.py": ""},
        {f"{VENV}/sitecustomize.py": ""},
        (f"environment {VENV}/sitecustomize.py:0",),
    ),
    Case(
        "a .pth that runs code",
        {f"{VENV}/a.py": ""},
        {f"{VENV}/a.pth": "import os; os._exit(0)\n"},
        (f"environment {VENV}/a.pth:0",),
    ),
    Case("a .pth that names a folder", {f"{VENV}/a.py": ""}, {f"{VENV}/a.pth": "/src\n"}),
    Case(
        "the runner rewritten",
        {f"{VENV}/_pytest/main.py": "a = 1\n"},
        {f"{VENV}/_pytest/main.py": "a = 2\n"},
        (f"environment {VENV}/_pytest:0",),
    ),
    Case("a package installed", {f"{VENV}/_pytest/main.py": "a = 1\n"}, {f"{VENV}/other/main.py": "a = 2\n"}),
    Case("a module of the project called so", {"coverage.py": "a = 1\n"}, {"coverage.py": "a = 2\n"}),
    Case(
        "a plugin of pytest",
        {f"{VENV}/a.py": ""},
        {f"{VENV}/a-1.0.dist-info/entry_points.txt": "[pytest11]\na = a.plugin\n"},
        (f"environment {VENV}/a (pytest plugin):0",),
    ),
    Case(
        "another version of a plugin of pytest",
        {f"{VENV}/a-1.0.dist-info/entry_points.txt": "[pytest11]\na = a.plugin\n"},
        {
            f"{VENV}/a-1.0.dist-info/entry_points.txt": None,
            f"{VENV}/a-1.1.dist-info/entry_points.txt": "[pytest11]\na = a.plugin\n",
        },
    ),
    Case(
        "a program installed",
        {f"{VENV}/a.py": ""},
        {f"{VENV}/b-1.0.dist-info/entry_points.txt": "[console_scripts]\nb = b:main\n"},
    ),
)
