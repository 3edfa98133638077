"""Untrusted text in prompts: it can't close its fence, imitate one, or speak as another role.

Neutralised text stays visible: angle brackets of imitated tags become `&lt;` and `&gt;`, imitated role markers,
headings and verdicts get a leading `[quoted]`, and invisible characters become escapes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from donewhen.core.confusables import skeleton, visible

QUOTED = "[quoted] "
LABEL_LENGTH = 200

_NOT_PLAIN = re.compile(r"[^\n\t\x20-\x7e]")

_ROLES = r"system|assistant|human|user|developer|tool|judge|ai"
_TAGS = r"evidence|claim|system|assistant|instructions?|verdict|judge(?:ment)?|requirements?|start_of_turn|end_of_turn"
# Possessive, and anchored at the first of several brackets: a line of brackets and spaces takes no longer than others.
_TAG = re.compile(
    rf"(?<!<)<++[\s/!]*+(?:{_TAGS})(?![a-z])[^<>\n]{{0,120}}>*|<\s*+/\s*+s\s*+>|(?<!<)<<++[\s/]*+sys\s*+>>"
)
_CONTROL = re.compile(r"<\s*+\|[^<>\n]{0,40}>?|\[[\s/]*+inst\s*+\]")
_ROLE = re.compile(rf"^[\s#>*\-+\"'`|=]*(?:{_ROLES})[\s*\"'`]*:", re.MULTILINE)
_HEADING = re.compile(
    r"^\s*(?:#{1,6}|={3,}|-{3,}|\*{2,3})\s*(?:final\s+|end\s+of\s+)?"
    r"(?:verdict|evidence|requirements?|instructions?|system|question|judge|goal)\b",
    re.MULTILINE,
)
_VERDICT = re.compile(
    r"\"(?:status|verdict)\"\s*:\s*\"(?:met|unmet|unverified)\"|\"complete\"\s*:\s*true|\"evidence_?ids\"\s*:"
)


def neutralised(text: str) -> str:
    """The text without anything that could end a fence or look like an instruction; changes are visible, lines are
    kept."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return _NOT_PLAIN.sub(lambda match: visible(match[0]), "\n".join(_defused(line) for line in lines))


def label(text: str, length: int = LABEL_LENGTH) -> str:
    """One line for a name, a command or a path: quoted, bounded, neutralised."""
    # Also cut before that, generously: nobody reads a whole command of a megabyte.
    flat = neutralised(clipped(text, 8 * length)).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return f'"{clipped(flat, length)}"'


def clipped(text: str, length: int) -> str:
    """At most `length` characters (at least 40): head and tail, with a mark for the cut between them."""
    if len(text) <= length:
        return text
    room = max(length - 34, 6)
    head = room * 2 // 5
    cut = len(text) - room
    return f"{text[:head]}[... {cut:,} characters cut ...]{text[len(text) - (room - head) :]}"


def boundary(contents: Iterable[str]) -> str:
    """The token that only our fences carry: nobody can write text that contains its own digest."""
    digest = hashlib.sha256(b"donewhen fence")
    for content in contents:
        digest.update(hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()[:16]


def _defused(line: str) -> str:
    folded, positions = skeleton(line)
    replaced: dict[int, str] = {}
    quoted: set[int] = set()
    for pattern in (_TAG, _CONTROL):
        for match in pattern.finditer(folded):
            for at in range(match.start(), match.end()):
                if folded[at] in "<>":
                    replaced[positions[at]] = "&lt;" if folded[at] == "<" else "&gt;"
                elif folded[at] in "[]":
                    replaced[positions[at]] = "&#91;" if folded[at] == "[" else "&#93;"
    for pattern in (_ROLE, _HEADING, _VERDICT):
        quoted.update(positions[match.start()] for match in pattern.finditer(folded))
    if not replaced and not quoted:
        return line
    return "".join((QUOTED if at in quoted else "") + replaced.get(at, char) for at, char in enumerate(line))
