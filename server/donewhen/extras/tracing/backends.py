"""Where spans go to: an OTLP endpoint, stderr, or the provider that this process has already."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter, SpanExportResult

from donewhen.extras.tracing.names import CAPTURE, Contents
from donewhen.extras.tracing.spans import TracingObserver
from donewhen.version import __version__

_DEFAULT = "http://localhost:4318"


def traced(wanted: str, environment: Mapping[str, str], mask: Callable[[str], str]) -> TracingObserver:
    """A tracer for `console`, `otlp` or `provider`. Raises ImportError if the exporter is not installed."""
    if wanted == "provider":
        provider = trace.get_tracer_provider()
        assert isinstance(provider, TracerProvider)  # only then it is wanted
        # It is not ours to shut down.
        return _observer(provider, "on: this process's provider", environment, mask, provider.force_flush)
    if wanted == "console":
        return exporting(ConsoleSpanExporter(out=sys.stderr), "on: stderr", environment, mask)
    own = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
    base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip() or _DEFAULT
    endpoint = own or f"{base.rstrip('/')}/v1/traces"
    module = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    # It says once more, and on each attempt, what `Reported` says once.
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL + 1)
    exporter = Reported(module.OTLPSpanExporter(endpoint=endpoint), endpoint)
    return exporting(exporter, f"on: {endpoint}", environment, mask, exporter.left)


def exporting(
    exporter: SpanExporter,
    state: str,
    environment: Mapping[str, str],
    mask: Callable[[str], str],
    left: Callable[[], None] = lambda: None,
) -> TracingObserver:
    """A tracer with a provider of its own, which exports in a thread of its own. `left` is called where something was
    left when it had to close."""
    named = environment.get("OTEL_SERVICE_NAME", "").strip()
    given = "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    service = {"service.name": named or "donewhen"} if named or not given else {}
    resource = Resource.create({"service.version": __version__, **service})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return _observer(provider, state, environment, mask, provider.shutdown, left)


class Reported(SpanExporter):
    """Says on stderr, once, that an endpoint takes nothing; what it doesn't take is dropped."""

    def __init__(self, exporter: SpanExporter, endpoint: str) -> None:
        self._exporter = exporter
        self._endpoint = endpoint
        self._said = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self.left()
        return result

    def left(self) -> None:
        """It is trying still, and nobody waits for it any longer."""
        if not self._said:
            self._said = True
            sys.stderr.write(f"donewhen: traces can't be sent to {self._endpoint}; runs continue without them\n")

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _observer(
    provider: TracerProvider,
    state: str,
    environment: Mapping[str, str],
    mask: Callable[[str], str],
    finish: Callable[[], object],
    left: Callable[[], None] = lambda: None,
) -> TracingObserver:
    def flush(timeout: float) -> None:
        # A dead endpoint must not keep anybody waiting: the thread is left behind, and ends with the process.
        thread = threading.Thread(target=finish, name="donewhen-tracing-close", daemon=True)
        thread.start()
        thread.join(timeout)
        if thread.is_alive():
            left()

    capture = environment.get(CAPTURE, "").strip().lower() in ("true", "1", "span_only", "span_and_event")
    return TracingObserver(
        provider.get_tracer("donewhen", __version__),
        Contents(capture, mask),
        state=state,
        flush=flush,
        parent=environment.get("TRACEPARENT"),
    )
