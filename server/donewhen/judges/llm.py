"""The judge that asks a language model, strictly, and on evidence alone."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from donewhen.core.calls import Message
from donewhen.core.errors import InvalidGoal, JudgeOutage, ModelFailed, WorkspaceError
from donewhen.core.events import JudgeOptions
from donewhen.core.evidence import Evidence, ObservedResponse
from donewhen.core.goal import Requirement
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.words import byte_length
from donewhen.core.work import Usage
from donewhen.judges import prompts
from donewhen.judges.blocks import Material, files_named_by
from donewhen.judges.conversation import Conversation, ConversationResult, Form
from donewhen.judges.evidence_prompt import (
    BYTES_PER_TOKEN,
    LEAST_OF_CLAIM,
    LEAST_PER_REQUIREMENT,
    Question,
    batches,
    question,
)
from donewhen.judges.excerpts import Normaliser
from donewhen.judges.reply import (
    CLAIM_MARKS,
    VERDICT_MARKS,
    Citable,
    InvalidReply,
    ReadVerdict,
    only_object,
    read_claim,
    read_verdict,
)
from donewhen.judges.tools import JudgeTools
from donewhen.ports import AuditContext, Judgement, JudgeTask, Model
from donewhen.ports.proving import VerdictCache


class LlmJudge:
    """Audits with one model; each audit is its own conversation.

    `cache` keeps verdicts by everything that the model was asked; `mask` removes secrets; `member` distinguishes panel
    members that share a model. Raises InvalidGoal for a token limit that is too small for any evidence.
    """

    def __init__(
        self,
        model: Model,
        options: JudgeOptions,
        *,
        cache: VerdictCache | None = None,
        mask: Callable[[str], str] | None = None,
        member: int = 0,
    ) -> None:
        self._model = model
        self._options = options
        self._cache = cache
        self._mask = mask
        self._member = member
        if Shares.of(options, prompts.REPLY).evidence < 2 * LEAST_PER_REQUIREMENT:
            raise InvalidGoal(
                f"the judge's prompt of {options.tokens} tokens leaves no room for evidence: allow more tokens"
                + (", or shorten the judge's prompt" if options.prompt else "")
            )

    @property
    def identity(self) -> str:
        options = self._options
        digest = hashlib.sha256(f"{prompts.PROMPT_VERSION}\0{options.prompt or ''}".encode()).hexdigest()[:8]
        temperature = "" if options.temperature is None else f", temperature {options.temperature:g}"
        return f"{self._model.name} (prompt {digest}{temperature})"

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        """The model's verdict on every requirement of the task, or its answer to the task's claim. Raises JudgeOutage
        and OverBudget."""
        options = self._options
        if task.goal.about == "response" and not context.files():
            options = replace(options, calls=0)  # there is nowhere to look
        normaliser = Normaliser(context.root, task.run_id, self._mask)
        mended: set[str] = set()
        while True:
            audit = Audit(self._model, options, task, context, normaliser, self._cache, self._member)
            try:
                return await (audit.verdict() if task.claim is None else audit.claim())
            except ModelFailed as failure:
                adapted = None if failure.kind in mended else _adapted(options, failure)
                if adapted is None:
                    raise _outage(self._model.name, failure) from failure
                mended.add(failure.kind)
                options = adapted


def _adapted(options: JudgeOptions, failure: ModelFailed) -> JudgeOptions | None:
    """The options for one more attempt: half the prompt if it was too long, no tools if they may be why the request was
    refused. None: it can't be fixed."""
    if failure.kind == "too_long":
        smaller = replace(options, tokens=options.tokens // 2)
        return smaller if Shares.of(smaller, prompts.REPLY).evidence >= LEAST_PER_REQUIREMENT else None
    if failure.kind == "refused" and options.calls:
        return replace(options, calls=0)
    return None


def _outage(model: str, failure: ModelFailed) -> JudgeOutage:
    said = str(failure)
    if failure.kind == "too_long":
        said = f"the prompt is too long for it ({failure}): choose a model with a larger window, or fewer judge tokens"
    # Whatever may pass was waited for: the run pauses.
    return JudgeOutage(f"{model}: {said}", final=True, trouble=replace(failure.trouble("judge", model), said=said))


# Reads what a judge is shown, before the question is made from it.


MAX_NAMED = 8
MAX_CHANGED = 16
MAX_FILES = 60


async def gather(
    task: JudgeTask,
    requirements: tuple[Requirement, ...],
    context: AuditContext,
    normaliser: Normaliser,
    diff: str,
    looks: bool,
) -> Material:
    """The material for these requirements, including the files worth showing. `looks`: the judge may look."""
    evidence = task.evidence
    if task.goal.about != "response":  # a response would prove nothing then, yet persuade
        evidence = tuple(one for one in evidence if not isinstance(one.observation, ObservedResponse))
    files, changed = tuple(context.files()), tuple(await context.changed())
    named = MAX_NAMED if task.kept else MAX_FILES  # a judge that is asked alone sees the files that it was given
    chosen = await asyncio.to_thread(chosen_files, requirements, files, changed, named)
    contents: dict[str, bytes] = {}
    for path in chosen:
        try:
            contents[path] = await context.read(path)
        except WorkspaceError:
            continue  # it has changed, or can't be read, so it is not evidence
    return Material(
        requirements,
        task.revision,
        evidence,
        files,
        tuple(sorted(changed)),
        diff,
        contents,
        normaliser,
        task.cited,
        looks,
    )


def chosen_files(
    requirements: Sequence[Requirement], files: Sequence[str], changed: Sequence[str], most: int = MAX_NAMED
) -> tuple[str, ...]:
    """For each requirement the files that it names, and the changed files. The number is limited; each requirement's
    first choice precedes any second choice."""
    new = frozenset(changed)
    moved = sorted(new.intersection(files))[:MAX_CHANGED]
    choices = [files_named_by(one, files, new)[:most] for one in requirements]
    in_turn = [choice[place] for place in range(most) for choice in choices if place < len(choice)]
    return tuple(dict.fromkeys((*in_turn[: MAX_FILES - len(moved)], *moved)))


# One audit by a model: its questions, the record of what they show, the replies, and the cached verdicts.


T = TypeVar("T")
_FOR_LOOKS = 0.2
_FOR_CORRECTION = 0.08


@dataclass(frozen=True, slots=True)
class Shares:
    """How the limit on the whole prompt is divided, in bytes: `evidence` for the question, `more` for later additions
    to the conversation."""

    evidence: int
    more: int

    @classmethod
    def of(cls, options: JudgeOptions, reply: str) -> Shares:
        whole = int(options.tokens * BYTES_PER_TOKEN)
        system = byte_length(prompts.system_prompt(options.prompt, reply, options.calls))
        schemas = len(json.dumps(prompts.VERDICT_SCHEMA))
        tools = sum(len(json.dumps(tool.parameters)) + 120 for tool in prompts.LOOKING_TOOLS) if options.calls else 0
        more = int(whole * (_FOR_CORRECTION + (_FOR_LOOKS if options.calls else 0)))
        return cls(whole - system - schemas - tools - more - 200, more)


@dataclass(frozen=True, slots=True)
class _Part:
    """The result of one question: findings for its requirements."""

    findings: tuple[RequirementVerdict, ...]
    reason: str = ""
    cached: bool = False
    shown: tuple[str, ...] | None = None


@dataclass(slots=True)
class Audit:
    """One task, put to one model under one set of options. Raises ModelFailed and OverBudget."""

    model: Model
    options: JudgeOptions
    task: JudgeTask
    context: AuditContext
    normaliser: Normaliser
    cache: VerdictCache | None
    member: int

    async def verdict(self) -> Judgement:
        if not self.task.requirements:
            return Judgement(Verdict(()), Usage())
        shares = Shares.of(self.options, prompts.REPLY)
        diff = await self.context.diff()
        parts = [
            await self._judge_batch(batch, shares, diff) for batch in batches(self.task.requirements, shares.evidence)
        ]
        reasons = tuple(dict.fromkeys(part.reason for part in parts if part.reason))
        if all(part.reason for part in parts):
            return Judgement(None, Usage(), reason="; ".join(reasons))
        # The shown files of a requirement, if it names files and the model saw no other files and no names of others.
        named = {requirement.id for requirement in self.task.requirements if requirement.files}
        shown: dict[str, tuple[str, ...]] = {}
        for part in parts:
            if part.shown is not None:
                shown.update((one.requirement_id, part.shown) for one in part.findings if one.requirement_id in named)
        return Judgement(
            Verdict(tuple(finding for part in parts for finding in part.findings)),
            Usage(),
            reason="; ".join(reasons),
            shown=shown,
            cached=all(part.cached for part in parts),
        )

    async def _judge_batch(self, batch: tuple[Requirement, ...], shares: Shares, diff: str) -> _Part:
        asked = await self._question(batch, shares, diff)
        citable = await self._recorded(asked)
        labels = {one.id: one.label for one in batch}
        form: Form[ReadVerdict] = Form(
            prompts.REPLY,
            prompts.VERDICT_SCHEMA,
            VERDICT_MARKS,
            lambda value: read_verdict(value, citable),
            lambda read: "; ".join(f"{labels[key]}: {fault}" for key, fault in read.faults.items()),
        )
        first = self._first(asked, form.instructions)
        key = self._cache_key(first)
        # Files outside of the workspace may differ each time, although the prompt is the same.
        cache = self.cache if self.task.kept and not any(one.external for one in batch) else None
        raw = None if cache is None else await asyncio.to_thread(cache.get, key)
        known = None if raw is None else _reread(raw, citable)
        if known is not None:
            return _Part(known.findings, cached=True, shown=asked.paths)
        result, tools = await self._converse(first, asked, citable, form, shares)
        if result.value is None:
            reason = f"the judge's reply could not be used: {result.problem}"
            unusable = tuple(RequirementVerdict(r.id, "unverified", reason) for r in batch)
            return _Part(unusable, reason)
        if cache is not None and not result.problem and not tools.used:
            await asyncio.to_thread(cache.put, key, result.raw)
        # The files that the model saw; None if it also saw which files exist.
        shown = None if asked.paths is None or tools.roamed else tuple(dict.fromkeys((*asked.paths, *tools.paths)))
        return _Part(result.value.verdict.findings, shown=shown)

    async def claim(self) -> Judgement:
        """Whether the evidence confirms the worker's claim; None if that isn't clear."""
        shares = Shares.of(self.options, prompts.CLAIM_REPLY)
        some = (self.task.requirements or self.task.goal.requirements)[: max(shares.evidence // LEAST_OF_CLAIM, 1)]
        asked = await self._question(some, shares, await self.context.diff())
        citable = await self._recorded(asked)
        form: Form[Judgement] = Form(
            prompts.CLAIM_REPLY, prompts.CLAIM_SCHEMA, CLAIM_MARKS, lambda value: read_claim(value, citable)
        )
        result, _ = await self._converse(self._first(asked, form.instructions), asked, citable, form, shares)
        return result.value or Judgement(None, Usage(), reason=f"the judge's reply could not be used: {result.problem}")

    async def _question(self, batch: tuple[Requirement, ...], shares: Shares, diff: str) -> Question:
        material = await gather(self.task, batch, self.context, self.normaliser, diff, self.options.calls > 0)
        return await asyncio.to_thread(question, self.task, material, shares.evidence)

    async def _recorded(self, asked: Question) -> Citable:
        """Records what the question shows, and maps the prompt's ids to the recorded evidence."""
        names = {name: one.id for one in asked.requirements for name in (one.label, one.id)}
        others = {name for one in self.task.goal.requirements for name in (one.label, one.id)} - set(names)
        citable = Citable(names, others=frozenset(others))
        for key, source in asked.sources.items():
            evidence = source if isinstance(source, Evidence) else await self.context.record(source)
            citable.add(key, evidence, self.task.revision)
        return citable

    def _first(self, asked: Question, reply: str) -> tuple[Message, ...]:
        system = prompts.system_prompt(self.options.prompt, reply, self.options.calls)
        return Message("system", system), Message("user", asked.text)

    async def _converse(
        self, first: tuple[Message, ...], asked: Question, citable: Citable, form: Form[T], shares: Shares
    ) -> tuple[ConversationResult[T], JudgeTools]:
        tools = JudgeTools(self.task, self.context, self.normaliser, asked.token, citable, asked.sources)
        conversation = Conversation(
            self.model, self.options, self.context.calls, form, shares.more, tools if self.options.calls else None
        )
        return await conversation.run(first), tools

    def _cache_key(self, first: tuple[Message, ...]) -> str:
        """A digest of everything that the model is asked; nothing else determines its answer."""
        said = [prompts.PROMPT_VERSION, self.model.name, repr(self.options), str(self.member)]
        said += [f"{message.role}\0{message.text}" for message in first]
        digest = hashlib.sha256()
        for one in said:
            digest.update(hashlib.sha256(one.encode("utf-8", "replace")).digest())
        return digest.hexdigest()


def _reread(raw: str, citable: Citable) -> Verdict | None:
    """A verdict from the cache; None if its citations don't hold here."""
    try:
        read = read_verdict(only_object(raw, VERDICT_MARKS), citable)
    except InvalidReply:
        return None
    return None if read.faults else read.verdict
