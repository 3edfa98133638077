"""One audit by a model: its questions, what they show put on record, the replies, what is remembered of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import TypeVar

from donewhen.core.calls import Message
from donewhen.core.events import JudgeOptions
from donewhen.core.evidence import Evidence
from donewhen.core.goal import Requirement
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Usage
from donewhen.judges import prompts
from donewhen.judges.conversation import Conversation, Form, Held
from donewhen.judges.evidence_prompt import LEAST_OF_CLAIM, Asked, Question, batches, bytes_of, question
from donewhen.judges.excerpts import size
from donewhen.judges.gathering import gather
from donewhen.judges.looking import Looking
from donewhen.judges.normalising import Normaliser
from donewhen.judges.reply import (
    Citable,
    InvalidReply,
    ReadClaim,
    ReadVerdict,
    claim_object,
    only_object,
    read_claim,
    read_verdict,
)
from donewhen.ports import AuditContext, Judgement, JudgeTask, Model
from donewhen.ports.judging import VerdictCache

T = TypeVar("T")
_FOR_LOOKS = 0.2
_FOR_CORRECTION = 0.08


@dataclass(frozen=True, slots=True)
class Shares:
    """How the bound on the whole prompt is divided, in bytes: `evidence` for the question, `more` for what is added
    to the conversation later."""

    evidence: int
    more: int

    @classmethod
    def of(cls, options: JudgeOptions, reply: str) -> Shares:
        whole = bytes_of(options.tokens)
        system = size(prompts.system_prompt(options.prompt, reply, options.calls))
        schemas = len(json.dumps(prompts.VERDICT_SCHEMA))
        tools = sum(len(json.dumps(tool.parameters)) + 120 for tool in prompts.LOOKING_TOOLS) if options.calls else 0
        more = int(whole * (_FOR_CORRECTION + (_FOR_LOOKS if options.calls else 0)))
        return cls(whole - system - schemas - tools - more - 200, more)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one question gave: findings for its requirements."""

    findings: tuple[RequirementVerdict, ...]
    reason: str = ""
    cached: bool = False
    shown: tuple[str, ...] | None = None


@dataclass(slots=True)
class Audit:
    """One task, asked of one model under one set of options. Raises ModelFailed and OverBudget."""

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
        parts = [await self._part(batch, shares, diff) for batch in batches(self.task.requirements, shares.evidence)]
        reasons = tuple(dict.fromkeys(part.reason for part in parts if part.reason))
        if all(part.reason for part in parts):
            return Judgement(None, Usage(), reason="; ".join(reasons))
        findings = tuple(finding for part in parts for finding in part.findings)
        return Judgement(
            Verdict(findings),
            Usage(),
            reason="; ".join(reasons),
            shown=self._shown(parts),
            cached=all(part.cached for part in parts),
        )

    def _shown(self, parts: list[_Part]) -> dict[str, tuple[str, ...]]:
        """Files by requirement, where it names some and the model saw no others than these, nor names of others."""
        named = {requirement.id for requirement in self.task.requirements if requirement.files}
        return {
            finding.requirement_id: part.shown
            for part in parts
            if part.shown is not None
            for finding in part.findings
            if finding.requirement_id in named
        }

    async def _part(self, batch: tuple[Requirement, ...], shares: Shares, diff: str) -> _Part:
        asked = await self._question(batch, shares, diff)
        citable = await self._recorded(asked)
        form: Form[ReadVerdict] = Form(
            prompts.REPLY,
            prompts.VERDICT_SCHEMA,
            only_object,
            lambda value: read_verdict(value, citable),
            lambda read: "; ".join(f"{self._label(key)}: {fault}" for key, fault in read.faults.items()) or None,
        )
        first = self._first(asked, form.instructions)
        key = self._key(first)
        # What is outside of the workspace is another each time, though the prompt is the same.
        kept = self.task.kept and not any(one.external for one in batch)
        known = await self._remembered(key, form) if kept else None
        if known is not None:
            return _Part(known.verdict.findings, cached=True, shown=asked.paths)
        held, looking = await self._held(first, asked, citable, form, shares)
        if held.value is None:
            reason = f"the judge's reply could not be used: {held.problem}"
            unusable = tuple(RequirementVerdict(r.id, "unverified", reason) for r in batch)
            return _Part(unusable, reason)
        if (
            kept
            and not held.problem
            and not looking.paths
            and not looking.roamed
            and not looking.read
            and len(citable.evidence) == len(asked.sources)
        ):
            await self._remember(key, held.raw)
        return _Part(held.value.verdict.findings, shown=_seen(asked, looking))

    async def claim(self) -> Judgement:
        """Whether the evidence confirms the worker's claim; None if that isn't clear."""
        shares = Shares.of(self.options, prompts.CLAIM_REPLY)
        some = (self.task.requirements or self.task.goal.requirements)[: max(shares.evidence // LEAST_OF_CLAIM, 1)]
        asked = await self._question(some, shares, await self.context.diff())
        citable = await self._recorded(asked)
        form: Form[ReadClaim] = Form(
            prompts.CLAIM_REPLY,
            prompts.CLAIM_SCHEMA,
            claim_object,
            lambda value: read_claim(value, citable),
            lambda _: None,
        )
        held, _ = await self._held(self._first(asked, form.instructions), asked, citable, form, shares)
        if held.value is None:
            return Judgement(None, Usage(), reason=f"the judge's reply could not be used: {held.problem}")
        said = held.value
        return Judgement(None, Usage(), reason=said.reason, confirmed=said.confirmed, evidence_ids=said.evidence_ids)

    async def _question(self, batch: tuple[Requirement, ...], shares: Shares, diff: str) -> Question:
        material = await gather(self.task, batch, self.context, self.normaliser, diff, self.options.calls > 0)
        asked = Asked(self.task.goal, self.task.disputes, self.task.claim, self.task.messages)
        return await asyncio.to_thread(question, asked, material, shares.evidence)

    async def _recorded(self, asked: Question) -> Citable:
        """Puts on record what the question shows. Ids of the prompt stand for what is on record."""
        real: dict[str, str] = {}
        old: set[str] = set()
        for source in asked.sources:
            known = source.evidence
            evidence = known if isinstance(known, Evidence) else await self.context.record(known)
            real[source.id] = evidence.id
            if not evidence.fresh(self.task.revision):
                old.add(source.id)
        names = {name: one.id for one in asked.requirements for name in (one.label, one.id)}
        others = {name for one in self.task.goal.requirements for name in (one.label, one.id)} - set(names)
        return Citable(names, real, old, frozenset(others))

    def _first(self, asked: Question, reply: str) -> tuple[Message, ...]:
        system = prompts.system_prompt(self.options.prompt, reply, self.options.calls)
        return Message("system", system), Message("user", asked.text)

    async def _held(
        self, first: tuple[Message, ...], asked: Question, citable: Citable, form: Form[T], shares: Shares
    ) -> tuple[Held[T], Looking]:
        sources = {source.id: source.evidence for source in asked.sources}
        looking = Looking(self.task, self.context, self.normaliser, asked.token, citable.evidence, citable.old, sources)
        conversation = Conversation(
            self.model, self.options, self.context.calls, form, shares.more, looking if self.options.calls else None
        )
        return await conversation.hold(first), looking

    def _key(self, first: tuple[Message, ...]) -> str:
        """Digest of all that the model is asked; nothing else decides what it would say."""
        said = [prompts.PROMPT_VERSION, self.model.name, repr(self.options), str(self.member)]
        said += [f"{message.role}\0{message.text}" for message in first]
        digest = hashlib.sha256()
        for one in said:
            digest.update(hashlib.sha256(one.encode("utf-8", "replace")).digest())
        return digest.hexdigest()

    async def _remembered(self, key: str, form: Form[ReadVerdict]) -> ReadVerdict | None:
        raw = None if self.cache is None else await asyncio.to_thread(self.cache.get, key)
        if raw is None:
            return None
        try:
            read = form.read(form.find(raw))
        except InvalidReply:
            return None
        return None if read.faults else read

    async def _remember(self, key: str, raw: str) -> None:
        if self.cache is not None:
            await asyncio.to_thread(self.cache.put, key, raw)

    def _label(self, requirement_id: str) -> str:
        found = self.task.goal.requirement(requirement_id)
        return found.label if found is not None else requirement_id


def _seen(asked: Question, looking: Looking) -> tuple[str, ...] | None:
    """The files that the model saw; None if it also saw which files there are."""
    if asked.paths is None or looking.roamed:
        return None
    return tuple(dict.fromkeys((*asked.paths, *looking.paths)))
