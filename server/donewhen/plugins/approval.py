"""The approval gate: a tool call goes through, is asked about, or is refused. It is a plugin like any other.

It is essential, hence the innermost wrapper: it sees the input that would really be used, after any change by outer
wrappers. What they answer instead of the tool had no effect that would need approval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from donewhen.core.approval import COMMAND_TOOL, DENIED, NOT_RUN, NOT_WRITTEN, SAID, ApprovalRule, Decision
from donewhen.plugins import Answer, PluginContext, RunOptions, ToolDoer, ToolOutcome, ToolUse, hookimpl

MAX_TITLE = 200
_ELSE = "Find another way, or report that you are blocked"
_NO_COMMAND = f"the person changed it to something that is not a command. {_ELSE}"
_NO_EDIT = "the person changed it to one that does not apply. Look again, then send another one"
_WRITES = ("write_file", "edit_file")


class Policy(Protocol):
    """What may run without asking, and what a person allowed permanently."""

    async def decide(self, use: ToolUse, options: RunOptions, allowed: Sequence[ApprovalRule]) -> Decision:
        """`allowed` are the calls that a person allowed for this run."""
        ...

    def remembered(self, use: ToolUse) -> ApprovalRule | None:
        """The rule that allows exactly this call in the future."""
        ...

    async def keep(self, rule: ApprovalRule) -> bool:
        """Keeps a rule in this workspace from now on; False if that isn't possible."""
        ...


class ApprovalGate:
    """Asks a person if the policy says so. What they allow for the run is kept with the run; what they allow for the
    workspace goes to the policy."""

    name = "approval"
    essential = True

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    @hookimpl(trylast=True)
    async def wrap_tool(self, use: ToolUse, proceed: ToolDoer, context: PluginContext) -> ToolOutcome:
        decision = await self._policy.decide(use, context.options, ())
        if decision.action == "ask" and decision.remembers:
            allowed = [ApprovalRule(tool, pattern, "allow") for tool, pattern in _allowed_for_run(context)]
            decision = await self._policy.decide(use, context.options, allowed)
        if decision.action == "deny":
            return _turned_down(use, f"{DENIED}: {decision.reason}. {_ELSE}")
        if decision.action == "allow":
            return await proceed(use)
        answer = await _ask_person(use, context, decision)
        use = replace(use, input={**use.input, "outside": True}) if decision.outside else use
        if answer.response == "approve":
            if decision.remembers and answer.remember:
                await self._remember(use, answer, context)
            return await proceed(use)
        if answer.response == "edit":
            edited = _edited(use, answer)
            if edited is None:
                return _turned_down(use, _NO_COMMAND if use.tool == COMMAND_TOOL else _NO_EDIT)
            return await proceed(replace(use, input=edited))
        if answer.response == "text":
            return _turned_down(use, f"{SAID}\n{answer.text.strip()}")
        why = (answer.reason or answer.text).strip()
        return _turned_down(use, f"{DENIED}{f': {why}' if why else ''}. {_ELSE}")

    async def _remember(self, use: ToolUse, answer: Answer, context: PluginContext) -> None:
        rule = self._policy.remembered(use)
        if rule is None or (answer.remember == "workspace" and await self._policy.keep(rule)):
            return
        if (rule.tool, rule.pattern) not in _allowed_for_run(context):
            await context.set_state([*_allowed_for_run(context), (rule.tool, rule.pattern)])


def _allowed_for_run(context: PluginContext) -> list[tuple[str, str]]:
    """Tool and pattern of each call that a person allowed for this run."""
    nothing: list[tuple[str, str]] = []
    return context.get_state(list[tuple[str, str]], default=nothing)


async def _ask_person(use: ToolUse, context: PluginContext, decision: Decision) -> Answer:
    command = str(use.input.get("command", "")) if use.tool == COMMAND_TOOL else ""
    what = f"Run `{command}`{' outside of the room' if decision.outside else ''}?" if command else f"Use {use.tool}?"
    if use.tool in _WRITES:
        what = f"Change {use.input.get('path', '')}?"
    title = " ".join(what.split())
    title = title if len(title) <= MAX_TITLE else f"{title[: MAX_TITLE - 1]}…"
    shown = command or use.preview or repr(dict(use.input))
    return await context.ask(
        title, kind="approval", tool=use.tool, input=use.input, preview=shown, remembers=decision.remembers
    )


def _edited(use: ToolUse, answer: Answer) -> Mapping[str, Any] | None:
    """The input with the person's changes, which needs no further approval; None if what they left can't be executed:
    then they did not allow the original call."""
    edited = answer.input
    if edited is None and use.tool == COMMAND_TOOL:
        edited = {"command": answer.text}
    if not edited or not set(edited) & set(use.input):
        return None
    if use.tool == COMMAND_TOOL and not str(edited.get("command", "")).strip():
        return None
    return {**use.input, **edited}


def _turned_down(use: ToolUse, told: str) -> ToolOutcome:
    begun = NOT_WRITTEN if use.tool in _WRITES else NOT_RUN
    return ToolOutcome(f"{begun} {told}", f"{use.summary or use.tool}: not allowed", ok=False)
