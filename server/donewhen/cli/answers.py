"""What a person answers to an interrupt, in words: on the command line and at the prompt of `run`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from donewhen.core.errors import UsageError
from donewhen.core.work import Answer, Interrupt, Remember, ResponseKind

_WORDS: Mapping[str, ResponseKind] = {
    "approve": "approve", "a": "approve", "yes": "approve", "y": "approve",
    "deny": "deny", "d": "deny", "no": "deny", "n": "deny",
    "edit": "edit", "e": "edit",
    "text": "text", "t": "text",
}  # fmt: skip
_OF_FINDINGS: Mapping[str, ResponseKind] = {"accept": "approve", "undo": "deny", "end": "end"}
"""What can be typed besides where integrity findings are asked about."""
_KEPT: Mapping[str, Remember] = {"r": "run", "run": "run", "w": "workspace", "workspace": "workspace"}


def typed_answer(line: str, interrupt: Interrupt) -> Answer:
    """The answer that a typed line means. Raises UsageError that says what can be typed."""
    word, _, rest = line.strip().partition(" ")
    if interrupt.about == "start" and not word:
        return Answer("deny")  # enter changes nothing
    if interrupt.remembers and word.casefold() in _KEPT:
        return worded_answer("approve", rest.strip(), interrupt, _KEPT[word.casefold()])
    known: Mapping[str, ResponseKind] = {**_WORDS, **_OF_FINDINGS} if interrupt.about == "findings" else _WORDS
    response = known.get(word.casefold())
    if interrupt.about == "start" and response not in ("approve", "deny"):
        raise UsageError(f"answer with {choices(interrupt)}")
    if interrupt.kind == "question" and response == "edit":
        response = None  # there is nothing to edit: it is the beginning of a text
    # A requirement is waived or not: a remark must not be taken for either.
    free = interrupt.kind == "question" and not interrupt.about.startswith("requirement:")
    if response is None and free and line.strip():
        return Answer("text", text=line.strip())
    if response is None:
        raise UsageError(f"answer with {choices(interrupt)}")
    return worded_answer(response, rest.strip() or None, interrupt)


def worded_answer(
    response: ResponseKind, text: str | None, interrupt: Interrupt | None, remember: Remember = ""
) -> Answer:
    """An answer of a kind with its text: the reason of `approve`, `deny` and `end`, the input of `edit`. None is no
    text; an empty one is a text like any other."""
    if response in ("approve", "deny", "end"):
        return Answer(response, reason=text or "", remember=remember)
    if text is None or (response == "edit" and not text):
        raise UsageError(f"`{response}` needs text: `{response} TEXT`")
    if response == "text":
        return Answer("text", text=text, remember=remember)
    return Answer("edit", text=text, input=_edited(text, interrupt), remember=remember)


def choices(interrupt: Interrupt) -> str:
    """What can be answered, in a line."""
    topic = interrupt.about.partition(":")[0]
    if topic == "start":
        return "`yes` starts it, `no` or enter doesn't"
    if topic == "requirement":
        return "`approve [REASON]` to waive it, `deny` to leave it unproven, or a check below it in the goal file"
    if topic == "restore":
        return "`approve` to keep them, or `deny` to put the files back"
    if topic == "findings":
        return "`approve [REASON]` accepts it, `deny [WHAT TO DO]` lets the worker undo it, `end` ends the run"
    if topic == "claim":
        return "`approve`, `deny [REASON]`, or text for the worker"
    if interrupt.kind == "question":
        return "text, `approve` or `deny`"
    edited = "edit COMMAND" if "command" in interrupt.input else "edit INPUT"
    kept = ", `r` to approve for this run, `w` to approve always in this workspace" if interrupt.remembers else ""
    return f"`approve`{kept}, `deny [REASON]`, `{edited}`, or `text TEXT` for the worker instead of doing it"


def _edited(text: str, interrupt: Interrupt | None) -> Mapping[str, Any] | None:
    """The tool's input with `text` in place of what it is about: a JSON object replaces all of it."""
    try:
        value: object = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return cast(dict[str, Any], value)
    if interrupt is None:
        return None
    texts = [name for name, item in interrupt.input.items() if isinstance(item, str)]
    name = "command" if "command" in texts else (texts[0] if len(texts) == 1 else None)
    if name is None:
        raise UsageError("`edit` needs the tool's whole input here, as a JSON object")
    return {**interrupt.input, name: text}
