"""What stands around a question: what the worker said with it, and what it did before."""

from __future__ import annotations

from dataclasses import replace

from donewhen.core.calls import Message, ToolCall
from donewhen.core.questions import MAX_BEFORE, QuestionContext, context_lines, question_context
from donewhen.core.work import Interrupt
from tests.cli.fakes import state_of
from tests.tools import each_row

PUSH = Interrupt("I1", "approval", "Run `git push`?", "tool:run_command", "run_command", {"command": "git push"})


def asked(interrupt: Interrupt, *messages: Message) -> QuestionContext:
    return question_context(replace(state_of(), conversation=messages), interrupt)


def step(number: int, name: str, result: str, **arguments: str) -> tuple[Message, Message]:
    call = ToolCall(f"c{number}", name, arguments)  # pyright: ignore[reportArgumentType]  # a mapping is taken, too
    return Message("assistant", "", (call,)), Message("tool", result, answers=call.id)


def wants(text: str) -> Message:
    return Message("assistant", text, (ToolCall("last", "run_command", "{}"),))


def test_the_reason_and_the_step_before() -> None:
    ran = step(1, "run_command", "exit 0 after 1.0 s\n4 passed", command="pytest -q")
    assert asked(PUSH, *ran, wants(" It is ready. ")) == QuestionContext(
        "It is ready.", "ran `pytest -q`: exit 0 after 1.0 s"
    )
    read = step(2, "read_file", "text", path="a.py")
    assert asked(PUSH, *ran, *read, wants("")) == QuestionContext("", "read a.py")


@each_row("about", ["start", "findings", "restore", "requirement:r-1", "plugin:x"])
def test_what_the_worker_did_not_ask_has_none_of_its_words(about: str) -> None:
    assert asked(replace(PUSH, about=about), wants("Ready.")) == QuestionContext()


def test_nothing_is_said_twice_and_nothing_is_made_up() -> None:
    question = Interrupt("I1", "question", "Which one?", "claim:question")
    assert asked(question, Message("assistant", "Which one?")) == QuestionContext()
    assert asked(PUSH) == QuestionContext()
    broken = Message("assistant", "", (ToolCall("c1", "run_command", "[broken"),)), Message("tool", "", answers="c1")
    assert asked(PUSH, *broken, wants("")).before == "ran ``:"
    long = step(1, "read_file", "", path="x" * 999)
    assert len(asked(PUSH, *long, wants("y" * 99_999)).before) == MAX_BEFORE
    assert len(asked(PUSH, *long, wants("y" * 99_999)).said) < 2_100


def test_the_lines_for_people_name_the_folder_of_a_command_alone() -> None:
    state = replace(state_of(), conversation=(wants("Ready."),))
    assert context_lines(state, PUSH, "/w") == ["In /w", "The worker says: Ready."]
    assert context_lines(state, replace(PUSH, input={"path": "a"}), "/w") == ["The worker says: Ready."]
