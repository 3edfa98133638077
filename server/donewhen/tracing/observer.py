"""Turns the entries of runs into spans: a run, its turns and audits, the calls to models, tools, judgings, verdicts.

The entries carry the times, so a span says how long something took by the record, not by the tracer's own clock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from opentelemetry.trace import Tracer

from donewhen.core import events as e
from donewhen.tracing.contents import Contents
from donewhen.tracing.spans import RunSpans

_ENDS = (e.RunEnded, e.RunPaused, e.RunInterrupted)


class TracingObserver:
    """A `ports.tracing.Tracer` over an OpenTelemetry tracer. `flush` hands over what is left, within the seconds that
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
            self._take(run_id, entry)
        except Exception as error:  # noqa: BLE001  # a run must not fail because it is watched
            self._broken = True
            why = self._contents.text(str(error))
            self.state = f"off: {why}"
            sys.stderr.write(f"donewhen: tracing stopped: {why}\n")

    def _take(self, run_id: str, entry: e.Entry) -> None:
        spans = self._runs.get(run_id)
        if spans is None:
            if isinstance(entry.event, _ENDS):
                return
            # A run that another process began has no RunStarted here.
            spans = self._runs[run_id] = RunSpans(self._tracer, self._contents, run_id, entry.at, self._parent)
        spans.take(entry)
        if isinstance(entry.event, _ENDS):
            del self._runs[run_id]

    def close(self, timeout: float = 1.5) -> None:
        for spans in self._runs.values():
            spans.end()
        self._runs.clear()
        self._flush(timeout)
