"""What a worker may use during its turn, what a judge may look at, and the account of calls to models in both."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from donewhen.core.calls import (
    BudgetReached,
    CallFinished,
    CallRetried,
    CallRole,
    CallStarted,
    ConversationCompacted,
    Message,
    MessageKept,
    ToolCall,
    ToolFinished,
    ToolStarted,
)
from donewhen.core.errors import OtherRevision, OverBudget, WorkspaceError
from donewhen.core.evidence import Evidence, Observation, ObservedCommand
from donewhen.core.feedback import keep_ends
from donewhen.core.goal import Check
from donewhen.core.plugging import ToolOutcome, ToolUse
from donewhen.core.state import RunState
from donewhen.core.trouble import FailedTry
from donewhen.core.work import Answer, Interrupt, Usage, WorkerStep
from donewhen.engine.active import ActiveRun, turn_stream
from donewhen.engine.audits import run_check
from donewhen.engine.watching import settled_or_proven
from donewhen.ports import Left, PluginHost, PluginTool, ToolDoer, TreeState, Workspace


class CallAccount:
    """The calls of one run's worker or judge."""

    def __init__(self, run: ActiveRun, role: CallRole) -> None:
        self._run = run
        self._role: CallRole = role

    def left(self) -> Left:
        """See `ports.Calls`."""
        state = self._run.state
        limits, ahead = state.goal.limits, Usage()
        for worst in (*(call.worst for call in state.calls.open.values()), *self._ahead()):
            ahead += worst
        spent = state.budget_usage + ahead
        usd = None if limits.budget is None or spent.usd is None else limits.budget - spent.usd
        return Left(None if limits.token_budget is None else limits.token_budget - spent.tokens, usd)

    def _ahead(self) -> Sequence[Usage]:
        """Calls that are about to be put on record."""
        run = self._run
        return [worst for key, worst in run.reserved.items() if key not in run.state.calls.open]

    async def begin(self, model: str, prompt: Usage, worst: Usage) -> str:
        """See `ports.Calls`. Calls under way count as their worst case."""
        run = self._run
        # Counted before anything is awaited, so that of several calls that begin at once each sees the others.
        ahead = sum(self._ahead(), worst)
        reason = beyond_budget(run.state, ahead)
        if reason is not None:
            if run.state.calls.unaffordable is None:
                await run.append(BudgetReached(reason))
            raise OverBudget(reason)
        call_id = run.call_id()
        run.reserved[call_id] = worst
        try:
            # The result is what must last; an intent that is lost with the power was not followed by one.
            await run.append(CallStarted(call_id, self._role, model, prompt, worst), durable=False)
        finally:
            del run.reserved[call_id]
        if self._role == "worker":
            run.streams(call_id)
        return call_id

    async def retried(self, call_id: str, failed: FailedTry) -> None:
        trouble = replace(failed.trouble, said=self._run.parts.setup.mask(failed.trouble.said))
        await self._run.append(CallRetried(call_id, replace(failed, trouble=trouble)), durable=False)

    async def end(self, call_id: str, usage: Usage, message: Message | None = None, error: str | None = None) -> None:
        mask = self._run.parts.setup.mask
        said = None if error is None else mask(error)
        kept = None
        if message is not None and self._role == "worker":
            wanted = tuple(replace(call, arguments=mask(call.arguments)) for call in message.calls)
            kept = replace(message, text=mask(message.text), calls=wanted)
        # Where tools are to run, the intent of the first one takes this to disk too.
        await self._run.append(CallFinished(call_id, usage, kept, said), durable=kept is None or not kept.calls)


def beyond_budget(state: RunState, worst: Usage) -> str | None:
    """Why a call may not be made, None if it may."""
    limits = state.goal.limits
    ahead = worst
    for call in state.calls.open.values():
        ahead += call.worst
    spent = state.budget_usage
    if limits.token_budget is not None and spent.tokens + ahead.tokens > limits.token_budget:
        return (
            f"the budget of {limits.token_budget:,} tokens could be passed: {spent.tokens:,} are used, "
            f"and the next call may take {ahead.tokens:,}"
        )
    if limits.budget is None:
        return None
    if ahead.usd is None:
        return (
            f"the budget of ${limits.budget:.2f} can't be kept: the price of a model is unknown. "
            "Set its price in your settings, or a token budget instead"
        )
    if state.spend.known_usd + ahead.usd > limits.budget:
        return (
            f"the budget of ${limits.budget:.2f} could be passed: ${state.spend.known_usd:.4f} is spent, "
            f"and the next call may cost ${ahead.usd:.4f}"
        )
    return None


# What a judge may look at (`ports.AuditContext`): the workspace as it was at one revision.


T = TypeVar("T")
TRIES = 3
LARGEST = 50_000_000
"""Bytes of a file that is read for a judge: more is not text that anybody judges."""


class RevisionView:
    """The present files, each of them only as far as its content is the one that the revision names: what changed
    since can't be read, and the verdict is dropped then anyway."""

    def __init__(self, run: ActiveRun, revision: str) -> None:
        self._run = run
        self._revision = revision
        self._known: dict[str, Any] = {}
        self._recording = asyncio.Lock()
        self._recorded: dict[Observation, Evidence] = {}
        """What several members of a panel are shown is put on record once."""
        self._one_at_a_time = asyncio.Lock()
        """What a check writes must be told from what another one does: nobody looks at the files meanwhile."""
        self.calls = CallAccount(run, "judge")

    @property
    def root(self) -> str:
        return str(self._run.parts.workspace.root)

    def activity(self, line: str) -> None:
        self._run.set_activity(line)

    def files(self) -> Sequence[str]:
        return self._run.parts.workspace.files()

    async def changed(self) -> Sequence[str]:
        compare = self._run.parts.workspace.changed_between
        return tuple(sorted(await self._compared("changed", compare) or ()))

    async def diff(self) -> str:
        return await self._compared("diff", self._run.parts.workspace.diff) or ""

    async def _compared(self, what: str, compare: Callable[..., Awaitable[T]]) -> T | None:
        """Once, with the tree before the first turn. None without one, or if the files aren't those of the revision:
        the judge goes on without. That they moved is on record then, and what it says is dropped; where they came back
        at once, it is tried again."""
        base = self._run.state.files.first_checkpoint
        if base is None:
            return None
        async with self._one_at_a_time:
            for _ in range(TRIES if what not in self._known else 0):
                with contextlib.suppress(OtherRevision):
                    self._known[what] = await compare(base, None, revision=self._revision)
                    break
                await self._run.look("person" if self._run.state.waits_for_person else "check")
                if self._run.state.revision != self._revision:
                    break
            return self._known.get(what)

    async def read(self, path: str) -> bytes:
        workspace = self._run.parts.workspace
        digest = workspace.digest(path)
        if digest is None:
            raise WorkspaceError(f"{path} is not a file of this workspace that the revision covers")
        content, found = await asyncio.to_thread(_content_and_digest, workspace, path)
        place = workspace.root / path
        if place.is_symlink():  # the revision has the link's text, not its target
            target, root = place.resolve(), workspace.root.resolve()
            inside = target.is_relative_to(root)
            link = target.relative_to(root).as_posix() if inside else "a place outside of the workspace"
            raise WorkspaceError(f"{path} is a link to {link}: read that, as far as the revision covers it")
        if content is None or found != digest:
            raise WorkspaceError(f"{path} has changed since the audit: judge what you have")
        return content

    async def record(self, observation: Observation) -> Evidence:
        # What is shown holds for the revision that it is shown of; if the files moved on since, it is not fresh.
        async with self._recording:
            if observation not in self._recorded:
                revision = self._revision
                self._recorded[observation] = await self._run.record(observation, revision, revision)
            return self._recorded[observation]

    async def run_check(self, check: Check) -> Evidence:
        async with self._one_at_a_time:
            return await run_check(self._run, check, alone=True)


def _content_and_digest(workspace: Workspace, path: str) -> tuple[bytes | None, str]:
    """A file and the digest of its content. Blocks: for a thread, since both take long for a large one."""
    with contextlib.suppress(OSError):
        if (workspace.root / path).stat().st_size > LARGEST:
            raise WorkspaceError(f"{path} is too large to be shown: more than {LARGEST // 1_000_000} MB")
    content = workspace.read(path)
    return content, "" if content is None else hashlib.sha256(content).hexdigest()


# What a worker may use during its turn (`ports.TurnContext`).


MAX_OBSERVED = 6_000
"""Characters of a command's output that are kept as evidence: head and tail."""


class Context:
    """Implements `ports.TurnContext` for one turn of one run."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        self.calls = CallAccount(run, "worker")
        run.streams(turn_stream(run.state.iteration))

    @property
    def workspace(self) -> Workspace:
        return self._run.parts.workspace

    @property
    def conversation(self) -> tuple[Message, ...]:
        return self._run.state.conversation

    def activity(self, line: str) -> None:
        self._run.set_activity(line)

    def stream(self, text: str, *, whole: bool = False) -> None:
        self._run.stream(text, whole=whole)

    @property
    def hints(self) -> Sequence[str]:
        return self._run.state.steering.hints

    async def settled(self) -> TreeState:
        tree = await settled_or_proven(self._run)
        await self._run.record_tree(tree, self._by)
        return tree

    async def ask(self, interrupt: Interrupt) -> Answer:
        return await self._run.ask(interrupt)

    async def use_tool(self, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        """What ran inside its wrappers is remembered: a wrapper that halts afterwards doesn't make it run again."""
        run = self._run
        if run.parts.plugins is None:
            return await do(use)

        async def done(given: ToolUse) -> ToolOutcome:
            outcome = await do(given)
            run.completed[use.call_id] = outcome
            return outcome

        outcome = await run.parts.plugins.use_tool(run.host, use, done)
        run.completed.pop(use.call_id, None)
        return outcome

    @property
    def tools(self) -> Sequence[PluginTool]:
        return self._run.parts.plugins.tools if self._run.parts.plugins is not None else ()

    @property
    def host(self) -> PluginHost:
        return self._run.host

    def inherited_descriptors(self) -> tuple[int, ...]:
        return self._run.parts.setup.lock.inherited_descriptors()

    def unsaved(self, path: str) -> str | None:
        return self._run.parts.setup.unsaved(path)

    async def keep(self, message: Message) -> None:
        masked = replace(message, text=self._run.parts.setup.mask(message.text))
        await self._run.append(MessageKept(masked), durable=False)

    async def compact(self, messages: Sequence[Message], dropped: int) -> None:
        await self._run.append(ConversationCompacted(tuple(messages), dropped))

    async def tool_started(self, call: ToolCall, summary: str) -> None:
        await self._run.append(ToolStarted(call.id, call.name, self._run.parts.setup.mask(summary)))
        self._run.streams(call.id)

    async def tool_finished(self, call: ToolCall, step: WorkerStep, message: Message) -> None:
        """The result goes to disk with the next intent or reply: until then the turn would run again anyway."""
        mask = self._run.parts.setup.mask
        shown = replace(step, summary=mask(step.summary))
        await self._run.append(ToolFinished(call.id, shown, replace(message, text=mask(message.text))), durable=False)

    async def observe(self, command: Coroutine[Any, Any, ObservedCommand]) -> ObservedCommand:
        run = self._run
        await run.look(self._by)
        before, turn = run.state.revision, run.state.turns_ended
        seen = await command
        await run.look(self._by)
        mask = run.parts.setup.mask
        kept = replace(seen, command=mask(seen.command), output=keep_ends(mask(seen.output), MAX_OBSERVED))
        await run.record(kept, before, turn=turn)
        return seen

    @property
    def _by(self) -> Any:
        return "person" if self._run.state.waits_for_person else "worker"
