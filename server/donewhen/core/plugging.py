"""What plugins say to the loop: halts, refinements, outcomes of tool calls. Pure data.

The public names are exported by `donewhen.plugins`; docs/plugins.md teaches them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from donewhen.core.calls import Message
from donewhen.core.work import Claim, TurnResult

Stage = Literal["before_turn", "turn", "after_turn", "before_audit", "after_verdict", "on_stop"]
"""Where in an iteration a halt came: at a hook, or (`turn`) while the worker worked."""


class Halt(Exception):  # it is not an error: a hook or a tool stops the loop on purpose
    """Raised from any hook or tool: stops the loop here, with a reason and a payload that reach the result.

    `data` must be JSON. `resumable`: the run waits, and `resume(plugin, data)` lets it go on exactly here; else it
    ends `blocked`. `plugin` and `called` are filled in by whoever called the hook.

    >>> from donewhen import Halt, run_goal
    >>> def worker(prompt):
    ...     raise Halt("the quota is used up", {"until": "18:00"})
    >>> outcome = run_goal("Translate it", worker, lambda task: True)
    >>> print(outcome.status, outcome.halt.reason, outcome.halt.data)
    waiting the quota is used up {'until': '18:00'}
    """

    def __init__(self, reason: str, data: Mapping[str, Any] | None = None, *, resumable: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.data: dict[str, Any] = dict(data or {})
        self.resumable = resumable
        self.plugin = ""
        self.called: tuple[str, ...] = ()
        """The plugins whose hook of this stage had been called, the halting one last: they are not called again. One
        whose answer was lost because a later one halted is not among them."""
        self.notes: tuple[str, ...] = ()
        """What those had added to the turn, where the stage is `before_turn`."""


def plain_data(halt: Halt) -> dict[str, Any]:
    """What a halt carries, as it is kept. Raises TypeError if that is not JSON, or its reason is not text."""
    if not isinstance(halt.reason, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # plugins are not always type-checked
        raise TypeError(f"it halted with the reason {halt.reason!r}: text is expected") from halt
    try:
        return json.loads(json.dumps(halt.data, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(f"it halted ({halt.reason}) with data that is not JSON: {error}") from halt


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that is about to be made. `input` are the checked arguments, `summary` is a line for people.

    `preview` shows a person what would happen (a command, a diff); `sensitive` says why a person should be asked even
    where the tool as such is allowed, empty otherwise.
    """

    call_id: str
    tool: str
    input: Mapping[str, Any]
    summary: str = ""
    preview: str = ""
    sensitive: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool did. `text` is for the model: its first line says how it went, all by itself; `summary` is a line
    for people. `claim` ends the turn. `repeats` tells whether two results are the same, where their texts differ for
    nothing, as in times."""

    text: str
    summary: str
    ok: bool = True
    claim: Claim | None = None
    repeats: str | None = None

    @property
    def digest(self) -> str:
        told = self.text if self.repeats is None else self.repeats
        return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Refine:
    """An `after_turn` answer: the same turn goes on with this feedback. The goal is not touched by it."""

    feedback: str


@dataclass(frozen=True, slots=True)
class ResumeDirective:
    """How a halted turn goes on.

    `skip_model_call`: the model's last message stands, and its calls that have no result yet are made; else those are
    answered as not done, and the model is asked again. `restore_message` replaces the model's last message.
    `completed` are calls (by id) that count as done with this outcome; they are not made.
    """

    skip_model_call: bool = True
    restore_message: Message | None = None
    completed: Mapping[str, ToolOutcome] = field(default_factory=dict[str, ToolOutcome])


@dataclass(frozen=True, slots=True)
class Halted:
    """A halt as it is on record. `result` is what the worker had returned by then (stages after the turn), `completed`
    the calls whose tool had run although their wrapper halted: they do not run again."""

    plugin: str
    reason: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    resumable: bool = True
    stage: Stage = "turn"
    called: tuple[str, ...] = ()
    result: TurnResult | None = None
    completed: Mapping[str, ToolOutcome] = field(default_factory=dict[str, ToolOutcome])
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginState:
    """What a plugin keeps with the run: a JSON value and the version of its shape."""

    version: int
    value: Any


# ------------------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class RunHalted:
    """A plugin stopped the loop. A resumable halt waits, any other is followed by the end of the run."""

    halt: Halted


@dataclass(frozen=True, slots=True)
class HaltResumed:
    """The plugin that halted said how to go on."""

    plugin: str
    directive: ResumeDirective


@dataclass(frozen=True, slots=True)
class PluginStateSet:
    """`state` None: the plugin no longer keeps anything."""

    plugin: str
    state: PluginState | None


@dataclass(frozen=True, slots=True)
class PluginOff:
    """A plugin failed in `hook`: it is switched off for the rest of the run."""

    plugin: str
    hook: str
    reason: str
