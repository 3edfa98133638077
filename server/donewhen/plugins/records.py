"""What a plugin registers: workers, judges, checks and tools, each under its own name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from donewhen.core.events import RunOptions
from donewhen.core.plugging import ToolOutcome
from donewhen.plugins.context import PluginContext


@dataclass(frozen=True, slots=True)
class NewWorker:
    """A worker that a goal can name. `make` is called once for a run, and returns an object with the Worker port
    (`name`, `waits_for_person`, `work(turn, context)`) or a callable as in the Python library."""

    name: str
    make: Callable[[RunOptions], Any]


@dataclass(frozen=True, slots=True)
class NewJudge:
    """A judge that a goal can name. `make` is called once for a run, and returns an object with the Judge port
    (`identity`, `judge(task, context)`) or a callable as in the Python library."""

    name: str
    make: Callable[[RunOptions], Any]


@dataclass(frozen=True, slots=True)
class NewCheck:
    """A check that a goal file binds as `check:NAME argument`. `run(argument, root)` gets the text after the name and
    the workspace folder, and returns True, False, an object with `passed` and `feedback`, or a dict with these keys. It
    is plain (then it runs in a thread) or async. Any other return value, or an exception, is not a pass."""

    name: str
    run: Callable[[str, Path], Any]


@dataclass(frozen=True, slots=True)
class NewTool:
    """A tool for the built-in agent. `parameters` is the JSON schema of an object; `run(input, context)` returns the
    text for the model or a ToolOutcome; it is plain (then it runs in a thread) or async. It may raise Halt; any other
    exception is the plugin's failure, so report expected errors as `ToolOutcome(..., ok=False)`."""

    name: str
    description: str
    run: Callable[[Mapping[str, Any], PluginContext], str | ToolOutcome | Awaitable[str | ToolOutcome]]
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
