"""Runs as OpenTelemetry spans, by the conventions for generative AI: the judge apart from the worker.

Opt-in twice: the extra `tracing` is installed, and the environment names a backend as every OpenTelemetry program
expects it. Otherwise nothing of OpenTelemetry is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from donewhen.installation import how_to_get
from donewhen.ports import NoTracer

if TYPE_CHECKING:
    from donewhen.ports import Tracer

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def make_tracer(environment: Mapping[str, str], mask: Callable[[str], str]) -> Tracer:
    """What the environment asks for: OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT, or a provider that is set up
    in this process already. Messages and outputs are told only with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT,
    and masked. Never raises: where it can't be done, `state` says why."""
    wanted = _wanted(environment)
    if wanted is None:
        return NoTracer()
    try:
        from donewhen.extras.tracing.backends import traced

        return traced(wanted, environment, mask)
    except ImportError as error:
        return NoTracer(f"off: it is asked for, but {error.name or error} is missing: {how_to_get('tracing')}")
    except Exception as error:  # noqa: BLE001  # whatever a backend does not like, a run goes on without it
        return NoTracer(f"off: {mask(str(error))}")


def _wanted(environment: Mapping[str, str]) -> str | None:
    """`console`, `otlp`, `provider`, or None."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    named = [name.strip().lower() for name in environment.get("OTEL_TRACES_EXPORTER", "").split(",") if name.strip()]
    if "none" in named:
        return None
    if "opentelemetry.sdk.trace" in sys.modules:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        if isinstance(trace.get_tracer_provider(), TracerProvider):
            return "provider"
    if "console" in named:
        return "console"
    return "otlp" if "otlp" in named or any(environment.get(name, "").strip() for name in _ENDPOINTS) else None
