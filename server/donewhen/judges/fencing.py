"""Untrusted text in prompts: it can't close its fence, imitate one, or speak as another role.

Neutralised text stays visible: angle brackets of imitated tags become `&lt;` and `&gt;`, imitated role markers,
headings and verdicts get a leading `[quoted]`, and invisible characters become escapes.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

QUOTED = "[quoted] "
LABEL_LENGTH = 200

_ANGLES = {
    **dict.fromkeys("<\uff1c\ufe64\u2039\u00ab\u27e8\u2329\u3008\u300a\u276e\u276c\u2770\u1438\u02c2\u226a\u29fc", "<"),
    **dict.fromkeys(">\uff1e\ufe65\u203a\u00bb\u27e9\u232a\u3009\u300b\u276f\u276d\u2771\u1433\u02c3\u226b\u29fd", ">"),
    "\u22d8": "<",
    "\u22d9": ">",
}
_LOOK_ALIKES = {
    **_ANGLES,
    **dict.fromkeys("\u2044\u2215\u29f8\uff0f\u2571", "/"),
    **dict.fromkeys("\u01c0\u2223\uff5c\u23d0\u2502\u2758\u00a6\u05c0", "|"),
    **dict.fromkeys("\ua789\u02d0\u2236\uff1a\ufe55\u05c3\u0589", ":"),
    **dict.fromkeys("\u27e6\u3010\u3014\uff3b\u301a", "["),
    **dict.fromkeys("\u27e7\u3011\u3015\uff3d\u301b", "]"),
    **dict.fromkeys("\uff03\u266f\ufe5f", "#"),
    **dict.fromkeys("\u201c\u201d\u201e\u2033\uff02\u02ba", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d", "-"),
    **dict(zip("абсԁеցһіјӏмոорԛгѕтυѵԝхуzАВСЕНІЈКМОРЅТХУ", "abcdeghijlmnopqrstuvwxyzabcehijkmopstxy", strict=True)),
    **dict(zip("αβεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abeiknoptuxwabezhikmnoptyx", strict=True)),
    **dict(zip("ıɡɩոսƖɑ", "iginula", strict=True)),
}
_UNSEEN = frozenset("\u2028\u2029\u0085\u2800\u3164\u115f\u1160\uffa0\u034f")
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
    return _NOT_PLAIN.sub(lambda match: _visible_char(match[0]), "\n".join(_defused(line) for line in lines))


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


def skeleton(text: str) -> tuple[str, range | list[int]]:
    """What the text looks like, in lower-case ASCII as far as possible, and the origin of each character."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded: list[str] = []
    positions: list[int] = []
    for at, char in enumerate(text):
        for piece in char.lower() if char.isascii() else _folded(char):
            folded.append(piece)
            positions.append(at)
    return "".join(folded), positions


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    if char in _LOOK_ALIKES:
        return _LOOK_ALIKES[char]
    if unicodedata.category(char) in ("Cf", "Mn", "Me", "Cc") or char in _UNSEEN:
        return ""
    plain = "".join(_LOOK_ALIKES.get(one, one) for one in unicodedata.normalize("NFKD", char))
    return "".join(one for one in plain.lower() if not unicodedata.combining(one))


@lru_cache(maxsize=4096)
def _visible_char(char: str) -> str:
    """The character itself, or an escape if it is invisible or ends a line."""
    hidden = unicodedata.category(char) in ("Cf", "Cc", "Cs", "Co", "Cn", "Zl", "Zp")
    selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return f"\\u{{{ord(char):x}}}" if hidden or selector or char in _UNSEEN else char


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
