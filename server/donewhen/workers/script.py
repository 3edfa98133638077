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

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from donewhen.core.errors import InvalidGoal
from donewhen.core.work import TURN_STATES, Interrupt, TurnState, Usage
from donewhen.regular import read_text

MAX_PAUSE = 60.0
RESPONSES = ("approve", "deny", "edit", "text")


@dataclass(frozen=True, slots=True)
class Write:
    """Creates or replaces a file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces a text that must occur in the file exactly once."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Delete:
    path: str


@dataclass(frozen=True, slots=True)
class Run:
    command: str


@dataclass(frozen=True, slots=True)
class Say:
    """The claim's text; several are joined."""

    text: str


@dataclass(frozen=True, slots=True)
class State:
    """How the turn claims to end."""

    state: TurnState


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Ask:
    """Opens an interrupt. `expect` is the kind of answer without which the turn fails, None for any."""

    interrupt: Interrupt
    expect: str | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """Usage that the turn reports."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Fail:
    message: str


@dataclass(frozen=True, slots=True)
class Hang:
    """Waits until the turn is cancelled."""


Step = Write | Edit | Delete | Run | Say | State | Pause | Ask | Spend | Fail | Hang


@dataclass(frozen=True, slots=True)
class ScriptTurn:
    steps: tuple[Step, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    turns: tuple[ScriptTurn, ...] = field(default=())


def load_script(source: Path | str) -> Script:
    """Reads a recording from a file, or from text (a `str` with a line break in it).

    Raises InvalidGoal that names the line of what is wrong.
    """
    if isinstance(source, str) and "\n" in source:
        return parse_script(source)
    path = Path(source)
    try:
        return parse_script(read_text(path), path.name)
    except OSError as error:
        raise InvalidGoal(f"the script can't be read: {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidGoal(f"the script is not UTF-8 text: {path}") from error


def parse_script(text: str, name: str = "script") -> Script:
    """Parses a recording; `name` is what its errors call it."""
    try:
        root = _compose(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or error
        raise InvalidGoal(f"{name}{where}: this is not YAML: {problem}") from error
    return _Reader(name).script(root)


def _compose(text: str) -> yaml.Node | None:
    compose = cast("Callable[..., yaml.Node | None]", yaml.compose)  # pyright: ignore[reportUnknownMemberType]  # untyped stub
    return compose(text, Loader=yaml.SafeLoader)


class _Reader:
    """Turns YAML nodes into values; nodes rather than plain data, since they know their lines."""

    def __init__(self, name: str) -> None:
        self._name = name

    def script(self, root: yaml.Node | None) -> Script:
        if root is None:
            raise InvalidGoal(f"{self._name}: the script is empty: write a list of turns under `turns:`")
        turns = root if isinstance(root, yaml.SequenceNode) else self._fields(root, ("turns",), ("turns",))["turns"]
        return Script(tuple(self._turn(node) for node in self._items(turns, "turns")))

    def _turn(self, node: yaml.Node) -> ScriptTurn:
        if isinstance(node, yaml.SequenceNode):
            return ScriptTurn(tuple(self._step(step) for step in self._items(node, "steps")))
        fields = self._fields(node, ("name", "steps"), ("steps",))
        name = self._text(fields["name"], "name") if "name" in fields else ""
        return ScriptTurn(tuple(self._step(step) for step in self._items(fields["steps"], "steps")), name)

    def _step(self, node: yaml.Node) -> Step:
        fields = self._fields(node, (*_STEPS, "expect"))
        actions = [key for key in fields if key != "expect"]
        if len(actions) != 1:
            raise self._error(node, f"a step does one thing; this one has {', '.join(actions) or 'nothing to do'}")
        if "expect" in fields and actions != ["ask"]:
            raise self._error(fields["expect"], "`expect` belongs to `ask`")
        step = _STEPS[actions[0]](self, fields[actions[0]])
        if isinstance(step, Ask) and "expect" in fields:
            return Ask(step.interrupt, self._one_of(fields["expect"], "expect", RESPONSES))
        return step

    def write(self, node: yaml.Node) -> Step:
        fields = self._texts(node, ("path", "text"))
        return Write(fields["path"], fields["text"])

    def edit(self, node: yaml.Node) -> Step:
        fields = self._texts(node, ("path", "old", "new"))
        if not fields["old"]:
            raise self._error(node, "`old` is empty: name the text to replace")
        return Edit(fields["path"], fields["old"], fields["new"])

    def delete(self, node: yaml.Node) -> Step:
        if isinstance(node, yaml.MappingNode):
            return Delete(self._texts(node, ("path",))["path"])
        return Delete(self._text(node, "delete"))

    def run(self, node: yaml.Node) -> Step:
        return Run(self._text(node, "run"))

    def say(self, node: yaml.Node) -> Step:
        return Say(self._text(node, "say"))

    def state(self, node: yaml.Node) -> Step:
        return State(cast("TurnState", self._one_of(node, "state", TURN_STATES)))

    def pause(self, node: yaml.Node) -> Step:
        seconds = self._number(node, "pause")
        if seconds > MAX_PAUSE:
            raise self._error(node, f"`pause` is at most {MAX_PAUSE:.0f} seconds")
        return Pause(seconds)

    def ask(self, node: yaml.Node) -> Step:
        fields = self._fields(node, ("kind", "title", "tool", "input", "preview"), ("title",))
        text = {key: self._text(value, key) for key, value in fields.items() if key not in ("kind", "input")}
        tool = text.get("tool")
        kind = self._one_of(fields["kind"], "kind", ("approval", "question")) if "kind" in fields else "question"
        return Ask(
            Interrupt(
                id="",
                kind="approval" if kind == "approval" else "question",
                title=text["title"],
                about=f"tool:{tool}" if tool else "worker",
                tool=tool,
                input=self._mapping(fields["input"]) if "input" in fields else {},
                preview=text.get("preview", ""),
            )
        )

    def usage(self, node: yaml.Node) -> Step:
        names = ("input_tokens", "output_tokens", "cached_tokens")
        fields = self._fields(node, (*names, "usd"))
        counts = {name: int(self._number(fields[name], name)) for name in names if name in fields}
        if "usd" not in fields:
            return Spend(Usage(**counts))
        unknown = self._value(fields["usd"]) is None
        return Spend(Usage(**counts, usd=None if unknown else self._number(fields["usd"], "usd")))

    def fail(self, node: yaml.Node) -> Step:
        return Fail(self._text(node, "fail"))

    def hang(self, node: yaml.Node) -> Step:
        if self._value(node) is not True:
            raise self._error(node, "`hang` is true, or left out")
        return Hang()

    # ---- nodes

    def _fields(self, node: yaml.Node, known: tuple[str, ...], needed: tuple[str, ...] = ()) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, f"this should be a mapping with {_listed(needed or known)}")
        fields: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = str(key_node.value)
            if key not in known:
                raise self._error(key_node, f"unknown key `{key}`{_nearest(key, known)}")
            if key in fields:
                raise self._error(key_node, f"`{key}` is given twice")
            fields[key] = value
        missing = [key for key in needed if key not in fields]
        if missing:
            raise self._error(node, f"{_listed(missing)} is missing")
        return fields

    def _texts(self, node: yaml.Node, keys: tuple[str, ...]) -> dict[str, str]:
        return {key: self._text(value, key) for key, value in self._fields(node, keys, keys).items()}

    def _items(self, node: yaml.Node, key: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._error(node, f"`{key}` should be a list")
        return list(node.value)

    def _text(self, node: yaml.Node, key: str) -> str:
        value = self._value(node)
        if not isinstance(value, str):
            raise self._error(node, f"`{key}` should be text")
        return value

    def _one_of(self, node: yaml.Node, key: str, known: tuple[str, ...]) -> str:
        value = self._text(node, key)
        if value not in known:
            raise self._error(node, f"`{key}` is one of {_listed(known)}{_nearest(value, known)}")
        return value

    def _number(self, node: yaml.Node, key: str) -> float:
        value = self._value(node)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise self._error(node, f"`{key}` should be a number of at least 0")
        return value

    def _mapping(self, node: yaml.Node) -> Mapping[str, Any]:
        value = self._value(node)
        if not isinstance(value, dict):
            raise self._error(node, "`input` should be a mapping")
        return cast("dict[str, Any]", value)

    def _value(self, node: yaml.Node) -> Any:
        loader: Any = yaml.SafeLoader("")  # its stubs leave the types of nodes open
        try:
            return loader.construct_document(node)
        except yaml.YAMLError as error:
            raise self._error(node, f"this value can't be read: {getattr(error, 'problem', error)}") from error
        finally:
            loader.dispose()

    def _error(self, node: yaml.Node, message: str) -> InvalidGoal:
        mark = node.start_mark
        return InvalidGoal(f"{self._name} line {mark.line + 1 if mark else 1}: {message}")


_STEPS: Mapping[str, Callable[[_Reader, yaml.Node], Step]] = {
    "write": _Reader.write,
    "edit": _Reader.edit,
    "delete": _Reader.delete,
    "run": _Reader.run,
    "say": _Reader.say,
    "state": _Reader.state,
    "pause": _Reader.pause,
    "ask": _Reader.ask,
    "usage": _Reader.usage,
    "fail": _Reader.fail,
    "hang": _Reader.hang,
}


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _nearest(name: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; the known ones are {_listed(known)}"
