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
