"""The YAML front matter of a goal file: where its keys and values stand, and what is wrong with it as YAML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import yaml

from donewhen.goalfile.layout import Layout
from donewhen.goalfile.source import FileProblem, FrontMatter, FrontMatterEntry, Span, Value

LIMIT = 16_384
"""Characters that a front matter may have: a dozen keys need a few hundred."""

MOST_BRACKETS = 200
"""Brackets that a front matter may have: YAML's scanner takes quadratic time in their depth."""

_FENCES = ("---", "...")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as YAML reads it; `kind` is YAML's type of it: str, int, float, bool, null, timestamp."""

    text: str
    kind: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One key and its value: a single one, a list of them (None for members that are none), or None for a mapping."""

    entry: FrontMatterEntry
    value: Scalar | tuple[Scalar | None, ...] | None


@dataclass(frozen=True, slots=True)
class RawFrontMatter:
    """The front matter as YAML reads it. `body_line` is where the Markdown begins; `span` None without one."""

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
        return _unclosed(layout)
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


def _unclosed(layout: Layout) -> RawFrontMatter:
    # The outline below it is still shown: it begins where Markdown plainly does.
    starts = (n for n, line in enumerate(layout.lines) if n and line.lstrip().startswith(("# ", "- [", "* [", "1. [")))
    message = "the front matter is never closed: write a line `---` after its last key"
    problem = _error(layout.line_span(0), "unclosed-front-matter", message)
    return RawFrontMatter(next(starts, len(layout.lines)), layout.line_span(0), (), (problem,))


def _compose(layout: Layout, text: str) -> tuple[tuple[RawEntry, ...], tuple[FileProblem, ...]]:
    try:
        root = cast("yaml.Node | None", yaml.compose(text, yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    except RecursionError:
        return (), (_error(layout.line_span(0), "bad-front-matter", "the front matter is nested too deeply"),)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        return (), (_yaml_problem(layout, text, error),)
    if root is None:
        return (), ()
    if not isinstance(root, yaml.MappingNode):
        message = "the front matter must be `key: value` lines, such as `max_iterations: 10`"
        return (), (_error(_written(layout, text, root).span, "bad-front-matter", message),)
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", root.value)
    return tuple(_entry(layout, text, key, value) for key, value in pairs), ()


def _entry(layout: Layout, text: str, key: yaml.Node, value: yaml.Node) -> RawEntry:
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
    # A block node ends where the next token starts: what it holds ends before the space in between.
    start = cast("int", node.start_mark.index)
    written = text[start : cast("int", node.end_mark.index)].rstrip()
    return Value(written, layout.span(_position(text, start), _position(text, start + len(written))))


def _yaml_problem(layout: Layout, text: str, error: Exception) -> FileProblem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    index = cast("int", mark.index if mark is not None else getattr(error, "position", 0))
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
    line, column = _position(text, min(index, len(text)))
    span = layout.span((line, column), (line, max(len(layout.lines[line].rstrip()), column)))
    message = f"the front matter is not valid YAML: {reason}"
    return _error(span, "bad-front-matter", message)


def _position(text: str, index: int) -> tuple[int, int]:
    # By index: YAML counts other characters as line breaks than Markdown and the language server do.
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1)


def _error(span: Span, code: str, message: str) -> FileProblem:
    return FileProblem(span, "error", code, message)
