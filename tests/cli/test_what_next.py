"""At every bad end the terminal names the commands that help, in the order in which an editor has its buttons."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from donewhen.cli.pursuing import what_next
from donewhen.core.events import EndStatus
from donewhen.core.resume import goal_gone
from donewhen.core.state import KeptTree, RunState
from donewhen.core.trouble import CallRole, ModelTrouble, TroubleKind
from donewhen.wire.snapshot import snapshot
from donewhen.wire.view import view_of as shown
from tests.cli.fakes import RUN, state_of, view_of

RESUME = f"donewhen resume {RUN}"
ANOTHER = "donewhen run --model PROVIDER/NAME"
ADDRESS = f"{RESUME} --api-base URL"
ACTS: list[tuple[TroubleKind, list[str]]] = [
    ("unreachable", [RESUME, ADDRESS, ANOTHER]),
    ("starting", [RESUME, ANOTHER]),
    ("overloaded", [RESUME, ANOTHER]),
    ("failing", [RESUME, ANOTHER, ADDRESS]),
    ("silent", [RESUME, ANOTHER]),
    ("malformed", [ADDRESS, ANOTHER, RESUME]),
    ("key_missing", ["export ANTHROPIC_API_KEY=KEY", ANOTHER, RESUME]),
    ("key_refused", ["export ANTHROPIC_API_KEY=KEY", ANOTHER, RESUME]),
    ("no_credit", [ANOTHER, "export ANTHROPIC_API_KEY=KEY", RESUME]),
    ("no_such_model", [ANOTHER, ADDRESS, RESUME]),
    ("wrong_address", [ADDRESS, ANOTHER, RESUME]),
    ("support_missing", ["donewhen doctor", ANOTHER, RESUME]),
    ("too_long", [ANOTHER, RESUME]),
    ("refused", [ANOTHER, RESUME]),
]


def paused(kind: TroubleKind, role: CallRole = "worker") -> RunState:
    return state_of(red=True, paused="model unreachable", trouble=ModelTrouble(kind, role, "anthropic/m", "it fails"))


def acts(state: RunState) -> list[str]:
    """The commands, without what is said of each."""
    lines = "\n".join(what_next(view_of(state))).splitlines()
    return [line.partition("   # ")[0].strip() for line in lines if line.startswith("  ")]


@pytest.mark.parametrize(("kind", "expected"), ACTS, ids=[kind for kind, _ in ACTS])
def test_each_cause_names_the_commands_that_help(kind: TroubleKind, expected: list[str]) -> None:
    assert acts(paused(kind)) == expected


def test_a_key_that_was_refused_is_set_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = paused("key_refused")
    monkeypatch.setenv("DONEWHEN_API_KEY", "refused")
    assert acts(refused)[0] == "export DONEWHEN_API_KEY=KEY"


def test_every_cause_has_its_commands() -> None:
    assert [kind for kind, _ in ACTS] == list(get_args(TroubleKind))


@pytest.mark.parametrize("kind", get_args(TroubleKind))
def test_an_editor_has_a_button_for_each_in_the_same_order(kind: TroubleKind, tmp_path: Path) -> None:
    state = paused(kind)
    buttons = shown(snapshot(view_of(state), tmp_path)).repairs
    does = {
        "setApiKey": "export ",
        "chooseModels": "donewhen run",
        "setAddress": ADDRESS,
        "installModels": "donewhen doctor",
        "resume": RESUME,
    }
    assert len(buttons) == len(acts(state))
    assert all(act.startswith(does[one.action]) for one, act in zip(buttons, acts(state), strict=True))


def test_what_the_judge_lacks_is_given_to_the_judge() -> None:
    assert acts(paused("wrong_address", "judge")) == [
        f"{RESUME} --judge-api-base URL", "donewhen run --judge-model PROVIDER/NAME", RESUME,
    ]  # fmt: skip


def test_a_goal_file_that_is_gone_is_put_back_and_then_it_goes_on() -> None:
    gone = goal_gone("GOAL.md")
    assert acts(state_of(red=True, paused=gone, reason=gone)) == [RESUME]
    kept = state_of(red=True, paused=gone, reason=gone, checkpoints=(KeptTree("c1", 1, 2),))
    assert acts(kept) == [f"donewhen revert {RUN} 2 GOAL.md --force", RESUME]


@pytest.mark.parametrize(
    ("status", "option"),
    [("capped", "--max-iterations N"), ("timed_out", "--timeout T"), ("over_budget", "--token-budget N")],
)
def test_a_limit_that_ended_it_is_raised(status: EndStatus, option: str) -> None:
    assert acts(state_of(red=True, ended=True, end_status=status)) == [f"{RESUME} {option}"]
