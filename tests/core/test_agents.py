"""Which variables with keys a worker command gets: by the agent that it starts, and by name."""

from __future__ import annotations

from donewhen.core.agents import AGENTS, agents_in, held_back, passed_names, variables_of
from donewhen.evidence.text import is_sensitive
from tests.tools import each_row

ENVIRONMENT = {
    "PATH": "/bin", "ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "CODEX_API_KEY": "c", "GH_TOKEN": "g",
    "AWS_SECRET_ACCESS_KEY": "w", "LLM_API_KEY": "l", "DATABASE_PASSWORD": "d", "DONEWHEN_API_KEY": "ours",
}  # fmt: skip


@each_row(
    "command, name",
    [
        ("claude -p {prompt}", "Claude Code"),
        ("/opt/bin/claude --print", "Claude Code"),
        ("npx -y @anthropic-ai/claude-code@latest -p", "Claude Code"),
        ("env DEBUG=1 codex exec -", "Codex"),
        ("bash -c 'cd sub && codex exec {prompt}'", "Codex"),
        ("npx @openai/codex@0.139.0 exec -", "Codex"),
        ("timeout -k 5 600 gemini -p {prompt}", "Gemini CLI"),
        ("cursor-agent -p --trust", "Cursor CLI"),
        ("copilot -p {prompt}", "Copilot CLI"),
        ("uvx --from aider-chat aider --yes", "Aider"),
        ("python -m aider --yes", "Aider"),
        ("opencode run {prompt}", "OpenCode"),
        ("uvx --python 3.12 openhands --headless -t {prompt}", "OpenHands"),
    ],
)
def test_an_agent_is_known_by_its_program_behind_wrappers_too(command: str, name: str) -> None:
    assert [agent.name for agent in agents_in(command)] == [name]


@each_row(
    "command", ["./agent.sh", "echo claude", "cat codex.md", "python agent.py gemini", "npx --quiet other claude", ""]
)
def test_a_word_is_no_program(command: str) -> None:
    assert agents_in(command) == ()


def test_an_agent_gets_what_it_logs_in_with_and_what_a_person_names_and_nothing_else() -> None:
    def passed(command: str, *named: str, **more: str) -> set[str]:
        environment = {**ENVIRONMENT, **more}
        return set(variables_of(passed_names(command, named, environment), environment))

    assert passed("claude -p") == {"ANTHROPIC_API_KEY"}
    assert passed("claude -p", "GH_TOKEN") == {"ANTHROPIC_API_KEY", "GH_TOKEN"}
    assert passed("claude -p", CLAUDE_CODE_USE_BEDROCK="1") >= {"AWS_SECRET_ACCESS_KEY"}
    assert passed("codex exec") == {"OPENAI_API_KEY", "CODEX_API_KEY"}
    assert passed("./agent.sh") == set()
    assert passed("./agent.sh", "AWS_*") == {"AWS_SECRET_ACCESS_KEY"}
    assert passed("claude -p", "none") == set()
    assert passed("claude -p", "*ANTHROPIC", "DONEWHEN_API_KEY", "DONEWHEN_*", "ANTHROPIC") == {"ANTHROPIC_API_KEY"}


def test_what_agents_log_in_with_and_this_command_does_not_get() -> None:
    assert held_back((), ENVIRONMENT, is_sensitive) == [
        "ANTHROPIC_API_KEY", "CODEX_API_KEY", "GH_TOKEN", "LLM_API_KEY", "OPENAI_API_KEY"
    ]  # fmt: skip
    assert held_back(("OPENAI_*", "GH_TOKEN"), ENVIRONMENT, is_sensitive) == [
        "ANTHROPIC_API_KEY", "CODEX_API_KEY", "LLM_API_KEY"
    ]  # fmt: skip


def test_no_two_agents_share_a_program() -> None:
    programs = [program for agent in AGENTS for program in agent.programs]
    assert len(programs) == len(set(programs))
