"""Every form of question, and how it is answered on the command line, in editors and by the library: one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import pytest

from donewhen.cli.questions import given_answer, typed_answer
from donewhen.core.answers import (
    answer_choices,
    answer_example,
    answers_hint,
    answers_usage,
    checked_answer,
    form_of,
    yes_or_no,
)
from donewhen.core.errors import UsageError, WrongAnswer
from donewhen.core.work import Answer, Interrupt, ResponseKind
from donewhen.library.handles import answer_of
from tests.tools import each_row
from tests.wire.test_view import asked as shown
from tests.wire.test_view import interrupt


@dataclass(frozen=True)
class Form:
    """`asked`: the question; `takes`: the kinds of answers; `usage`: as `donewhen answer` takes them; `buttons` of a
    message, the safe one first; `listed` in VS Code; `bare`: what a plain remark is, None: refused."""

    asked: Interrupt
    takes: str
    usage: str
    buttons: dict[str, Answer]
    listed: list[str]
    bare: Answer | None = None


REMARK = "the second one, please"
SAID = Answer("text", text=REMARK)
NO, YES, END = Answer("deny"), Answer("approve"), Answer("end")
RUN_X = {"command": "make"}


def question(about: str) -> Interrupt:
    return Interrupt("I1", "question", "Which?", about)


GIVEN_UP = {"Go on": NO, "End the run": YES}
IN_WORDS = {"No": Answer("text", text="no"), "Yes": Answer("text", text="yes")}
TOOL = Interrupt("I1", "approval", "Run?", "tool:run_command", "run_command", RUN_X, "make")
FORMS = {
    "approval": Form(TOOL, "approve deny edit text", "approve|deny|edit TEXT|text TEXT", {"Deny": NO, "Approve": YES},
                     ["Approve", "Deny"]),
    "approval that may be kept": Form(
        Interrupt("I1", "approval", "Run?", "tool:run_command", "run_command", RUN_X, "make", remembers=True),
        "approve deny edit text", "approve|deny|edit TEXT|text TEXT [--for run|workspace]",
        {"Deny": NO, "Approve": YES, "Approve for this run": Answer("approve", remember="run"),
         "Always in this workspace": Answer("approve", remember="workspace")},
        ["Approve", "Approve for This Run", "Always in This Workspace", "Deny"]),
    "approval of a plugin": Form(Interrupt("I1", "approval", "Spend more?", "plugin:budget"), "approve deny edit text",
                                 "approve|deny|edit TEXT|text TEXT", {"Deny": NO, "Approve": YES}, ["Approve", "Deny"]),
    "start": Form(Interrupt("I1", "approval", "Start this run?", "start"), "approve deny", "approve|deny",
                  {"Don't start": NO, "Start": YES}, ["Start", "Don't Start"]),
    "question of a worker": Form(question("worker"), "text deny", "TEXT|deny", IN_WORDS, ["Yes", "No"], SAID),
    "question at the end": Form(question("claim:question"), "text deny", "TEXT|deny", IN_WORDS, ["Yes", "No"], SAID),
    "question of a plugin": Form(question("plugin:office"), "text deny", "TEXT|deny", IN_WORDS, ["Yes", "No"], SAID),
    "question of a tool": Form(question("tool:ask"), "text deny", "TEXT|deny", IN_WORDS, ["Yes", "No"], SAID),
    "blocked": Form(question("claim:blocked"), "approve deny text", "approve|deny|TEXT", GIVEN_UP,
                    ["End the Run", "Go On"], SAID),
    "impossible": Form(question("claim:impossible"), "approve deny text", "approve|deny|TEXT", GIVEN_UP,
                       ["End the Run", "Go On"], SAID),
    "requirement": Form(question("requirement:r-1"), "approve deny text", "approve|deny|text TEXT",
                        {"Leave it unproven": NO, "Waive": YES},
                        ["Add Check", "Choose Judge", "Leave It Unproven", "Waive"]),
    "findings, a changed goal file among them": Form(
        question("findings"), "approve deny text end", "approve|deny|end|TEXT",
        {"Have the worker undo it": NO, "Accept all": YES, "End the run": END},
        ["Accept All", "End the Run", "Have the Worker Undo It"], SAID),
    "edits since a turn was cut off": Form(question("restore"), "approve deny", "approve|deny",
                                           {"Keep them": YES, "Discard them": NO}, ["Keep Them", "Discard Them"]),
}  # fmt: skip
KINDS: tuple[ResponseKind, ...] = get_args(ResponseKind)
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@every_form
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_takes_what_its_question_asks_for_and_nothing_else(form: Form, kind: ResponseKind) -> None:
    """Whatever front end it comes from: each ends here."""
    given: dict[str, Any] | None = {"command": "ls"} if kind == "edit" else None
    if kind in form.takes.split():
        assert checked_answer(form.asked, kind, "words", given, "").response == kind
    else:
        with pytest.raises(WrongAnswer) as refused:
            checked_answer(form.asked, kind, "words", given, "")
        assert f"is answered with {', '.join(sorted(form.takes.split()))}, not" in str(refused.value)


def test_enter_is_an_answer_at_a_prompt_alone() -> None:
    asked = FORMS["start"].asked
    assert answers_hint(asked, typed=True) == "`yes` to start it, `no` (or enter) not to"
    assert answers_hint(asked) == "`yes` to start it, `no` not to"


@every_form
def test_the_command_line_offers_what_is_taken_and_the_example_works(form: Form) -> None:
    assert answers_usage(form.asked) == form.usage
    assert taken(form.asked, given_answer(answer_example(form.asked).strip("'"), None, form.asked))


@every_form
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("text", "edit")])
def test_a_kind_of_answer_by_its_name_is_taken_or_refused_with_what_is_taken(form: Form, kind: ResponseKind) -> None:
    if kind in form.takes.split():
        assert given_answer(kind, None, form.asked) == typed_answer(kind, form.asked) == Answer(kind)
    else:
        with pytest.raises(UsageError) as refused:
            given_answer(kind, None, form.asked)
        assert str(refused.value) == f"answer I1 with {answers_hint(form.asked)}"


@every_form
def test_a_plain_remark_is_an_answer_only_where_one_is_asked_for(form: Form) -> None:
    word, _, rest = REMARK.partition(" ")
    if form.bare is None:
        with pytest.raises(UsageError):
            given_answer(word, rest, form.asked)
    else:
        assert given_answer(word, rest, form.asked) == typed_answer(REMARK, form.asked) == form.bare
        assert given_answer("EUR", None, form.asked) == Answer("text", text="EUR")


@every_form
def test_the_buttons_of_a_message_are_taken_and_the_safe_one_comes_first(form: Form) -> None:
    one = form.asked
    buttons = answer_choices(one.kind, one.about, remembers=one.remembers)
    assert {button.label: button.answer for button in buttons} == form.buttons
    assert [button.label for button in buttons] == list(form.buttons)
    assert all(taken(one, button.answer) for button in buttons)


@every_form
def test_the_choices_of_vs_code_are_taken(form: Form) -> None:
    one = form.asked
    view = shown(interrupt(kind=one.kind, about=one.about, input=dict(one.input), remembers=one.remembers))
    assert [view.choices[at].label for at in view.listed] == form.listed
    for choice in view.choices:
        if choice.response is not None:
            assert taken(one, Answer(choice.response, choice.text, remember=choice.remember or ""))
    assert view.words == (form.bare is not None)
    assert view.open == form_of(one).asks_for_words
    assert (view.edits is not None) == ("edit" in form.takes and "command" in one.input)


@every_form
@pytest.mark.parametrize("yes", [True, False])
def test_a_plain_yes_or_no_of_the_library_is_taken(form: Form, yes: bool) -> None:
    answer = answer_of(yes, form.asked)
    assert taken(form.asked, answer)
    assert answer == yes_or_no(form.asked, yes=yes)
    assert answer in form.buttons.values()


@each_row(
    "words, answer",
    [
        (("deny", "all", "of", "them"), Answer("text", text="deny all of them")),
        (("a",), Answer("text", text="a")),
        (("no",), Answer("text", text="no")),
        (("text", "deny"), Answer("text", text="deny")),
        (("Approve", "it"), Answer("text", text="Approve it")),
    ],
)
def test_an_answer_in_words_may_begin_with_any_word(words: tuple[str, ...], answer: Answer) -> None:
    assert given_answer(words[0], " ".join(words[1:]) or None, question("claim:question")) == answer


@each_row("asked, response", [(FORMS["approval that may be kept"].asked, "deny"), (question("worker"), "text")])
def test_only_an_approval_can_be_kept(asked: Interrupt, response: ResponseKind) -> None:
    with pytest.raises(WrongAnswer, match="only `approve` can be kept for the run"):
        checked_answer(asked, response, "words", None, "", remember="run")


def taken(asked: Interrupt, answer: Answer) -> bool:
    given = None if answer.input is None else dict(answer.input)
    return checked_answer(asked, answer.response, answer.text, given, answer.reason, answer.remember) == answer
