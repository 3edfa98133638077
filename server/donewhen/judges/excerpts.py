"""The part of a long text that fits: its head, its tail and the relevant parts between, every cut marked."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from donewhen.core.ecosystems import RUNNERS, TOOLS
from donewhen.core.evidence import CheckResult, Evidence, Observation, ObservedCommand
from donewhen.core.goal import Requirement
from donewhen.core.words import counted
from donewhen.judges.fencing import clipped, neutralised

LONGEST_LINE = 400
_AROUND = 3
_MARK = 34  # the length of about "[... 12,345 lines cut ...]", with its prefix


def byte_length(text: str) -> int:
    """How much of a budget a text takes: bytes in UTF-8, since other scripts need more tokens per character."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def fitted(text: str, room: int) -> str:
    """At most `room` bytes (at least 60) of a text: head and tail, with a mark for the cut between them."""
    if byte_length(text) <= room:
        return text
    raw = text.encode("utf-8", "replace")
    left = max(room - 40, 20)
    head = raw[: left // 2].decode("utf-8", "ignore")
    tail = raw[len(raw) - left // 2 :].decode("utf-8", "ignore")
    return f"{head}[... {len(raw) - left:,} bytes cut ...]{tail}"


class Lines:
    """Untrusted lines as they are shown: prefixed, neutralised, bounded; made only when needed."""

    def __init__(self, raw: Sequence[str], numbered: bool = False) -> None:
        self.raw = raw
        self._numbered = numbered
        self._made: dict[tuple[int, int], str] = {}
        digits = len(str(len(raw))) if numbered else 0
        self.need = sum(min(byte_length(line), LONGEST_LINE) + 3 + digits for line in raw)
        """A lower bound for the size of all lines; exact for plain text."""

    @classmethod
    def of(cls, text: str, numbered: bool = False) -> Lines:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return cls(lines, numbered)

    def __len__(self) -> int:
        return len(self.raw)

    def shown_line(self, at: int, width: int = LONGEST_LINE) -> str:
        key = (at, width)
        if key not in self._made:
            text = clipped(neutralised(clipped(self.raw[at], width)).replace("\n", "\\n"), width)
            prefix = f"{at + 1}| " if self._numbered else "| "
            self._made[key] = f"{prefix}{_cut_to_bytes(text, width)}".rstrip(" ")
        return self._made[key]


Rankings = Sequence[Sequence[int]]


def excerpt(
    lines: Lines, room: int, rankings: Callable[[], Rankings] | None = None, head: float = 0.15, tail: float = 0.3
) -> str:
    """At most `room` bytes of the lines: all if they fit, else head and tail (their shares of the room) and the lines
    that the rankings put first, taken from each ranking in turn. The last line is always included."""
    if not len(lines):
        return ""
    if lines.need <= room * 2:
        whole = "\n".join(lines.shown_line(at) for at in range(len(lines)))
        if byte_length(whole) <= room:
            return whole
    return _Choice(lines, room).made(rankings() if rankings else (), head, tail)


class _Choice:
    def __init__(self, lines: Lines, room: int) -> None:
        self._lines = lines
        self._room = room
        self._width = max(40, min(LONGEST_LINE, room // 3 - 20))
        self._left = room - 2 * _MARK
        self._chosen: set[int] = set()

    def made(self, rankings: Rankings, head: float, tail: float) -> str:
        count = len(self._lines)
        self._take_line(count - 1, force=True)
        self._take_in_order(range(count - 2, -1, -1), int(self._room * tail))
        self._take_in_order(range(count), int(self._room * head))
        for at in _in_turn(rankings):
            if self._left < 2 * _MARK:
                break
            self._window(at)
        self._take_in_order(range(count), self._left)
        return self._rendered()

    def _line_cost(self, at: int) -> int:
        return byte_length(self._lines.shown_line(at, self._width)) + 1

    def _take_line(self, at: int, force: bool = False, spare: int = 0) -> bool:
        if at in self._chosen:
            return True
        cost = self._line_cost(at) + spare
        if cost > self._left and not force:
            return False
        self._left -= cost
        self._chosen.add(at)
        return True

    def _take_in_order(self, order: Sequence[int], room: int) -> None:
        """Adds lines in this order until `room` is used up."""
        stop = self._left - room
        for at in order:
            if at in self._chosen:
                continue
            if self._left - self._line_cost(at) < max(stop, 0) or not self._take_line(at):
                return

    def _window(self, at: int) -> None:
        """A line and its neighbours; a separate place costs a mark."""
        if at not in self._chosen and not self._take_line(at, spare=_MARK):
            return
        for step in range(1, _AROUND + 1):
            for near in (at - step, at + step):
                if 0 <= near < len(self._lines):
                    self._take_line(near)

    def _rendered(self) -> str:
        shown: list[str] = []
        before = -1
        for at in sorted(self._chosen):
            if cut := at - before - 1:
                shown.append(f"[... {counted(cut, 'line')} cut ...]")
            shown.append(self._lines.shown_line(at, self._width))
            before = at
        text = "\n".join(shown)
        return text if byte_length(text) <= self._room else _cut_to_bytes(text, max(self._room, 40), keep_end=True)


def _in_turn(rankings: Rankings) -> list[int]:
    """One line of each ranking in turn, the best first, without duplicates."""
    longest = max((len(ranking) for ranking in rankings), default=0)
    order = (ranking[place] for place in range(longest) for ranking in rankings if place < len(ranking))
    return list(dict.fromkeys(order))


def _cut_to_bytes(text: str, room: int, keep_end: bool = False) -> str:
    """Cut to at most `room` bytes, for text whose characters are not one byte each."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= room:
        return raw.decode()
    if keep_end:
        return "[... cut ...]" + raw[len(raw) - max(room - 13, 0) :].decode("utf-8", "ignore")
    return raw[: room - 13].decode("utf-8", "ignore") + "[... cut ...]"


# Differences between runs that mean nothing: the prompt leaves them out, so that equal evidence gives an equal prompt,
# byte for byte.


_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_SCRATCH = re.compile(
    r"(?:(?:/private)?(?:/tmp|/var/tmp|/var/folders/[\w+-]+/[\w+-]+/T)"
    r"|\b[A-Za-z]:\\Users\\[^\\\n]+\\AppData\\Local\\Temp)"
    r"[/\\](?:pytest-of-[\w.-]+[/\\]pytest-\d+|[\w.+-]+)"
)
_NAMES = "|".join(
    command.replace(".", r"\.").replace(" ", r"\s+(?:\w+\s+)?") + (rf"\s+{tool.needs}" if tool.needs else "")
    for tool in RUNNERS
    for command in tool.commands
)
_CARRIERS = r"tox|nox|mvn|gradlew?|(?:npm|pnpm|yarn)\s+(?:run\s+)?t(?:est)?"
_RUN = re.compile(rf"\b(?:{_NAMES}|{_CARRIERS})\b")
_DURATIONS = tuple(
    re.compile(pattern, re.MULTILINE) for pattern in dict.fromkeys(one for tool in TOOLS for one in tool.durations)
)


class Normaliser:
    """Removes from texts what must not reach a prompt: secrets and the path of the workspace; from the output of
    commands also scratch folders, the run's id and colours. `root` is the workspace's absolute path, empty if it is
    unknown."""

    def __init__(self, root: str = "", run_id: str = "", mask: Callable[[str], str] | None = None) -> None:
        self._mask = mask
        self._run_id = run_id if len(run_id) >= 6 else ""
        roots = "|".join(re.escape(one) for one in _spellings(root))
        self._root = re.compile(rf"(?:{roots})(?![\w-])(?!\.\w)") if roots else None

    def clean_text(self, text: str) -> str:
        """Text from people or files: nothing meaningful is changed."""
        if self._mask is not None:
            text = self._mask(text)
        return text if self._root is None else self._root.sub(".", text)

    def printed(self, text: str) -> str:
        """The output of a command."""
        text = self.clean_text(_COLOURS.sub("", text))
        if self._run_id:
            text = text.replace(self._run_id, "(run)")
        return _SCRATCH.sub("(scratch)", text)

    def check_output(self, result: CheckResult) -> str:
        text = self.printed(result.output)
        return untimed(text) if result.is_test_run or result.totals is not None else text

    def command_output(self, command: ObservedCommand) -> str:
        text = self.printed(command.output)
        return untimed(text) if _RUN.search(command.command) else text


def untimed(text: str) -> str:
    """Output of a test runner without the durations that the runner adds; no other number is changed."""
    for pattern in _DURATIONS:
        text = pattern.sub(r"\g<before>(time)", text)
    return text


def _spellings(root: str) -> tuple[str, ...]:
    """The possible spellings of the workspace's path, longest first."""
    path = root.rstrip("/\\")
    if len(path) < 2:
        return ()
    other = path.replace("\\", "/")
    known = {path, other, path.replace("\\", "\\\\"), f"/private{path}" if path.startswith("/") else path}
    return tuple(sorted(known, key=len, reverse=True))


# How the room of a prompt is divided: evenly over requirements; unused shares go to the others.


Kind = Literal["response", "check", "editor", "diff", "named", "changed", "command", "other"]

_WEIGHT: dict[Kind, int] = {
    "response": 16,
    "check": 8,
    "editor": 4,
    "diff": 6,
    "named": 8,
    "changed": 6,
    "command": 3,
    "other": 3,
}
_DROPPED_FIRST: tuple[Kind, ...] = ("other", "changed", "command", "named", "diff", "editor", "check", "response")
SMALLEST_BODY = 200
FRAME = 150
_SLACK = 32


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of evidence for a prompt: `head` is shown whole, `lines` as far as the block's share allows.

    `owners` are the indexes of the requirements that it is for; `rank` is 0 for the most relevant of its kind. `source`
    is recorded evidence, or an observation that is yet to be recorded. `paths` are the files that it shows.
    """

    kind: Kind
    title: str
    name: str
    owners: frozenset[int]
    head: tuple[str, ...]
    lines: Lines
    source: Evidence | Observation
    rank: int = 0
    citable: bool = True
    rankings: Callable[[], Rankings] | None = None
    head_share: float = 0.15
    tail_share: float = 0.3
    paths: tuple[str, ...] = ()

    @property
    def fixed(self) -> int:
        return FRAME + sum(byte_length(line) + 1 for line in self.head) + 6 * len(self.owners)

    @property
    def least(self) -> int:
        return min(self.lines.need, SMALLEST_BODY)


def allocate(blocks: Sequence[Block], room: int) -> tuple[list[tuple[Block, int]], list[Block]]:
    """The blocks that fit, each with the room for its body, and those that don't. Blocks of the least relevant kind are
    dropped first, within a kind those ranked last; check results are dropped last."""
    kept = list(blocks)
    dropped: list[Block] = []
    needed = sum(block.fixed + block.least for block in kept)
    for block in sorted(blocks, key=lambda one: (_DROPPED_FIRST.index(one.kind), -one.rank, one.name)):
        if needed <= room:
            break
        kept.remove(block)
        dropped.append(block)
        needed -= block.fixed + block.least
    spare = room - sum(block.fixed + block.least for block in kept)
    wanted = [max(block.lines.need + _SLACK - block.least, 0) for block in kept]
    more = _filled(wanted, _weights(kept), spare)
    return [(block, block.least + extra) for block, extra in zip(kept, more, strict=True)], dropped


def _weights(blocks: Sequence[Block]) -> list[float]:
    """Each requirement has the same share, divided among the kinds of its evidence, and evenly within a kind."""
    counts: Counter[tuple[int, Kind]] = Counter((owner, block.kind) for block in blocks for owner in block.owners)
    totals: dict[int, int] = {}
    for owner, kind in counts:
        totals[owner] = totals.get(owner, 0) + _WEIGHT[kind]
    return [
        sum(_WEIGHT[block.kind] / totals[owner] / counts[owner, block.kind] for owner in sorted(block.owners))
        for block in blocks
    ]


def _filled(needs: Sequence[int], weights: Sequence[float], room: int) -> list[int]:
    """Each gets its share of the room, or its need if that is less; what is left over is divided again."""
    given = [0] * len(needs)
    open_places: list[int] = [at for at, need in enumerate(needs) if need > 0]
    left = max(room, 0)
    while open_places:
        whole = sum(weights[at] for at in open_places) or 1.0
        done = [at for at in open_places if needs[at] <= left * weights[at] / whole]
        if not done:
            for at in open_places:
                given[at] = int(left * weights[at] / whole)
            break
        for at in done:
            given[at] = needs[at]
        left -= sum(needs[at] for at in done)
        open_places = [at for at in open_places if at not in done]
    return given


# Which lines and files a requirement is about, judged by its words and identifiers alone.


_KEPT = 2_000
_WORD = re.compile(r"[^\W\d_]+|\d{2,}")
_IDENTIFIER = re.compile(r"\w+")
_PATH = re.compile(r"[\w./+-]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for are that this with from into must should shall can could will would not but all any each "
        "every when then than its their there here has have had been being was were does did done get gets "
        "set use used using new one two also only more most other same such via per out off over under file "
        "files test tests line lines make makes which what who how where self return def none true false "
        "import class function passes pass ",
    )
)
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DEFINES = re.compile(r"^\s*(?:async\s+def|def|class|func|fn|function|export|public|impl|interface|struct|#+)\s")


def words(text: str) -> frozenset[str]:
    """The meaningful words of a text, in lower case: identifiers whole and in parts."""
    found: set[str] = set()
    for identifier in _IDENTIFIER.findall(text):
        parts = [part.lower() for piece in _CAMEL.split(identifier) for part in _WORD.findall(piece)]
        found.update(_stem(part) for part in parts if len(part) >= 3)
        if len(parts) > 1:
            found.add(identifier.lower())
    return frozenset(found - _COMMON)


def requirement_words(requirement: Requirement) -> frozenset[str]:
    return words("\n".join((requirement.text, *requirement.details)))


def mentioned(requirement: Requirement) -> frozenset[str]:
    """The parts of the requirement's text that may be a path or a file name."""
    said = "\n".join((requirement.text, *requirement.details))
    found = (one.strip(".,:;!?").removeprefix("./") for one in _PATH.findall(said))
    return frozenset(one for one in found if "." in one or "/" in one)


def mentions(said: frozenset[str], path: str) -> bool:
    return path in said or path.rpartition("/")[2] in said


def ranked(
    lines: Sequence[str], wanted: Sequence[frozenset[str]], hot: Iterable[int] = ()
) -> tuple[tuple[int, ...], ...]:
    """For each set of words, the indexes of the lines that are related to it, the most relevant first; the lines in
    `hot` (changed, failing) are in every set."""
    # Where each word occurs, also as a part of another word.
    places: dict[str, list[int]] = {}
    if (pattern := _any_of(frozenset[str]().union(*wanted))) is not None:
        for at, line in enumerate(lines):
            for word in set(pattern.findall(line[:1000].lower())):
                places.setdefault(word, []).append(at)
    known = [at for at in hot if 0 <= at < len(lines)]
    return tuple(ranking for words_of in wanted if (ranking := _ranking(lines, words_of, places, known)))


def _ranking(
    lines: Sequence[str], wanted: frozenset[str], places: Mapping[str, list[int]], hot: Sequence[int]
) -> tuple[int, ...]:
    scores: dict[int, float] = dict.fromkeys(hot, 2.0)
    for word in sorted(wanted & places.keys()):
        weight = math.log(1 + len(lines) / len(places[word]))
        for at in places[word]:
            scores[at] = scores.get(at, 0.0) + weight * (1.5 if _DEFINES.match(lines[at]) else 1.0)
    return tuple(heapq.nsmallest(_KEPT, scores, key=lambda at: (-round(scores[at], 6), at)))


def path_score(path: str, wanted: frozenset[str]) -> int:
    """How many of the words occur in a path, also as a part of another word."""
    pattern = _any_of(wanted)
    return 0 if pattern is None else len(set(pattern.findall(path.lower())))


@lru_cache(maxsize=256)
def _any_of(wanted: frozenset[str]) -> re.Pattern[str] | None:
    if not wanted:
        return None
    return re.compile("|".join(re.escape(word) for word in sorted(wanted, key=lambda word: (-len(word), word))))


def diff_lines(diff: str) -> Mapping[str, frozenset[int]]:
    """By path, the 0-based lines of the new files that a unified diff adds, or that are next to removed lines."""
    found: dict[str, set[int]] = {}
    path, at, old, new = "", 0, 0, 0
    for line in diff.split("\n"):
        if old > 0 or new > 0:
            if line[:1] in ("+", "-"):
                found.setdefault(path, set()).add(at)
            old -= line[:1] not in ("+", "\\")
            new -= line[:1] not in ("-", "\\")
            at += line[:1] not in ("-", "\\")
        elif line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif match := _HUNK.match(line):
            at, old, new = max(int(match[2]) - 1, 0), int(match[1] or 1), int(match[3] or 1)
    return {key: frozenset(lines) for key, lines in found.items()}


def _stem(word: str) -> str:
    """Maps plural and singular, and the common verb forms, to one word."""
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word[: -len(ending)]
    return word
