"""The judge that asks a language model, strictly and on evidence alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from donewhen.core.errors import InvalidGoal, JudgeOutage, ModelFailed
from donewhen.core.events import JudgeOptions
from donewhen.judges import prompts
from donewhen.judges.auditing import Audit, Shares
from donewhen.judges.evidence_prompt import LEAST_PER_REQUIREMENT
from donewhen.judges.normalising import Normaliser
from donewhen.ports import AuditContext, Judgement, JudgeTask, Model
from donewhen.ports.judging import VerdictCache


class LlmJudge:
    """Audits with one model; each audit is a conversation of its own.

    `cache` keeps verdicts by all that the model was asked; `mask` takes secrets out; `member` tells
    members of a panel apart that share a model. Raises InvalidGoal
    for a token bound that is too small for any evidence.
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
        mended: set[str] = set()
        while True:
            try:
                return await self._asked(task, context, options)
            except ModelFailed as failure:
                adapted = None if failure.kind in mended else _adapted(options, failure)
                if adapted is None:
                    raise _outage(self._model.name, failure) from failure
                mended.add(failure.kind)
                options = adapted

    async def _asked(self, task: JudgeTask, context: AuditContext, options: JudgeOptions) -> Judgement:
        audit = Audit(
            self._model,
            options,
            task,
            context,
            Normaliser(context.root, task.run_id, self._mask),
            self._cache,
            self._member,
        )
        return await (audit.verdict() if task.claim is None else audit.claim())


def _adapted(options: JudgeOptions, failure: ModelFailed) -> JudgeOptions | None:
    """The options to try once more with: half the prompt where it was too long, no tools where they may be why the
    request was refused. None: it can't be fixed."""
    if failure.kind == "context":
        smaller = replace(options, tokens=options.tokens // 2)
        return smaller if Shares.of(smaller, prompts.REPLY).evidence >= LEAST_PER_REQUIREMENT else None
    if failure.kind == "refused" and options.calls:
        return replace(options, calls=0)
    return None


def _outage(model: str, failure: ModelFailed) -> JudgeOutage:
    said = str(failure)
    if failure.kind == "context":
        said = f"the prompt is too long for it ({failure}): choose a model with a larger window, or fewer judge tokens"
    return JudgeOutage(f"{model}: {said}", final=failure.kind != "outage")
