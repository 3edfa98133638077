"""What may run without asking: the user's rules for tools, frozen when a run starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Permit = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """`action` for the calls of `tool` (`*`: any) that match `pattern`: for run_command a parsed simple command such as
    `pytest *`, for tools with a path a glob; `*` matches every call."""

    tool: str
    pattern: str
    action: Permit


SAID = "the person answered instead:"
DENIED = "it was not allowed"
NOT_RUN = "not run:"
NOT_WRITTEN = "not written:"
"""How what a worker is told of a call begins that a person did not allow: one of these two, then one of those. They are
found again where its conversation is made shorter."""
