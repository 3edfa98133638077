"""What workers and people return: claims, usage, interrupts; and what is known of a model and its price. None of it is
evidence (invariant 3)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

TurnState = Literal["finished", "blocked", "impossible", "question"]
TURN_STATES: tuple[TurnState, ...] = get_args(TurnState)

InterruptKind = Literal["approval", "question"]
ResponseKind = Literal["approve", "deny", "edit", "text", "end"]
Remember = Literal["", "run", "workspace"]
Actor = Literal["person", "worker", "check"]


@dataclass(frozen=True, slots=True)
class Claim:
    """How a worker says that its turn ended. Kept for the reader.

    >>> from donewhen import Claim
    >>> Claim("blocked", "there is no key").state
    'blocked'
    """

    state: TurnState = "finished"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. `cached` is for input that the provider had cached, None: as `input`."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model; None is unknown. Tokens."""

    window: int | None = None
    max_output: int | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and US dollars. `usd` is None if the cost isn't known, never 0. A worker reports its own with a
    `TurnResult`.

    >>> from donewhen import Usage
    >>> Usage(1200, 80, usd=0.01) + Usage(300, 20)
    Usage(input_tokens=1500, output_tokens=100, cached_tokens=0, usd=0.01)
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.usd is not None and other.usd is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            (self.usd or 0.0) + (other.usd or 0.0) if known else None,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


UNKNOWN = Usage(usd=None)
"""The cost of what nobody accounts for: a command, a callable, a service. Its tokens aren't counted either."""


@dataclass(frozen=True, slots=True)
class WorkerStep:
    """One thing that a worker did in a turn, as the server saw it: for the reader of an iteration."""

    kind: str
    summary: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The end of a worker's turn. `error` is set where the turn failed; then nothing else of it counts. `final`:
    another turn is useless until a person changes something. `usage` is what was not accounted call by call: unknown
    unless the worker says so.

    `response_digest` identifies what a library worker returned (of a text it is the sha256), or the command worker's
    output. `response` is its text where the goal is about the response itself; it is evidence for such a goal only.

    >>> from donewhen import TurnResult, Usage, run_goal
    >>> def worker(prompt):
    ...     return TurnResult(response="hello", usage=Usage(120, 8, usd=0.001))
    >>> outcome = run_goal("Say hello", worker, checks=[lambda response, agent: "hello" in response])
    >>> outcome.response, outcome.worker_usage.tokens, outcome.cost
    ('hello', 128, 0.001)
    """

    claim: Claim = field(default_factory=Claim)
    usage: Usage = UNKNOWN
    error: str | None = None
    response_digest: str = ""
    steps: tuple[WorkerStep, ...] = ()
    summary: str = ""
    final: bool = False
    response: str | None = None

    @property
    def returned(self) -> str | None:
        """What the worker returned where that is on record as it was: a finished turn's text, in which nothing was
        masked."""
        if self.response is None or self.error is not None or self.claim.state != "finished":
            return None
        digest = hashlib.sha256(self.response.encode("utf-8", "replace")).hexdigest()
        return self.response if digest == self.response_digest else None


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A pause that waits for a person: an approval or a question.

    >>> from donewhen import Interrupt, run_goal, Question
    >>> def worker(prompt):
    ...     return "blue" if "blue" in prompt else Question("Which colour?")
    >>> def answer(interrupt: Interrupt) -> str:
    ...     return "blue" if interrupt.title == "Which colour?" else ""
    >>> run_goal("Choose", worker, lambda task: task.response == "blue", on_interrupt=answer).iterations
    2

    `about` names what it concerns: `requirement:<id>`, `claim:<state>`, `findings`, `start`, `restore`, `tool:<name>`,
    `plugin:<name>`, or `worker`. `remembers`: an approval of it may be kept (`Answer.remember`).
    """

    id: str
    kind: InterruptKind
    title: str
    about: str = ""
    tool: str | None = None
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    preview: str = ""
    asked_at: float = 0.0
    remembers: bool = False

    @property
    def subject(self) -> str:
        """What is asked, whenever it is asked: the same for the same question of a turn that runs again."""
        return repr((self.kind, self.about, self.title, self.tool, sorted(self.input.items())))


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to an interrupt. `input` replaces a tool's input where `response` is `edit`. `remember`: the
    same approval holds for the rest of the run, or always in this workspace. `end` ends the run where integrity
    findings are all that is left.

    >>> from donewhen import Answer
    >>> Answer("deny", reason="not on a Friday").response
    'deny'
    """

    response: ResponseKind
    text: str = ""
    input: Mapping[str, Any] | None = None
    reason: str = ""
    remember: Remember = ""


WEAK_JUDGE = "weak_judge"
"""The code of the warning that the judge of a run failed when it was measured."""


@dataclass(frozen=True, slots=True)
class RunWarning:
    """Something that a person should know about a run: `not_independent`, `unlimited`, `not_sandboxed`, ..."""

    code: str
    message: str
