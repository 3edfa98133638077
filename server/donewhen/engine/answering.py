"""Which answers an interrupt accepts."""

from __future__ import annotations

from typing import Any, cast

from donewhen.core.errors import WrongAnswer
from donewhen.core.feedback import MASK
from donewhen.core.work import Answer, Interrupt, Remember, ResponseKind


def checked_answer(asked: Interrupt, response: str, text: str, given: Any, reason: str, remember: str = "") -> Answer:
    """The answer, if the interrupt takes one of that kind. A false-like text is an answer."""
    kinds = {"approve", "deny", "text", "edit"} if asked.kind == "approval" else {"approve", "deny", "text"}
    if asked.about == "start":
        kinds = {"approve", "deny"}
    if asked.about == "findings":
        kinds = {*kinds, "end"}
    if response not in kinds:
        raise WrongAnswer(f"{asked.id} is answered with {', '.join(sorted(kinds))}, not {response!r}")
    if response == "edit" and not isinstance(given, dict):
        raise WrongAnswer(f"editing {asked.id} needs the new input")
    replaced = cast("dict[str, Any] | None", given)
    if response == "edit" and MASK in f"{replaced}{text}" and MASK in f"{asked.input}":
        raise WrongAnswer(
            f"{asked.id} contains a secret, which is shown as {MASK}; sending that back would replace the secret. "
            "Approve or deny it as it is, or put something else in the secret's place, such as a variable"
        )
    return Answer(cast("ResponseKind", response), text, replaced, reason, _remembered(asked, response, remember))


def _remembered(asked: Interrupt, response: str, remember: str) -> Remember:
    """What is kept of an approval. Raises WrongAnswer if nothing can be."""
    if remember not in ("", "run", "workspace"):
        raise WrongAnswer(f"{asked.id} can be approved for the run or the workspace, not {remember!r}")
    if remember and response != "approve":
        raise WrongAnswer(f"only `approve` can be kept for the {remember}, not {response!r}: {asked.id} is still open")
    if remember and not asked.remembers:
        raise WrongAnswer(f"{asked.id} is asked each time: answer it without keeping the answer for the {remember}")
    return remember
