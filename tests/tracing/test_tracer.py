"""When there is tracing, where it goes to, and that nobody waits for it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from donewhen.core.events import Entry
from donewhen.extras.tracing import make_tracer
from donewhen.extras.tracing.backends import Reported, exporting
from donewhen.ports import NoTracer
from tests.tools import each_row

from .recording import RUN, masked


def entries() -> list[Entry]:
    return [Entry(number, 1_700_000_000.0 + number, event) for number, event in enumerate(RUN, 1)]


@each_row(
    "environment",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
    ],
)
def test_nothing_is_traced_unasked(environment: dict[str, str]) -> None:
    tracer = make_tracer(environment, masked)

    assert isinstance(tracer, NoTracer)
    assert tracer.state == "off"
    tracer.on_entry("run-1", entries()[0])
    tracer.close()


def test_nothing_of_opentelemetry_is_imported_unasked() -> None:
    program = (
        "import sys; from donewhen.extras.tracing import make_tracer; make_tracer({}, str);"
        "print([m for m in sys.modules if m.startswith('opentelemetry')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


def test_a_missing_exporter_is_named() -> None:
    program = (
        "import sys; sys.modules['opentelemetry.exporter'] = None; from donewhen.extras.tracing import make_tracer;"
        "print(make_tracer({'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://localhost:1'}, str).state)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "is missing: " in ran.stdout
    assert "[tracing]" in ran.stdout


def test_a_console_is_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        "from donewhen.extras.tracing import make_tracer; from tests.tracing.test_tracer import entries;"
        "t = make_tracer({'OTEL_TRACES_EXPORTER': 'console', 'OTEL_SERVICE_NAME': 'mine'}, str);"
        "[t.on_entry('run-1', one) for one in entries()]; t.close()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    captured = capfd.readouterr()

    assert captured.out == ""
    assert '"name": "invoke_agent judge"' in captured.err
    assert '"service.name": "mine"' in captured.err


def test_a_provider_that_is_there_already_is_used_and_left() -> None:
    program = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from donewhen.extras.tracing import make_tracer
from tests.tracing.test_tracer import entries
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = make_tracer({}, str)
for one in entries():
    tracer.on_entry("run-1", one)
tracer.close()
provider.get_tracer("other").start_span("mine").end()
print(len(exporter.get_finished_spans()), exporter.get_finished_spans()[-1].name)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["9", "mine"]


class DeadEndpoint(SpanExporter):
    """Takes whatever it is given, and never answers."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.released = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.asked.set()
        self.released.wait(60)
        return SpanExportResult.FAILURE


def test_a_dead_endpoint_keeps_nobody_waiting(capsys: pytest.CaptureFixture[str]) -> None:
    dead = DeadEndpoint()
    exporter = Reported(dead, "http://localhost:1/v1/traces")
    tracer = exporting(exporter, "on", {}, masked, exporter.left)
    for one in entries():
        tracer.on_entry("run-1", one)
    before = time.monotonic()
    tracer.close(0.2)
    took = time.monotonic() - before
    asked = dead.asked.wait(60)
    dead.released.set()

    assert asked
    assert took < 2
    assert capsys.readouterr().err.count("traces can't be sent to http://localhost:1/v1/traces") == 1


def test_what_is_left_is_handed_over_at_the_end() -> None:
    class Kept(SpanExporter):
        """Remembers names."""

        names: tuple[str, ...] = ()

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            self.names += tuple(span.name for span in spans)
            return SpanExportResult.SUCCESS

    kept = Kept()
    tracer = exporting(kept, "on", {}, masked)
    for one in entries()[:-1]:
        tracer.on_entry("run-1", one)
    tracer.close(10)

    assert "invoke_workflow pursue" in kept.names
    assert "chat gpt-x" in kept.names


def test_an_endpoint_that_takes_nothing_is_told_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    class Refusing(SpanExporter):
        """Takes nothing."""

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return SpanExportResult.FAILURE

    exporter = Reported(Refusing(), "http://localhost:1/v1/traces")
    exporter.export(())
    exporter.export(())
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err.count("http://localhost:1/v1/traces") == 1
