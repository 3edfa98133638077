"""The argument of each command, as docs/protocol.md lists them: typed, unknown keys refused, nothing coerced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.alias_generators import to_camel, to_snake
from pygls.exceptions import JsonRpcInvalidParams

from donewhen.engine.api import LimitChanges
from donewhen.settings.table import LIMITS as GROUP_LIMITS
from donewhen.settings.table import SETTINGS, Unlimited
from donewhen.wire.reports import ReportFormat

# The parameters of our own methods and commands: typed, unknown keys refused, nothing coerced.


class Strict(BaseModel):
    """Base of every parameter object: camelCase names only, types unchanged."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, frozen=True, defer_build=True)


ModelT = TypeVar("ModelT", bound=Strict)


def read(model: type[ModelT], value: Any) -> ModelT:
    """The parameters, or JsonRpcInvalidParams that names the first wrong field."""
    try:
        return model.model_validate({} if value is None else value)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
        # A field, or its number in a list: the name of a union's branch, which pydantic adds, is neither.
        named = [
            part
            for part in first["loc"]
            if isinstance(part, int) or (part.isidentifier() and part not in ("int", "float"))
        ]
        where = ".".join(map(str, named))
        known = {"extra_forbidden": "unknown field", "missing": "it is required"}
        fault = known.get(first["type"], first["msg"])
        raise JsonRpcInvalidParams(f"{where}: {fault}" if where else first["msg"]) from None


def argument_of(command: Callable[..., Any]) -> type[Strict]:
    """What a command's function says that its argument is."""
    return get_type_hints(command)["argument"]


class TrustParams(Strict):
    trusted: bool


class SecretParams(Strict):
    name: str = Field(min_length=1)
    value: str


class EditorPosition(Strict):
    line: int = Field(ge=0)
    character: int = Field(ge=0)


class EditorRange(Strict):
    start: EditorPosition
    end: EditorPosition


class EditorDiagnostic(Strict):
    """A diagnostic as in LSP; fields that we don't need are accepted and ignored."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", strict=True, frozen=True, defer_build=True)

    range: EditorRange
    message: str
    severity: int | None = None
    source: str | None = None


class EditorDiagnosticsParams(Strict):
    """`omitted` counts the diagnostics that the client left out, the mildest ones."""

    uri: str
    version: int | None = None
    diagnostics: list[EditorDiagnostic]
    omitted: int = Field(default=0, ge=0)


# The arguments of commands, in the order of docs/protocol.md.


class GoalSet(Strict):
    objective: str = Field(min_length=1)
    workspace_uri: str | None = None
    goal_uri: str | None = None
    requirements: list[str] | None = None
    start: bool = False
    try_checks: bool = True
    checks: list[str] | None = None
    """What a person picked, instead of what is detected: nothing is tried then."""
    worker: str | None = Field(default=None, pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")


class GoalDetect(Strict):
    """`tryChecks` runs the checks of a draft once, and reports their results."""

    workspace_uri: str | None = None
    try_checks: bool = False


class SeenProblem(Strict):
    """`path` is relative to the workspace folder."""

    path: str
    line: int = Field(ge=0)
    message: str


class SeenTest(Strict):
    name: str
    id: str
    path: str | None = None
    message: str = ""


class GoalPropose(Strict):
    """What a person sees. `problem` is the one to fix; so is a `test`."""

    workspace_uri: str | None = None
    selection: str = ""
    line: str = ""
    clipboard: str = ""
    problems: list[SeenProblem] = Field(default_factory=list[SeenProblem])
    problem: SeenProblem | None = None
    test: SeenTest | None = None


class GoalAmend(Strict):
    """Either a check, below a requirement if one is named, or a judge. An empty `check` is left to be filled in."""

    goal_uri: str
    requirement_id: str | None = None
    check: str | None = None
    judge_model: str | None = Field(default=None, min_length=1)


class GoalUri(Strict):
    goal_uri: str


Whole = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]
WholeLimit = Whole | Unlimited | None
AmountLimit = Amount | Unlimited | None
LIMITS = {setting.argument: setting for setting in SETTINGS if setting.argument and setting.group == GROUP_LIMITS}
"""The limits that a command takes, by their names there."""


class LimitsBase(Strict):
    """Times are seconds, money US dollars; `unlimited` removes a limit."""

    @property
    def changes(self) -> LimitChanges:
        return LimitChanges(**{setting.name: getattr(self, to_snake(name)) for name, setting in LIMITS.items()})


# Each field may be left out. Times are numbers here.
_LIMIT_FIELDS: dict[str, Any] = {
    to_snake(name): (WholeLimit if setting.kind.name == "whole number" else AmountLimit, None)
    for name, setting in LIMITS.items()
}
Limits = create_model("Limits", __base__=LimitsBase, **_LIMIT_FIELDS)


class RunStart(Limits):
    goal_uri: str
    worker: str | None = Field(default=None, min_length=1)
    """A built-in worker, or one that a plugin registers."""


class RunLimits(Limits):
    run_id: str


class RunResume(RunLimits):
    """`plugin` and `data` are for the plugin that halted the run."""

    plugin: str | None = None
    data: Any = None


class RunGuard(Strict):
    """One of `runId` and `goalUri` says what to guard."""

    on: bool
    run_id: str | None = None
    goal_uri: str | None = None


class OfRun(Strict):
    """What each command about a run names."""

    run_id: str


class RunAnswer(OfRun):
    interrupt_id: str
    response: Literal["approve", "deny", "edit", "text", "end"] | None = None
    """None asks again, for a question that is no longer visible."""
    input: dict[str, Any] | None = None
    text: str | None = None
    reason: str | None = None
    remember: Literal["run", "workspace"] | None = None


class RunOverride(OfRun):
    requirement_id: str
    reason: str = Field(min_length=1)
    undo: bool = False


class RunDispute(OfRun):
    requirement_id: str
    reason: str = Field(min_length=1)


class RunAcceptIntegrity(OfRun):
    """Either one finding, or all."""

    finding_id: str | None = None
    all: bool = False
    reason: str = Field(min_length=1)
    undo: bool = False


class RunRevert(OfRun):
    """Either an iteration, or a finding."""

    iteration: int | None = Field(default=None, ge=0)
    uris: list[str] | None = None
    force: bool = False
    finding_id: str | None = None


class RunStatus(Strict):
    """`allIterations` of the named run, not just the latest."""

    run_id: str | None = None
    all_iterations: bool = False
    goal_uri: str | None = None


class RunIteration(OfRun):
    number: int = Field(ge=0)


class RunFile(OfRun):
    iteration: int = Field(ge=0)
    uri: str


class RunProposed(OfRun):
    interrupt_id: str


class RunEvidence(OfRun):
    """`show` also opens the evidence's file in the editor, if the client supports that."""

    evidence_id: str
    show: bool = False


class RunTests(OfRun):
    requirement_id: str


class RunChildren(OfRun):
    """`node` is the id of a row of the run's tree."""

    node: str


class RunActivity(OfRun):
    """`follow` starts, or ends, notifications of new steps; `stepId` asks for one step in full."""

    follow: bool | None = None
    step_id: str | None = None


class RunHint(OfRun):
    text: str = Field(min_length=1, max_length=20_000)


class RunTell(OfRun):
    """`model`: for a model, in plain text; else Markdown for a person. `why` says what is missing, or, if a
    `requirement` is named by its number, where that one stands."""

    form: Literal["status", "why", "model"]
    requirement: int | None = None


class RunDocument(OfRun):
    """What an editor shows as a document of its own: which `kind` it is of, and the fields that name one of that."""

    kind: Literal["evidence", "file", "report", "step", "interrupt", "proposed", "attempt"]
    evidence_id: str = ""
    iteration: int = Field(default=0, ge=0)
    uri: str = ""
    step_id: str = ""
    diff: bool = False
    interrupt_id: str = ""
    side: Literal["before", "after"] = "after"
    attempts: str = ""
    """The id of a group of attempts; `number` is of one in it, whose run `runId` is."""
    number: int = Field(default=0, ge=0)


class RunReport(OfRun):
    format: ReportFormat = "markdown"
