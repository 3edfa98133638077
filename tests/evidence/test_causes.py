"""What a failed check's output says, and what helps."""

from __future__ import annotations

from pathlib import Path

from donewhen.evidence.causes import hint_for, how_to_get, telling_line
from tests.tools import each_row


@each_row(
    "output, command, hint",
    [
        ("E   ModuleNotFoundError: No module named 'yaml.reader'", "pytest", "`python -m pip install PyYAML`"),
        ("ModuleNotFoundError: No module named 'a'", "uv run pytest", "`uv sync`, or `uv add a`"),
        ("ModuleNotFoundError: No module named 'a'", "poetry run pytest", "`poetry install`, or `poetry add a`"),
        ("/usr/bin/python3: No module named build", "python3 -m build", "`python -m pip install build`"),
        ("Error: Cannot find module '@a/b/c'", "npm test", "`npm ci`, or `npm install @a/b`"),
        ("Cannot find package 'a' imported from /x.js", "pnpm vitest run", "`pnpm install`, or `pnpm add a`"),
        ("pytest: error: unrecognized arguments: --cov=src", "pytest", "`pytest-cov` is not installed here"),
        ("pytest.PytestConfigWarning: Unknown config option: asyncio_mode", "pytest", "pip install pytest-asyncio`"),
        ("pytest.PytestConfigWarning: Unknown config option: nonsense", "pytest", ""),
        ("pytest: error: unrecognized arguments: -n", "pytest -n 4", "`pytest-xdist` is not installed here"),
        ("E       fixture 'mocker' not found", "pytest", "`pytest-mock` is not installed here"),
        ("error: toolchain 'nightly' is not installed", "cargo +nightly test", "`rustup toolchain install nightly`"),
        ("error: no such command: `nextest`", "cargo nextest run", "`cargo install cargo-nextest`"),
        ("a.go:3:2: no required module provides package x.org/y; to add it:", "go test", "`go get x.org/y`"),
        ("/bin/sh: 1: ./check.sh: Permission denied", "./check.sh", "`chmod +x ./check.sh`"),
        ("Error: Cannot find module './own.js'", "node a.js", ""),
        ("pytest: error: unrecognized arguments: --nonsense", "pytest", ""),
        ("cat: secret: Permission denied", "cat secret", ""),
        ("AssertionError: no", "pytest", ""),
        ("Import\"xdist\": No module named 'xdist'", "pytest -p xdist", "pip install pytest-xdist`"),
        ("No module named 'pytest_cov'", "pytest -ppytest_cov", "pip install pytest_cov`"),
        ("ModuleNotFoundError: No module named 'a'", "pytest tests/a -k a_b", "pip install a`"),
        ("ModuleNotFoundError: No module named 'a'", "python -c 'import a'", "pip install a`"),
    ],
)
def test_a_known_cause_has_a_hint(output: str, command: str, hint: str) -> None:
    found = hint_for(output, command)
    assert hint in found
    assert bool(found) == bool(hint)


@each_row(
    "output, command, hint",
    [
        ("ModuleNotFoundError: No module named 'nofile'", "python -m unittest nofile", "no test module `nofile` here"),
        ("ModuleNotFoundError: No module named 'robot'", "python -m robot tests", "no module `robot` here"),
        ("No module named 'nofile.test_a'", "python -m unittest -v nofile.test_a.T", "no test module `nofile.test_a`"),
        (
            "Error importing plugin: No module named 'nosuchplugin'",
            "pytest -p nosuchplugin",
            "no module `nosuchplugin`",
        ),
        ("Error importing plugin: No module named 'nosuchplugin'", "pytest -pnosuchplugin", "no module `nosuchplugin`"),
        ("Error importing plugin: No module named 'a'", "uv run pytest --import=a", "no module `a` here"),
        ("/usr/bin/python3: No module named a.b", "cd x && python3 -m a.b", "no module `a.b` here"),
        ("ModuleNotFoundError: No module named 'a'", "uvicorn a:app", "no module `a` here"),
        ("ModuleNotFoundError: No module named 'a'", "pytest a/tests 'b", "no module `a` here"),
    ],
)
def test_what_the_command_itself_names_is_not_to_be_had_from_an_index(output: str, command: str, hint: str) -> None:
    found = hint_for(output, command)
    assert hint in found
    assert "install" not in found
    assert " add " not in found


@each_row(
    "output, line",
    [
        ("Traceback (most recent call last):\n  File 'x'\nValueError: no\n\ndone\n", "ValueError: no"),
        ("building\nfatal: not a git repository\nmake: *** [Makefile:2: x] Error 128\n", "fatal: not a git repository"),
        ("npm error code 1\nsrc is dirty\nnpm error A complete log of this run: x\n", "src is dirty"),
        ("3 files differ\n\n^^^^\n", "3 files differ"),
        ("", ""),
        ("x" * 500, "x" * 199 + "…"),
    ],
)
def test_the_line_that_tells_most(output: str, line: str) -> None:
    assert telling_line(output) == line


@each_row(
    "program, lock, how",
    [
        ("jscs", "", "`npm install`"),
        ("tsc", "", "`npm install`"),
        ("jscs", "pnpm-lock.yaml", "`pnpm install`"),
        ("eslint", "", "`npm install --save-dev eslint`"),
        ("nosuch", "", "install it, or put its folder on PATH before Done When is started"),
    ],
)
def test_a_program_that_package_json_lists_comes_with_its_packages(
    tmp_path: Path, program: str, lock: str, how: str
) -> None:
    (tmp_path / "package.json").write_text('{"devDependencies": {"jscs": "^3.0.7", "typescript": "5"}}')
    if lock:
        (tmp_path / lock).touch()
    assert how_to_get(program, tmp_path) == how


@each_row("text", ["", "[]", "{", '{"devDependencies": ["jscs"]}', "[" * 100_000])
def test_a_broken_package_json_lists_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "package.json").write_text(text)
    assert how_to_get("jscs", tmp_path).startswith("install it")
