"""Models as worker and judge, as callers name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.core.events import AgentOptions, JudgeOptions, PanelRule
from donewhen.core.verdict import panel
from donewhen.library.arguments import checked, text_or_none
from donewhen.ports import Judge, Worker
from donewhen.workers.callables import judges

_SETTINGS = {
    "temperature": "temperature", "window": "window", "tool_calls": "max_tool_calls", "turn_tokens": "max_turn_tokens",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The built-in agent as the worker: a model (by its litellm name) with tools, in the workspace. Its key is
    `api_key`, else the environment's key for that model's provider.

    >>> from donewhen import AgentConfig
    >>> AgentConfig("anthropic/claude-sonnet-4-5").model
    'anthropic/claude-sonnet-4-5'
    """

    model: str
    api_base: str | None = None
    api_key: str | None = None
    temperature: float | None = None
    window: int | None = None
    tool_calls: int = 2_000
    turn_tokens: int = 50_000_000

    def __post_init__(self) -> None:
        if not isinstance(self.model, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
            raise UsageError(
                f"the agent's model must be its name, AgentConfig('provider/name'); it is {self.model!r:.80}"
            )
        if not self.model.strip():
            raise UsageError("the agent's model must not be blank: AgentConfig('provider/name')")
        for name, setting in _SETTINGS.items():
            if getattr(self, name) is not None:
                checked(f"the agent's {name}", setting, getattr(self, name))
        for name in ("api_base", "api_key"):
            text_or_none(f"the agent's {name}", getattr(self, name))

    def __repr__(self) -> str:
        return f"AgentConfig({self.model!r})"  # without the key

    @property
    def options(self) -> AgentOptions:
        """As a run keeps them."""
        return AgentOptions(self.model, self.api_base, self.temperature, self.window, self.tool_calls, self.turn_tokens)


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """A model as the judge, by its litellm name; several such as `A,B,C` or `3*A` are a panel, whose members must agree
    as `rule` says. Its key is `api_key`, else the environment's key for that model's provider.

    Without a model the judge is the worker's own, if the worker has an attribute `model`: in a GoalLoop only.
    `system_prompt` holds your own instructions, `calls` limits how often the judge may look, `tokens` limits its
    prompt.

    >>> from donewhen import JudgeConfig
    >>> JudgeConfig("openai/gpt-5.5", system_prompt="Be strict about error handling.").model
    'openai/gpt-5.5'
    """

    model: str = ""
    system_prompt: str | None = None
    temperature: float | None = None
    api_base: str | None = None
    api_key: str | None = None
    rule: PanelRule = "majority"
    calls: int = 8
    tokens: int = 24_000

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or (self.model and not self.models):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
            raise InvalidGoal(
                f"the judge's model must be a model, or several such as A,B,C or 3*A; it is {self.model!r}"
            )
        for name in ("temperature", "rule", "calls", "tokens"):
            if name != "temperature" or self.temperature is not None:
                checked(f"the judge's {name}", f"judge_{name}", getattr(self, name))
        for name in ("system_prompt", "api_base", "api_key"):
            text_or_none(f"the judge's {name}", getattr(self, name))

    def __repr__(self) -> str:
        return f"JudgeConfig({self.model!r})"  # without the key

    @property
    def models(self) -> tuple[str, ...]:
        """The members of the panel: one for a single judge."""
        return panel(self.model) or ()

    @property
    def options(self) -> JudgeOptions:
        """As a run keeps them."""
        return JudgeOptions(
            self.models, self.api_base, self.rule, self.temperature, self.system_prompt, self.calls, self.tokens
        )


WorkerLike = Worker | AgentConfig | Callable[..., Any]
"""A callable that takes the prompt, an AgentConfig, or the Worker port."""
JudgeLike = Judge | JudgeConfig | str | Callable[..., Any]
"""A model's name, a JudgeConfig, a callable, or the Judge port."""


def judge_of(given: JudgeLike | None, files: Mapping[str, str] | None = None) -> Judge | JudgeConfig | None:
    """A caller's judge: the port, or a model that is not connected yet. `files` are shown to a callable. Raises
    UsageError for anything else."""
    if given is None:
        return None
    if isinstance(given, JudgeConfig):
        if not given.models:
            raise UsageError("the judge needs a model here: JudgeConfig('provider/name')")
        return given
    if isinstance(given, str):
        return judge_of(JudgeConfig(given), files)
    judge = judges.judge_of(given, files)
    if judge is None:
        raise UsageError(f"a judge is a model's name, a JudgeConfig or a callable; it is {type(given).__name__}")
    return judge


def options_of(given: Worker | Judge | AgentConfig | JudgeConfig | None) -> Any:
    """A model in the form that a run keeps; anything else unchanged."""
    return given.options if isinstance(given, AgentConfig | JudgeConfig) else given


def keys_of(worker: object, judge: object) -> dict[str, str]:
    """The keys that the caller gave, by the variable that each one replaces."""
    agents = worker.api_key if isinstance(worker, AgentConfig) else None
    judges = judge.api_key if isinstance(judge, JudgeConfig) else None
    given = {"DONEWHEN_API_KEY": agents, "DONEWHEN_JUDGE_API_KEY": judges}
    return {name: key for name, key in given.items() if key}
