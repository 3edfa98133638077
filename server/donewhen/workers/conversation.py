"""Makes a conversation fit again, without asking a model: the old part becomes notes, the open part stays word for
word. A call and its answers are never separated: every provider refuses one without the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from donewhen.core.calls import Message
from donewhen.core.feedback import keep_ends
from donewhen.workers.agent_facts import Facts, is_notes
from donewhen.workers.prompt import is_task

OVERHEAD = 24
"""Bytes that a message or a call costs besides its texts."""
LEAST_ANSWER = 300
"""Bytes of an answer that are always kept while it is the latest, the mark of a cut included."""
MARK = 50
"""Bytes of the mark that says how much was cut."""
MIN_NOTES = 1_000
"""Bytes that the notes may take in any case."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What replaces a conversation; `dropped` of its messages are gone."""

    messages: tuple[Message, ...]
    dropped: int


def size_of(message: Message) -> int:
    """What a message adds to a prompt, in bytes."""
    calls = sum(OVERHEAD + _bytes(call.name) + _bytes(call.arguments) + _bytes(call.id) for call in message.calls)
    return OVERHEAD + _bytes(message.text) + _bytes(message.answers) + calls


def compacted(messages: Sequence[Message], room: int) -> Compacted:
    """The conversation in `room` bytes: notes of what is old, the task of the latest turn as it is, and as many of the
    latest messages as fit.

    The latest answers are shortened where they don't fit as they are. More than `room` is needed only where the task
    alone takes it.
    """
    blocks = _blocks(messages)
    task = next((at for at in reversed(range(len(blocks))) if is_task(blocks[at][0])), None)
    left = room - (_size(blocks[task]) if task is not None else 0)
    notes_room = max(left // 3, MIN_NOTES)
    first = _first_kept(blocks, task, left - notes_room)
    kept = {at for at in range(len(blocks)) if at == task or (at >= first and blocks[at][0].role != "tool")}
    old = [message for at, block in enumerate(blocks) if at not in kept for message in block]
    stay = [message for at in sorted(kept) for message in _fitting(blocks[at], at == task, left - notes_room)]
    notes = (Facts.of(old).message(notes_room),) if old else ()
    return Compacted((*notes, *stay), len(old))


def _blocks(messages: Sequence[Message]) -> list[list[Message]]:
    """The conversation in pieces that can't be divided: a call goes with its answers."""
    blocks: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and blocks and (blocks[-1][0].calls or blocks[-1][0].role == "tool"):
            blocks[-1].append(message)
        else:
            blocks.append([message])
    return blocks


def _first_kept(blocks: Sequence[Sequence[Message]], task: int | None, room: int) -> int:
    """From where on the blocks fit; the last one counts as what it has at least."""
    first = len(blocks)
    left = room
    while first > 0 and not is_notes(blocks[first - 1][0]):
        block = blocks[first - 1]
        if first - 1 != task:
            left -= min(_size(block), max(_least(block), room)) if first == len(blocks) else _size(block)
        if left < 0:
            break
        first -= 1
    return first


def _least(block: Sequence[Message]) -> int:
    """The size of a block whose answers are as short as they may become."""
    return sum(size_of(m) - max(_bytes(m.text) - LEAST_ANSWER, 0) * (m.role == "tool") for m in block)


def _fitting(block: Sequence[Message], is_task: bool, room: int) -> Sequence[Message]:
    """The block with its answers shortened as much as is needed."""
    if is_task or _size(block) <= room:
        return block
    answers = [message for message in block if message.role == "tool"]
    others = _size(block) - sum(_bytes(message.text) for message in answers)
    each = max((room - others) // max(len(answers), 1), LEAST_ANSWER)
    return [replace(m, text=_ends(m.text, each - MARK)) if m.role == "tool" else m for m in block]


def _ends(text: str, room: int) -> str:
    """Its head and its tail, in about `room` bytes."""
    return text if _bytes(text) <= room else keep_ends(text, room * len(text) // _bytes(text))


def _size(block: Sequence[Message]) -> int:
    return sum(size_of(message) for message in block)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
