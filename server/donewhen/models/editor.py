"""Models that a person's editor offers, asked through the editor's client: without a key, by the editor's own consent.

A name is `editor/VENDOR/ID`, with the vendor and the id (or the family) by which the editor knows the model. What the
client is asked, and what it answers, is in docs/protocol.md (`donewhen/model/complete`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import ModelFailed
from donewhen.core.trouble import TroubleKind
from donewhen.models.failures import is_about_length, is_about_tools
from donewhen.models.hosted import EMPTY, Abilities
from donewhen.models.protocol import Answered, Call, CallFailed, Failure, message_out
from donewhen.ports import AskEditor, EditorSilent

_SILENT = "EditorSilentError"
_UNREADABLE = "UnreadableReplyError"
_CHOOSE = "Done When: Choose Models"
_PROBLEMS: Mapping[str, tuple[TroubleKind, str]] = {
    "consent": (
        "key_refused",
        f"the editor was not allowed to use {{model}} for Done When: allow it, which {_CHOOSE} asks for again",
    ),
    "blocked": ("refused", "{model} refuses what it was sent: change the goal's text, or set another model"),
    "gone": (
        "no_such_model",
        f"the editor does not offer {{model}}: sign in to its provider there, or set another model ({_CHOOSE})",
    ),
    "quota": (
        "no_credit",
        "the quota of {model} in the editor is used up: wait until it is renewed, or set another model",
    ),
}
"""What a client says went wrong, where asking again is useless."""


def abilities() -> Abilities:
    """Editors take neither a limit for the reply nor a temperature."""
    return Abilities(limit="none", temperature=False)


class EditorTransport:
    """Asks the client of the moment (`hosted.Transport`)."""

    def __init__(self, ask: AskEditor) -> None:
        self._ask = ask

    def warm(self, model: str, api_base: str | None) -> None:
        """The editor has it."""

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
        """See `hosted.Transport`. The text comes whole, at the end."""
        wanted: Mapping[str, Any] = call.parameters.get("response_format", {})
        question = {
            "model": call.model,
            "messages": [message_out(one) for one in call.messages],
            "tools": [one["function"] for one in call.parameters.get("tools", ())],
            "schema": wanted.get("json_schema", {}).get("schema"),
        }
        try:
            given = await self._ask(question, call.timeout)
        except EditorSilent as silent:
            raise CallFailed(Failure(_SILENT, str(silent))) from silent
        answer = _answer(call.model, given)
        if call.stream and on_text is not None and answer.message.text:
            on_text(answer.message.text)
        return answer


def _answer(model: str, given: object) -> Answered:
    """Raises ModelFailed where asking again is useless, else CallFailed."""
    if not isinstance(given, Mapping):
        raise CallFailed(Failure(_UNREADABLE, "the editor's answer is not an object"))
    answer = cast("Mapping[str, Any]", given)
    if isinstance(problem := answer.get("problem"), Mapping):
        raise _failure(model, cast("Mapping[str, Any]", problem))
    text, calls = answer.get("text", ""), answer.get("calls", [])
    if not isinstance(text, str) or not isinstance(calls, list):
        raise CallFailed(Failure(_UNREADABLE, "the editor's answer is not readable: text and calls are expected"))
    wishes: list[ToolCall] = []
    for one in cast("list[object]", calls):
        fields: Mapping[str, Any] = cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else {}
        id_, name, arguments = fields.get("id"), fields.get("name"), fields.get("arguments")
        if not isinstance(id_, str) or not isinstance(name, str) or not isinstance(arguments, str):
            wrong = "a call in the editor's answer needs id, name and arguments, as text"
            raise CallFailed(Failure(_UNREADABLE, wrong))
        wishes.append(ToolCall(id_, name, arguments))
    if not text and not calls:
        raise CallFailed(Failure(EMPTY, "the model said nothing"))
    counts = [answer.get("inputTokens"), answer.get("outputTokens")]
    given_tokens, taken_tokens = (one if isinstance(one, int) and one > 0 else 0 for one in counts)
    message, finish = Message("assistant", text, tuple(wishes)), "tool_calls" if wishes else "stop"
    return Answered(message, finish, given_tokens, taken_tokens, 0)


def _failure(model: str, problem: Mapping[str, Any]) -> Exception:
    said, kind = str(problem.get("message") or ""), str(problem.get("kind"))
    if kind in _PROBLEMS:
        means, words = _PROBLEMS[kind]
        return ModelFailed(words.format(model=model) + (f": {said}" if said else ""), means)
    refusal = Failure("EditorModelError", said or "the editor's model failed", 400)
    about_request = is_about_tools(refusal) or is_about_length(refusal)
    return CallFailed(refusal if about_request else Failure(refusal.type, refusal.message))
