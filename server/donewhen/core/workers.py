"""The built-in workers: one row each, which settings, goal files, the start of a run, its summary, the doctor and the
command line read.

To add one: its row here, and a module of its name in `donewhen.workers` with `make(parts: WorkerParts) -> Worker`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from donewhen.core.commands.wrapped import program_name, segments


@dataclass(frozen=True, slots=True)
class Need:
    """A setting that a worker can't start without: what that is, and how it is given."""

    setting: str
    what: str
    how: str


@dataclass(frozen=True, slots=True)
class WorkerKind:
    """A built-in worker. `detail` is what the doctor says of it; `introduced` names it before a run starts, with
    `{worker_command}` and `{script}` as the run has them.

    `asks`: it uses tools that a person may be asked about; any other one was named by a person with all that it does.
    `recorded`: what it does is known beforehand. `accounted`: what it costs is known here. `rooms` says when what it
    runs is contained: where rooms can be opened, where a person asks for it, or never. `instead` is set for one that is
    promised and not there yet: what to use in its place. One that isn't `offered` is no choice of a person's: runs
    begin with it by other means.
    """

    name: str
    detail: str
    introduced: str = ""
    needs: Need | None = None
    asks: bool = False
    recorded: bool = False
    accounted: bool = False
    rooms: Literal["auto", "asked", "never"] = "asked"
    instead: str = ""
    offered: bool = True

    @property
    def available(self) -> bool:
        return not self.instead


GATE = "gate"
"""The worker of runs that an agent's own hook drives."""

WORKERS: Mapping[str, WorkerKind] = {
    one.name: one
    for one in (
        WorkerKind("agent", "a model with tools", asks=True, accounted=True, rooms="auto"),
        WorkerKind(
            "human", "you edit, and the goal is checked after each change", asks=True, accounted=True, rooms="never"
        ),
        WorkerKind(
            "command",
            "an agent's own command line: --worker-command 'CMD {prompt}'",
            "the command `{worker_command}`",
            Need("worker_command", "command", "--worker-command CMD"),
        ),
        WorkerKind(
            "acp",
            "not available in this version",
            instead="use command to run an agent's own command line",
        ),
        WorkerKind(
            "scripted",
            "a recording: --worker scripted --script FILE",
            "the recording {script}",
            Need("script", "recording", "--script FILE"),
            recorded=True,
            accounted=True,
        ),
        WorkerKind(
            GATE,
            "an agent in a session of its own, which calls `donewhen gate` when it stops",
            "an agent in a session of its own, which calls `donewhen gate` when it stops",
            rooms="never",
            offered=False,
        ),
    )
}
"""By name, in the order in which they are offered."""


def unavailable(kind: WorkerKind) -> str:
    """Why a worker that is promised can't be used yet; empty for any other."""
    return f"worker {kind.name} is not available in this version: {kind.instead}" if kind.instead else ""


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


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent. `programs` are the names that it is started by, those of its packages included; `passes` are
    names of variables, `PREFIX_*` for all that begin so; `where` are more of them, where a variable is set.

    Below the home folder, `keeps` are the folders and files of its own that it writes, of which it replaces those in
    `replaces` by new ones; `needs` is what it only reads: where it is installed, who a person is to others.
    """

    name: str
    programs: tuple[str, ...]
    passes: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    keeps: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


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
    ),
    Agent("Codex", ("codex", "codex-acp"), ("OPENAI_API_KEY", "CODEX_*"), keeps=(".codex",)),
    Agent("Gemini CLI", ("gemini", "gemini-cli"), _GOOGLE, keeps=(".gemini",)),
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
    ),
    Agent(
        "OpenCode",
        ("opencode", "opencode-ai"),
        (*_ANY_PROVIDER, "OPENCODE_*"),
        {"AWS_PROFILE": _AWS},
        keeps=(".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
        needs=(".opencode",),
    ),
    Agent("OpenHands", ("openhands", "openhands-ai", "openhands.core.main"), ("LLM_*",), keeps=(".openhands",)),
)


def agents_in(command: str) -> tuple[Agent, ...]:
    """The agents that a command line starts, behind wrappers such as `npx`, `uvx` or `env` too."""
    programs = {_program(part.tool[0]) for part in segments(command) if part.tool}
    return tuple(agent for agent in AGENTS if programs & set(agent.programs))


def passed_names(command: str, named: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names that go on record for a run: what the person named, then what its agents need. `NOTHING` alone is
    none."""
    if tuple(named) == (NOTHING,):
        return ()
    known = [name for agent in agents_in(command) for name in _needed(agent, environment)]
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


def _program(word: str) -> str:
    """`@openai/codex@latest` is `codex`."""
    return program_name(word).partition("@")[0]


def _needed(agent: Agent, environment: Mapping[str, str]) -> tuple[str, ...]:
    more = [name for variable, names in agent.where.items() if environment.get(variable) for name in names]
    return (*agent.passes, *more)


def _means(one: str, name: str) -> bool:
    if name.upper().startswith(OUR_OWN):
        return False
    return name.startswith(one[:-1]) if one.endswith("*") else name == one
