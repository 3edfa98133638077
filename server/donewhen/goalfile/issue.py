"""The requirements that the text of an issue or a specification states. Pure: nothing of it is executed, and no model
is asked.

Taken are task boxes, the lists of sections such as "Acceptance criteria", requirements with a number or with "must",
and Given/When/Then. What is left is named with its reason, so that a person can take it in. A stranger may have written
the text: a command becomes a check only if it is one simple call of a tool that checks, as those of a draft are.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from donewhen.core.errors import UsageError
from donewhen.core.goal import Check
from donewhen.core.words import counted, shortened
from donewhen.goalfile.detect.checks import check_of
from donewhen.goalfile.parse import LINE_LIMIT, MOST_REQUIREMENTS, SIZE_LIMIT
from donewhen.goalfile.stated import stated_commands
from donewhen.goalfile.statements import TASK, one_line

MAX_TEXT = 1_000
"""Characters of one requirement."""
MAX_DETAILS = 20
MAX_PROSE = 4_000

Section = Literal["wanted", "unwanted", "other"]

_WANTED = re.compile(
    r"\b(?:acceptance(?:\s+(?:criteria|criterion|tests?|conditions?))?|requirements?|definition\s+of\s+done|done\s+when"
    r"|(?:success|exit|completion|verification)\s+criteria|must[\s-]+haves?|deliverables|expected\s+(?:behaviou?rs?|results?"
    r"|outcomes?)|scenarios?)\b",
    re.IGNORECASE,
)
_UNWANTED = re.compile(
    r"\b(?:out\s+of\s+scope|not\s+in\s+scope|non[\s-]*(?:goals?|requirements?)|won'?t(?:\s+have)?|nice[\s-]+to[\s-]+haves?"
    r"|could[\s-]+haves?|future(?:\s+work)?|reproduc\w*|environment|system\s+(?:info\w*|requirements?)|versions?"
    r"|before\s+(?:submitting|you|opening|filing)|pre[\s-]?requisites?|pre[\s-]?flight|code\s+of\s+conduct|open\s+questions"
    r"|alternatives|references|related|screenshots?|logs?)\b",
    re.IGNORECASE,
)
_ID = re.compile(
    r"^\W{0,3}(?:(?:REQ|FR|NFR|AC|UC|RQ|SRS|SPEC|BR|SR|R)[-_ .]?\d+(?:\.\d+)*|\d+(?:\.\d+)+)\W{0,3}[:.)–—-]?\s+",
    re.IGNORECASE,
)
_MODAL = re.compile(r"\b(?:must|shall|has\s+to|have\s+to|is\s+required\s+to|are\s+required\s+to)\b", re.IGNORECASE)
_STEP = re.compile(r"^\W{0,3}(given|when|then|and|but)\b\W{0,3}\s*(.*)", re.IGNORECASE | re.DOTALL)
_KEYWORD = re.compile(
    r"^\s*(feature|rule|background|scenario(?:\s+(?:outline|template))?|example|examples|scenarios)\s*:\s*(.*)",
    re.IGNORECASE,
)
_ONE_SENTENCE = re.compile(r"^\W{0,3}given\b.*\bwhen\b.*\bthen\b", re.IGNORECASE | re.DOTALL)
_ABOUT_THE_ISSUE = re.compile(
    r"^\W{0,3}(?:I(?:'|’)?(?:\s+have|ve|\s+am|m|\s+agree|\s+read|\s+searched|\s+understand)|this\s+(?:issue|is\s+not\s+a))\b",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(?<!`)(`{1,8})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_DENIED = re.compile(
    r"\b(?:not|never|n't|fails?|failing|failed|instead\s+of|without|no\s+longer|removed?|replaced?|drop(?:ped)?)\b",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"^(?:check|file|problems|external)[ \t]*:", re.IGNORECASE)
_HEADER = re.compile(r"\A(?:[a-z][a-z -]*:\t[^\n]*\n)+--\n")
_BOLD_HEADING = re.compile(r"^(?:\*\*|__)(.+?)(?:\*\*|__)\s*:?\s*$|^([^\n.!?]{3,60}):\s*$")


@dataclass(frozen=True, slots=True)
class Taken:
    """A requirement. `line` is 1-based, of the text; `named` are commands in it that are not checks here."""

    text: str
    line: int
    checks: tuple[Check, ...] = ()
    details: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """What looks like a requirement and was not taken, and why."""

    text: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Issue:
    """What a text says: its title, its words before the first requirement, what was taken and what was left."""

    title: str
    prose: str
    taken: tuple[Taken, ...]
    left: tuple[Left, ...]


def read_issue(text: str, name: str = "Goal", known: Collection[str] = ()) -> Issue:
    """Reads Markdown, what `gh issue view` prints, or JSON with a title and a body. `name` is the title of a text
    without one; `known` are commands that the workspace itself has as checks. Raises UsageError for a text that is too
    large, or that states no requirement."""
    if len(text) > SIZE_LIMIT:
        raise UsageError(f"the text has more than {SIZE_LIMIT:,} characters: too large for a goal, shorten it")
    if text.count("\n") + text.count("\r") > LINE_LIMIT:
        raise UsageError(f"the text has more than {LINE_LIMIT:,} lines: too large for a goal, shorten it")
    title, body, shift = _unpacked(text)
    cleaned, hidden = _visible(body)
    reader = _Reader(cleaned, shift, known)
    reader.read()
    if hidden:
        reader.leave_out(hidden, 0, "nobody sees it where the text is shown")
    if not reader.taken:
        raise UsageError(
            "no requirement was found in the text: write them as task boxes (`- [ ] …`), or as a list under a heading "
            "such as Acceptance criteria"
        )
    heading = title or reader.title or name
    return Issue(one_line(_visible(heading)[0]) or name, reader.prose, tuple(reader.taken), tuple(reader.left))


def _unpacked(text: str) -> tuple[str, str, int]:
    """The title if it stands apart, the body, and how many lines come before it."""
    if text.lstrip().startswith("{"):
        try:
            found: object = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, dict):
            document = cast("Mapping[str, Any]", found)
            body = document.get("body", document.get("description"))
            if isinstance(body, str):
                title = document.get("title")
                return (title if isinstance(title, str) else ""), body, 0
    header = _HEADER.match(text)
    if header is None:
        return "", text, 0
    fields = dict(line.split(":\t", 1) for line in header[0].splitlines() if ":\t" in line)
    return fields.get("title", ""), text[header.end() :], header[0].count("\n")


def _visible(text: str) -> tuple[str, str]:
    """The text without what is hidden from whoever reads it as a page, with the same lines; and what that was."""
    found: list[str] = []
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    parts: list[str] = []
    at = comments = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts += [text[at:start], "\n" * text.count("\n", start, end)]
        at, comments = end + 3, comments + 1
    text = "".join([*parts, text[at:]])
    if comments:
        found.append(counted(comments, "comment"))
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    if len(kept) < len(text):
        found.append(f"{len(text) - len(kept)} characters that can't be seen")
    return kept, " and ".join(found)


@dataclass(slots=True)
class _Scenario:
    """One scenario as it is read: its steps, and the rows of its tables."""

    line: int
    name: str = ""
    background: bool = False
    before: Sequence[str] = ()
    steps: list[str] = field(default_factory=list[str])
    rows: list[str] = field(default_factory=list[str])

    @property
    def said(self) -> str:
        steps = ", ".join([*self.before, *self.steps])
        return f"{self.name}: {steps}" if self.name else steps

    @property
    def is_over(self) -> bool:
        """A further Given is the next scenario's."""
        return not self.background and any(one.startswith("then") for one in self.steps)

    def go_on(self, row: str) -> None:
        """A row of a table, or more of the last step; comments and tags are neither."""
        if row.startswith("|"):
            self.rows.append(one_line(row))
        elif row and not row.startswith(("#", "@")):
            self.steps[-1] += f" {one_line(row)}"


def _scenarios_in(content: str, line: int) -> Iterator[_Scenario]:
    """Given, when, then on lines of their own; `Scenario:` begins another one, `Background:` comes before each."""
    current = _Scenario(line)
    for number, row in enumerate(content.split("\n"), line):
        keyword, step = _KEYWORD.match(row), _STEP.match(row.strip())
        word = keyword[1].casefold() if keyword is not None else ""
        if word in ("feature", "rule", "examples", "scenarios"):
            continue
        begins = step is not None and step[1].casefold() == "given" and current.is_over
        if keyword is not None or begins:
            if current.steps and not current.background:
                yield current
            before = current.steps if current.background else current.before
            name = one_line(keyword[2]) if keyword is not None else current.name
            current = _Scenario(number, name, word == "background", before)
        if step is not None:
            current.steps.append(f"{step[1].casefold()} {one_line(step[2])}")
        elif keyword is None and current.steps:
            current.go_on(row.strip())
    if current.steps and not current.background:
        yield current


@dataclass(slots=True)
class _Item:
    """An item of a list: its first paragraph, its other paragraphs, its nested items, its blocks of code."""

    line: int
    text: str = ""
    more: list[str] = field(default_factory=list[str])
    code: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    items: list[_Item] = field(default_factory=list["_Item"])


class _Reader:
    """Walks through the blocks of a text once, in order."""

    def __init__(self, text: str, shift: int, known: Collection[str]) -> None:
        self._known = known
        # Without inline content, which may be nested as deep as a stranger likes.
        markdown = MarkdownIt("commonmark").disable(["inline", "text_join"])
        self._blocks = SyntaxTreeNode(markdown.parse(text)).children
        self._shift = shift
        self._sections: list[tuple[int, Section, str]] = []
        self._lead: tuple[Section, str] | None = None
        self._seen: set[str] = set()
        self._prose: list[str] = []
        self.title = ""
        self.taken: list[Taken] = []
        self.left: list[Left] = []

    @property
    def prose(self) -> str:
        return "\n\n".join(self._prose)[:MAX_PROSE].rstrip()

    def read(self) -> None:
        for block in self._blocks:
            line = _line_of(block) + self._shift
            match block.type:
                case "heading":
                    self._heading(block)
                case "bullet_list" | "ordered_list":
                    self._take_list([_item(one) for one in block.children])
                case "paragraph":
                    self._paragraph(block.children[0].content, line)
                case "fence" | "code_block":
                    self._take_code(block.content, line + (block.type == "fence"), block.info)
                case "blockquote":
                    if any(TASK.match(one.content) for one in block.walk() if one.type == "inline"):
                        self.leave_out("a quotation", line, "it says what others said")
                case _:
                    pass

    def leave_out(self, text: str, line: int, why: str) -> None:
        self.left.append(Left(shortened(one_line(text), 200), line, why))

    # -------------------------------------------------------------------------------- where it stands

    def _heading(self, block: SyntaxTreeNode) -> None:
        text = one_line(block.children[0].content) if block.children else ""
        level = int(block.tag[1:])
        if not self.title and not self.taken:
            self.title = text
            bare = text.strip(" :*_")
            if level == 1 and not (_WANTED.fullmatch(bare) or _UNWANTED.fullmatch(bare)):
                return  # a title may hold any word
        self._sections = [one for one in self._sections if one[0] < level]
        above: Section = self._sections[-1][1] if self._sections else "other"
        self._sections.append((level, _kind(text) or above, text))
        self._lead = None

    @property
    def _section(self) -> tuple[Section, str]:
        if self._lead is not None:
            return self._lead
        return self._sections[-1][1:] if self._sections else ("other", "")

    # --------------------------------------------------------------------------------------- blocks

    def _paragraph(self, content: str, line: int) -> None:
        heading = _BOLD_HEADING.match(content.strip())
        if heading is not None and (kind := _kind(heading[1] or heading[2])):
            self._lead = (kind, heading[1] or heading[2])
            return
        if self._section[0] == "unwanted":
            if _starts_steps(content) or _is_sentence(content) or _ID.match(content):
                self.leave_out(content, line, f"it stands under “{one_line(self._section[1])}”")
            return
        if _starts_steps(content):
            self._scenarios(content, line)
        elif _is_sentence(content):
            self._take_requirement(content, line)
        elif any(_ID.match(row) for row in content.split("\n")):
            self._numbered(content, line)
        elif not self.taken and self._section[0] == "other":
            self._prose.append("\n".join(row.strip() for row in content.split("\n")))

    def _numbered(self, content: str, line: int) -> None:
        """`REQ-1: …`, each from its number to the next one."""
        start, rows = line, list[str]()
        for number, row in enumerate(content.split("\n"), line):
            if _ID.match(row):
                if rows:
                    self._take_requirement(" ".join(rows), start)
                start, rows = number, [row]
            elif rows:
                rows.append(row)
        if rows:
            self._take_requirement(" ".join(rows), start)

    def _take_code(self, content: str, line: int, info: str) -> None:
        named = info.strip().split(" ")[0].casefold() in ("gherkin", "cucumber", "feature")
        if not (named or _starts_steps(content)):
            return
        if self._section[0] == "unwanted":
            self.leave_out(content, line, f"it stands under “{one_line(self._section[1])}”")
        else:
            self._scenarios(content, line)

    def _scenarios(self, content: str, line: int) -> None:
        for one in _scenarios_in(content, line):
            self._take_requirement(one.said, one.line, tuple(one.rows))

    # ---------------------------------------------------------------------------------------- lists

    def _take_list(self, items: Sequence[_Item]) -> None:
        section, name = self._section
        waiting: list[_Item] = []
        for item in items:
            if section != "unwanted" and _STEP.match(item.text) and not TASK.match(item.text):
                if item.text.lstrip("*_ ").casefold().startswith("given") and waiting:
                    self._steps(waiting)
                    waiting = []
                waiting.append(item)
                continue
            self._steps(waiting)
            waiting = []
            self._item(item, section, name)
        self._steps(waiting)
        self._lead = None

    def _steps(self, items: Sequence[_Item]) -> None:
        """Items that are the steps of one scenario."""
        if not items:
            return
        said = ", ".join(one_line(one.text) for one in items)
        details = tuple(detail for one in items for detail in _details(one))
        self._take_requirement(said, items[0].line + self._shift, details)

    def _item(self, item: _Item, section: Section, name: str, above: str = "") -> None:
        line = item.line + self._shift
        box = TASK.match(item.text)
        text = item.text[box.end() :] if box is not None else item.text
        for at, code in item.code:
            self._take_code(code, at + self._shift, "")
        if section == "unwanted":
            self.leave_out(text, line, f"it stands under “{one_line(name)}”")
            return
        boxes = [one for one in item.items if TASK.match(one.text)]
        if boxes:
            # Its parts stand for it.
            for one in boxes:
                self._item(one, section, name, f"{above}{one_line(text).rstrip(':')}: " if text.strip() else above)
            return
        if _is_requirement(text, box is not None, section):
            self._take_requirement(f"{above}{text}", line, _details(item))
            return
        self.leave_out(text, line, _why(text, box is not None))
        for one in item.items:
            self._item(one, section, name)

    # ------------------------------------------------------------------------------------------ taken

    def _take_requirement(self, text: str, line: int, details: Sequence[str] = ()) -> None:
        said = one_line(TASK.sub("", one_line(text), count=1))
        if not said:
            return
        if said.casefold() in self._seen:
            self.leave_out(said, line, "it is said twice")
            return
        if len(self.taken) >= MOST_REQUIREMENTS:
            self.leave_out(said, line, f"a goal has at most {MOST_REQUIREMENTS} requirements")
            return
        if len(said) > MAX_TEXT:
            self.leave_out(said, line, f"it has more than {MAX_TEXT:,} characters: say it shorter")
            return
        self._seen.add(said.casefold())
        words = [said, *(one for one in details if not _LABELLED.match(one))]
        checks, named = _commands(
            [*words, *(one for one in details if one.casefold().startswith("check"))], self._known
        )
        kept = tuple(one for one in words[1:] if one)
        if len(kept) > MAX_DETAILS:
            self.leave_out(kept[MAX_DETAILS], line, f"more than {MAX_DETAILS} details of one requirement")
        for one in details:
            if _LABELLED.match(one) and not any(f"`{check.command}`" in one for check in checks):
                self.leave_out(one, line, "a line that binds something is for the author of the goal file to write")
        for one in named:
            self.leave_out(
                one, line, "it is not a simple call of a tool that checks: write it after `check:` if you want it run"
            )
        self.taken.append(Taken(said, line, checks, kept[:MAX_DETAILS], named))


def _kind(heading: str) -> Section | None:
    if _UNWANTED.search(heading):
        return "unwanted"
    return "wanted" if _WANTED.search(heading) else None


def _is_sentence(text: str) -> bool:
    return len(text) <= 2 * MAX_TEXT and _ONE_SENTENCE.match(text) is not None


def _is_requirement(text: str, box: bool, section: Section) -> bool:
    if not text.strip() or _is_struck(text) or (box and _ABOUT_THE_ISSUE.match(text)):
        return False
    named = bool(_ID.match(text)) or _is_sentence(text)
    return box or section == "wanted" or named or bool(_MODAL.search(text))


def _is_struck(text: str) -> bool:
    bare = text.strip().rstrip(".;,")
    return len(bare) > 4 and bare.startswith("~~") and bare.endswith("~~")


def _starts_steps(content: str) -> bool:
    """Whether its lines are steps: a Given or When, and a Then."""
    words = {step[1].casefold() for row in content.split("\n") if (step := _STEP.match(row.strip()))}
    return "then" in words and bool(words & {"given", "when"})


def _why(text: str, box: bool) -> str:
    if _is_struck(text):
        return "it is struck out"
    if box:
        return "it is about the issue, not about what is wanted" if text.strip() else "it says nothing"
    return "nothing says that it is required"


def _details(item: _Item) -> tuple[str, ...]:
    """What stands below an item, each paragraph and nested item on a line."""
    found = [one_line(one) for one in item.more]
    for one in item.items:
        found += [one_line(TASK.sub("", one.text, count=1)), *_details(one)]
    return tuple(shortened(one, MAX_TEXT) for one in found if one)


def _commands(texts: Sequence[str], known: Collection[str]) -> tuple[tuple[Check, ...], tuple[str, ...]]:
    """The commands between backticks that are checks, and those that look like commands and are none."""
    checks: dict[str, Check] = {}
    named: dict[str, None] = {}
    for text in texts:
        codes = {one.command: one.exit_code for one in stated_commands(text)}
        for span in _SPAN.finditer(text):
            command = one_line(span[2])
            accepted = command in known or check_of(command, "the text") is not None
            if accepted and (command in codes or not _DENIED.search(text)):
                checks[command] = Check.of(command, codes.get(command, 0))
            elif command in codes or accepted or text.casefold().startswith("check"):
                named[command] = None
    return tuple(checks.values()), tuple(one for one in named if one not in checks)


def _line_of(block: SyntaxTreeNode) -> int:
    """Where it begins, from 1."""
    return (block.map[0] if block.map else 0) + 1


def _item(node: SyntaxTreeNode) -> _Item:
    item = _Item(_line_of(node))
    for block in node.children:
        if block.type == "paragraph":
            content = block.children[0].content
            if item.text:
                item.more.append(content)
            else:
                item.text = content
        elif block.type in ("bullet_list", "ordered_list"):
            item.items += [_item(one) for one in block.children]
        elif block.type in ("fence", "code_block"):
            item.code.append((_line_of(block) + (block.type == "fence"), block.content))
    return item
