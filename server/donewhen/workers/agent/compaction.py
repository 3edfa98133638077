"""Makes a conversation fit again, without asking a model: what is old becomes notes, what is open stays word for word.

A call and its answers are never torn apart: every provider refuses the one without the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from donewhen.core.approval import DENIED, NOT_RUN, NOT_WRITTEN, SAID
from donewhen.core.calls import Message, ToolCall
from donewhen.core.feedback import keep_ends
from donewhen.core.hints import hint_in
from donewhen.core.words import byte_length
from donewhen.workers.activity import activity_line
from donewhen.workers.prompt import NOTES_HEADING, answers_of, is_task, item, items
from donewhen.workers.tools import TOOLS
from donewhen.workers.tools.commands import INSTEAD, RUN_COMMAND
from donewhen.workers.tools.tool import VERSION, Arguments, WrongArguments, read_object
from donewhen.workers.tools.writing import EDIT_FILE, WRITE_FILE

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
    calls = sum(
        OVERHEAD + byte_length(call.name) + byte_length(call.arguments) + byte_length(call.id) for call in message.calls
    )
    return OVERHEAD + byte_length(message.text) + byte_length(message.answers) + calls


def compacted(messages: Sequence[Message], room: int) -> Compacted:
    """The conversation in `room` bytes: notes of what is old, the task of the latest turn as it is, and as many of the
    latest messages as fit.

    The latest answers are shortened where they don't fit as they are. More than `room` is needed only where the task
    alone takes it.
    """
    blocks = _blocks(messages)
    task = next((at for at in reversed(range(len(blocks))) if is_task(blocks[at][0])), None)
    left = room - (_block_size(blocks[task]) if task is not None else 0)
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
    """From where on the blocks fit; the last one counts as what it has at least, with its answers as short as they may
    become."""
    first = len(blocks)
    left = room
    while first > 0 and not is_notes(blocks[first - 1][0]):
        block = blocks[first - 1]
        size = _block_size(block)
        if first == len(blocks):
            least = sum(size_of(m) - max(byte_length(m.text) - LEAST_ANSWER, 0) * (m.role == "tool") for m in block)
            size = min(size, max(least, room))
        if first - 1 != task:
            left -= size
        if left < 0:
            break
        first -= 1
    return first


def _fitting(block: Sequence[Message], is_task: bool, room: int) -> Sequence[Message]:
    """The block with its answers shortened as much as is needed, to their heads and tails."""
    if is_task or _block_size(block) <= room:
        return block
    answers = [message for message in block if message.role == "tool"]
    others = _block_size(block) - sum(byte_length(message.text) for message in answers)
    each = max((room - others) // max(len(answers), 1), LEAST_ANSWER)
    fitted: list[Message] = []
    for message in block:
        size = byte_length(message.text)
        if message.role == "tool" and size > each - MARK:
            message = replace(message, text=keep_ends(message.text, (each - MARK) * len(message.text) // size))
        fitted.append(message)
    return fitted


def _block_size(block: Sequence[Message]) -> int:
    return sum(size_of(message) for message in block)


# The notes: what is worth knowing of the old part of a conversation.


PERSON = "## What the person said"
OPEN = "## What failed, and has not succeeded since"
DONE = "## What you did, and how it ended last"

KEPT = {OPEN: 60, DONE: 200}
"""How many of each are kept, the latest; all that the person said is."""
LONGEST = 400
_BETWEEN = " | "
_REFUSED = ("error:", NOT_RUN, NOT_WRITTEN)
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.0)


@dataclass(slots=True)
class Facts:
    """What is worth knowing from the old part of a conversation: each call with how it ended last, the latest last, and
    what the person said."""

    open: dict[str, str] = field(default_factory=dict[str, str])
    done: dict[str, str] = field(default_factory=dict[str, str])
    said: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Facts:
        """Reads messages in their order; notes among them are taken over."""
        facts = cls()
        open_calls: list[ToolCall] = []
        for message in messages:
            if is_notes(message):
                facts._take_over(message.text)
            elif is_task(message):
                facts._heard(*answers_of(message))
            elif (hint := hint_in(message)) is not None:
                facts._heard(hint)
            elif message.role == "assistant":
                open_calls = list(message.calls)
            elif message.role == "tool" and open_calls:
                facts._take_answer(call_of(message, open_calls), message.text)
        return facts

    def message(self, room: int) -> Message:
        """The notes, in at most about `room` bytes. What is old goes first; what the person said goes last, and where
        something of it goes, that is marked."""
        for share in _SHARES:
            text = self._notes_within(share, self.said)
            if len(text.encode("utf-8", "replace")) <= room:
                return Message("user", text)
        return Message("user", self._notes_within(0.0, _latest(self.said, room - 200)))

    def _notes_within(self, share: float, said: Sequence[str]) -> str:
        parts = [NOTES_HEADING]
        for heading, calls in ((OPEN, self.open), (DONE, self.done)):
            texts = [f"{call}{_BETWEEN}{ended}" for call, ended in calls.items()]
            count = int(KEPT[heading] * share)
            if texts and count:
                parts += [heading, *map(item, texts[-count:])]
        if said:
            parts += [PERSON, *map(item, said)]
        if len(parts) == 1:
            parts.append("(nothing)")
        return "\n".join(parts)

    def _take_over(self, text: str) -> None:
        lines = text.split("\n")
        for at, heading in enumerate(lines):
            found = items(lines[at + 1 :]) if heading in (PERSON, OPEN, DONE) else []
            if heading == PERSON:
                self._heard(*found)
                continue
            for one in found:
                call, _, ended = one.partition(_BETWEEN)
                self._ended(call, ended, ok=heading == DONE)

    def _take_answer(self, call: ToolCall, text: str) -> None:
        first = VERSION.sub("", text.split("\n", 1)[0]).replace(_BETWEEN, " / ")
        arguments = arguments_of(call)
        line = _call_line(call, arguments, text).replace(_BETWEEN, " / ")
        refused = first.startswith(_REFUSED)
        _, _, answer = text.partition(": ")
        if refused and answer.startswith((SAID, DENIED)):
            self._heard(f"to `{line}`: {answer.removeprefix(SAID).strip()}")
        ok = not refused and (call.name != RUN_COMMAND.name or first.startswith("exit 0"))
        self._ended(line, keep_ends(first, LONGEST), ok=ok)
        if ok and arguments is not None and call.name in (WRITE_FILE.name, EDIT_FILE.name):
            for tool in (WRITE_FILE, EDIT_FILE):  # earlier failures to write it no longer matter
                self.open.pop(tool.line(arguments), None)

    def _ended(self, call: str, how: str, *, ok: bool) -> None:
        """How a call ended last."""
        for known in (self.open, self.done):
            known.pop(call, None)
        (self.done if ok else self.open)[call] = how

    def _heard(self, *texts: str) -> None:
        self.said.extend(text for text in texts if text not in self.said)


def is_notes(message: Message) -> bool:
    """True for what `Facts.message` made."""
    return message.role == "user" and message.text.startswith(NOTES_HEADING)


def call_of(answer: Message, open_calls: list[ToolCall]) -> ToolCall:
    """The call that a message answers; ids that a model gave twice are told apart by their order."""
    at = next((at for at, call in enumerate(open_calls) if call.id == answer.answers), 0)
    return open_calls.pop(at)


def arguments_of(call: ToolCall) -> Arguments | None:
    """The arguments of a call of a built-in tool; None if it was not understood."""
    tool = TOOLS.get(call.name)
    try:
        return tool.checked(read_object(call.arguments)) if tool else None
    except WrongArguments:
        return None


def _call_line(call: ToolCall, arguments: Arguments | None, text: str) -> str:
    tool = TOOLS.get(call.name)
    if tool is None:
        return activity_line(f"{call.name} {call.arguments}")
    if arguments is None:
        return activity_line(f"{call.name} (not understood)")
    if tool is not RUN_COMMAND:
        return tool.line(arguments)
    # The command that ran: the model's, or what a person made of it.
    second = "".join(text.split("\n", 2)[1:2])
    command = second.removeprefix(INSTEAD) if second.startswith(INSTEAD) else str(arguments["command"])
    return f"run `{keep_ends(command.strip(), LONGEST)}`"


def _latest(said: Sequence[str], room: int) -> list[str]:
    """The end of what was said, as far as it fits; a mark says that something is missing."""
    kept: list[str] = []
    left = room
    for text in reversed(said):
        left -= len(item(text).encode("utf-8", "replace")) + 1
        if left < 0:
            break
        kept.insert(0, text)
    return [f"[{len(said) - len(kept)} earlier ones are left out]", *kept]
