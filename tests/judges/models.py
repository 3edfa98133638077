"""Scripted stand-ins for the ports that judges work through: a model, and the workspace at one revision."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import WorkspaceError
from donewhen.core.evidence import CheckResult, Evidence, Observation, Outcome
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.work import Usage
from donewhen.ports import Calls, JudgeTask, Model, ModelFacts, ModelReply, ModelRequest

REVISION = "rev-1"
Answer = str | Exception | ModelReply | tuple[ToolCall, ...] | Callable[[ModelRequest], Any]


class ScriptedModel(Model):
    """Gives its answers one after the other, and raises where it is asked more often."""

    def __init__(self, *answers: Answer, name: str = "scripted/judge") -> None:
        self._answers = list(answers)
        self._name = name
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def facts(self) -> ModelFacts:
        return ModelFacts()

    def estimate(self, request: ModelRequest) -> tuple[Usage, Usage]:
        used = Usage(prompt_size(request) // 4, 0)
        return used, used + Usage(0, 1000)

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        self.requests.append(request)
        if not self._answers:
            raise AssertionError(f"asked more often than scripted: {request.messages[-1].text}")
        answer = self._answers.pop(0)
        if callable(answer) and not isinstance(answer, Exception):
            answer = answer(request)
        return _reply(answer)

    @property
    def prompts(self) -> list[str]:
        return ["\n".join(message.text for message in request.messages) for request in self.requests]


def _reply(answer: Any) -> ModelReply:
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, ModelReply):
        return answer
    if isinstance(answer, tuple):
        return ModelReply(Message("assistant", "", answer), Usage(10, 5), "tool_calls")
    return ModelReply(Message("assistant", answer), Usage(10, 5))


def prompt_size(request: ModelRequest) -> int:
    """Characters of all that is sent."""
    said = sum(len(m.text) + sum(len(c.arguments) for c in m.calls) for m in request.messages)
    schema = len(json.dumps(request.schema)) if request.schema else 0
    return said + schema + sum(len(json.dumps(tool.parameters)) + len(tool.description) for tool in request.tools)


@dataclass
class MemoryCalls(Calls):
    begun: list[str] = field(default_factory=list[str])
    ended: list[Usage] = field(default_factory=list[Usage])
    refuse: Exception | None = None

    async def begin(self, model: str, prompt: Usage, worst: Usage) -> str:
        if self.refuse is not None:
            raise self.refuse
        self.begun.append(model)
        return f"call-{len(self.begun)}"

    async def end(self, call_id: str, usage: Usage, message: Message | None = None, error: str | None = None) -> None:
        self.ended.append(usage)


class MemoryAudit:
    """A workspace at `REVISION`, in memory (`ports.AuditContext`). `first` is the number of its first evidence."""

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        changed: Sequence[str] = (),
        diff: str = "",
        root: str = "/home/person/project",
        first: int = 100,
        rerun: Callable[[Check], CheckResult] | None = None,
    ) -> None:
        self._files = {path: t.encode() if isinstance(t, str) else t for path, t in (files or {}).items()}
        self._changed, self._diff, self._root, self._next = tuple(changed), diff, root, first
        self._rerun = rerun
        self._sorted = sorted(self._files)
        self.calls = MemoryCalls()
        self.recorded: list[Evidence] = []
        self.checks_run: list[Check] = []
        self.said: list[str] = []

    @property
    def root(self) -> str:
        return self._root

    def activity(self, line: str) -> None:
        self.said.append(line)

    def files(self) -> Sequence[str]:
        return self._sorted

    async def changed(self) -> Sequence[str]:
        return self._changed

    async def diff(self) -> str:
        return self._diff

    async def read(self, path: str) -> bytes:
        if path not in self._files:
            raise WorkspaceError(f"{path} is no file that the revision covers")
        return self._files[path]

    async def record(self, observation: Observation) -> Evidence:
        evidence = Evidence(f"E{self._next}", REVISION, REVISION, 1, observation)
        self._next += 1
        self.recorded.append(evidence)
        return evidence

    async def run_check(self, check: Check) -> Evidence:
        self.checks_run.append(check)
        result = self._rerun(check) if self._rerun else CheckResult(check.id, check.command, Outcome.PASSED, "", 0)
        return await self.record(result)


def requirement(number: int, text: str, *, checks: Sequence[str] = (), **more: Any) -> Requirement:
    return Requirement(f"r-{number}", number, text, tuple(Check.of(c) for c in checks), **more)


def passed(command: str, key: str = "E1", output: str = "", revision: str = REVISION, **more: Any) -> Evidence:
    result = CheckResult(Check.of(command).id, command, Outcome.PASSED, "passed", 0, output=output, **more)
    return Evidence(key, revision, revision, 1, result)


def task(*requirements: Requirement, evidence: Sequence[Evidence] = (), **more: Any) -> JudgeTask:
    goal = Goal("Export", "The export handles quotes and line breaks.", requirements)
    return JudgeTask("run-1234567", goal, requirements, REVISION, tuple(evidence), **more)


def entry(
    name: str, status: str = "met", cited: Sequence[str] = ("E1",), reason: str = "E1 shows it", missing: str = ""
) -> dict[str, Any]:
    return {"id": name, "missing": missing, "status": status, "reason": reason, "evidence_ids": list(cited)}


def verdict(*entries: Mapping[str, Any], **changes: Any) -> str:
    met = [one["status"] == "met" for one in entries]
    whole = {
        "requirements": list(entries),
        "score": sum(met) / len(met) if met else 0,
        "complete": all(met),
        "missing": "",
    }
    return json.dumps({**whole, **changes})


def gives(text: str, call: str = "c-1") -> tuple[ToolCall, ...]:
    """The verdict by tool call."""
    return (ToolCall(call, "give_verdict", text),)


def looks(tool: str, call: str = "c-0", **arguments: Any) -> tuple[ToolCall, ...]:
    return (ToolCall(call, tool, json.dumps(arguments)),)
