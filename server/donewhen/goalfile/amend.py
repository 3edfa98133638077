"""Edits of a goal file that a person requests with a button: a check for a requirement, a judge for the goal."""

from __future__ import annotations

from dataclasses import dataclass

from donewhen.core.errors import InvalidGoal
from donewhen.core.verdict import panel
from donewhen.goalfile.source import ParsedGoalFile, Span
from donewhen.goalfile.statements import code_span, one_line


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` replaces the span."""

    span: Span
    text: str


def add_check(parsed: ParsedGoalFile, requirement: str | None, command: str) -> Edit:
    """A check below the requirement with that id or label (`R2`); without one, a separate requirement after the last.

    A blank command is left to be filled in. Raises InvalidGoal for a requirement that doesn't exist.
    """
    said = one_line(command)
    if requirement is None:
        line = parsed.requirements[-1].span.end_line if parsed.requirements else parsed.text.count("\n")
        return _after(parsed, line, f"- [ ] {code_span(said) if said else '``'} passes")
    source = next((s for s in parsed.requirements if requirement in (s.id, s.requirement.label)), None)
    if source is None:
        raise InvalidGoal(f"the goal has no requirement {requirement}")
    if source.checkbox is None:
        text = f"\n- [ ] {source.requirement.text}\n  - check: {code_span(said) if said else ''}".rstrip()
        return _after(parsed, source.span.end_line, text)
    indent = " " * source.checkbox.start_column
    return _after(parsed, source.text_span.end_line, f"{indent}- check: {code_span(said) if said else ''}".rstrip())


def name_judge(parsed: ParsedGoalFile, model: str) -> Edit:
    """The judge in front matter. Raises InvalidGoal for a text that isn't a model's name."""
    name = model.strip()
    if not panel(name):
        raise InvalidGoal(f"judge_model must be a model, or several such as A,B,C or 3*A; it is {model!r}")
    front = parsed.front_matter
    if front is None:
        return Edit(Span(0, 0, 0, 0), f"---\njudge_model: {name}\n---\n")
    known = front.entry("judge_model")
    if known is not None:
        return Edit(known.value.span, name)
    line = front.span.start_line + 1
    return Edit(Span(line, 0, line, 0), f"judge_model: {name}\n")


def _after(parsed: ParsedGoalFile, line: int, text: str) -> Edit:
    lines = parsed.text.splitlines()
    if line + 1 < len(lines) or (parsed.text.endswith("\n") and line < len(lines)):
        return Edit(Span(line + 1, 0, line + 1, 0), f"{text}\n")
    last = max(0, len(lines) - 1)
    end = len(lines[last]) if lines else 0
    return Edit(Span(last, end, last, end), f"\n{text}\n")
