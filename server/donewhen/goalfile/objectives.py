"""What a person is likely to want, in their own words, judging by what their editor shows.

What is already known about it is included: an error, or a failing test, says what decides when it is done.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core import markdown
from donewhen.core.words import sentence, shortened
from donewhen.regular import read_bytes

MAX_TITLE = 200
MAX_TEXT = 8_000
MAX_LINE = 120
MAX_PROBLEMS = 3

_COMMON = {"main", "master", "develop", "development", "dev", "trunk", "staging", "production", "release", "head"}
_KINDS = re.compile(
    r"(?:feat|feature|features|fix|bugfix|hotfix|bug|chore|task|issue|issues|docs|refactor|perf|test|wip|users?)", re.I
)
_FIXES = re.compile(r"(?:fix|bugfix|hotfix|bug)", re.I)
_TODO = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?:\([^)]*\))?\s*[:-]?\s*(?P<what>.+)$")
_ASKS = re.compile(
    r"\b(?:should|must|expected|actual|reproduce|bug|issue|fix(?:es)?|fails?|failing|crash(?:es)?|errors?|broken|wrong"
    r"|add|support|allow|handle|remove|rename|make|implement|improve|update)\b",
    re.I,
)
_CODE = (
    re.compile(r"[;{}]\s*$|=>"),
    re.compile(r"^\s*(?:def|class|import|from|return|const|let|var|func|fn|while|assert)\b"),
    re.compile(r"^\s*(?:@\w|#include|</?\w[^>]*>$)"),
    re.compile(r"^\s*[\w.]+(?:\(.*\)|\s*[-+*/|&]?=\s*\S.*)\s*$"),
)
"""How lines of programs begin or end."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error that the editor shows; `path` is relative to the folder, `line` 0-based."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class ShownTest:
    """A test that the editor shows: `id` and `path` come from its own tool, `message` says why it failed."""

    name: str
    id: str
    path: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What a person sees: `line` is the one that the cursor is in."""

    selection: str = ""
    line: str = ""
    clipboard: str = ""
    problems: Sequence[Problem] = ()
    problem: Problem | None = None
    """The problem to fix."""
    test: ShownTest | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """An objective that can be used as it is, and where it comes from; `icon` is for lists. `requirements` are those
    that no command decides, `checks` the commands that decide the rest."""

    objective: str
    source: str
    icon: str
    requirements: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


def likely(seen: Seen, root: Path) -> list[Wanted]:
    """What a person probably wants in the folder `root`, the most particular first."""
    if seen.problem is not None:
        return [of_problem(seen.problem)]
    if seen.test is not None:
        return [of_test(seen.test)]
    branch = branch_of(root)
    found = [
        *_one(from_selection(seen.selection), "selected text", "selection"),
        *_one(from_todo(seen.line), "the comment at the cursor", "checklist"),
        *(
            Wanted(f"Fix {one.path}:{one.line + 1}: {one.message.splitlines()[0]}", "an error in Problems", "error")
            for one in seen.problems[:MAX_PROBLEMS]
            if one.message.strip()
        ),
        *_one(from_clipboard(seen.clipboard), "the clipboard", "clippy"),
        *_one(from_branch(branch), f"the branch {branch}", "git-branch"),
    ]
    return list({one.objective: one for one in reversed(found)}.values())[::-1]


def _one(objective: str | None, source: str, icon: str) -> Iterable[Wanted]:
    return [] if objective is None else [Wanted(objective, source, icon)]


def of_problem(problem: Problem) -> Wanted:
    """Problems decides when it is done."""
    literally = re.sub(r"[*?\[]", r"[\g<0>]", problem.path)  # the glob that matches only this file
    requirement = f"No errors in Problems for {markdown.code(literally)}"
    objective = f"Fix in {problem.path}: {_first_line(problem.message)}"
    return Wanted(objective, "an error in Problems", "error", (requirement,))


def of_test(test: ShownTest) -> Wanted:
    """The command that runs the test alone decides, if its id shows how; else the project's own checks do."""
    why = _first_line(test.message)
    objective = f"Make {test.name} pass" + (f": {why}" if why else "")
    # pytest's name for it: the file, then classes and the test itself. The Python extension keeps that in its ids.
    start = test.id.rfind(f"{test.path.rsplit('/', 1)[-1]}::") if test.path is not None else -1
    if test.path is None or not test.path.endswith(".py") or start < 0:
        return Wanted(objective, "a test that fails", "beaker")
    node = f"{test.path}{test.id[test.id.index('::', start) :]}"
    return Wanted(objective, "a test that fails", "beaker", checks=(f"python -m pytest -q {shlex.quote(node)}",))


def branch_of(root: Path) -> str:
    """The branch that git's `HEAD` names; empty if it names a commit, or there is none. In a worktree `.git` is a file
    that names the real folder."""
    git = root / ".git"
    try:
        if git.is_file():
            git = root / read_bytes(git).decode("utf-8", "replace").removeprefix("gitdir:").strip()
        head = read_bytes(git / "HEAD").decode("utf-8", "replace")
    except OSError:
        return ""
    found = re.match(r"ref: refs/heads/(.+?)\s*$", head)
    return found.group(1) if found else ""


def from_branch(name: str) -> str | None:
    """`fix/quotes-in-csv` is about "Fix quotes in csv"."""
    parts = [part for part in name.split("/") if part]
    last = parts[-1] if parts else ""
    words = [word for word in re.split(r"[-_.\s]+", re.sub(r"^(?:[A-Z]{2,10}-)?\d+[-_]?", "", last)) if word]
    if len(words) < 2 or last.lower() in _COMMON or "".join(words).isdigit():
        return None
    kind = parts[-2] if len(parts) > 1 else ""
    verb = ["fix"] if _FIXES.fullmatch(kind) and not _KINDS.fullmatch(words[0]) else []
    return sentence(" ".join([*verb, *words]))


def from_todo(line: str) -> str | None:
    """The unfinished work that a comment on the line mentions."""
    found = _TODO.search(line)
    what = re.sub(r"\s*(?:\*/|-->|#\})\s*$", "", found["what"]).strip() if found else ""
    return sentence(what[:MAX_TITLE]) if len(what) >= 4 else None


def from_selection(text: str) -> str | None:
    """Selected words; code is not an objective, except for a comment."""
    lines = [re.sub(r"^\s*(?://+|#+|--|/?\*+/?|<!--)\s?", "", line) for line in text.splitlines()]
    plain = "\n".join(re.sub(r"\s*(?:\*/|-->)\s*$", "", line) for line in lines).strip()
    return plain if 4 <= len(plain) <= MAX_TEXT and not _looks_like_code(plain) and _has_words(plain) else None


def from_clipboard(text: str) -> str | None:
    """The text of an issue: a title, or a title and a description. Single words, addresses and code don't count."""
    plain = text.strip().replace("\r\n", "\n").replace("\r", "\n")
    first, *rest = plain.split("\n")
    title = re.sub(r"^#+\s*", "", first).strip()
    if len(plain) > MAX_TEXT or len(title) > MAX_TITLE or _looks_like_code(plain) or not _has_words(title):
        return None
    described = any(line.strip() for line in rest)
    return "\n".join([title, *rest]).strip() if described or _ASKS.search(plain) else None


def _has_words(text: str) -> bool:
    return sum(re.search(r"[^\W\d_]{2,}", word) is not None for word in text.split()) >= 3


def _looks_like_code(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    code = sum(any(pattern.search(line) for pattern in _CODE) for line in lines)
    return code * 2 > len(lines) or re.fullmatch(r"\s*(?:https?://\S+|[{\[].*[}\]])\s*", text, re.S) is not None


def _first_line(message: str) -> str:
    line = (message.strip().splitlines() or [""])[0]
    return shortened(line, MAX_LINE)
