"""The part of a long text that fits: its head, its tail and what matters between, every cut marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from donewhen.judges.fencing import clipped, neutralised

LONGEST_LINE = 400
_AROUND = 3
_MARK = 34  # about what "[... 12,345 lines cut ...]" takes, with its prefix


def size(text: str) -> int:
    """What a text takes of a budget: bytes in UTF-8, since other scripts take more tokens per character."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def fitted(text: str, room: int) -> str:
    """At most `room` bytes (60 at least) of a text: head and tail, with a mark of what was cut between them."""
    if size(text) <= room:
        return text
    raw = text.encode("utf-8", "replace")
    left = max(room - 40, 20)
    head = raw[: left // 2].decode("utf-8", "ignore")
    tail = raw[len(raw) - left // 2 :].decode("utf-8", "ignore")
    return f"{head}[... {len(raw) - left:,} bytes cut ...]{tail}"


class Lines:
    """Untrusted lines as they are shown: prefixed, neutralised, bounded; made only when they are needed."""

    def __init__(self, raw: Sequence[str], numbered: bool = False) -> None:
        self.raw = raw
        self._numbered = numbered
        self._made: dict[tuple[int, int], str] = {}
        digits = len(str(len(raw))) if numbered else 0
        self.need = sum(min(size(line), LONGEST_LINE) + 3 + digits for line in raw)
        """At least what all lines take; exact for plain text."""

    @classmethod
    def of(cls, text: str, numbered: bool = False) -> Lines:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return cls(lines, numbered)

    def __len__(self) -> int:
        return len(self.raw)

    def shown(self, at: int, width: int = LONGEST_LINE) -> str:
        key = (at, width)
        if key not in self._made:
            text = clipped(neutralised(clipped(self.raw[at], width)).replace("\n", "\\n"), width)
            prefix = f"{at + 1}| " if self._numbered else "| "
            self._made[key] = f"{prefix}{_bounded(text, width)}".rstrip(" ")
        return self._made[key]


Rankings = Sequence[Sequence[int]]


def excerpt(
    lines: Lines, room: int, rankings: Callable[[], Rankings] | None = None, head: float = 0.15, tail: float = 0.3
) -> str:
    """At most `room` of the lines: all where they fit, else head and tail (their shares of the room) and what the
    rankings put first, each ranking in turn. The last line is always there."""
    if not len(lines):
        return ""
    if lines.need <= room * 2:
        whole = "\n".join(lines.shown(at) for at in range(len(lines)))
        if size(whole) <= room:
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
        self._take(count - 1, force=True)
        self._run(range(count - 2, -1, -1), int(self._room * tail))
        self._run(range(count), int(self._room * head))
        for at in _in_turn(rankings):
            if self._left < 2 * _MARK:
                break
            self._window(at)
        self._run(range(count), self._left)
        return self._rendered()

    def _cost(self, at: int) -> int:
        return size(self._lines.shown(at, self._width)) + 1

    def _take(self, at: int, force: bool = False, spare: int = 0) -> bool:
        if at in self._chosen:
            return True
        cost = self._cost(at) + spare
        if cost > self._left and not force:
            return False
        self._left -= cost
        self._chosen.add(at)
        return True

    def _run(self, order: Sequence[int], room: int) -> None:
        """Lines in this order, as far as `room` reaches."""
        stop = self._left - room
        for at in order:
            if at in self._chosen:
                continue
            if self._left - self._cost(at) < max(stop, 0) or not self._take(at):
                return

    def _window(self, at: int) -> None:
        """A line and what stands around it; a new place costs a mark."""
        if at not in self._chosen and not self._take(at, spare=_MARK):
            return
        for step in range(1, _AROUND + 1):
            for near in (at - step, at + step):
                if 0 <= near < len(self._lines):
                    self._take(near)

    def _rendered(self) -> str:
        shown: list[str] = []
        before = -1
        for at in sorted(self._chosen):
            if cut := at - before - 1:
                shown.append(f"[... {cut:,} {'line' if cut == 1 else 'lines'} cut ...]")
            shown.append(self._lines.shown(at, self._width))
            before = at
        text = "\n".join(shown)
        return text if size(text) <= self._room else _bounded(text, max(self._room, 40), keep_end=True)


def _in_turn(rankings: Rankings) -> list[int]:
    """One of each ranking after the other, the best first, none twice."""
    longest = max((len(ranking) for ranking in rankings), default=0)
    order = (ranking[place] for place in range(longest) for ranking in rankings if place < len(ranking))
    return list(dict.fromkeys(order))


def _bounded(text: str, room: int, keep_end: bool = False) -> str:
    """Cut to `room` bytes at most, for text whose characters are not one byte each."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= room:
        return raw.decode()
    if keep_end:
        return "[... cut ...]" + raw[len(raw) - max(room - 13, 0) :].decode("utf-8", "ignore")
    return raw[: room - 13].decode("utf-8", "ignore") + "[... cut ...]"
