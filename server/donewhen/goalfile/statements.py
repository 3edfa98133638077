"""What the items of a goal file say: task boxes, commands, and the `check:`, `file:`, `problems:` and `external:`
lines.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from donewhen.core.globs import glob_problem, plain_glob
from donewhen.core.goal import Check
from donewhen.goalfile.markdown import Passage
from donewhen.goalfile.source import FileProblem, ProblemSeverity, Span, Value

Label = Literal["check", "file", "problems", "external"]
LABELS: tuple[Label, ...] = ("check", "file", "problems", "external")

TASK = re.compile(r"\[([ \txX])\](?=\s|$)\s*")
_ALMOST = re.compile(r"(\[(?:[ \t]*|[ xX✓✔vV*-])\])(?![(\[:])")
_LABEL = re.compile(r"([^\W\d_]{2,12})[ \t]*:(?!\S*//)\s*")
_CODE = re.compile(r"(?<!`)(`{1,8})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_OUTCOME = re.compile(
    r"\s+(?:passes|succeeds|is\s+clean|exits(?:\s+with)?(?:\s+code)?\s+(\d{1,10}))\s*\.?\s*", re.IGNORECASE
)
_EDITOR = re.compile(
    r"(?:(?i:(?:there\s+are\s+)?no\s+errors?\s+(?:(?:shown|left|listed)\s+)?in\s+(?:the\s+)?)"
    r"(?:Problems|(?i:problems(?=\s+(?:panel|view))))(?i:\s+(?:panel|view))?"
    r"|(?i:(?:the\s+)?(?:problems\s+(?:panel|view)|editor)\s+(?:shows|reports|lists|has)\s+no\s+errors?))"
    r"(?P<where>\s+(?:in|for|of|under)\s+(?=`))?"
)
_BETWEEN = re.compile(r"\s*(?:,|;|and\b|\.?\s*$)\s*")
_ROW = re.compile(r"\n((?:check|file|problems)[ \t]*:[ \t]*`[^\n]*)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_LARGEST_EXIT = 2**32 - 1


def one_line(text: str) -> str:
    """The text with every run of white space replaced by one space."""
    return _SPACES.sub(" ", text).strip()


@dataclass(frozen=True, slots=True)
class StatedCheck:
    """A command between backticks, and its expected exit code."""

    value: Value
    check: Check


@dataclass(slots=True)
class Bound:
    """What the nested items of one requirement bind, collected in order."""

    checks: list[StatedCheck] = field(default_factory=list[StatedCheck])
    files: list[Value] = field(default_factory=list[Value])
    problems: list[Value] = field(default_factory=list[Value])
    external: bool = False
    details: list[str] = field(default_factory=list[str])
    faults: list[FileProblem] = field(default_factory=list[FileProblem])

    def fault(self, span: Span, severity: ProblemSeverity, code: str, message: str, suggestion: str = "") -> None:
        self.faults.append(FileProblem(span, severity, code, message, suggestion or None))


def sole_command(passage: Passage, start: int, bound: Bound) -> StatedCheck | None:
    """The command of a statement of the form "`COMMAND` passes" that begins at `start` and has nothing after it."""
    code = _CODE.match(passage.text, start)
    if code is None or not _code_text(code[2]):
        return None
    outcome = _OUTCOME.fullmatch(passage.text, code.end())
    if outcome is None:
        return None
    exit_code = int(outcome[1] or 0)
    if exit_code > _LARGEST_EXIT:
        span = passage.span(*outcome.span(1))
        bound.fault(span, "error", "bad-value", f"no command exits with {exit_code}: write a number up to 255")
    command = _code_text(code[2])
    return StatedCheck(passage.value(code.start(2), code.end(2), command), Check.of(command, exit_code))


def editor_statement(passage: Passage, start: int, bound: Bound) -> list[Value] | None:
    """The globs of a statement of the form "No errors in Problems for `GLOB`", `**` if it names none; None for every
    other statement."""
    said = _EDITOR.match(passage.text, start)
    if said is None:
        return None
    if said["where"] is None:
        whole = not passage.text[said.end() :].strip(" \t\n.")
        return [Value("**", passage.span(start, said.end()))] if whole else None
    rest = passage.text[said.end() :]
    if _CODE.sub("", rest).replace("and", "").strip(" \t\n.,;"):
        return None  # other words besides the globs: a different statement
    return list(_globs(passage, said.end(), bound))


def almost_task(passage: Passage, bound: Bound) -> None:
    """Reports an item that was meant as a requirement, or for one: `[]`, `[ ]text`, `check:` that isn't nested."""
    near = _ALMOST.match(passage.text)
    if near and not _is_task(passage):
        message = "this is not a task box, so it is not a requirement: write `[ ]` and a space after it"
        bound.fault(passage.span(*near.span(1)), "warning", "not-a-task", message, "[ ] ")
    if is_labelled(passage):
        message = (
            "this does not belong to a requirement: indent it below one, to where the text after `- ` or `1. ` begins"
        )
        bound.fault(passage.span(0, len(passage.text)), _lost(passage.text), "not-nested", message)


def is_labelled(passage: Passage) -> bool:
    """True for a line such as `check:` or `file:` with its value between backticks."""
    label = _LABEL.match(passage.text)
    return label is not None and label[1].casefold() in LABELS and passage.text.startswith("`", label.end())


def _lost(text: str) -> ProblemSeverity:
    # Without a check that its author wrote, a goal could be met without that proof.
    return "error" if text.casefold().startswith("check") else "warning"


def read_line(passage: Passage, bound: Bound) -> None:
    """Reads a nested item: a labelled line is bound, anything else is detail."""
    label = _LABEL.match(passage.text)
    name = label[1].casefold() if label else ""
    words = passage.text[label.end() :].split() if label else []
    if label is None or name not in LABELS or (name == "external" and len(words) > 1):
        if label is not None:
            _suggest_label(passage, label, bound)
        bound.details.append(one_line(TASK.sub("", passage.text, count=1) if _is_task(passage) else passage.text))
        return
    if not words:
        example = {"check": "`python -m pytest -q`", "external": "true"}.get(name, "`src/**`")
        bound.fault(passage.span(0, label.end()), "error", f"empty-{name}", f"`{name}:` has no value: write {example}")
    elif name == "check":
        sole = sole_command(passage, label.end(), bound)
        values = _values(passage, label.end(), bound, "check") if sole is None else ()
        bound.checks += [sole] if sole is not None else [StatedCheck(one, Check.of(one.text)) for one in values]
    elif name == "external":
        _read_external(passage, label.end(), words[0].strip("`."), bound)
    else:
        (bound.files if name == "file" else bound.problems).extend(_globs(passage, label.end(), bound))


def _read_external(passage: Passage, start: int, value: str, bound: Bound) -> None:
    if value.casefold() in ("true", "false"):
        bound.external = value.casefold() == "true"
        return
    message = (
        f"`external:` is true or false, not {value}: true says that it is about something outside of the workspace"
    )
    bound.fault(passage.span(start, len(passage.text.rstrip())), "error", "bad-value", message, "true")


def warn_of_rows(passage: Passage, start: int, bound: Bound) -> None:
    """Reports lines of a statement that look like a label but are not nested items."""
    for row in _ROW.finditer(passage.text, start):
        message = "this is read as part of the sentence above: make it a nested item with `- ` before it"
        bound.fault(passage.span(*row.span(1)), _lost(row[1]), "not-nested", message)


def _globs(passage: Passage, start: int, bound: Bound) -> Iterator[Value]:
    for value in _values(passage, start, bound, "glob"):
        if problem := glob_problem(value.text):
            bound.fault(value.span, "error", "bad-glob", problem)
        else:
            yield Value(plain_glob(value.text), value.span)


def _values(passage: Passage, start: int, bound: Bound, what: str) -> Iterator[Value]:
    """The values between backticks, separated by commas; without backticks the whole line is one value."""
    position = start
    while code := _CODE.match(passage.text, position):
        if _code_text(code[2]):
            yield passage.value(code.start(2), code.end(2), _code_text(code[2]))
        else:
            bound.fault(passage.span(*code.span()), "error", f"empty-{what}", "there is nothing between the backticks")
        position = code.end()
        if between := _BETWEEN.match(passage.text, position):
            position = between.end()
    rest = passage.text[position:].strip()
    if rest and position > start:
        span = passage.span(position, len(passage.text.rstrip()))
        bound.fault(span, "warning", "ignored-text", f"this text is not read: put each {what} between backticks")
    elif rest:
        yield from _unquoted(passage, position, bound, what)


def _unquoted(passage: Passage, start: int, bound: Bound, what: str) -> Iterator[Value]:
    end = len(passage.text.rstrip())
    value = passage.value(start, end, one_line(passage.text[start:]))
    if not value.text.strip("` "):
        bound.fault(value.span, "error", f"empty-{what}", "there is nothing between the backticks")
        return
    if "`" in value.text and value.text.count("`") % 2:
        bound.fault(value.span, "error", "unclosed-backtick", "a backtick is never closed: write the value as `…`")
        return
    message = f"put the {what} between backticks, so that Markdown leaves it as it is"
    bound.fault(value.span, "hint", "no-backticks", message, f"`{value.text}`")
    yield value


def _code_text(raw: str) -> str:
    # CommonMark 6.1: newlines count as spaces, and one space of padding on both sides is not content.
    return raw.replace("\n", " ").strip()


def _is_task(passage: Passage) -> bool:
    return TASK.match(passage.text) is not None


def _suggest_label(passage: Passage, label: re.Match[str], bound: Bound) -> None:
    near = difflib.get_close_matches(label[1].casefold(), LABELS, n=1, cutoff=0.7)
    if near and passage.text.startswith("`", label.end()):
        message = f"`{label[1]}:` is read as detail: did you mean `{near[0]}:`?"
        bound.fault(passage.span(*label.span(1)), "warning", "unknown-label", message, near[0])


# Commands and file names in backticks, as written in goal files.


_BACKTICKS = re.compile(r"`+")


def code_span(text: str) -> str:
    """The text as a Markdown code span, whatever backticks it contains."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
