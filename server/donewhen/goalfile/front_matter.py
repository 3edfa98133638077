"""The YAML front matter of a goal file: the positions of its keys and values, their meaning, and their errors.

The table of settings (`donewhen.settings`) defines the keys and the notation of their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import yaml

from donewhen.goalfile.markdown import Layout
from donewhen.goalfile.source import FileProblem, FrontMatter, FrontMatterEntry, ProblemSeverity, Span, Value
from donewhen.marked_yaml import BadYaml, compose
from donewhen.settings import kinds
from donewhen.settings.kinds import UNLIMITED, BadValue, refused_choice
from donewhen.settings.table import KEYS, Choices, Setting, choices_of, nearest_name, not_for_goal_files

LIMIT = 16_384
"""The maximum length of front matter in characters: a dozen keys need a few hundred."""

MOST_BRACKETS = 200
"""The maximum number of brackets in front matter: the time of YAML's scanner is quadratic in their depth."""

_FENCES = ("---", "...")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as YAML reads it; `kind` is its YAML type: str, int, float, bool, null, timestamp."""

    text: str
    kind: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One key and its value: a single one, a list of them (None for members of other types), or None for a mapping."""

    entry: FrontMatterEntry
    value: Scalar | tuple[Scalar | None, ...] | None


@dataclass(frozen=True, slots=True)
class RawFrontMatter:
    """The front matter as YAML reads it. `body_line` is where the Markdown begins; `span` is None without front
    matter."""

    body_line: int = 0
    span: Span | None = None
    entries: tuple[RawEntry, ...] = ()
    problems: tuple[FileProblem, ...] = ()

    @property
    def located(self) -> FrontMatter | None:
        if self.span is None:
            return None
        return FrontMatter(self.span, tuple(raw.entry for raw in self.entries))


def read_front_matter(layout: Layout) -> RawFrontMatter:
    """Splits the front matter off and reads its top level. Never raises for bad content."""
    lines = layout.lines
    if lines[0].rstrip() != "---":
        return RawFrontMatter()
    closing = next((n for n in range(1, len(lines)) if lines[n].rstrip() in _FENCES), None)
    if closing is None:
        # The outline below it is still shown: it begins at the first line that is clearly Markdown.
        outline = ("# ", "- [", "* [", "1. [")
        begins = next((n for n, line in enumerate(lines) if n and line.lstrip().startswith(outline)), len(lines))
        message = "the front matter is never closed: write a line `---` after its last key"
        problem = _error(layout.line_span(0), "unclosed-front-matter", message)
        return RawFrontMatter(begins, layout.line_span(0), (), (problem,))
    span = layout.span((0, 0), (closing, len(lines[closing].rstrip())))
    text = "\n".join(lines[1:closing])
    if len(text) > LIMIT:
        message = f"the front matter has {len(text)} characters; at most {LIMIT} are read: shorten it"
        return RawFrontMatter(closing + 1, span, (), (_error(layout.line_span(0), "too-large", message),))
    if sum(map(text.count, "[{?")) > MOST_BRACKETS:
        problem = _error(layout.line_span(0), "bad-front-matter", "the front matter is nested too deeply")
        return RawFrontMatter(closing + 1, span, (), (problem,))
    entries, problems = _compose(layout, text)
    return RawFrontMatter(closing + 1, span, entries, problems)


def _compose(layout: Layout, text: str) -> tuple[tuple[RawEntry, ...], tuple[FileProblem, ...]]:
    try:
        root = compose(text)
    except RecursionError:
        return (), (_error(layout.line_span(0), "bad-front-matter", "the front matter is nested too deeply"),)
    except BadYaml as error:
        line, column = _position(text, min(error.index, len(text)))
        span = layout.span((line, column), (line, max(len(layout.lines[line].rstrip()), column)))
        return (), (_error(span, "bad-front-matter", f"the front matter is not valid YAML: {error}"),)
    if root is None:
        return (), ()
    if not isinstance(root, yaml.MappingNode):
        message = "the front matter must be `key: value` lines, such as `max_iterations: 10`"
        return (), (_error(_written(layout, text, root).span, "bad-front-matter", message),)
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", root.value)
    return tuple(_raw_entry(layout, text, key, value) for key, value in pairs), ()


def _raw_entry(layout: Layout, text: str, key: yaml.Node, value: yaml.Node) -> RawEntry:
    name = _scalar(key)
    key_written = _written(layout, text, key)
    located = FrontMatterEntry(
        Value(name.text if name else key_written.text, key_written.span),
        _written(layout, text, value),
        tuple(_written(layout, text, member) for member in _members(value)),
    )
    if isinstance(value, yaml.SequenceNode):
        return RawEntry(located, tuple(_scalar(member) for member in _members(value)))
    return RawEntry(located, _scalar(value))


def _members(node: yaml.Node) -> Sequence[yaml.Node]:
    return cast("list[yaml.Node]", node.value) if isinstance(node, yaml.SequenceNode) else ()


def _scalar(node: yaml.Node) -> Scalar | None:
    if not isinstance(node, yaml.ScalarNode):
        return None
    value, tag, style = cast("tuple[str, str, str | None]", (node.value, node.tag, node.style))
    return Scalar(value, tag.rsplit(":", 1)[-1], style in ("'", '"'))


def _written(layout: Layout, text: str, node: yaml.Node) -> Value:
    # A block node ends where the next token starts: its content ends before the space in between.
    start = cast("int", node.start_mark.index)
    written = text[start : cast("int", node.end_mark.index)].rstrip()
    return Value(written, layout.span(_position(text, start), _position(text, start + len(written))))


def _position(text: str, index: int) -> tuple[int, int]:
    # By index: YAML's line breaks are not those of Markdown and the language server.
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1)


def _error(span: Span, code: str, message: str) -> FileProblem:
    return FileProblem(span, "error", code, message)


# ------------------------------------------------------------------------------------- what the keys say


def read_settings(entries: Sequence[RawEntry], plugged: Callable[[], bool]) -> tuple[Choices, tuple[FileProblem, ...]]:
    """The file's settings, and every problem with keys and values; a bad value has no effect. `plugged`: there are
    plugins, which may provide a worker with a name that isn't built in."""
    values: dict[str, object] = {}
    problems: list[FileProblem] = []
    lines: dict[str, int] = {}
    for raw in entries:
        name, setting = raw.entry.key.text, KEYS.get(raw.entry.key.text)
        if name in lines:
            message = f"`{name}` is set twice, first on line {lines[name] + 1}: remove one"
            problems.append(_at_key(raw, "duplicate-key", message))
            continue
        lines[name] = raw.entry.key.span.start_line
        if setting is None:
            problems.append(_unknown_key(raw))
            continue
        try:
            values[name] = _read_value(setting, raw)
            problems += _unsure(setting, values[name], raw, plugged)
        except BadValue as bad:
            problems.append(_at_value(raw, "error", "bad-value", f"{name} {bad}", bad.item))
    return choices_of(values), tuple(problems)


def _read_value(setting: Setting, raw: RawEntry) -> object:
    """Raises BadValue."""
    kind = setting.kind
    if kind.members is not None:
        items = raw.value if isinstance(raw.value, tuple) else (raw.value,)
        for number, item in enumerate(items):
            if item is None:
                raise BadValue(f"must be {setting.expected}", number)
        return kind.members([item.text for item in items if item is not None])
    scalar = raw.value
    if not isinstance(scalar, Scalar):
        raise BadValue(f"must be {setting.expected}, not a list or a mapping")
    if scalar.kind == "null" or not scalar.text.strip():
        raise BadValue(f"has no value: give {setting.expected}, or remove the line")
    if scalar.quoted and (kind.number or kind is kinds.FLAG) and scalar.text != UNLIMITED:
        raise BadValue(f"must be {setting.expected}, not text: remove the quotes")
    # A time may look like another YAML type, so it is read as it is written, as numbers are.
    as_written = kind.number or kind in (kinds.FLAG, kinds.DURATION)
    if scalar.kind != "str" and not as_written:
        raise BadValue(f"must be {setting.expected}; it is {scalar.text:.60}: put it in quotes if that is meant")
    return setting.read(scalar.text)


def _unsure(setting: Setting, value: object, raw: RawEntry, plugged: Callable[[], bool]) -> list[FileProblem]:
    """Problems with values that may be mistakes. Raises BadValue for a name that nobody can provide."""
    if value == UNLIMITED and setting.unlimited:
        message = f"`{setting.name}` is unlimited: this limit never ends a run"
        return [_at_value(raw, "warning", "unlimited", message)]
    known = setting.kind.choices
    if not known or value in known:
        return []
    unknown = refused_choice(str(value), known, "`")
    if not plugged():
        raise unknown
    message = f"{setting.name} {unknown}, unless a plugin provides it"
    return [_at_value(raw, "warning", "unknown-name", message)]


def _unknown_key(raw: RawEntry) -> FileProblem:
    name = raw.entry.key.text
    if not_for_goal_files(name):
        message = f"`{name}` can't be set in a goal file: set it in your settings or on the command line"
        return _at_key(raw, "unknown-key", message)
    near = nearest_name(name, KEYS)
    advice = f"did you mean `{near}`?" if near else f"the keys are {', '.join(KEYS)}"
    return _at_key(raw, "unknown-key", f"unknown key `{name[:80]}`: {advice}", near)


def _at_key(raw: RawEntry, code: str, message: str, suggestion: str | None = None) -> FileProblem:
    return FileProblem(raw.entry.key.span, "error", code, message, suggestion)


def _at_value(
    raw: RawEntry, severity: ProblemSeverity, code: str, message: str, item: int | None = None
) -> FileProblem:
    items = raw.entry.items
    value = items[item].span if item is not None and item < len(items) else raw.entry.value.span
    # An absent value has no width: its key can be underlined instead.
    empty = (value.start_line, value.start_column) == (value.end_line, value.end_column)
    return FileProblem(raw.entry.key.span if empty else value, severity, code, message)
