"""The coding agents that people have: one row each, which the resolver, rooms, the doctor and the workers read.

A row says by which programs an agent is known, which variables and folders it needs, and how to get it. `acp` and
`headless` say how it is driven; `--worker NAME` is all that a person types for one with a command line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from donewhen.core.commands.wrapped import program_name, segments

# Which variables a worker command gets besides those that hold no secret: what a person names, and what the agent that
# it starts logs in with. It also says which folders below the home folder are that agent's own.
#
# The names are those of the agents' own documentation: Claude Code (code.claude.com, environment variables), Codex
# (developers.openai.com, environment variables), Gemini CLI (geminicli.com, authentication), Cursor CLI (cursor.com,
# authentication), Copilot CLI (docs.github.com), Aider (aider.chat, API keys), OpenCode (opencode.ai, providers),
# OpenHands (docs.openhands.dev, headless mode).


NOTHING = "none"
"""Given instead of names: nothing is passed, not even what an agent is known to need."""
OUR_OWN = "DONEWHEN_"
"""Variables with this prefix are for Done When itself, and are passed to nobody."""

_AWS = ("AWS_*",)
_GOOGLE = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS")
_ANY_PROVIDER = (
    "ANTHROPIC_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "COHERE_API_KEY",
    "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY", "HF_TOKEN",
    "MISTRAL_API_KEY", "MOONSHOT_API_KEY", "OLLAMA_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY", "XAI_API_KEY", "ZAI_API_KEY",
)  # fmt: skip


Form = Literal["claude", "codex", "gemini", "opencode", "openhands", "aider"]
"""What a headless agent prints, which `workers/headless.py` reads: JSON lines, but for Aider's plain text."""


@dataclass(frozen=True, slots=True)
class Headless:
    """An agent's own command line for one turn. The prompt goes to its standard input, or in the place of `{prompt}`.
    `goes_on` is the command that continues the session `{session}`; empty: each turn is a session of its own.
    `prices`: it reports dollars for every model, for some whose price it knows, or (empty) for none.
    """

    command: str
    form: Form
    goes_on: str = ""
    prices: Literal["every", "some", ""] = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent. `programs` are the names that it is started by, those of its packages included; `passes` are
    names of variables, `PREFIX_*` for all that begin so; `where` are more of them, where a variable is set.

    `preset` is the word that a person types for it, `headless` its command line for `--worker PRESET`, `acp` its
    command for `--worker acp --agent-command PRESET`. `install` says how to get the one, `acp_install` the other.
    `acp_mode` is the mode of its sessions in which a person decides about permissions, where it begins in another.

    Below the home folder, `keeps` are the folders and files of its own that it writes, of which it replaces those in
    `replaces` by new ones; `needs` is what it only reads: where it is installed, who a person is to others. `leaves`
    are caches that it puts into a workspace, part of no revision unless git tracks what is in them.
    """

    name: str
    programs: tuple[str, ...]
    passes: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    keeps: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    preset: str = ""
    install: str = ""
    headless: Headless | None = None
    acp: str = ""
    acp_mode: str = ""
    acp_install: str = ""


AGENTS = (
    Agent(
        "Claude Code",
        ("claude", "claude-code", "claude-agent-acp", "claude-code-acp"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_*"),
        {
            "CLAUDE_CODE_USE_BEDROCK": _AWS,
            "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_APPLICATION_CREDENTIALS",),
            "CLAUDE_CODE_USE_FOUNDRY": ("ANTHROPIC_FOUNDRY_API_KEY",),
        },
        keeps=(".claude", ".cache/claude", ".cache/claude-cli-nodejs", ".local/state/claude"),
        replaces=(".claude.json",),
        needs=(".local/share/claude",),
        preset="claude",
        install="npm install -g @anthropic-ai/claude-code",
        headless=Headless(
            "claude -p --verbose --output-format stream-json --permission-mode acceptEdits",
            "claude",
            "claude -p --verbose --output-format stream-json --permission-mode acceptEdits --resume {session}",
            "every",
        ),
        acp="claude-agent-acp",
        acp_install="npm install -g @agentclientprotocol/claude-agent-acp",
    ),
    Agent(
        "Codex",
        ("codex", "codex-acp"),
        ("OPENAI_API_KEY", "CODEX_*"),
        keeps=(".codex",),
        preset="codex",
        install="npm install -g @openai/codex",
        headless=Headless(
            "codex exec --json --skip-git-repo-check --sandbox workspace-write -",
            "codex",
            "codex exec --json --skip-git-repo-check --sandbox workspace-write resume {session} -",
        ),
        acp="codex-acp",
        acp_mode="workspace-write",
        acp_install="npm install -g @agentclientprotocol/codex-acp",
    ),
    Agent(
        "Gemini CLI",
        ("gemini", "gemini-cli"),
        _GOOGLE,
        keeps=(".gemini",),
        preset="gemini",
        install="npm install -g @google/gemini-cli",
        headless=Headless(
            "gemini --output-format stream-json --approval-mode auto_edit --skip-trust",
            "gemini",
            "gemini --output-format stream-json --approval-mode auto_edit --skip-trust --resume {session}",
        ),
        acp="gemini --acp",
        acp_install="npm install -g @google/gemini-cli",
    ),
    Agent(
        "Cursor CLI",
        ("cursor-agent",),
        ("CURSOR_API_KEY",),
        keeps=(".cursor", ".config/cursor"),
        needs=(".local/share/cursor-agent",),
    ),
    Agent(
        "Copilot CLI",
        ("copilot",),
        ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
        keeps=(".copilot", ".config/github-copilot"),
        needs=(".config/gh",),
    ),
    Agent(
        "Aider",
        ("aider", "aider-chat"),
        (*_ANY_PROVIDER, "AIDER_*"),
        {"AWS_PROFILE": _AWS},
        keeps=(".aider",),
        needs=(".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json", ".env"),
        leaves=(".aider.tags.cache.v3", ".aider.tags.cache.v4"),
        preset="aider",
        install="uv tool install aider-chat --python 3.12",
        headless=Headless(
            "aider --yes-always --no-auto-commits --no-gitignore --no-check-update --no-show-release-notes --no-pretty "
            "--no-stream --no-analytics --no-detect-urls --input-history-file /dev/null --chat-history-file /dev/null "
            "--message {prompt}",
            "aider",
            prices="some",
        ),
    ),
    Agent(
        "OpenCode",
        ("opencode", "opencode-ai"),
        (*_ANY_PROVIDER, "OPENCODE_*"),
        {"AWS_PROFILE": _AWS},
        keeps=(".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
        needs=(".opencode",),
        preset="opencode",
        install="npm install -g opencode-ai",
        headless=Headless(
            "opencode run --format json", "opencode", "opencode run --format json --session {session}", "some"
        ),
        acp="opencode acp",
        acp_install="npm install -g opencode-ai",
    ),
    Agent(
        "OpenHands",
        ("openhands", "openhands-ai", "openhands.core.main"),
        ("LLM_*",),
        keeps=(".openhands",),
        preset="openhands",
        install="uv tool install openhands --python 3.12",
        headless=Headless(
            "openhands --headless --json --override-with-envs --task {prompt}",
            "openhands",
            "openhands --headless --json --override-with-envs --resume {session} --task {prompt}",
        ),
        acp="openhands acp --override-with-envs",
        acp_install="uv tool install openhands --python 3.12",
    ),
)

PRESETS: Mapping[str, Agent] = {agent.preset: agent for agent in AGENTS if agent.preset}
"""By the word that a person types."""


def acp_command(text: str) -> str:
    """The command that starts an agent which speaks ACP: of a preset, or as it was written."""
    known = PRESETS.get(text.strip())
    return known.acp if known is not None and known.acp else text.strip()


def agents_in(command: str) -> tuple[Agent, ...]:
    """The agents that a command line starts, behind wrappers such as `npx`, `uvx` or `env` too."""
    # `@openai/codex@latest` is `codex`.
    programs = {program_name(part.tool[0]).partition("@")[0] for part in segments(command) if part.tool}
    return tuple(agent for agent in AGENTS if programs & set(agent.programs))


def passed_names(command: str, named: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names that go on record for a run: what the person named, then what its agents need. `NOTHING` alone is
    none."""
    if tuple(named) == (NOTHING,):
        return ()
    known: list[str] = []
    for agent in agents_in(command):
        known += agent.passes
        known += (name for variable, names in agent.where.items() if environment.get(variable) for name in names)
    return tuple(dict.fromkeys((*named, *known)))


def variables_of(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of the environment that these names mean."""
    wanted = tuple(names)
    return {name: value for name, value in environment.items() if any(_means(one, name) for one in wanted)}


def held_back(names: Sequence[str], environment: Mapping[str, str], is_sensitive: Callable[[str], bool]) -> list[str]:
    """What is set and looks as if an agent needed it, but is not covered by these names."""
    keys = {name for agent in AGENTS for name in agent.passes}
    looked_for = [name for name in environment if is_sensitive(name) and any(_means(one, name) for one in keys)]
    return sorted(set(looked_for) - set(variables_of(names, environment)))


def _means(one: str, name: str) -> bool:
    if name.upper().startswith(OUR_OWN):
        return False
    return name.startswith(one[:-1]) if one.endswith("*") else name == one
