"""Files of a workspace that make something run outside of every room: by an editor, a shell, git, a build machine or an
agent. A worker's file tool asks a person before it changes one, and a room guards those that are there."""

from __future__ import annotations

ANYWHERE = (
    ".git",
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".envrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".dir-locals.el",
    # Agents: their hooks, the servers of tools that they start, commands that they run after each edit.
    ".mcp.json",
    ".aider.conf.yml",
    ".amazonq",
    ".claude",
    ".codex",
    ".continue",
    ".cursor",
    ".gemini",
    ".junie",
    ".kiro",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".openhands",
    ".qwen",
    ".roo",
    ".windsurf",
)
"""Names of files and folders, in whatever folder; so does a name that ends in `SUFFIX`."""
SUFFIX = ".code-workspace"

OF_REPOSITORIES = (
    ".husky",
    ".gitmodules",
    ".pre-commit-config.yaml",
    ".github/actions",
    ".github/hooks",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".circleci",
    ".buildkite",
    ".drone.yml",
    ".travis.yml",
    ".woodpecker",
    ".woodpecker.yml",
    "appveyor.yml",
    ".appveyor.yml",
    "azure-pipelines.yml",
    "azure-pipelines.yaml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
)
"""Paths from the top of a repository."""

RUNNING = tuple(f"**/{one}".lower() for one in (*ANYWHERE, *OF_REPOSITORIES, f"*{SUFFIX}"))
"""Globs over all of them, in lower case."""
