"""The spans of a run, from its entries."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.trace import NoOpTracer, Span, SpanKind, StatusCode

from donewhen.core import calls as c
from donewhen.core import events as e
from donewhen.core.work import TurnResult, Usage, WorkerStep
from donewhen.extras.tracing import names as n
from donewhen.extras.tracing.names import Contents
from donewhen.extras.tracing.spans import TracingObserver
from tests.tools import each_row

from .recording import AUDIT, JUDGE_CALL, JUDGING, RUN, TOLD, TURN, VERDICT, WORKER_CALL, Traced, masked, seconds


@pytest.mark.conformance("C25")
def test_the_judges_calls_are_the_judges_and_the_workers_are_the_workers() -> None:
    traced = Traced()
    traced.take(RUN)
    spans = traced.spans

    assert traced.parents() == {
        "invoke_workflow pursue": None,
        "invoke_agent worker": "invoke_workflow pursue",
        "chat claude-x": "invoke_agent worker",
        "execute_tool read_file": "invoke_agent worker",
        "audit": "invoke_workflow pursue",
        "check": "audit",
        "invoke_agent judge": "invoke_workflow pursue",
        "chat gpt-x": "invoke_agent judge",
    }
    agents = {name: (span.attributes or {}).get("gen_ai.agent.name") for name, span in spans.items()}
    assert agents["chat claude-x"] == agents["invoke_agent worker"] == agents["execute_tool read_file"] == "worker"
    assert agents["chat gpt-x"] == agents["invoke_agent judge"] == "judge"


@pytest.mark.conformance("C25")
def test_names_and_figures_are_those_of_the_conventions() -> None:
    traced = Traced()
    traced.take(RUN)
    chat = traced.spans["chat claude-x"]

    assert chat.kind is SpanKind.CLIENT
    assert dict(chat.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": "worker",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-x",
        "gen_ai.conversation.id": "run-1",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "donewhen.usage.usd": 0.01,
    }
    judges = traced.spans["chat gpt-x"].attributes or {}
    assert "donewhen.usage.usd" not in judges  # unknown is not 0
    run = traced.spans["invoke_workflow pursue"]
    assert (run.attributes or {})["donewhen.goal.title"] == "Export handles quotes"
    assert (run.attributes or {})["donewhen.run.status"] == "complete"
    assert run.status.status_code is StatusCode.OK
    tool = traced.spans["execute_tool read_file"].attributes or {}
    assert (tool["gen_ai.tool.name"], tool["gen_ai.tool.call.id"]) == ("read_file", "t1")


@pytest.mark.conformance("C25")
def test_verdicts_are_evaluation_events_of_the_judge() -> None:
    traced = Traced()
    traced.take(RUN)
    (event,) = traced.spans["invoke_agent judge"].events

    assert event.name == "gen_ai.evaluation.result"
    assert dict(event.attributes or {}) == {
        "gen_ai.evaluation.name": "The help text names it",
        "gen_ai.evaluation.score.label": "unmet",
        "gen_ai.evaluation.explanation": "help.txt doesn't name [masked]",
        "donewhen.requirement.id": "r-2",
    }


def test_a_reply_that_could_not_be_used_leaves_its_requirements_unverified() -> None:
    traced = Traced()
    bad = e.JudgeFinished(("r-1", "r-2"), "rev1", "rev1", None, Usage(3, 4), "no JSON")
    traced.take((RUN[0], JUDGING[0], bad, e.RunEnded(None, "")))
    span = traced.spans["invoke_agent judge"]

    assert [(one.attributes or {})["gen_ai.evaluation.score.label"] for one in span.events] == ["unverified"] * 2
    assert (span.attributes or {})["donewhen.verdict.dropped"] is False
    assert (span.attributes or {})["gen_ai.usage.input_tokens"] == 3


@pytest.mark.conformance("C25", "A9")
@pytest.mark.parametrize(
    ("moves", "after"),
    [
        ((), "rev2"),
        ((e.RevisionChanged("rev2", ("a.py",), "check", 1),), "rev2"),
        (
            (
                e.RevisionChanged("rev2", ("a.py",), "check", 1),
                e.RevisionChanged("rev1", ("a.py",), "check", 1),
            ),
            "rev1",
        ),
    ],
)
def test_a_verdict_that_is_dropped_is_no_evaluation(moves: tuple[e.Event, ...], after: str) -> None:
    traced = Traced()
    finished = e.JudgeFinished(("r-2",), "rev1", after, VERDICT, Usage(3, 4))
    traced.take((RUN[0], JUDGING[0], *moves, finished))
    span = traced.spans["invoke_agent judge"]

    assert (span.attributes or {})["donewhen.verdict.dropped"] is True
    assert (span.attributes or {})["gen_ai.usage.input_tokens"] == 3
    assert span.events == ()

    traced.take(JUDGING)  # what moved before it was asked disturbs no judge
    span = traced.spans["invoke_agent judge"]
    assert (span.attributes or {})["donewhen.verdict.dropped"] is False
    assert len(span.events) == 1


@pytest.mark.conformance("C25", "A9")
def test_a_claim_judged_while_files_moved_is_no_evaluation() -> None:
    traced = Traced()
    moved = e.RevisionChanged("rev2", ("a.py",), "check", 1)
    traced.take((RUN[0], e.JudgeStarted(("r-2",), "rev1"), moved, e.ClaimJudged(True, "so it is", ("E1",))))
    span = traced.spans["invoke_agent judge"]

    assert (span.attributes or {})["donewhen.verdict.dropped"] is True
    assert span.events == ()


def test_a_judged_claim_is_an_evaluation_too() -> None:
    traced = Traced()
    traced.take((RUN[0], e.JudgeStarted(("r-2",), "rev1"), e.ClaimJudged(None, "can't tell"), e.RunEnded(None, "")))
    (event,) = traced.spans["invoke_agent judge"].events

    assert (event.attributes or {})["gen_ai.evaluation.score.label"] == "unverified"


def test_spans_take_as_long_as_the_record_says() -> None:
    traced = Traced()
    traced.take(RUN)

    assert seconds(traced.spans["invoke_workflow pursue"]) == len(RUN) - 1
    assert seconds(traced.spans["invoke_agent worker"]) == len(TURN) - 1
    assert seconds(traced.spans["chat gpt-x"]) == 1


def test_a_turns_tokens_are_those_of_its_calls_and_its_own() -> None:
    traced = Traced()
    traced.take(RUN)
    turn = traced.spans["invoke_agent worker"].attributes or {}

    assert (turn[n.INPUT_TOKENS], turn[n.OUTPUT_TOKENS], turn[n.CACHED_TOKENS]) == (101, 22, 40)


@each_row(
    "events, name, error",
    [
        ((*TURN[:3], c.CallFinished("c1", error="RateLimitError: too many")), "chat claude-x", "RateLimitError"),
        ((*TURN[:3], c.CallFinished("c1", error="it hung up")), "chat claude-x", "model_failed"),
        (
            (*TURN[:5], c.ToolFinished("t1", WorkerStep("tool", "read", False), TOLD)),
            "execute_tool read_file",
            "tool_failed",
        ),
        ((TURN[0], e.TurnFinished(1, TurnResult(error="exit 2"))), "invoke_agent worker", "turn_failed"),
        ((TURN[0], e.Abandoned("turn", "stopped")), "invoke_agent worker", "cancelled"),
        ((*TURN[:3], e.Abandoned("turn", "stopped")), "chat claude-x", "cancelled"),
        ((*JUDGING[:2], e.Abandoned("judge", "no connection")), "invoke_agent judge", "judge_outage"),
        ((*JUDGING[:2], e.Abandoned("judge", "no connection")), "chat gpt-x", "cancelled"),
        ((AUDIT[0], AUDIT[1], e.Abandoned("audit", "stopped")), "check", "cancelled"),
        ((e.RunEnded("crashed", "a bug"),), "invoke_workflow pursue", "crashed"),
    ],
)
def test_what_failed_shows_as_failed(events: tuple[e.Event, ...], name: str, error: str) -> None:
    traced = Traced()
    traced.take((RUN[0], *events))
    span = traced.spans[name]

    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == error


def test_a_turn_that_ends_does_not_end_the_judges_calls() -> None:
    traced = Traced()
    traced.take((RUN[0], TURN[0], JUDGING[0], JUDGE_CALL, WORKER_CALL, e.Abandoned("turn", "stopped")))

    assert set(traced.spans) == {"chat claude-x", "invoke_agent worker"}


@pytest.mark.parametrize("halt", [e.RunPaused("Ctrl-C"), e.RunInterrupted("lost", 1.0)])
def test_a_run_that_halts_ends_its_spans_and_goes_on_with_new_ones(halt: e.Event) -> None:
    traced = Traced()
    traced.take((RUN[0], TURN[0], WORKER_CALL, halt))
    assert set(traced.spans) == {"chat claude-x", "invoke_agent worker", "invoke_workflow pursue"}
    assert not traced.tracer.open_runs

    traced.take((e.RunResumed(), *TURN, e.RunEnded("complete", "")))
    assert traced.parents()["invoke_agent worker"] == "invoke_workflow"
    assert (traced.spans["invoke_workflow"].attributes or {})[n.RUN] == "run-1"


def test_closing_ends_what_is_open() -> None:
    traced = Traced()
    traced.take((RUN[0], TURN[0], WORKER_CALL))
    traced.take((replace_run("run-2"),), "run-2")
    traced.tracer.close()

    assert len(traced.exporter.get_finished_spans()) == 4
    assert not traced.tracer.open_runs
    traced.tracer.close()


def replace_run(run_id: str) -> e.Event:
    started = RUN[0]
    assert isinstance(started, e.RunStarted)
    return replace(started, run_id=run_id)


def test_runs_side_by_side_are_told_apart() -> None:
    traced = Traced()
    traced.take((RUN[0], TURN[0]))
    traced.take((replace_run("run-2"), TURN[0]), "run-2")
    traced.take((TURN[-1], e.RunEnded("complete", "")))
    first = [span for span in traced.exporter.get_finished_spans() if span.name == "invoke_agent worker"]

    assert len(first) == 1
    assert list(traced.tracer.open_runs) == ["run-2"]


def test_a_run_may_belong_to_a_trace_of_whoever_started_it() -> None:
    traced = Traced(parent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    traced.take(RUN)
    parent = traced.spans["invoke_workflow pursue"].parent

    assert parent is not None
    assert format(parent.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.conformance("C25", "C13")
def test_what_was_said_is_told_only_where_that_is_asked_for() -> None:
    traced = Traced()
    traced.take(RUN)
    said = json.dumps([[dict(s.attributes or {}), s.name] for s in traced.exporter.get_finished_spans()], default=str)

    assert "messages" not in said
    assert "Do it" not in said
    assert "help.txt" not in said
    assert "s3cret" not in said


@pytest.mark.conformance("C13")
def test_what_was_said_is_masked() -> None:
    traced = Traced(capture=True)
    traced.take(RUN)
    chat = traced.spans["chat claude-x"].attributes or {}
    tool = traced.spans["execute_tool read_file"].attributes or {}

    assert json.loads(str(chat["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": "Do it with [masked]"}]}
    ]
    assert json.loads(str(chat["gen_ai.output.messages"])) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "I look at [masked]."},
                {
                    "type": "tool_call",
                    "id": "t1",
                    "name": "read_file",
                    "arguments": '{"path": "help.txt", "key": "[masked]"}',
                },
            ],
            "finish_reason": "tool_calls",
        }
    ]
    assert tool["gen_ai.tool.call.arguments"] == '{"path": "help.txt", "key": "[masked]"}'
    assert tool["gen_ai.tool.call.result"] == "the text of help.txt"
    said = json.dumps([dict(s.attributes or {}) for s in traced.exporter.get_finished_spans()], default=str)
    assert "s3cret" not in said


def test_what_was_said_is_bounded_and_told_once() -> None:
    traced = Traced(capture=True)
    long = c.MessageKept(c.Message("user", "x" * 500_000 + "the end"))
    again = c.CallStarted("c3", "worker", "anthropic/claude-y")
    traced.take((RUN[0], TURN[0], long, WORKER_CALL, TURN[3], *TURN[4:6], again, c.CallFinished("c3"), TURN[-1]))
    first = str((traced.spans["chat claude-x"].attributes or {})["gen_ai.input.messages"])
    second = str((traced.spans["chat claude-y"].attributes or {})["gen_ai.input.messages"])

    assert len(first) < 70_000
    assert "the end" in first
    assert [one["role"] for one in json.loads(second)] == ["tool"]


def test_a_tracer_that_fails_fails_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    traced = Traced()
    traced.take((RUN[0],))
    traced.at = float("inf")
    traced.take((TURN[0],))
    traced.take((TURN[0],))
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err.count("tracing stopped") == 1
    assert traced.tracer.state.startswith("off: ")


class Leaking(NoOpTracer):
    """Fails with an error that tells a secret."""

    def start_span(self, *args: Any, **kwargs: Any) -> Span:
        raise ValueError("the header is s3cret")


@pytest.mark.conformance("C13")
def test_why_tracing_stopped_is_told_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    tracer = TracingObserver(Leaking(), Contents(False, masked))
    tracer.on_entry("run-1", e.Entry(1, 1.0, RUN[0]))

    assert tracer.state == "off: the header is [masked]"
    assert "s3cret" not in capsys.readouterr().err


@each_row(
    "name, provider, model",
    [
        ("anthropic/claude-x", "anthropic", "claude-x"),
        ("openrouter/anthropic/claude-x", "openrouter", "anthropic/claude-x"),
        ("vertex_ai/gemini-x", "gcp.vertex_ai", "gemini-x"),
        ("gpt-x", "openai", "gpt-x"),
        ("mine", "_OTHER", "mine"),
    ],
)
def test_providers_have_the_names_of_the_conventions(name: str, provider: str, model: str) -> None:
    assert n.provider_and_model(name) == (provider, model)
