"""What a person's answer to a question for permission means for a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from donewhen.core.work import Answer

SAID = "the person answered instead:"
DENIED = "it was not allowed"


@dataclass(frozen=True, slots=True)
class Permission:
    """`told` is for the model where it isn't given. `edited` is the input that the person made of it, or None; `text`
    what else they wrote."""

    given: bool
    told: str = ""
    edited: Mapping[str, Any] | None = None
    text: str = ""


def permission(answer: Answer) -> Permission:
    """Only `approve` and `edit` give it (A2)."""
    if answer.response == "approve":
        return Permission(True)
    if answer.response == "edit":
        named = {"command": answer.text} if answer.text.strip() else {}
        return Permission(True, edited=answer.input if answer.input is not None else named, text=answer.text)
    if answer.response == "text":
        return Permission(False, f"{SAID}\n{answer.text.strip()}")
    why = (answer.reason or answer.text).strip()
    return Permission(False, f"{DENIED}{f': {why}' if why else ''}. Find another way, or report that you are blocked")
