"""The response itself, where the goal is about it (product.md, "response"): shown as data, head and tail, citable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from donewhen.core.evidence import Evidence, ObservedResponse
from donewhen.judges.blocks import Material, bounded_output, everyone, rankings_of
from donewhen.judges.excerpts import LONGEST_LINE, Lines
from donewhen.judges.relevance import requirement_words
from donewhen.judges.sharing import Block

CONTINUED = "[continued] "
_WIDTH = LONGEST_LINE - len(CONTINUED) - 8
_HEAD, _TAIL = 0.35, 0.5


def response_blocks(material: Material) -> Iterator[Block]:
    """The latest response, as one block; one that is not fresh is none of this turn's, and not shown."""
    found = [
        (evidence, evidence.observation)
        for evidence in material.evidence
        if isinstance(evidence.observation, ObservedResponse) and evidence.fresh(material.revision)
    ]
    wanted = [requirement_words(requirement) for requirement in material.requirements]
    for evidence, response in found[-1:]:
        yield _block(material, evidence, response, wanted)


def _block(
    material: Material, evidence: Evidence, response: ObservedResponse, wanted: Sequence[frozenset[str]]
) -> Block:
    text = bounded_output(material.normaliser.text(response.text))
    whole = Lines.of(text)
    lines = Lines([piece for line in whole.raw for piece in wrapped(line)])
    owners = everyone(material)
    # Two responses that differ only in what is cut are two questions: the digest keeps their verdicts apart in a cache.
    said = f"{response.size:,} characters, {len(whole):,} lines" if text.strip() else "empty"
    return Block(
        "response", "the response itself", "", owners, (f"content: {said}, sha256 {response.digest[:16]}",), lines,
        evidence, rankings=rankings_of(lines, owners, wanted), head_share=_HEAD, tail_share=_TAIL,
    )  # fmt: skip


def wrapped(line: str) -> Iterator[str]:
    """A line of prose in pieces that are shown whole; all but the first say that they go on with it."""
    width = _WIDTH if line.isascii() else _WIDTH // 3
    piece, line = _piece(line, width)
    yield piece
    while line:
        piece, line = _piece(line, width)
        yield f"{CONTINUED}{piece}"


def _piece(line: str, width: int) -> tuple[str, str]:
    """What fits, cut at a space where there is one, and what is left."""
    if len(line) <= width:
        return line, ""
    at = line.rfind(" ", width // 2, width)
    return (line[:at], line[at + 1 :]) if at > 0 else (line[:width], line[width:])
