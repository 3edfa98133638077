"""Runs as their entries tell of them, and the spans that came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from donewhen.core import calls as c
from donewhen.core import events as e
from donewhen.core.evidence import CheckResult, Evidence, Outcome
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Claim, TurnResult, Usage, WorkerStep
from donewhen.extras.tracing.names import Contents
from donewhen.extras.tracing.spans import TracingObserver

CHECK = Check.of("pytest -q")
GOAL = Goal(
    "Export handles quotes",
    "Export handles quotes",
    (Requirement("r-1", 1, "tests pass", (CHECK,)), Requirement("r-2", 2, "The help text names it")),
)
OPTIONS = e.RunOptions("agent", judge="panel")
WORKER_CALL = c.CallStarted("c1", "worker", "anthropic/claude-x")
JUDGE_CALL = c.CallStarted("c2", "judge", "openai/gpt-x")
READ = c.ToolCall("t1", "read_file", '{"path": "help.txt", "key": "s3cret"}')
ASKS = c.Message("assistant", "I look at s3cret.", (READ,))
TOLD = c.Message("tool", "the text of help.txt", answers="t1")
VERDICT = Verdict((RequirementVerdict("r-2", "unmet", "help.txt doesn't name s3cret", ("E2",)),))

TURN = (
    e.TurnStarted(1, "tree0"),
    c.MessageKept(c.Message("user", "Do it with s3cret")),
    WORKER_CALL,
    c.CallFinished("c1", Usage(100, 20, 40, 0.01), ASKS),
    c.ToolStarted("t1", "read_file", "read help.txt"),
    c.ToolFinished("t1", WorkerStep("tool", "read help.txt"), TOLD),
    e.TurnFinished(1, TurnResult(Claim("finished"), Usage(1, 2)), ("help.txt",)),
)
AUDIT = (
    e.AuditStarted(1, "rev1"),
    e.CheckStarted(CHECK.id, "rev1"),
    e.EvidenceRecorded(Evidence("E1", "rev1", "rev1", 1, CheckResult(CHECK.id, CHECK.command, Outcome.PASSED, "", 0))),
    e.AuditFinished(1, "rev1"),
)
JUDGING = (
    e.JudgeStarted(("r-2",), "rev1"),
    JUDGE_CALL,
    c.CallFinished("c2", Usage(500, 50, 0, None), c.Message("assistant", '{"requirements": []}')),
    e.JudgeFinished(("r-2",), "rev1", "rev1", VERDICT),
)
RUN: tuple[e.Event, ...] = (
    e.RunStarted("run-1", "pursue", GOAL, OPTIONS, "rev0"),
    *TURN,
    *AUDIT,
    *JUDGING,
    e.RunEnded("complete", "all proven"),
)


def masked(text: str) -> str:
    return text.replace("s3cret", "[masked]")


@dataclass
class Traced:
    """A tracer whose spans are kept. Entries are a second apart, from `at` on."""

    capture: bool = False
    parent: str | None = None
    at: float = 1_700_000_000.0
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    sequence: int = 0

    def __post_init__(self) -> None:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        contents = Contents(self.capture, masked)
        self.tracer = TracingObserver(provider.get_tracer("test"), contents, parent=self.parent)

    def take(self, events: Sequence[e.Event], run_id: str = "run-1") -> None:
        for event in events:
            self.sequence += 1
            self.at += 1
            self.tracer.on_entry(run_id, e.Entry(self.sequence, self.at, event))

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """The ended ones, by name; of several the last."""
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def parents(self) -> dict[str, str | None]:
        ids = {span.context.span_id: span.name for span in self.exporter.get_finished_spans() if span.context}
        return {name: ids.get(span.parent.span_id) if span.parent else None for name, span in self.spans.items()}


def seconds(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1e9
