"""The YAML front matter of a goal file: the positions of its keys and values, their meaning, and their errors.

The table of settings (`donewhen.settings`) defines the keys and the notation of their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import yaml

from donewhen.goalfile.markdown import Layout
from donewhen.goalfile.source import FileProblem, FrontMatter, FrontMatterEntry, ProblemSeverity, Scalar, Span, Value
from donewhen.marked_yaml import BadYaml, compose
from donewhen.settings import kinds
from donewhen.settings.kinds import UNLIMITED, BadValue, refused_choice
from donewhen.settings.table import KEYS, Choices, Setting, choices_of, nearest_name, not_for_goal_files

LIMIT = 16_384
"""The maximum length of front matter in characters: a dozen keys need a few hundred."""

MOST_BRACKETS = 200
"""The maximum number of brackets in front matter: the time of YAML's scanner is quadratic in their depth."""

_FENCES = ("---", "...")


Read = tuple[int, FrontMatter | None, Sequence[FileProblem]]
"""Where the Markdown begins, the front matter if there is any, and its problems."""


def read_front_matter(layout: Layout) -> Read:
    """Splits the front matter off and reads its top level. Never raises for bad content."""
    lines = layout.lines
    if lines[0].rstrip() != "---":
        return 0, None, ()
    closing = next((n for n in range(1, len(lines)) if lines[n].rstrip() in _FENCES), None)
    if closing is None:
        # The outline below it is still shown: it begins at the first line that is clearly Markdown.
        outline = ("# ", "- [", "* [", "1. [")
        begins = next((n for n, line in enumerate(lines) if n and line.lstrip().startswith(outline)), len(lines))
        message = "the front matter is never closed: write a line `---` after its last key"
        problem = _error(layout.line_span(0), "unclosed-front-matter", message)
        return begins, FrontMatter(layout.line_span(0)), (problem,)
    span = layout.span((0, 0), (closing, len(lines[closing].rstrip())))
    text = "\n".join(lines[1:closing])
    if len(text) > LIMIT:
        message = f"the front matter has {len(text)} characters; at most {LIMIT} are read: shorten it"
        return closing + 1, FrontMatter(span), (_error(layout.line_span(0), "too-large", message),)
    if sum(map(text.count, "[{?")) > MOST_BRACKETS:
        problem = _error(layout.line_span(0), "bad-front-matter", "the front matter is nested too deeply")
        return closing + 1, FrontMatter(span), (problem,)
    entries, problems = _compose(layout, text)
    return closing + 1, FrontMatter(span, entries), problems


def _compose(layout: Layout, text: str) -> tuple[tuple[FrontMatterEntry, ...], tuple[FileProblem, ...]]:
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
    return tuple(_entry(layout, text, key, value) for key, value in pairs), ()


def _entry(layout: Layout, text: str, key: yaml.Node, value: yaml.Node) -> FrontMatterEntry:
    name, key_written = _scalar(key), _written(layout, text, key)
    located = Value(name.text if name else key_written.text, key_written.span)
    if not isinstance(value, yaml.SequenceNode):
        return FrontMatterEntry(located, _written(layout, text, value), said=_scalar(value))
    members = cast("list[yaml.Node]", value.value)
    items = tuple(_written(layout, text, member) for member in members)
    return FrontMatterEntry(located, _written(layout, text, value), items, tuple(map(_scalar, members)))


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


def read_settings(
    entries: Sequence[FrontMatterEntry], plugged: Callable[[], bool]
) -> tuple[Choices, tuple[FileProblem, ...]]:
    """The file's settings, and every problem with keys and values; a bad value has no effect. `plugged`: there are
    plugins, which may provide a worker with a name that isn't built in."""
    values: dict[str, object] = {}
    problems: list[FileProblem] = []
    lines: dict[str, int] = {}
    for entry in entries:
        name, setting = entry.key.text, KEYS.get(entry.key.text)
        if name in lines:
            message = f"`{name}` is set twice, first on line {lines[name] + 1}: remove one"
            problems.append(_at_key(entry, "duplicate-key", message))
            continue
        lines[name] = entry.key.span.start_line
        if setting is None:
            problems.append(_unknown_key(entry))
            continue
        try:
            values[name] = _read_value(setting, entry)
            problems += _unsure(setting, values[name], entry, plugged)
        except BadValue as bad:
            problems.append(_at_value(entry, "error", "bad-value", f"{name} {bad}", bad.item))
    return choices_of(values), tuple(problems)


def _read_value(setting: Setting, entry: FrontMatterEntry) -> object:
    """Raises BadValue."""
    kind = setting.kind
    if kind.members is not None:
        items = entry.said if isinstance(entry.said, tuple) else (entry.said,)
        for number, item in enumerate(items):
            if item is None:
                raise BadValue(f"must be {setting.expected}", number)
        return kind.members([item.text for item in items if item is not None])
    scalar = entry.said
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


def _unsure(setting: Setting, value: object, entry: FrontMatterEntry, plugged: Callable[[], bool]) -> list[FileProblem]:
    """Problems with values that may be mistakes. Raises BadValue for a name that nobody can provide."""
    if value == UNLIMITED and setting.unlimited:
        message = f"`{setting.name}` is unlimited: this limit never ends a run"
        return [_at_value(entry, "warning", "unlimited", message)]
    known = setting.kind.choices
    if not known or value in known:
        return []
    unknown = refused_choice(str(value), known, "`")
    if not plugged():
        raise unknown
    message = f"{setting.name} {unknown}, unless a plugin provides it"
    return [_at_value(entry, "warning", "unknown-name", message)]


def _unknown_key(entry: FrontMatterEntry) -> FileProblem:
    name = entry.key.text
    if not_for_goal_files(name):
        message = f"`{name}` can't be set in a goal file: set it in your settings or on the command line"
        return _at_key(entry, "unknown-key", message)
    near = nearest_name(name, KEYS)
    advice = f"did you mean `{near}`?" if near else f"the keys are {', '.join(KEYS)}"
    return _at_key(entry, "unknown-key", f"unknown key `{name[:80]}`: {advice}", near)


def _at_key(entry: FrontMatterEntry, code: str, message: str, suggestion: str | None = None) -> FileProblem:
    return FileProblem(entry.key.span, "error", code, message, suggestion)


def _at_value(
    entry: FrontMatterEntry, severity: ProblemSeverity, code: str, message: str, item: int | None = None
) -> FileProblem:
    items = entry.items
    value = items[item].span if item is not None and item < len(items) else entry.value.span
    # An absent value has no width: its key can be underlined instead.
    empty = (value.start_line, value.start_column) == (value.end_line, value.end_column)
    return FileProblem(entry.key.span if empty else value, severity, code, message)
