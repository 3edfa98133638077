"""A model's help with writing a goal: proposed requirements, and hints on vague ones. The model proposes; a person
decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field

from donewhen.core.calls import Message
from donewhen.core.errors import ModelFailed
from donewhen.core.events import JudgeOptions
from donewhen.core.goal import Goal
from donewhen.judges import prompts
from donewhen.judges.conversation import Conversation, Form
from donewhen.judges.evidence_prompt import fenced
from donewhen.judges.excerpts import Lines, Normaliser, excerpt
from donewhen.judges.fencing import boundary
from donewhen.judges.reply import InvalidReply, Reply, reply_of
from donewhen.ports import Calls, Model

T = TypeVar("T")
MAX_PROPOSED = 8
MAX_SENTENCE = 300
_SPAN = re.compile(r"`+([^`\n]*)`+")
_PLAIN_SPAN = re.compile(r"[\w./*-]+(?:\(\))?|--?[\w-]+")
_RUNS = re.compile(r"`\s*(?:passes|succeeds|is\s+clean|exits\b)")


async def propose_requirements(
    model: Model,
    objective: str,
    files: Sequence[str],
    checks: Sequence[str],
    calls: Calls,
    mask: Callable[[str], str] | None = None,
) -> list[str]:
    """At most 8 requirements of one sentence each, for a person to edit; they name no commands other than `checks`.
    Raises ModelFailed, OverBudget."""
    clean = Normaliser(mask=mask)
    body = {
        "objective": Lines.of(clean.clean_text(objective)),
        "checks": Lines([clean.clean_text(check) for check in checks[:40]]),
        "files": Lines([clean.clean_text(path) for path in files[:2_000]]),
    }
    marks = frozenset(("requirements",))
    form = Form(prompts.PROPOSE, prompts.PROPOSE_SCHEMA, marks, lambda value: _proposals(value, checks))
    return await _asked_once(model, form, body, calls)


async def hints(
    model: Model, goal: Goal, calls: Calls, mask: Callable[[str], str] | None = None
) -> list[tuple[str, str]]:
    """What to add to requirements that are too vague to judge: requirement id and one sentence, in the order of the
    goal. Raises ModelFailed, OverBudget."""
    clean = Normaliser(mask=mask)
    lines = [f"{one.label}: {' / '.join((one.text, *one.details))}" for one in goal.requirements]
    body = {
        "objective": Lines.of(clean.clean_text(f"{goal.title}\n{goal.objective}")),
        "requirements": Lines([clean.clean_text(" ".join(line.split())) for line in lines]),
    }
    form = Form(prompts.HINTS, prompts.HINTS_SCHEMA, frozenset(("hints",)), lambda value: _hints(value, goal))
    return await _asked_once(model, form, body, calls)


async def _asked_once(model: Model, form: Form[T], body: Mapping[str, Lines], calls: Calls) -> T:
    shown = {name: excerpt(lines, 8_000, head=0.9, tail=0.05) for name, lines in body.items()}
    token = boundary(shown.values())
    blocks = [fenced(token, f'kind="{name}"', (), text) for name, text in shown.items()]
    first = (Message("system", form.instructions), Message("user", "\n".join([f"The boundary is {token}.", *blocks])))
    options = JudgeOptions((model.name,), calls=0)
    result = await Conversation(model, options, calls, form, 8_000).run(first)
    if result.value is None:
        raise ModelFailed(f"{model.name} gave no usable answer: {result.problem}")
    return result.value


class _Proposals(Reply):
    requirements: Annotated[list[str], Field(max_length=MAX_PROPOSED)]


class _Hint(Reply):
    id: str
    hint: str


class _Hints(Reply):
    hints: list[_Hint]


def _proposals(value: Mapping[str, Any], checks: Sequence[str]) -> list[str]:
    """The sentences without code spans that could run as a check, unless they are detected checks."""
    texts = [_sentence(one, "each requirement") for one in reply_of(_Proposals, value).requirements]

    def kept(match: re.Match[str]) -> str:
        said = match[1].strip()
        runs = _RUNS.match(match.string, match.end() - 1) is not None
        harmless = _PLAIN_SPAN.fullmatch(said) is not None and not runs
        return match[0] if said in checks or harmless else said

    return list(dict.fromkeys(_SPAN.sub(kept, text) for text in texts))


def _hints(value: Mapping[str, Any], goal: Goal) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for one in reply_of(_Hints, value).hints:
        requirement = goal.requirement(one.id)
        if requirement is None or requirement.id in found:
            raise InvalidReply("each hint must have the `id` of a requirement, once")
        found[requirement.id] = _sentence(one.hint, "each hint")
    return [(one.id, found[one.id]) for one in goal.requirements if one.id in found]


def _sentence(text: str, what: str) -> str:
    """One line of plain text, without anything that Markdown would read as a list, a heading or a task."""
    if not text.strip() or len(text) > MAX_SENTENCE or not text.strip().isprintable():
        raise InvalidReply(f"{what} must be one sentence of at most {MAX_SENTENCE} characters, on one line")
    return re.sub(
        r"^(?:[-*+#>]+|\d+[.)]|\[[ xX]?\])\s*", "", re.sub(r"^[-*+]\s*\[[ xX]?\]\s*", "", text.strip())
    ).strip()
