"""Distinguishes "not installed here" from "failed", and says how to install what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from donewhen.core.commands.wrapped import Segment

_NOT_FOUND = (
    re.compile(r"^(?:\S*/)?(?:ba|da|k|z|a)?sh: (?:line )?(?:\d+: )?(?P<name>[^:\n]+): (?:command )?not found$", re.M),
    re.compile(r"^zsh:(?:\d+:)? command not found: (?P<name>\S+)$", re.M),
    re.compile(r"^'(?P<name>[^'\n]+)' is not recognized as an internal or external command", re.M),
    re.compile(r"^env: [‘']?(?P<name>[^’':\n]+)[’']?: No such file or directory$", re.M),
)
_NO_MODULE = re.compile(r"^\S*(?:python|pypy)\S*: No module named (?P<name>[A-Za-z0-9_]+)$", re.M)
# These are programs that people install; any other module is the workspace's own business.
_SAME_NAME = (
    "pytest tox nox coverage ruff mypy pyright black isort flake8 pylint bandit build twine pyflakes nose2 "
    "pycodestyle pydocstyle basedpyright ty vulture interrogate mkdocs sphinx"
)
_PYTHON_TOOLS: dict[str, str] = {name: name for name in _SAME_NAME.split()} | {
    "pre_commit": "pre-commit",
    "pre-commit": "pre-commit",
    "poetry": "poetry",
    "uv": "uv",
}
_NODE_TOOLS = frozenset({"eslint", "tsc", "jest", "vitest", "mocha", "ava", "prettier", "biome", "playwright"})
_ELSEWHERE: dict[str, str] = {
    "cargo": "install Rust from https://rustup.rs",
    "go": "install Go from https://go.dev/dl",
    "node": "install Node.js from https://nodejs.org",
    "npm": "install Node.js from https://nodejs.org",
    "npx": "install Node.js from https://nodejs.org",
    "pnpm": "`corepack enable pnpm`",
    "yarn": "`corepack enable yarn`",
    "python": "select the project's interpreter in the editor, create an environment in `.venv`, or use `python3`",
    "make": "install make with your system's package manager",
    "just": "see https://just.systems",
    "deno": "see https://deno.com",
    "bun": "see https://bun.sh",
}


def not_installed(
    output: str, exit_code: int | None, parts: Sequence[Segment], which: Callable[[str], str | None]
) -> str | None:
    """What is missing and how to get it; None if nothing is known to be missing.

    A file of the workspace that is missing (`./check.sh`) is not a program to install.
    """
    return _program(output, exit_code, parts, which) or _module(output, parts)


def _program(
    output: str, exit_code: int | None, parts: Sequence[Segment], which: Callable[[str], str | None]
) -> str | None:
    for name in (match["name"].strip() for pattern in _NOT_FOUND for match in pattern.finditer(output)):
        if "/" in name or which(name) is not None:
            continue
        # In `missing || other`, only the other one counts.
        needed = any(name in part.words and part.then != "||" for part in parts)
        if needed or exit_code == 127:
            return f"`{name}` is not installed here: {how_to_get(name)}"
    return None


def _module(output: str, parts: Sequence[Segment]) -> str | None:
    for match in _NO_MODULE.finditer(output):
        name = match["name"]
        if name in _PYTHON_TOOLS and any(part.tool[:1] == (name,) and part.then != "||" for part in parts):
            return f"`{name}` is not installed here: {how_to_get(name)}"
    return None


def how_to_get(name: str) -> str:
    """What to do for a missing program, as the end of a sentence."""
    if name in _PYTHON_TOOLS:
        return f"`python -m pip install {_PYTHON_TOOLS[name]}` in the workspace's environment"
    if name in _NODE_TOOLS:
        return f"`npm install --save-dev {'typescript' if name == 'tsc' else name}`"
    return _ELSEWHERE.get(name, "install it, or put its folder on PATH before Done When is started")
