"""A run as it will start: who works, who judges, what is frozen, what is refused and what is warned of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.app.engine import open_engine
from donewhen.app.resolver import KnownFacts, facts_in, judge_identity, refuse_unready, relocated, resolve
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.core.events import AgentOptions, JudgeOptions
from donewhen.core.goal import Check, Goal, Limits, Requirement
from donewhen.engine.api import LimitChanges, StartOptions
from donewhen.engine.setup import Start
from donewhen.ports import Measured, ModelFacts, Price
from donewhen.settings.loading import Settings
from donewhen.settings.table import Choices
from tests.tools import each_row

JUDGED = Goal("T", "text", (Requirement("r-1", 1, "the README tells it"),))
CHECKED = Goal("T", "text", (Requirement("r-1", 1, "`make` passes", (Check.of("make"),), sole_check=True),))
PRICED = "openai/priced"


def facts(model: str, api_base: str | None, prices: Mapping[str, ModelFacts]) -> ModelFacts:
    known = model in prices or (model == PRICED and api_base is None)
    return ModelFacts(price=Price(1, 2)) if known else ModelFacts()


KNOWN = KnownFacts(lambda *_: None, facts, hindrance=lambda: "")
NOT_INSTALLED = KnownFacts(lambda *_: "models", facts, hindrance=lambda: "")


def started(
    goal: Goal = JUDGED, options: StartOptions | None = None, known: KnownFacts = KNOWN, **sources: object
) -> Start:
    return resolve(goal, options or StartOptions(), Settings(**sources), known)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------ what it is passed


KEYS = KnownFacts(
    lambda *_: None, facts, lambda: {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "LOGIN": "l", "PATH": "p"}
)


def summary_of(command: str, **sources: object) -> list[str]:
    start = started(CHECKED, StartOptions(worker="command", worker_command=command), KEYS, **sources)
    return [line for line in start.options.summary.splitlines() if "passed to it" in line.lower()]


def test_a_known_agent_is_passed_what_it_logs_in_with_and_the_summary_names_it() -> None:
    assert summary_of("npx -y @anthropic-ai/claude-code -p") == [
        "Passed to it, besides what checks get: ANTHROPIC_API_KEY"
    ]
    assert summary_of("claude -p", given=Choices(pass_env=("none",))) == []


def test_what_a_person_names_is_passed_and_what_looks_needed_is_said_with_the_option() -> None:
    assert summary_of("./agent.sh", configured=Choices(pass_env=("LOGIN", "OPENAI_*"))) == [
        "Passed to it, besides what checks get: LOGIN, OPENAI_API_KEY",
        "Not passed to it, although set here: ANTHROPIC_API_KEY; to pass what it needs: --pass-env ANTHROPIC_API_KEY",
    ]


def test_the_names_are_on_record_and_no_value_is() -> None:
    options = StartOptions(worker="command", worker_command="claude -p")
    start = started(CHECKED, options, KEYS, given=Choices(pass_env=("LOGIN",)))
    assert start.options.pass_env[:2] == ("LOGIN", "ANTHROPIC_API_KEY")
    assert (
        started(CHECKED, StartOptions(worker="human"), KEYS, given=Choices(pass_env=("LOGIN",))).options.pass_env == ()
    )


# --------------------------------------------------------------------------------------------- who works


def test_nobody_named_and_no_model_is_the_person() -> None:
    start = started()
    assert (start.options.worker, start.options.agent, start.options.judging, start.options.judge) == (
        "human",
        None,
        None,
        None,
    )
    assert not start.warnings


@each_row(
    "start",
    [
        started(options=StartOptions(model="openai/m")),
        started(given=Choices(model="openai/m")),
        started(replace(JUDGED, model="openai/m")),
        started(configured=Choices(model="openai/m")),
    ],
    ids=["said", "given", "goal", "configured"],
)
def test_a_model_makes_the_agent_the_worker(start: Start) -> None:
    assert (start.options.worker, start.options.agent) == ("agent", AgentOptions("openai/m"))


def test_a_worker_that_is_named_stays_it() -> None:
    configured = Choices(model="openai/m", worker="human")
    assert started(configured=configured).options.worker == "human"
    assert started(configured=configured).options.agent is None
    assert started(replace(JUDGED, worker="command"), configured=Choices(model="openai/m")).options.worker == "command"
    assert started(configured=configured, given=Choices(worker="agent")).options.agent == AgentOptions("openai/m")


def test_models_are_chosen_in_the_order_of_the_contract() -> None:
    sources = [
        (StartOptions(model="openai/1", judge_model="openai/j1"), Choices(), None),
        (StartOptions(), Choices(model="openai/2", judge_model="openai/j2"), None),
        (StartOptions(), Choices(), "3"),
        (StartOptions(), Choices(), None),
    ]
    said = StartOptions()
    given = Choices()
    goal = JUDGED
    found: list[tuple[str, str]] = []
    for options, choices, of_goal in reversed(sources):
        said = options if options.model else said
        given = choices if choices.model else given
        goal = replace(goal, model=f"openai/{of_goal}", judge_model=f"openai/j{of_goal}") if of_goal else goal
        start = started(goal, said, given=given, configured=Choices(model="openai/4", judge_model="openai/j4"))
        assert start.options.agent is not None
        assert start.options.judging is not None
        found.append((start.options.agent.model, start.options.judging.models[0]))
    assert found == [
        ("openai/4", "openai/j4"),
        ("openai/3", "openai/j3"),
        ("openai/2", "openai/j2"),
        ("openai/1", "openai/j1"),
    ]


def test_the_agents_options_are_frozen() -> None:
    given = Choices(model="openai/m", api_base="http://a", temperature=0, window=9_000)
    start = started(given=given, configured=Choices(max_tool_calls=7, max_turn_tokens=70, temperature=1))
    assert start.options.agent == AgentOptions("openai/m", "http://a", 0, 9_000, 7, 70)


def test_the_window_may_come_with_the_price() -> None:
    prices = {"openai/m": ModelFacts(5_000, price=Price(1, 2))}
    start = started(given=Choices(model="openai/m"), prices=prices)
    assert start.options.agent is not None
    assert start.options.agent.window == 5_000


def test_an_agent_without_a_model_says_what_to_set() -> None:
    with pytest.raises(UsageError, match=r"worker agent needs a model: --model provider/name.*DONEWHEN_MODEL"):
        started(given=Choices(worker="agent"))


def test_a_bare_audit_needs_nobody_who_works() -> None:
    audit = StartOptions(audit=True)
    start = started(CHECKED, audit, NOT_INSTALLED, given=Choices(worker="agent", judge_model="openai/j"))
    assert (start.options.worker, start.options.agent) == (None, None)
    assert start.options.judge == "openai/j"
    assert not started(CHECKED, audit, configured=Choices(max_iterations="unlimited")).warnings


# -------------------------------------------------------------------------------------------- who judges


def test_the_judges_options_are_frozen() -> None:
    given = Choices(
        judge_model="2*openai/a, openai/b", judge_api_base="http://j", judge_calls=0, judge_prompt="Be strict."
    )
    configured = Choices(judge_rule="unanimity", judge_temperature=0, judge_tokens=5_000, api_base="http://w")
    judging = started(given=given, configured=configured).options.judging
    assert judging == JudgeOptions(
        ("openai/a", "openai/a", "openai/b"), "http://j", "unanimity", 0, "Be strict.", 0, 5_000
    )


def test_a_judge_is_not_served_where_the_worker_is_unless_somebody_says_so() -> None:
    judging = started(given=Choices(judge_model="openai/j", model="openai/m", api_base="http://w")).options.judging
    assert judging == JudgeOptions(("openai/j",))


@pytest.mark.parametrize(
    ("models", "identity"),
    [
        (("openai/a",), "openai/a"),
        (("a", "a", "a"), "3*a (majority)"),
        (("a", "b"), "a, b (majority)"),
    ],
)
def test_the_identity_tells_who_judges(models: tuple[str, ...], identity: str) -> None:
    assert judge_identity(JudgeOptions(models)) == identity


@pytest.mark.parametrize("field", ["model", "judge_model"])
def test_a_goal_without_a_file_may_be_wrong_about_models_too(field: str) -> None:
    with pytest.raises(InvalidGoal, match=f"^{field} must be"):
        started(replace(JUDGED, **{field: "a b"}))  # type: ignore[arg-type]


@pytest.mark.conformance("C14")
@pytest.mark.parametrize(("judge", "warned"), [("openai/m", True), ("openai/x, openai/m", True), ("openai/x", False)])
def test_a_judge_that_is_the_workers_model_is_allowed_and_warned_of(judge: str, warned: bool) -> None:
    start = started(given=Choices(model="openai/m", judge_model=judge))
    assert [w.code for w in start.warnings] == (["not_independent"] if warned else [])
    alone = started(given=Choices(worker="human", judge_model=judge))
    assert not alone.warnings


FAILED = Measured("2026-01-02", "c0ffee", accepted=5, false=6, rejected=0, true=6)
PASSED = Measured("2026-01-02", "c0ffee", accepted=0, false=6, rejected=1, true=6)
REFUSES = Measured("2026-01-02", "c0ffee", accepted=0, false=6, rejected=4, true=6)


@each_row(
    "judge, measured, named",
    [
        (
            "openai/a",
            {"openai/a": FAILED},
            "openai/a accepted 5 of 6 false cases, rejected 0 of 6 true ones (2026-01-02)",
        ),
        ("openai/a", {"openai/a": REFUSES}, "rejected 4 of 6"),
        ("openai/a", {"openai/a": PASSED}, ""),
        ("openai/a", {}, ""),
        ("openai/a, openai/b", {"openai/b": FAILED}, "openai/b accepted"),
        ("2*openai/b, openai/a", {"openai/b": FAILED, "2*openai/b, openai/a (majority)": PASSED}, ""),
    ],
)
def test_a_judge_that_failed_its_measurement_is_warned_of(
    judge: str, measured: dict[str, Measured], named: str
) -> None:
    known = replace(KNOWN, measured=lambda name, api_base: measured.get(name) if api_base == "http://h/v1" else None)
    start = started(known=known, given=Choices(judge_model=judge, judge_api_base="http://h/v1"))
    assert [w.code for w in start.warnings] == (["weak_judge"] if named else [])
    assert named in "".join(w.message for w in start.warnings)
    assert start.options.weak_judge == bool(named)
    accepted = Choices(judge_model=judge, judge_api_base="http://h/v1", accept_weak_judge="on")
    assert not started(known=known, given=accepted).options.weak_judge
    assert not started(known=known, given=Choices(judge_model=judge)).warnings


# ------------------------------------------------------------------------------------------- what is refused


def test_models_that_arent_installed_are_refused_where_one_is_asked() -> None:
    with pytest.raises(UsageError, match=r"worker agent needs the models extra to call .*\[models\]"):
        started(known=NOT_INSTALLED, given=Choices(model="openai/m"))
    with pytest.raises(UsageError, match=r"the judge openai/j needs the models extra to call .*\[models\]"):
        started(known=NOT_INSTALLED, given=Choices(judge_model="openai/j"))
    assert started(CHECKED, known=NOT_INSTALLED, given=Choices(judge_model="openai/j")).options.judge == "openai/j"
    assert started(known=NOT_INSTALLED).options.worker == "human"


@pytest.mark.conformance("A16")
@each_row(
    "given, unknown",
    [
        (Choices(model="openai/x"), ["openai/x"]),
        (Choices(model=PRICED, judge_model="openai/j"), ["openai/j"]),
        (Choices(model=PRICED, judge_model=f"2*openai/j,{PRICED}"), ["openai/j"]),
        (Choices(model="openai/x", judge_model="openai/j"), ["openai/x", "openai/j"]),
        (Choices(model=PRICED, api_base="http://elsewhere"), [PRICED]),
        (Choices(worker="human", judge_model="openai/j"), ["openai/j"]),
        (Choices(model=PRICED, judge_model=PRICED), []),
        (Choices(worker="human", model="openai/x"), []),
        (Choices(), []),
    ],
)
def test_a_dollar_budget_needs_known_prices(given: Choices, unknown: list[str]) -> None:
    """Whoever sets the budget, and tokens are counted without prices."""
    limited = replace(JUDGED, limits=Limits(budget=5))
    for goal, options in ((limited, StartOptions()), (JUDGED, StartOptions(limits=LimitChanges(budget=5)))):
        if not unknown:
            started(goal, options, given=given)
            continue
        with pytest.raises(UsageError) as refused:
            started(goal, options, given=given)
        assert all(f'[prices."{name}"]\ninput = ' in str(refused.value) for name in unknown)
        assert "config.toml" in str(refused.value)
        assert "--token-budget" in str(refused.value)
    started(replace(JUDGED, limits=Limits(token_budget=5)), given=given)
    priced = {name: ModelFacts(price=Price(0, 0)) for name in unknown}
    started(limited, given=given, prices=priced)


def test_the_packaged_catalogue_knows_prices() -> None:
    settings = Settings(given=Choices(model="openai/gpt-4o"))
    limited = replace(JUDGED, limits=Limits(budget=5))
    assert resolve(limited, StartOptions(), settings).options.worker == "agent"
    mine = Settings(given=Choices(model="openai/gpt-4o", api_base="http://localhost:1"))
    with pytest.raises(UsageError, match="price of openai/gpt-4o is unknown"):
        resolve(limited, StartOptions(), mine)
    resolve(limited, StartOptions(), replace(mine, prices={"openai/gpt-4o": ModelFacts(price=Price(1, 2, 0.5))}))


@pytest.mark.parametrize("served", [{}, {"OPENAI_BASE_URL": "http://localhost:1"}])
def test_prices_are_those_of_where_this_environment_says_that_models_are_served(served: dict[str, str]) -> None:
    limited = replace(JUDGED, limits=Limits(budget=5))
    known = KnownFacts(lambda *_: None, facts_in(lambda: served), hindrance=lambda: "")
    settings = Settings(given=Choices(model="openai/gpt-4o"))
    if not served:
        resolve(limited, StartOptions(), settings, known)
        return
    with pytest.raises(UsageError, match="price of openai/gpt-4o is unknown"):
        resolve(limited, StartOptions(), settings, known)


async def test_a_start_asks_the_environment_that_models_are_asked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (tmp_path / "GOAL.md").write_text("---\nbudget: 5\n---\n# G\n\n- [ ] It is done\n", encoding="utf-8")
    context = WorkspaceContext(environment=lambda: {**os.environ, "OPENAI_BASE_URL": "http://localhost:1"})
    settings = Settings(given=Choices(model="openai/gpt-4o"))
    runs = await open_engine(tmp_path, tmp_path / "state", settings, context)
    try:
        with pytest.raises(UsageError, match="price of openai/gpt-4o is unknown"):
            await runs.start("GOAL.md")
    finally:
        await runs.close("the test ended")


# -------------------------------------------------------------------------------------------------- resuming


def test_a_resumed_run_follows_servers_that_moved_and_keeps_its_models() -> None:
    first = started(given=Choices(model="openai/m", judge_model="openai/j", api_base="http://old")).options
    now = Settings(
        given=Choices(model="other", judge_model="other", api_base="http://new", judge_api_base="http://judge"),
        configured=Choices(api_base="http://configured"),
    )
    assert first.agent is not None
    assert first.judging is not None
    moved = relocated(first, now)
    assert moved.agent == replace(first.agent, api_base="http://new")
    assert moved.judging == replace(first.judging, api_base="http://judge")
    assert relocated(first, Settings(configured=now.configured)) == first
    human = started().options
    assert relocated(human, now) == human


def test_an_address_that_is_set_in_the_editor_counts_for_the_models_that_it_names() -> None:
    first = started(given=Choices(model="openai/m", judge_model="openai/j", api_base="http://old")).options
    bases = Choices(api_base="http://new", judge_api_base="http://judge")
    assert first.agent is not None
    assert first.judging is not None
    same = relocated(first, Settings(editor=replace(bases, model="openai/m", judge_model="openai/j")))
    assert (same.agent, same.judging) == (
        replace(first.agent, api_base="http://new"), replace(first.judging, api_base="http://judge"),
    )  # fmt: skip
    assert relocated(first, Settings(editor=replace(bases, model="openai/other", judge_model="other/j"))) == first
    assert relocated(first, Settings(editor=Choices(model="openai/m", judge_model="openai/j"))) == first


def test_the_editors_models_need_nothing_installed_and_no_other_gets_by_beside_them() -> None:
    absent = KnownFacts(lambda *_: "models", hindrance=lambda: "")
    chosen = Choices(model="editor/copilot/gpt-4o", judge_model="editor/copilot/o3")
    start = resolve(JUDGED, StartOptions(), Settings(given=chosen), absent)
    assert start.options.agent is not None
    assert start.options.agent.model == "editor/copilot/gpt-4o"
    assert "not_independent" not in [one.code for one in start.warnings]
    with pytest.raises(UsageError, match=r"^editor/copilot/gpt-4o is a model of an editor") as refusal:
        resolve(JUDGED, StartOptions(), Settings(given=chosen), replace(absent, in_an_editor=False))
    assert refusal.value.lacks == "model"
    same = replace(chosen, judge_model="openai/gpt-4o")
    with pytest.raises(UsageError, match="models extra"):
        resolve(JUDGED, StartOptions(), Settings(given=same), absent)
    known = KnownFacts(lambda *_: None, hindrance=lambda: "")
    warned = resolve(JUDGED, StartOptions(), Settings(given=same), known).warnings
    assert "not_independent" in [one.code for one in warned]
    with pytest.raises(UsageError, match="price of editor/copilot/gpt-4o, editor/copilot/o3 is unknown"):
        resolve(replace(JUDGED, limits=Limits(budget=5)), StartOptions(), Settings(given=chosen), known)


# ------------------------------------------------------------------------------- what has to be here first

ABSENT = replace(KNOWN, program=lambda name: None)
KEYLESS = replace(KNOWN, key=lambda role, model, options: None)


@each_row(
    "command",
    [
        "'/a folder/my agent' x",
        "cd .. && my-agent",
        "~/bin/my-agent",
        "exec my-agent",
        "env PATH=/a my-agent",
        "PATH=/a my-agent",
        "CI=$LEVEL my-agent",
        "CI=1",
        "env -a x my-agent",
    ],
)
def test_an_agents_command_that_only_a_shell_understands_is_left_to_the_shell(command: str) -> None:
    known = replace(ABSENT, program=lambda name: name if name in ("/a folder/my agent", "env") else None)
    assert started(given=Choices(worker="acp", agent_command=command), known=known).options.worker == "acp"


@each_row(
    "known, given, lacks, said",
    [
        (
            ABSENT,
            {"worker": "claude"},
            "worker",
            "Claude Code is not installed: npm install -g @anthropic-ai/claude-code",
        ),
        (ABSENT, {"worker": "acp", "agent_command": "gemini"}, "worker", "Gemini CLI is not installed: npm install"),
        (ABSENT, {"worker": "acp", "agent_command": "my-agent --acp"}, "worker", "`my-agent` is not installed"),
        (
            ABSENT,
            {"worker": "command", "worker_command": "no-such --now"},
            "worker",
            "`no-such` is not installed: install",
        ),
        (
            replace(KNOWN, program=lambda name: name if name in ("env", "timeout") else None),
            {"worker": "command", "worker_command": "env CI=1 timeout -k 5 600 no-such --now"},
            "worker",
            "`no-such` is not installed: install",
        ),
        (
            ABSENT,
            {"worker": "command", "worker_command": "CI=1 LEVEL=a=b no-such --now"},
            "worker",
            "`no-such` is not installed: install",
        ),
        (
            ABSENT,
            {"worker": "command", "worker_command": "timeout 600 no-such --prompt {prompt}"},
            "worker",
            "`timeout` is not installed: install",
        ),
        (
            ABSENT,
            {"worker": "command", "worker_command": "codex exec {prompt}"},
            "worker",
            "Codex is not installed: npm install",
        ),
        (
            ABSENT,
            {"worker": "command", "worker_command": "./nothere.sh --now"},
            "worker",
            "the worker's program ./nothere.sh is not there: correct --worker-command",
        ),
        (NOT_INSTALLED, {"model": "openai/m"}, "models", "needs the models extra"),
        (KNOWN, {"model": "qwen3:4b"}, "model", "`qwen3:4b` names no provider: write `provider/model`"),
        (KNOWN, {"model": "foo/bar"}, "model", "`foo/bar` names no provider: write `provider/model`"),
        (KNOWN, {"model": "/gpt-5"}, "model", "`/gpt-5` names no provider: write `provider/model`"),
        (KNOWN, {"model": "openai/"}, "model", "`openai/` names no model: write `provider/model`"),
        (KEYLESS, {"model": "openai/m"}, "key", "there is no key for openai/m: set OPENAI_API_KEY"),
        (KEYLESS, {"worker": "human", "judge_model": "openai/j"}, "key", "OPENAI_API_KEY or DONEWHEN_JUDGE_API_KEY"),
    ],
)
def test_what_is_not_here_is_refused_at_a_start_and_at_a_resumption_alike(
    known: KnownFacts, given: dict[str, str], lacks: str, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        started(given=Choices(**given), known=known)  # type: ignore[arg-type]
    assert refused.value.lacks == lacks
    assert said in str(refused.value)
    if lacks != "model":
        options = resolve(JUDGED, StartOptions(), Settings(given=Choices(**given)), KNOWN).options  # type: ignore[arg-type]
        with pytest.raises(UsageError) as resumed:
            refuse_unready(JUDGED, options, known)
        assert str(resumed.value) == str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"worker": "command", "worker_command": "no-such-program | tee log"},
        {"worker": "command", "worker_command": "exit 1"},
        {"worker": "human", "worker_command": "no-such-program"},
        {"model": "openai/m", "api_base": "http://127.0.0.1:8080/v1"},
        {"model": "ollama/m"},
    ],
)
def test_what_a_shell_finds_and_what_needs_no_key_is_not_asked_for(given: dict[str, str]) -> None:
    started(given=Choices(**given), known=replace(ABSENT, key=KEYLESS.key))  # type: ignore[arg-type]
