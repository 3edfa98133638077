"""What can be completed at a position in a goal file: keys, values, labels, commands and globs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from donewhen.goalfile.detect import DetectedCheck
from donewhen.goalfile.markdown import LINE_BREAK
from donewhen.goalfile.source import Span
from donewhen.goalfile.statements import code_span
from donewhen.settings.kinds import GLOBS, UNLIMITED
from donewhen.settings.table import KEYS, Setting

ChoiceKind = Literal["key", "value", "label", "command", "file"]
_MOST_FILES = 200

_KEY_TYPED = re.compile(r"^[\w-]*$")
_VALUE_TYPED = re.compile(r"^([\w-]+)[ \t]*:[ \t]*(.*)$")
_MEMBER_TYPED = re.compile(r"""^\s*-\s*["']?([^"'\s]*)$""")
_FLOW_TYPED = re.compile(r"""(?:\[|,)\s*["']?([^"',\[\s]*)$""")
_TASK_TYPED = re.compile(r"^\s{0,3}(?:[-*+]|\d{1,9}[.)])\s+\[[ xX]\]\s+(`?[^`]*)$")
_LABEL_TYPED = re.compile(r"^\s+[-*+]\s+([a-z]*)$")
_NESTED_TYPED = re.compile(
    r"^\s+[-*+]\s+(check|file|problems|external)\s*:\s*(?:`[^`]*`\s*,\s*)*(`?[^`]*)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class CompletionChoice:
    """One suggestion: `insert` replaces `span` (code points); `detail` says what it means."""

    label: str
    insert: str
    span: Span
    kind: ChoiceKind
    detail: str = ""


def completions(
    text: str,
    line: int,
    column: int,
    *,
    detected: Sequence[DetectedCheck] = (),
    files: Iterable[str] = (),
) -> list[CompletionChoice]:
    """The choices at a position (0-based, code points), the likeliest first; none if there is nothing to suggest.

    `detected` are the workspace's checks, `files` its files relative to it with `/`. Accepts any text and position.
    """
    lines = LINE_BREAK.split(text)
    if not 0 <= line < len(lines):
        return []
    place = _Place(lines, line, min(max(column, 0), len(lines[line])))
    if place.in_front_matter:
        return list(_in_front_matter(place, files))
    return list(_in_body(place, detected, files))


@dataclass(frozen=True, slots=True)
class _Place:
    lines: Sequence[str]
    line: int
    column: int

    @property
    def before(self) -> str:
        return self.lines[self.line][: self.column]

    @property
    def after(self) -> str:
        return self.lines[self.line][self.column :]

    @property
    def in_front_matter(self) -> bool:
        if self.line == 0 or self.lines[0].removeprefix("\ufeff").rstrip() != "---":
            return False
        return not any(row.rstrip() in ("---", "...") for row in self.lines[1 : self.line + 1])

    def typed(self, length: int, closing: str = "") -> Span:
        """The last `length` characters before the cursor, and what an editor closed after it."""
        extra = len(closing) if closing and self.after.startswith(closing) else 0
        return Span(self.line, self.column - length, self.line, self.column + extra)


def _in_front_matter(place: _Place, files: Iterable[str]) -> Iterator[CompletionChoice]:
    if _KEY_TYPED.match(place.before):
        used = {found[1] for row in place.lines[1:] if (found := _VALUE_TYPED.match(row))}
        colon = "" if place.after.lstrip().startswith(":") else ": "
        for name, key in KEYS.items():
            if name not in used:
                yield CompletionChoice(name, name + colon, place.typed(len(place.before)), "key", key.sentence)
    elif value := _VALUE_TYPED.match(place.before):
        key = KEYS.get(value[1])
        if key is not None and key.kind is GLOBS and (member := _FLOW_TYPED.search(place.before)):
            yield from _yaml_globs(place, member, files)
        elif key is not None:
            yield from _values(place, key, value[2])
    elif member := _MEMBER_TYPED.match(place.before):
        # The key of the list that the cursor is in.
        above = (found[1] for row in reversed(place.lines[1 : place.line]) if (found := _VALUE_TYPED.match(row)))
        key = KEYS.get(next(above, ""))
        if key is not None and key.kind is GLOBS:
            yield from _yaml_globs(place, member, files)


def _values(place: _Place, key: Setting, typed: str) -> Iterator[CompletionChoice]:
    span = place.typed(len(typed))
    for value in key.offered:
        meaning = "No limit, which shows a warning." if value == UNLIMITED else key.sentence
        yield CompletionChoice(value, value, span, "value", meaning)


def _yaml_globs(place: _Place, member: re.Match[str], files: Iterable[str]) -> Iterator[CompletionChoice]:
    quote = place.before[member.start(1) - 1 : member.start(1)]
    typed = member[1]
    length = len(typed) + (1 if quote in ("'", '"') else 0)
    span = place.typed(length, quote if quote in ("'", '"') else "")
    for glob, detail in _globs(typed, files):
        yield CompletionChoice(glob, f'"{glob}"', span, "file", detail)


def _in_body(place: _Place, detected: Sequence[DetectedCheck], files: Iterable[str]) -> Iterator[CompletionChoice]:
    if nested := _NESTED_TYPED.match(place.before):
        yield from _nested(nested[1].casefold(), nested[2], place.typed(len(nested[2]), "`"), detected, files)
    elif label := _LABEL_TYPED.match(place.before):
        for name, meaning in _LABELS:
            yield CompletionChoice(f"{name}:", f"{name}: ", place.typed(len(label[1])), "label", meaning)
    elif task := _TASK_TYPED.match(place.before):
        for check in detected:
            words = f"{code_span(check.command)} passes"
            yield CompletionChoice(words, words, place.typed(len(task[1]), "`"), "command", check.why)


def _nested(
    label: str, typed: str, span: Span, detected: Sequence[DetectedCheck], files: Iterable[str]
) -> Iterator[CompletionChoice]:
    if label == "check":
        for check in detected:
            yield CompletionChoice(check.command, code_span(check.command), span, "command", check.why)
    elif label == "external":
        for value, meaning in (("true", "asked and checked again after every turn"), ("false", "files alone decide")):
            yield CompletionChoice(value, value, span, "value", meaning)
    else:
        for glob, detail in _globs(typed.removeprefix("`"), files):
            yield CompletionChoice(glob, code_span(glob), span, "file", detail)


_LABELS = (
    ("check", "A command that must pass."),
    ("file", "Files that the requirement is about: its evidence."),
    ("problems", "Files in which the editor must show no error."),
    ("external", "It is about something outside the workspace: checked again after every turn."),
)


def _globs(typed: str, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Globs of folders, then files, that contain what was typed; those that begin with it first."""
    wanted = typed.casefold()
    names = [file for file in files if wanted in file.casefold()]
    parents = {parent.as_posix() for file in names for parent in PurePosixPath(file).parents}
    folders = [f"{parent}/**" for parent in parents if parent != "." and wanted in f"{parent}/**".casefold()]
    found = [(glob, "all files in this folder") for glob in sorted(folders)]
    found += [(file, "") for file in sorted(names) if "`" not in file and '"' not in file]
    found.sort(key=lambda pair: (not pair[0].casefold().startswith(wanted), pair[0].count("/")))
    yield from found[:_MOST_FILES]
