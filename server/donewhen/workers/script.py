"""The recording that a scripted worker plays: YAML in, values out, errors with their line.

    turns:
      - name: repairs the parser
        steps:
          - edit: {path: parser.py, old: "a - b", new: "a + b"}
          - run: python -m pytest -q
          - say: It works now.

A turn is a list of steps, or a mapping with `steps` and a `name`. The steps: `write`, `edit`, `delete`, `run`, `say`,
`state`, `pause`, `ask` (with `expect`), `usage`, `fail` and `hang`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationInfo,
    field_validator,
    model_validator,
)

from donewhen.core.errors import InvalidGoal
from donewhen.core.work import Interrupt, TurnState, Usage
from donewhen.regular import read_text
from donewhen.yaml_shapes import Count, Items, Number, Shape, read

MAX_PAUSE = 60.0


def _path_alone(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


def _steps_alone(value: object) -> object:
    return {"steps": cast("object", value)} if isinstance(value, list) else value


def _checked_pause(seconds: float) -> float:
    if seconds > MAX_PAUSE:
        raise ValueError(f"`pause` is at most {MAX_PAUSE:.0f} seconds")
    return seconds


def _checked_hang(value: bool) -> bool:
    if not value:
        raise ValueError("`hang` is true, or left out")
    return value


class Write(Shape):
    """Creates or replaces a file."""

    path: str
    text: str


class Edit(Shape):
    """Replaces a text that must stand in the file exactly once."""

    path: str
    old: str
    new: str

    @model_validator(mode="after")
    def _names_a_text(self) -> Self:
        if not self.old:
            raise ValueError("`old` is empty: name the text to replace")
        return self


class Delete(Shape):
    path: str


class Ask(Shape):
    """Opens an interrupt."""

    title: str
    kind: Literal["approval", "question"] = "question"
    tool: str = ""
    input: dict[str, Any] = Field(default_factory=dict[str, Any])
    preview: str = ""

    @property
    def interrupt(self) -> Interrupt:
        return Interrupt(
            id="",
            kind=self.kind,
            title=self.title,
            about=f"tool:{self.tool}" if self.tool else "worker",
            tool=self.tool or None,
            input=self.input,
            preview=self.preview,
        )


class Spend(Shape):
    """Usage that the turn reports; `usd` None for an unknown price."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_tokens: Count = 0
    usd: Number | None = 0.0

    @property
    def usage(self) -> Usage:
        return Usage(self.input_tokens, self.output_tokens, self.cached_tokens, self.usd)


class Step(Shape):
    """One thing that a turn does: all fields but one are None, and `expect` may be there with `ask`."""

    write: Write | None = None
    edit: Edit | None = None
    delete: Annotated[Delete, BeforeValidator(_path_alone)] | None = None
    run: str | None = None
    say: str | None = None
    """The claim's text; several are joined."""
    state: TurnState | None = None
    """How the turn claims to end."""
    pause: Annotated[Number, AfterValidator(_checked_pause)] | None = None
    """Seconds."""
    ask: Ask | None = None
    usage: Spend | None = None
    fail: str | None = None
    hang: Annotated[bool, AfterValidator(_checked_hang)] | None = None
    """Waits until the turn is cancelled."""
    expect: Literal["approve", "deny", "edit", "text"] | None = None
    """The kind of answer without which the turn fails, None for any."""

    @model_validator(mode="wrap")
    @classmethod
    def _does_one_thing(cls, value: object, validate: ModelWrapValidatorHandler[Self]) -> Self:
        step = validate(value)
        actions = [key for key in cast("Mapping[str, object]", value) if key != "expect"]
        if len(actions) != 1:
            raise ValueError(f"a step does one thing; this one has {', '.join(actions) or 'nothing to do'}")
        if getattr(step, actions[0]) is None:
            raise ValueError(f"`{actions[0]}` has no value")
        return step

    @field_validator("expect")
    @classmethod
    def _belongs_to_ask(cls, value: object, info: ValidationInfo) -> object:
        if info.data.get("ask") is None:
            raise ValueError("`expect` belongs to `ask`")
        return value


class ScriptTurn(Shape):
    steps: Items[Step]
    name: str = ""


class Script(Shape):
    turns: Items[Annotated[ScriptTurn, BeforeValidator(_steps_alone)]]

    @model_validator(mode="before")
    @classmethod
    def _may_be_a_list(cls, value: object) -> object:
        if value is None:
            raise ValueError("the script is empty: write a list of turns under `turns:`")
        return {"turns": cast("object", value)} if isinstance(value, list) else value


def load_script(source: Path | str) -> Script:
    """Reads a recording from a file, or from text (a `str` with a line break in it).

    Raises InvalidGoal that names the line of what is wrong.
    """
    if isinstance(source, str) and "\n" in source:
        return read(Script, source, "script")
    path = Path(source)
    try:
        return read(Script, read_text(path), path.name)
    except OSError as error:
        raise InvalidGoal(f"the script can't be read: {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidGoal(f"the script is not UTF-8 text: {path}") from error
