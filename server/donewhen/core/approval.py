"""What may run without asking: the policy, pure. The rules are the user's, frozen when a run starts, and what a person
allowed since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from donewhen.core.commands.risks import Tracked, always_asks
from donewhen.core.commands.simple import follows, is_pattern, simple, written
from donewhen.core.commands.wrapped import all_commands
from donewhen.core.globs import literal, matches
from donewhen.core.plugging import ToolUse

Permit = Literal["allow", "ask", "deny"]
Approve = Literal["ask", "auto", "deny"]

COMMAND_TOOL = "run_command"
FILE_TOOLS = frozenset(("read_file", "list_files", "search", "write_file", "edit_file"))
"""The agent's tools with a `path`, which stay inside the workspace by themselves."""
OWN_TOOLS = FILE_TOOLS | {COMMAND_TOOL, "report"}
SAID = "the person answered instead:"
DENIED = "it was not allowed"
NOT_RUN = "not run:"
NOT_WRITTEN = "not written:"
"""How the message to a worker begins about a call that a person did not allow: one of these two, then one of those.
They are found again when its conversation is compacted."""
OUTSIDE = "it would run outside the room that commands run in, as you"
NOBODY = "this run asks no one (approve is deny): it was started with no one there to answer"


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """`action` for the calls of `tool` (`*`: any) that match `pattern`: for run_command a parsed simple command such as
    `pytest *`, for tools with a path a glob; `*` matches every call."""

    tool: str
    pattern: str
    action: Permit


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call may be made. `remembers`: a person's approval of it may be kept. `outside`: once it is approved it
    is made outside of the room that commands run in."""

    action: Permit
    reason: str = ""
    remembers: bool = False
    outside: bool = False


def permit_for(
    use: ToolUse,
    approve: Approve,
    rules: Sequence[ApprovalRule],
    tracked: Tracked,
    *,
    windows: bool = False,
    contained: bool = False,
) -> Decision:
    """Whether a tool call may be made: the first of these rules that applies decides.

    A `deny` rule; what always asks, such as a command that is to run outside of the room; an `ask` rule; an `allow`
    rule; `--approve auto`; the defaults, which let through what stays inside the workspace, or in the room, and ask for
    anything else. If nobody can be asked, asking means denying. `tracked` says which files git tracks, `windows` that
    commands are run by `cmd`, `contained` that they run in a room.
    """
    denied = _first(use, rules, "deny", windows)
    if denied is not None:
        return Decision("deny", f"a rule denies {_quoted_pattern(denied)}")
    wanted = _wanted(use, approve, rules, tracked, windows, contained and use.tool == COMMAND_TOOL)
    return Decision("deny", NOBODY) if wanted.action == "ask" and approve == "deny" else wanted


def remembered(use: ToolUse, *, windows: bool = False) -> ApprovalRule | None:
    """The rule that lets exactly this call through again; None for one that can't be remembered."""
    if use.tool == COMMAND_TOOL:
        words = _simple_command(use, windows)
        return ApprovalRule(use.tool, written(words), "allow") if words is not None else None
    path = _workspace_path(use)
    return ApprovalRule(use.tool, literal(path), "allow") if path is not None else None


def rule_problem(rule: ApprovalRule) -> str | None:
    """Why a rule could never match anything, None for one that could."""
    if not rule.tool.strip() or not rule.pattern.strip():
        return "a rule needs a tool and a pattern; `*` stands for any"
    if rule.tool == COMMAND_TOOL and not is_pattern(rule.pattern):
        return (
            f"`{rule.pattern}` is not a command pattern: write one simple command, word by word, such as `git status`, "
            "with ` *` at its end for any further words; no operators, variables or wildcards elsewhere"
        )
    return None


def _wanted(
    use: ToolUse, approve: Approve, rules: Sequence[ApprovalRule], tracked: Tracked, windows: bool, contained: bool
) -> Decision:
    """What the person who started the run wants, as if there were somebody to ask."""
    always = always_asks(_command_text(use), tracked) if use.tool == COMMAND_TOOL else None
    if always is not None:
        return Decision("ask", always, outside=contained)
    if contained and use.input.get("outside"):
        return Decision("ask", OUTSIDE, outside=True)
    asked = _first(use, rules, "ask", windows)
    if asked is not None:
        return Decision("ask", f"a rule asks for {_quoted_pattern(asked)}")
    if contained or _first(use, rules, "allow", windows) is not None or approve == "auto":
        return Decision("allow")
    if use.tool in OWN_TOOLS and use.tool != COMMAND_TOOL and not use.sensitive:
        return Decision("allow")
    return Decision("ask", use.sensitive, remembered(use, windows=windows) is not None)


def _first(use: ToolUse, rules: Sequence[ApprovalRule], action: Permit, windows: bool) -> ApprovalRule | None:
    """The first rule with this action that is about the call. What loosens has to match exactly; what tightens matches
    any part of a command line, and where that can't be understood, a word of it."""
    for rule in rules:
        if rule.action != action or rule.tool not in (use.tool, "*"):
            continue
        fits = rule.pattern.strip() == "*"
        fits = fits or (_allows(use, rule.pattern, windows) if action == "allow" else _tightens(use, rule.pattern))
        if fits:
            return rule
    return None


def _allows(use: ToolUse, pattern: str, windows: bool) -> bool:
    if use.tool == COMMAND_TOOL:
        words = _simple_command(use, windows)
        return words is not None and follows(words, pattern)
    path = _workspace_path(use)
    return path is not None and matches(pattern, path)


def _tightens(use: ToolUse, pattern: str) -> bool:
    if use.tool == COMMAND_TOOL:
        text = _command_text(use)
        commands = all_commands(text)
        if commands is None:
            begun = simple(pattern.strip().removesuffix(" *"))
            return begun is not None and begun[0] in text
        # `/usr/bin/curl x` is `curl x`, too.
        by_name = [(words[0].replace("\\", "/").rsplit("/", 1)[-1], *words[1:]) for words in commands]
        return any(follows(words, pattern) for words in (*by_name, *commands))
    given = use.input.get("path")
    path = _workspace_path(use) or (given if isinstance(given, str) else "")
    return matches(pattern, path) or matches(pattern.lower(), path.lower())


def _command_text(use: ToolUse) -> str:
    return str(use.input.get("command", ""))


def _simple_command(use: ToolUse, windows: bool) -> tuple[str, ...] | None:
    return simple(_command_text(use), windows=windows)


def _workspace_path(use: ToolUse) -> str | None:
    """The path relative to the workspace, plainly written; None for one that may lead out of it."""
    given = use.input.get("path")
    if not isinstance(given, str) or given.startswith(("/", "~", "\\")) or ":" in given:
        return None
    parts = [part for part in given.replace("\\", "/").split("/") if part not in ("", ".")]
    return "/".join(parts) if parts and ".." not in parts else None


def _quoted_pattern(rule: ApprovalRule) -> str:
    return f"`{rule.pattern}`" if rule.tool == COMMAND_TOOL else f"{rule.tool} `{rule.pattern}`"
