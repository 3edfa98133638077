"""Which forms of question a run asks, and how each is answered: the table that terminal, editors and library read.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from donewhen.core.errors import WrongAnswer
from donewhen.core.feedback import MASK
from donewhen.core.work import Answer, Interrupt, InterruptKind, Remember, ResponseKind

WAITS = "waits for a person"
"""How the reason of a run that paused itself because nobody is there to be asked begins."""
ANSWERED = "everything that was asked is answered"
"""The reason of that pause from then on."""


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """A button, and the answer that it stands for. `detail` says what it does, where its label doesn't."""

    label: str
    response: ResponseKind
    detail: str = ""
    text: str = ""
    remember: Remember = ""

    @property
    def answer(self) -> Answer:
        return Answer(self.response, self.text, remember=self.remember)


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How one form of question is answered. `choices` are its buttons; the one without effects comes first, because
    some editors take the first for RET, even if a person was typing just then. `also` are kinds of answers without a
    button. `words`: a text is an answer by itself, without saying that it is one. `hint` lists the answers."""

    choices: tuple[AnswerChoice, ...]
    hint: str
    also: tuple[ResponseKind, ...] = ()
    words: bool = False

    @property
    def takes(self) -> frozenset[ResponseKind]:
        return frozenset((*(one.response for one in self.choices), *self.also))

    @property
    def asks_for_words(self) -> bool:
        """It is answered in words: there is nothing to approve."""
        return "approve" not in self.takes


_KEPT = "You won’t be asked about exactly this again"
REMEMBERED = (
    AnswerChoice("Approve for this run", "approve", f"{_KEPT} until the run ends", remember="run"),
    AnswerChoice(
        "Always in this workspace",
        "approve",
        f"{_KEPT} in this workspace; kept for you, not in its files",
        remember="workspace",
    ),
)
"""What is offered besides where an approval may be kept (`Interrupt.remembers`)."""

_GIVEN_UP = AnswerForm(
    (AnswerChoice("Go on", "deny"), AnswerChoice("End the run", "approve")),
    "`approve` to end the run, `deny [REASON]` to have the worker go on, or text for the worker",
    words=True,
    also=("text",),
)
APPROVAL = AnswerForm(
    (AnswerChoice("Deny", "deny"), AnswerChoice("Approve", "approve")),
    "`approve`{kept}, `deny [REASON]`, `{edit}`, or `text TEXT` for the worker instead of doing it",
    also=("edit", "text"),
)
QUESTION = AnswerForm(
    (AnswerChoice("No", "text", text="no"), AnswerChoice("Yes", "text", text="yes")),
    "your answer as text, or `deny` to have the worker go on without one",
    also=("deny",),
    words=True,
)
FORMS: Mapping[str, AnswerForm] = {
    "start": AnswerForm(
        (AnswerChoice("Don't start", "deny"), AnswerChoice("Start", "approve")),
        "`yes` to start it, `no`{enter} not to",
    ),
    "requirement": AnswerForm(
        (
            AnswerChoice("Leave it unproven", "deny"),
            AnswerChoice("Waive", "approve", "Your word takes the place of proof"),
        ),
        "`approve [REASON]` to waive it, `deny` to leave it unproven, or a check below it in the goal file",
        # A note for the judge. It has to be said that it is one: a remark must not be taken for yes or no.
        also=("text",),
    ),
    "findings": AnswerForm(
        (
            AnswerChoice("Have the worker undo it", "deny"),
            AnswerChoice("Accept all", "approve"),
            AnswerChoice("End the run", "end", "Nothing is accepted; the run can be resumed later"),
        ),
        "`approve [REASON]` to accept it, `deny [WHAT TO DO]` to have the worker undo it, or `end` to end the run",
        also=("text",),
        words=True,
    ),
    "restore": AnswerForm(
        (AnswerChoice("Keep them", "approve"), AnswerChoice("Discard them", "deny")),
        "`approve` to keep them, or `deny` to put the files back",
    ),
    "claim:blocked": _GIVEN_UP,
    "claim:impossible": _GIVEN_UP,
}
"""By what the question is about, or the part of that before its colon. Any other is an approval or a question of a
worker or plugin, as its kind says."""


def answer_form(kind: InterruptKind, about: str) -> AnswerForm:
    """How a question of that kind, about that, is answered."""
    known = FORMS.get(about) or FORMS.get(about.partition(":")[0])
    return known or (APPROVAL if kind == "approval" else QUESTION)


def form_of(asked: Interrupt) -> AnswerForm:
    return answer_form(asked.kind, asked.about)


def answer_choices(kind: InterruptKind, about: str, *, remembers: bool) -> tuple[AnswerChoice, ...]:
    """The buttons of such a question. Editing a command, and answering in words, is apart from them."""
    return (*answer_form(kind, about).choices, *(REMEMBERED if remembers else ()))


def yes_or_no(asked: Interrupt | None, *, yes: bool) -> Answer:
    """What a plain yes or no means to a question; to one that isn't known, it approves or denies."""
    if asked is not None and form_of(asked).asks_for_words:
        return Answer("text", "yes" if yes else "no")
    return Answer("approve" if yes else "deny")


def answers_hint(asked: Interrupt, *, typed: bool = False) -> str:
    """The answers that it takes, in a line. `typed`: at a prompt, where enter alone may be one."""
    kept = ", `r` to approve for this run, `w` to approve always in this workspace" if asked.remembers else ""
    edit = "edit COMMAND" if "command" in asked.input else "edit INPUT"
    return form_of(asked).hint.format(kept=kept, edit=edit, enter=" (or enter)" if typed else "")


def answers_usage(asked: Interrupt) -> str:
    """The answers that it takes, as words of `donewhen answer RUN_ID INTERRUPT_ID`."""
    form = form_of(asked)
    kinds = [kind for kind in get_args(ResponseKind) if kind in form.takes and kind not in ("edit", "text")]
    kinds += ["edit TEXT"] if "edit" in form.takes else []
    text = ["TEXT"] if form.words else ["text TEXT"] if "text" in form.takes else []
    listed = "|".join(["TEXT", *kinds] if form.asks_for_words else [*kinds, *text])
    return f"{listed} [--for run|workspace]" if asked.remembers else listed


def answer_example(asked: Interrupt) -> str:
    """One answer that it takes, as words of `donewhen answer RUN_ID INTERRUPT_ID`."""
    return "'YOUR ANSWER'" if form_of(asked).asks_for_words else "approve"


def checked_answer(asked: Interrupt, response: str, text: str, given: Any, reason: str, remember: str = "") -> Answer:
    """The answer, if the question takes one of that kind, with what is kept of an approval; a false-like text is an
    answer. Raises WrongAnswer."""
    kinds = form_of(asked).takes
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
    if remember not in ("", "run", "workspace"):
        raise WrongAnswer(f"{asked.id} can be approved for the run or the workspace, not {remember!r}")
    if remember and response != "approve":
        raise WrongAnswer(f"only `approve` can be kept for the {remember}, not {response!r}: {asked.id} is still open")
    if remember and not asked.remembers:
        raise WrongAnswer(f"{asked.id} is asked each time: answer it without keeping the answer for the {remember}")
    return Answer(response, text, replaced, reason, remember)
