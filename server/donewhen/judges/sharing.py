"""How the room of a prompt is shared: evenly over requirements, unused shares to the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from donewhen.core.evidence import Evidence, Observation
from donewhen.judges.excerpts import Lines, Rankings, size

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
    """One piece of evidence for a prompt: `head` is shown whole, of `lines` as much as its share allows.

    `owners` are the places of the requirements that it is for; `rank` is 0 for the most telling of its kind. `source`
    is evidence that is on record, or an observation yet to be recorded. `paths` are the files that it shows.
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
        return FRAME + sum(size(line) + 1 for line in self.head) + 6 * len(self.owners)

    @property
    def least(self) -> int:
        return min(self.lines.need, SMALLEST_BODY)


def shared(blocks: Sequence[Block], room: int) -> tuple[list[tuple[Block, int]], list[Block]]:
    """The blocks that fit, each with the room of its body, and those that don't. What is dropped is of the least
    telling kind first, and of that the lowest rank; check results go last."""
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
    """Each requirement has the same share; it goes to the kinds of its evidence, and evenly to those of a kind."""
    counts: Counter[tuple[int, Kind]] = Counter((owner, block.kind) for block in blocks for owner in block.owners)
    totals: dict[int, int] = {}
    for owner, kind in counts:
        totals[owner] = totals.get(owner, 0) + _WEIGHT[kind]
    return [
        sum(_WEIGHT[block.kind] / totals[owner] / counts[owner, block.kind] for owner in sorted(block.owners))
        for block in blocks
    ]


def _filled(needs: Sequence[int], weights: Sequence[float], room: int) -> list[int]:
    """Each gets its share of the room, or its need if that is less; what is left over is shared again."""
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
