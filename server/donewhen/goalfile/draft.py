"""Drafts a goal file from an objective, the workspace's checks and proposed requirements."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.errors import InvalidGoal
from donewhen.goalfile.files import GOAL_FILE, GOAL_SUFFIX
from donewhen.goalfile.issue import Issue, Taken
from donewhen.goalfile.parse import parse
from donewhen.goalfile.stated import stated_commands
from donewhen.goalfile.statements import code_span, one_line
from donewhen.goalfile.survey import Survey

_TITLE_LENGTH = 100
_SLUG_LENGTH = 48
_UNUSABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufeff]")
_BOX = re.compile(r"^(?:[-*+]\s+)?\[[ xX]?\]\s*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_RESERVED = frozenset(["con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))])

GREEN = "every check passes already, so a run would end at once: add a check that fails first"
"""The note of a draft in which nothing has to change for it to be met."""
CHECKS_ALONE = "the checks decide when it is done, not the words of the objective"


def draft(
    objective: str,
    checks: Sequence[str],
    requirements: Sequence[str] = (),
    *,
    judged: bool = True,
    proposed_by: str | None = None,
    worker: str | None = None,
) -> str:
    """The text of a goal file that parses back to this objective, these commands and requirements.

    Commands that must pass according to the objective are checks too. `judged`: a judge is configured. Then the
    objective itself is a requirement if there is no other one, because checks that already pass would end a run at
    once. Without a judge, words prove nothing: the checks prove the objective; without any check the draft has an
    empty one to fill in, and can't be started before that. `proposed_by`: the requirements come from that model, and
    without a judge they are left out. `worker` is named in front matter. The file holds the goal alone: what a person
    should know besides, `draft_notes` says. Raises InvalidGoal for a blank objective.
    """
    title, prose = _title_and_prose(objective)
    given = requirements if judged or proposed_by is None else ()
    wanted = [text for text in (_BOX.sub("", _writable_line(each)).strip() for each in given) if text]
    own_words = [_BOX.sub("", title).strip() or title]
    own = not wanted and not any(source.checkbox for source in parse(f"# T\n\n{prose}").requirements)
    if own and judged:
        wanted = own_words
    # The commands of sentences like "until `pytest` passes", except those that the goal's text already binds.
    boxes = [one.requirement for one in parse(_assembled(title, prose, {}, wanted)).requirements if one.checkbox]
    bound = {check.command for requirement in boxes for check in requirement.checks}
    said = {_writable_line(one.command): one.exit_code for one in stated_commands(objective)}
    stated = {command: code for command, code in said.items() if command not in bound}
    plain = [command for command in map(_writable_line, checks) if command]
    commands = {**stated, **{command: 0 for command in plain if command not in stated}}
    filled_in = ""
    if own and not judged and not commands:
        wanted, filled_in = own_words, "\n  - check:"
    front_matter = "" if worker is None else f"---\nworker: {worker}\n---\n"
    return front_matter + _body(title, prose, commands, wanted, filled_in)


def draft_notes(
    text: str, found: Survey, *, judged: bool, proposed_by: str | None = None, requirements: Sequence[str] = ()
) -> tuple[str, ...]:
    """What a person should know about the draft `text`, a line each: how its checks stood, what was not drafted and
    why, what `proposed_by` proposed, and what is missing before it proves anything."""
    parsed = parse(text)
    notes = list(found.notes())
    if proposed_by is not None:
        into = "" if judged else ", left out, since no judge is set"
        notes += [f"proposed by {_writable_line(proposed_by)}{into}: {_writable_line(one)}" for one in requirements]
    if any(one.code == "empty-check" for one in parsed.errors):
        notes.append("no check was drafted: write the command that shows that it is done, after `check:`")
    elif parsed.outline and all(one.sole_check for one in parsed.outline):
        if not judged:
            notes.append(f"no judge is set: {CHECKS_ALONE}")
        if found.green:
            notes.append(GREEN)
    return tuple(notes)


def draft_from_issue(issue: Issue, checks: Sequence[str] = ()) -> str:
    """The text of a goal file with the requirements of an issue, and the workspace's own checks. The words of the issue
    stand in a quotation.

    It parses back to exactly these requirements and these commands: whatever else the text may try, it binds nothing.
    Raises InvalidGoal where that can't be had."""
    own = [command for command in map(_writable_line, checks) if command]
    taken = [_Boxed.of(one) for one in issue.taken]
    bound = {check.command for one in issue.taken for check in one.checks}
    boxes = [_Boxed(f"{code_span(command)} passes") for command in own if command not in bound]
    title = _without_closing_hashes(_writable_line(issue.title).lstrip("#").strip()) or "Goal"
    quoted = "\n".join(f"> {_writable_line(line)}".rstrip() for line in issue.prose.splitlines())
    allowed = bound | set(own)
    for prose in (quoted, ""):
        text = (
            f"# {title}\n\n"
            + (f"{prose}\n\n" if prose else "")
            + "\n".join(one.text for one in (*boxes, *taken))
            + "\n"
        )
        parsed = parse(text)
        found = [one.text for one in parsed.outline]
        commands = {check.command for one in parsed.outline for check in one.checks}
        plain = all(not one.files and not one.external for one in parsed.outline)
        if not parsed.errors and found == [one.said for one in (*boxes, *taken)] and commands <= allowed and plain:
            return text
    raise InvalidGoal("the text can't be made a goal file as it stands: write GOAL.md by hand")


@dataclass(frozen=True, slots=True)
class _Boxed:
    """One requirement as the lines of a goal file."""

    said: str
    below: tuple[str, ...] = ()

    @classmethod
    def of(cls, one: Taken) -> _Boxed:
        said = _writable_line(one.text)
        (alone,) = parse(f"# T\n\n- [ ] {said}\n").outline[:1] or (None,)
        commands = {check.command for check in one.checks}
        if alone is not None and alone.sole_check and {check.command for check in alone.checks} <= commands:
            return cls(said, tuple(f"  - {line}" for line in one.details))
        if alone is not None and alone.sole_check:
            said = f"It holds that {said}"  # its form alone would bind a command that nobody looked at
        lines = [f"  - {line}" for line in map(_writable_line, one.details)]
        for check in one.checks:
            code = f" exits {check.expected_exit}" if check.expected_exit else ""
            lines.append(f"  - check: {code_span(check.command)}{code}")
        return cls(said, tuple(lines))

    @property
    def text(self) -> str:
        return "\n".join([f"- [ ] {self.said}", *self.below])


def draft_without_objective(folder: str, checks: Sequence[str]) -> str:
    """The draft of `donewhen init` without an objective: the checks alone, or a line to fill in."""
    if not checks:
        return draft("Say here what should be true when it is done", (), judged=False)
    title = f"The checks of {one_line(folder) or 'this workspace'} pass"
    return _body(title, "", dict.fromkeys(filter(None, map(_writable_line, checks)), 0), (), "")


def _body(title: str, prose: str, commands: Mapping[str, int], wanted: Sequence[str], filled_in: str) -> str:
    text = _assembled(title, prose, commands, wanted, filled_in)
    if not _keeps(text, title, commands, wanted):
        # Markdown in the prose may swallow what follows it (for example an open code fence): a quotation contains it.
        quoted = "\n".join(f"> {line}" for line in prose.splitlines())
        text = _assembled(title, quoted, commands, wanted, filled_in)
    return text


def slug(objective: str) -> str:
    """A file name's stem for the objective: lower-case ASCII words joined by `-`, or `goal` if there are none."""
    ascii_text = unicodedata.normalize("NFKD", objective).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", ascii_text.casefold().replace("'", ""))
    name = ""
    for word in words:
        if len(name) + len(word) + 1 > _SLUG_LENGTH:
            break
        name = f"{name}-{word}" if name else word
    name = name or "".join(words[:1])[:_SLUG_LENGTH] or "goal"
    return f"goal-{name}" if name in _RESERVED else name


def draft_path(root: Path, objective: str) -> Path:
    """The path of a draft: `GOAL.md`, else `SLUG.goal.md`, else `SLUG-2.goal.md` ...; never an existing file."""
    name = slug(objective)
    numbered = (f"{name}-{number}{GOAL_SUFFIX}" for number in range(2, 10_000))
    for candidate in (GOAL_FILE, f"{name}{GOAL_SUFFIX}", *numbered):
        # The name of a dangling link is not free either: writing would follow it.
        if not os.path.lexists(root / candidate):
            return root / candidate
    raise InvalidGoal(f"there is no free file name for the goal {name!r}: remove old goal files")


def _title_and_prose(objective: str) -> tuple[str, str]:
    lines = [_UNUSABLE.sub("", line).rstrip() for line in objective.strip().splitlines()]
    first = _writable_line(lines[0]).lstrip("#").strip() if lines else ""
    rest = "\n".join(lines[1:]).strip("\n")
    if not first and not rest.strip():
        raise InvalidGoal("objective must not be blank: say what should be true when it is done")
    if not first:
        return _title_and_prose(rest)
    if len(first) <= _TITLE_LENGTH:
        return _without_closing_hashes(first), rest
    sentence = _SENTENCE_END.split(first, maxsplit=1)[0]
    if len(sentence) > _TITLE_LENGTH:
        sentence = sentence[:_TITLE_LENGTH].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
    return _without_closing_hashes(sentence), f"{first}\n\n{rest}".strip()


def _without_closing_hashes(title: str) -> str:
    # `# Title #`: Markdown treats hashes at the end as decoration.
    return re.sub(r"\s+#+$", "", title)


def _writable_line(text: str) -> str:
    return one_line(_UNUSABLE.sub("", text))


def _assembled(title: str, prose: str, commands: Mapping[str, int], wanted: Sequence[str], filled_in: str = "") -> str:
    head = f"# {title}\n" + (f"\n{prose}\n" if prose else "")
    items = [f"- [ ] {code_span(one)} {f'exits with {code}' if code else 'passes'}" for one, code in commands.items()]
    items += [f"- [ ] {text}{filled_in}" for text in wanted]
    return head + ("\n" + "\n".join(items) + "\n" if items else "")


def _keeps(text: str, title: str, commands: Mapping[str, int], wanted: Sequence[str]) -> bool:
    parsed = parse(text)
    found = {check.command for requirement in parsed.outline for check in requirement.checks}
    texts = {requirement.text for requirement in parsed.outline}
    # An empty check is an error until it is filled in.
    readable = all(one.code == "empty-check" for one in parsed.errors)
    return readable and parsed.title == title and found >= set(commands) and texts >= set(wanted)
