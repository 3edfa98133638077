"""Which files a worker may not change, and which only with a person's permission."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence

from donewhen.core.feedback import keep_ends
from donewhen.core.globs import any_matches
from donewhen.workers.tools.tool import Desk

ASKED = (
    "**/.vscode/**",
    "**/.idea/**",
    "**/.devcontainer/**",
    "**/.envrc",
    "**/.husky/**",
    "**/.pre-commit-config.yaml",
    "**/.github/workflows/**",
    "**/.github/actions/**",
    "**/.gitlab-ci.yml",
    "**/.gitlab-ci.yaml",
    "**/.circleci/**",
    "**/.buildkite/**",
    "**/.drone.yml",
    "**/.travis.yml",
    "**/.woodpecker.yml",
    "**/.woodpecker/**",
    "**/appveyor.yml",
    "**/.appveyor.yml",
    "**/azure-pipelines.yml",
    "**/azure-pipelines.yaml",
    "**/bitbucket-pipelines.yml",
    "**/Jenkinsfile",
    "**/.gitmodules",
    "**/*.code-workspace",
    "**/.zed/**",
    "**/.exrc",
    "**/.nvimrc",
    "**/.nvim.lua",
    "**/.dir-locals.el",
    "**/.claude/**",
    "**/.codex/**",
    "**/.cursor/**",
    "**/.gemini/**",
    "**/.mcp.json",
)
"""Files that make an editor, a shell, git, a build machine or another agent run something."""

RUNS = "it makes an editor, a shell, git, a build machine or another agent run something"
MAX_PREVIEW = 20_000

_ASKED = tuple(glob.lower() for glob in ASKED)


def protected(desk: Desk, names: Sequence[str]) -> str | None:
    """Why a file may not be changed at all, None if it may."""
    named = next((name for name in names if any_matches(desk.turn.goal.protect, name)), None)
    if named is None:
        return None
    return f"{named} is protected by the goal: changing it would keep the goal from completing. Leave it as it is"


def sensitive(desk: Desk, names: Sequence[str]) -> str:
    """Why a person has to allow a change of it; empty if nobody has to."""
    goal = desk.turn.goal.path
    folded = [name.lower() for name in names]
    if goal is not None and goal.lower() in folded:
        return "it is the goal itself"
    return RUNS if any(any_matches(_ASKED, name) for name in folded) else ""


async def shown(path: str, before: str, after: str) -> str:
    """What would change, for a person; bounded."""
    return keep_ends(await asyncio.to_thread(diff, path, before, after), MAX_PREVIEW)


def diff(path: str, before: str, after: str) -> str:
    """What would change, unified."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm="", n=3)
    return "\n".join(lines)
