"""The spans of one run, as its entries open and close them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import donewhen.extras.tracing.names as n
from donewhen.core import calls as c
from donewhen.core import events as e
from donewhen.core.evidence import CheckResult
from donewhen.core.verdict import RequirementVerdict
from donewhen.core.work import UNKNOWN, Usage
from donewhen.extras.tracing.names import Contents

Attributes = dict[str, Any]
_ERROR_NAME = re.compile(r"[A-Za-z_][\w.]{2,60}(?=:|$)")


class RunSpans:
    """Everything hangs below the run's span; a model's call below the turn, or the judging, that made it."""

    def __init__(self, tracer: Tracer, contents: Contents, run_id: str, at: float, parent: str | None) -> None:
        self._tracer = tracer
        self._contents = contents
        self._run_id = run_id
        self._at = at
        context = TraceContextTextMapPropagator().extract({"traceparent": parent}) if parent else None
        self._run = tracer.start_span(
            n.INVOKE_WORKFLOW,
            context=context,
            start_time=_ns(at),
            attributes={n.OPERATION: n.INVOKE_WORKFLOW, n.RUN: run_id, n.CONVERSATION: run_id},
        )
        self._open: dict[str, Span] = {}
        self._texts: dict[str, str] = {}
        self._new: list[c.Message] = []
        self._arguments: dict[str, str] = {}
        self._roles: dict[str, c.CallRole] = {}
        self._spent: dict[str, Usage] = {}
        self._disturbed = False

    def take(self, entry: e.Entry) -> None:
        """Whatever an entry says of spans; those that say nothing are passed over."""
        self._at = max(self._at, entry.at)
        taken = _TAKEN.get(type(entry.event))
        if taken is not None:
            taken(self, entry.event)

    def end(self) -> None:
        """Ends what is open, as cut off."""
        for name in list(self._open):
            self._close(name, error="cancelled")
        self._run.end(_ns(self._at))

    # ------------------------------------------------------------------------------------------------ the run

    def run_started(self, event: e.RunStarted) -> None:
        self._texts = {r.id: r.text for r in event.goal.requirements}
        attributes: Attributes = {
            n.GOAL: self._contents.kept_text(event.goal.title),
            n.MODE: event.mode,
            n.WORKFLOW: event.mode,
            n.WORKER: event.options.worker,
            n.JUDGE: event.options.judge,
        }
        self._run.update_name(f"{n.INVOKE_WORKFLOW} {event.mode}")
        _set_attributes(self._run, attributes)

    def goal_amended(self, event: e.GoalAmended) -> None:
        self._texts = {r.id: r.text for r in event.goal.requirements}

    def run_ended(self, event: e.RunEnded) -> None:
        _set_attributes(self._run, {n.STATUS: event.status, n.REASON: self._contents.kept_text(event.reason)})
        if event.status == "complete":
            self._run.set_status(Status(StatusCode.OK))
        elif event.status == "crashed":
            _fail(self._run, "crashed", self._contents.kept_text(event.reason))
        self.end()

    def run_halted(self, event: e.RunPaused | e.RunInterrupted) -> None:
        status = "paused" if isinstance(event, e.RunPaused) else "interrupted"
        _set_attributes(self._run, {n.STATUS: status, n.REASON: self._contents.kept_text(event.reason)})
        self.end()

    # ------------------------------------------------------------------------------------- turns and audits

    def turn_started(self, event: e.TurnStarted) -> None:
        self._new = []
        attributes: Attributes = {n.OPERATION: n.INVOKE_AGENT, n.AGENT: "worker", n.ITERATION: event.iteration}
        self._start_span("turn", f"{n.INVOKE_AGENT} worker", attributes)

    def turn_finished(self, event: e.TurnFinished) -> None:
        result = event.result
        self._count("turn", result.usage)
        attributes: Attributes = {n.CLAIM: result.claim.state, n.CHANGED_FILES: len(event.changed)}
        self._close("turn", attributes, error=result.error and "turn_failed", reason=result.error or "")

    def abandoned(self, event: e.Abandoned) -> None:
        self._count(event.what, event.usage)
        self._close(event.what, error="judge_outage" if event.what == "judge" else "cancelled", reason=event.reason)

    def audit_started(self, event: e.AuditStarted) -> None:
        self._start_span("audit", "audit", {n.ITERATION: event.iteration, n.REVISION: event.revision})

    def audit_finished(self, event: e.AuditFinished) -> None:
        self._close("audit", {n.FINDINGS: sum(not finding.standing for finding in event.findings)})

    def check_started(self, event: e.CheckStarted) -> None:
        self._start_span(f"check:{event.check_id}", "check", {}, "audit", "judge", "turn")

    def evidence_recorded(self, event: e.EvidenceRecorded) -> None:
        result = event.evidence.observation
        if isinstance(result, CheckResult):
            command = self._contents.kept_text(result.command)
            attributes = {n.CHECK: command, n.OUTCOME: result.outcome.value, n.EXIT_CODE: result.exit_code}
            self._close(f"check:{result.check_id}", attributes)

    # ------------------------------------------------------------------------------------------------ judging

    def judge_started(self, event: e.JudgeStarted) -> None:
        self._disturbed = False
        attributes: Attributes = {n.OPERATION: n.INVOKE_AGENT, n.AGENT: "judge", n.REVISION: event.revision}
        self._start_span("judge", f"{n.INVOKE_AGENT} judge", attributes)

    def revision_changed(self, event: e.RevisionChanged) -> None:
        """A verdict is dropped then, even where the files came back (`core.fold.audit.judge_finished`)."""
        self._disturbed = True

    def judge_finished(self, event: e.JudgeFinished) -> None:
        dropped = self._disturbed or event.revision != event.revision_after
        reason = event.reason or "the reply did not name all requirements"
        undecided = [RequirementVerdict(key, "unverified", reason) for key in event.requirement_ids]
        findings = undecided if event.verdict is None else event.verdict.findings
        for verdict in () if dropped else findings:
            self._evaluated(self._texts.get(verdict.requirement_id, ""), verdict.finding, verdict.reason, verdict)
        self._count("judge", event.usage)
        self._close("judge", {n.CACHED_VERDICT: event.cached, n.DROPPED_VERDICT: dropped})

    def claim_judged(self, event: e.ClaimJudged) -> None:
        label = {True: "met", False: "unmet", None: "unverified"}[event.confirmed]
        if not self._disturbed:
            self._evaluated("the worker's claim", label, event.reason)
        self._close("judge", {n.DROPPED_VERDICT: self._disturbed})

    def _evaluated(self, name: str, label: str, why: str, verdict: RequirementVerdict | None = None) -> None:
        attributes = {
            n.EVALUATION_NAME: self._contents.kept_text(name or (verdict.requirement_id if verdict else "")),
            n.EVALUATION_LABEL: label,
            n.EVALUATION_EXPLANATION: self._contents.kept_text(why),
        }
        if verdict is not None:
            attributes[n.REQUIREMENT] = verdict.requirement_id
        self._parent_span("judge").add_event(n.EVALUATION, attributes, _ns(self._at))

    # ------------------------------------------------------------------------------------- models and tools

    def call_started(self, event: c.CallStarted) -> None:
        provider, model = n.provider_and_model(event.model)
        attributes: Attributes = {
            n.OPERATION: n.CHAT,
            n.AGENT: event.role,
            n.PROVIDER: provider,
            n.REQUEST_MODEL: model,
            n.CONVERSATION: self._run_id,
        }
        if self._contents.capture and event.role == "worker" and self._new:
            attributes[n.INPUT_MESSAGES] = self._contents.messages(self._new)
            self._new = []
        self._roles[event.call_id] = event.role
        self._start_span(
            f"call:{event.call_id}",
            f"{n.CHAT} {model}",
            attributes,
            "judge" if event.role == "judge" else "turn",
            kind=SpanKind.CLIENT,
        )

    def call_finished(self, event: c.CallFinished) -> None:
        name = f"call:{event.call_id}"
        finish = "error" if event.error else "tool_calls" if event.message and event.message.calls else "stop"
        attributes: Attributes = {n.FINISH_REASONS: [finish]}
        if event.message is not None and self._contents.capture:
            attributes[n.OUTPUT_MESSAGES] = self._contents.messages([event.message], finish)
            self._arguments.update((call.id, call.arguments) for call in event.message.calls)
        self._count("judge" if self._roles.pop(event.call_id, "worker") == "judge" else "turn", event.usage)
        self._count(name, event.usage)
        named = _ERROR_NAME.match(event.error) if event.error else None
        error = event.error and (named[0] if named else "model_failed")
        self._close(name, attributes, error=error, reason=event.error or "")

    def message_kept(self, event: c.MessageKept) -> None:
        self._hear(event.message)

    def tool_started(self, event: c.ToolStarted) -> None:
        attributes: Attributes = {
            n.OPERATION: n.EXECUTE_TOOL,
            n.TOOL_NAME: event.tool,
            n.TOOL_TYPE: "function",
            n.TOOL_CALL: event.call_id,
            n.AGENT: "worker",
        }
        if self._contents.capture:
            attributes[n.SUMMARY] = self._contents.kept_text(event.summary)
            attributes[n.TOOL_ARGUMENTS] = self._contents.kept_text(self._arguments.pop(event.call_id, ""))
        self._start_span(f"tool:{event.call_id}", f"{n.EXECUTE_TOOL} {event.tool}", attributes, "turn")

    def tool_finished(self, event: c.ToolFinished) -> None:
        self._hear(event.message)
        result = {n.TOOL_RESULT: self._contents.kept_text(event.message.text)} if self._contents.capture else {}
        self._close(f"tool:{event.call_id}", result, error=None if event.step.ok else "tool_failed")

    def _hear(self, message: c.Message) -> None:
        if self._contents.capture:
            self._new.append(message)

    # --------------------------------------------------------------------------------------- opening and closing

    def _start_span(
        self, name: str, shown: str, attributes: Attributes, *within: str, kind: SpanKind = SpanKind.INTERNAL
    ) -> None:
        self._close(name, error="cancelled")  # one that was never closed
        context = trace.set_span_in_context(self._parent_span(*within))
        self._open[name] = self._tracer.start_span(shown, context=context, kind=kind, start_time=_ns(self._at))
        _set_attributes(self._open[name], attributes)

    def _parent_span(self, *names: str) -> Span:
        return next((self._open[name] for name in names if name in self._open), self._run)

    def _close(
        self, name: str, attributes: Mapping[str, Any] | None = None, *, error: str | None = None, reason: str = ""
    ) -> None:
        span = self._open.pop(name, None)
        if span is None:
            return
        for inner in [key for key in self._open if key.startswith(_INSIDE.get(name, ())) and self._is_of(key, name)]:
            self._close(inner, error="cancelled")
        _set_attributes(span, {**(attributes or {}), **_usage_attributes(self._spent.pop(name, None))})
        if error:
            _fail(span, error, self._contents.kept_text(reason))
        span.end(_ns(self._at))

    def _is_of(self, key: str, name: str) -> bool:
        """A call is cut off with whoever made it."""
        role = self._roles.get(key.removeprefix("call:"))
        return role is None or (role == "judge") == (name == "judge")

    def _count(self, name: str, usage: Usage) -> None:
        if name in self._open and usage != Usage():
            self._spent[name] = self._spent.get(name, Usage()) + usage


_INSIDE: Mapping[str, tuple[str, ...]] = {"turn": ("call:", "tool:"), "judge": ("call:",), "audit": ("check:",)}
_TAKEN: Mapping[type, Callable[[RunSpans, Any], None]] = {
    e.RunStarted: RunSpans.run_started,
    e.GoalAmended: RunSpans.goal_amended,
    e.RunEnded: RunSpans.run_ended,
    e.RunPaused: RunSpans.run_halted,
    e.RunInterrupted: RunSpans.run_halted,
    e.TurnStarted: RunSpans.turn_started,
    e.TurnFinished: RunSpans.turn_finished,
    e.AuditStarted: RunSpans.audit_started,
    e.AuditFinished: RunSpans.audit_finished,
    e.Abandoned: RunSpans.abandoned,
    e.CheckStarted: RunSpans.check_started,
    e.EvidenceRecorded: RunSpans.evidence_recorded,
    e.RevisionChanged: RunSpans.revision_changed,
    e.JudgeStarted: RunSpans.judge_started,
    e.JudgeFinished: RunSpans.judge_finished,
    e.ClaimJudged: RunSpans.claim_judged,
    c.CallStarted: RunSpans.call_started,
    c.CallFinished: RunSpans.call_finished,
    c.MessageKept: RunSpans.message_kept,
    c.ToolStarted: RunSpans.tool_started,
    c.ToolFinished: RunSpans.tool_finished,
}


def _ns(at: float) -> int:
    return int(at * 1e9)


def _set_attributes(span: Span, attributes: Mapping[str, Any]) -> None:
    span.set_attributes({name: value for name, value in attributes.items() if value is not None and value != ""})


def _usage_attributes(usage: Usage | None) -> Attributes:
    if usage is None or usage == UNKNOWN:
        return {}
    return {
        n.INPUT_TOKENS: usage.input_tokens,
        n.OUTPUT_TOKENS: usage.output_tokens,
        n.CACHED_TOKENS: usage.cached_tokens,
        n.USD: usage.usd,
    }


def _fail(span: Span, error: str, reason: str) -> None:
    span.set_attribute(n.ERROR_TYPE, error)
    span.set_status(Status(StatusCode.ERROR, reason or error))


# Turns the entries of runs into spans: a run, its turns and audits, the calls to models, tools, judgings, verdicts.
#
# The entries carry the times, so a span says how long something took by the record, not by the tracer's own clock.


_ENDS = (e.RunEnded, e.RunPaused, e.RunInterrupted)


class TracingObserver:
    """A `ports.Tracer` over an OpenTelemetry tracer. `flush` hands over what is left, within the seconds that
    it is given; `parent` is a `traceparent` that runs belong to."""

    def __init__(
        self,
        tracer: Tracer,
        contents: Contents,
        *,
        state: str = "on",
        flush: Callable[[float], None] = lambda timeout: None,
        parent: str | None = None,
    ) -> None:
        self.state = state
        self._tracer = tracer
        self._contents = contents
        self._flush = flush
        self._parent = parent
        self._runs: dict[str, RunSpans] = {}
        self._broken = False

    @property
    def open_runs(self) -> Mapping[str, RunSpans]:
        return self._runs

    def on_entry(self, run_id: str, entry: e.Entry) -> None:
        if self._broken:
            return
        try:
            ends = isinstance(entry.event, _ENDS)
            # A run that another process began has no RunStarted here.
            if run_id not in self._runs and not ends:
                self._runs[run_id] = RunSpans(self._tracer, self._contents, run_id, entry.at, self._parent)
            if run_id in self._runs:
                self._runs[run_id].take(entry)
            if ends:
                self._runs.pop(run_id, None)
        except Exception as error:  # noqa: BLE001  # a run must not fail because it is watched
            self._broken = True
            why = self._contents.kept_text(str(error))
            self.state = f"off: {why}"
            sys.stderr.write(f"donewhen: tracing stopped: {why}\n")

    def close(self, timeout: float = 1.5) -> None:
        for spans in self._runs.values():
            spans.end()
        self._runs.clear()
        self._flush(timeout)
