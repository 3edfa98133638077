"""Which key goes where: none to another host than the one that it was set for."""

from __future__ import annotations

from pathlib import Path

from donewhen.app.keys import key_for
from donewhen.core.calls import CallRole
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.settings.table import Choices
from tests.settings.test_loading import load
from tests.tools import each_row

EVERYTHING = {
    name: f"<{name}>"
    for name in ("DONEWHEN_API_KEY", "DONEWHEN_JUDGE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_API_KEY")
}
HERE = "http://localhost:8000/v1"


def options(worker: str | None, judges: str = "", base: str | None = None, judge_base: str | None = None) -> RunOptions:
    agent = AgentOptions(worker, base) if worker else None
    judging = JudgeOptions(tuple(judges.split()), judge_base) if judges else None
    return RunOptions("agent", agent=agent, judging=judging)


def asked(role: CallRole, model: str, run: RunOptions, *absent: str) -> str | None:
    environ = {name: value for name, value in EVERYTHING.items() if name not in absent}
    return key_for(role, model, run, environ, {})


def test_the_worker_takes_the_general_key_then_its_providers() -> None:
    run = options("anthropic/claude")
    assert asked("worker", "anthropic/claude", run) == "<DONEWHEN_API_KEY>"
    assert asked("worker", "anthropic/claude", run, "DONEWHEN_API_KEY") == "<ANTHROPIC_API_KEY>"
    assert asked("worker", "anthropic/claude", run, "DONEWHEN_API_KEY", "ANTHROPIC_API_KEY") is None


def test_a_providers_key_never_goes_to_a_server_of_somebody_else() -> None:
    assert asked("worker", "openai/x", options("openai/x", base=HERE), "DONEWHEN_API_KEY") is None
    assert asked("worker", "openai/x", options("openai/x", base=HERE)) == "<DONEWHEN_API_KEY>"
    own = options("openai/x", base="https://api.openai.com/v1")
    assert asked("worker", "openai/x", own, "DONEWHEN_API_KEY") == "<OPENAI_API_KEY>"
    # A provider without a host of its own: its key is for whatever host was named.
    azure = options("azure/x", base="https://gateway.example")
    assert asked("worker", "azure/x", azure, "DONEWHEN_API_KEY") == "<AZURE_API_KEY>"


@each_row(
    "run, first, second",
    [
        (options("openai/w", "openai/j"), "<DONEWHEN_JUDGE_API_KEY>", "<DONEWHEN_API_KEY>"),
        (options(None, "openai/j"), "<DONEWHEN_JUDGE_API_KEY>", "<DONEWHEN_API_KEY>"),
        (options("openai/w", "openai/j", HERE, HERE), "<DONEWHEN_JUDGE_API_KEY>", "<DONEWHEN_API_KEY>"),
        (options("anthropic/w", "openai/j"), "<DONEWHEN_JUDGE_API_KEY>", "<OPENAI_API_KEY>"),
        (options("openai/w", "openai/j", HERE), "<DONEWHEN_JUDGE_API_KEY>", "<OPENAI_API_KEY>"),
        (options("openai/w", "openai/j", None, HERE), "<DONEWHEN_JUDGE_API_KEY>", None),
        (options("openai/w", "openai/j", HERE, HERE + "2"), "<DONEWHEN_JUDGE_API_KEY>", None),
    ],
    ids=["same place", "only a judge", "same base", "other provider", "worker elsewhere", "judge elsewhere", "two"],
)
def test_the_judge_shares_the_workers_key_only_at_the_same_place(
    run: RunOptions, first: str | None, second: str | None
) -> None:
    assert asked("judge", "openai/j", run) == first
    assert asked("judge", "openai/j", run, "DONEWHEN_JUDGE_API_KEY") == second


def test_in_a_panel_the_judges_key_is_for_the_provider_of_its_first_member() -> None:
    run = options("openai/w", "anthropic/a openai/b anthropic/c")
    assert asked("judge", "anthropic/a", run) == "<DONEWHEN_JUDGE_API_KEY>"
    assert asked("judge", "anthropic/c", run) == "<DONEWHEN_JUDGE_API_KEY>"
    assert asked("judge", "openai/b", run) == "<OPENAI_API_KEY>"


def test_what_the_editor_handed_over_comes_before_the_environment() -> None:
    run = options("openai/x")
    found = key_for("worker", "openai/x", run, EVERYTHING, {"OPENAI_API_KEY": "secret"})
    assert found == "secret"
    assert key_for("worker", "openai/x", run, {"DONEWHEN_API_KEY": "  "}, {"ANTHROPIC_API_KEY": "secret"}) is None


def test_a_workspace_file_that_names_another_provider_gets_no_general_key() -> None:
    """What the person set says whom their key is for."""
    environ = {"DONEWHEN_API_KEY": "<mine>", "DONEWHEN_JUDGE_API_KEY": "<judge>", "OPENAI_API_KEY": "<openai>"}
    run = options("openai/theirs", "openai/theirs")
    mine = Choices(model="anthropic/mine", judge_model="anthropic/mine")
    assert key_for("worker", "openai/theirs", run, environ, {}, mine) == "<openai>"
    assert key_for("judge", "openai/theirs", run, environ, {}, mine) == "<openai>"
    assert key_for("worker", "openai/theirs", run, environ, {}, Choices(model="openai/other")) == "<mine>"
    assert key_for("worker", "openai/theirs", run, environ, {}, Choices()) == "<mine>"
    shared = {"DONEWHEN_API_KEY": "<mine>"}
    assert key_for("judge", "openai/theirs", run, shared, {}, Choices(model="anthropic/mine")) is None


def test_what_the_person_alone_set_is_known(tmp_path: Path) -> None:
    settings = load(tmp_path, user='model = "anthropic/mine"', project='model = "openai/theirs"\njudge_model = "x/y"')
    assert (settings.configured.model, settings.own.model, settings.own.judge_model) == (
        "openai/theirs",
        "anthropic/mine",
        None,
    )
    assert load(tmp_path, flags={"model": "openai/now"}, user='model = "anthropic/mine"').own.model == "openai/now"
