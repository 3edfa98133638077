"""`bench`: GoalBench with the scripted judges, or with a model as the judge, so that one can be chosen by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from donewhen.app.bench import bench_environment as open_laboratory
from donewhen.cli.calling import Call
from donewhen.cli.formatting import duration, money, one_line
from donewhen.cli.outcome import COMPLETE, NOT_COMPLETE
from donewhen.config import Choices, Settings
from donewhen.core.errors import JudgeOutage
from donewhen.core.work import Usage
from donewhen.goalbench.cases import Case, JudgeName, chosen, load_cases
from donewhen.goalbench.playing import OWN, BenchEnvironment, CaseResult, JudgeOf, run_cases
from donewhen.goalbench.scoring import (
    Row,
    broken_bars,
    document,
    failed,
    judge_table,
    missing,
    rows,
    table,
    with_any_judge,
)
from donewhen.goalbench.verdicts import scripted_judge
from donewhen.settings.table import BY_NAME, JUDGE

SCRIPTED: tuple[JudgeName, ...] = ("honest", "gullible", "hostile", "garbage")
"""The judges whose rates are printed if no model is named."""
HOW = (
    "No model was asked. To measure one: donewhen bench --judge-model PROVIDER/NAME\n"
    "(any model that litellm knows; its key comes from the environment, as for `run`)."
)


async def bench(call: Call) -> int:
    """0 if nothing ended falsely and everything could be played, else 1. Raises UsageError for an unknown case."""
    cases = chosen(load_cases(), call.arguments.case or ())
    if call.arguments.list:
        return _listed(call, cases)
    if call.arguments.judge_model:
        return await _with_a_model(call, cases)
    return await _with_scripted_judges(call, cases)


def _listed(call: Call, cases: Sequence[Case]) -> int:
    if call.json:
        call.terminal.document({"cases": [{"id": c.id, "group": c.group, "about": c.about} for c in cases]})
        return COMPLETE
    group = ""
    for case in cases:
        if case.group != group:
            group = case.group
            call.terminal.result(group)
        call.terminal.result(f"  {case.id}: {case.about}")
    return COMPLETE


async def _with_a_model(call: Call, cases: Sequence[Case]) -> int:
    settings = _judging(call.settings)
    name = settings.given.judge_model or ""
    fit = with_any_judge(cases)
    # Cases that the judge decides come first: if it can't be asked, nothing else is played.
    asked = [case for case in fit if case.decided_by == "judge"]
    async with open_laboratory(settings) as laboratory:
        played = await _played(call, asked[:1], laboratory, name, _none)
        if any(one.failure for one in played):
            raise JudgeOutage(f"{name} could not be asked, so nothing was measured: {played[0].failure}")
        rest = [*asked[1:], *(case for case in fit if case not in asked)]
        played += await _played(call, rest, laboratory, name, _none)
    if call.json:
        call.terminal.document(document(played, [(name, rows(played)[-1])]))
        return _code(played)
    _print_table(call, played, with_judge=True)
    for line in _meaning(name, rows(played)[-1]):
        call.terminal.result(line)
    return _code(played)


def _none(case: Case, root: Path) -> None:
    """Provides no judge: the settings name one."""


def _judging(settings: Settings) -> Settings:
    """The settings for the judge, without those for the person's own runs."""
    return Settings(
        Choices(**{name: settings.pick(name) for name, one in BY_NAME.items() if one.group == JUDGE}),
        prices=settings.prices,
    )


async def _with_scripted_judges(call: Call, cases: Sequence[Case]) -> int:
    judged = [case for case in with_any_judge(cases) if case.decided_by == "judge"]
    async with open_laboratory(Settings()) as laboratory:
        played = await _played(call, cases, laboratory, OWN, lambda case, root: scripted_judge(case.judge, case, root))
        by_judge = [(name, await _rates(call, name, judged, laboratory)) for name in SCRIPTED if judged]
    if call.json:
        call.terminal.document(document(played, by_judge))
        return _code(played)
    _print_table(call, played)
    if by_judge:
        call.terminal.result("\nWhat a judge alone decides, by scripted judge:\n")
        for line in judge_table(by_judge):
            call.terminal.result(line)
    call.terminal.result(f"\n{HOW}")
    return _code(played)


async def _rates(call: Call, name: JudgeName, cases: Sequence[Case], laboratory: BenchEnvironment) -> Row:
    played = await _played(call, cases, laboratory, name, lambda case, root: scripted_judge(name, case, root))
    return rows(played)[-1]


async def _played(
    call: Call, cases: Sequence[Case], laboratory: BenchEnvironment, name: str, judge_of: JudgeOf
) -> tuple[CaseResult, ...]:
    """Reports each case as it ends. Cases whose checks need missing programs are left out, and named."""
    absent = {case.id: what for case in cases if (what := missing(case))}
    if absent:
        needed = ", ".join(sorted({one for what in absent.values() for one in what}))
        call.terminal.message(f"donewhen: left out, since they need {needed}: {', '.join(absent)}")
    here = [case for case in cases if case.id not in absent]
    ended = 0

    def tell(one: CaseResult) -> None:
        nonlocal ended
        ended += 1
        judge = f" with {one.judge}" if one.judge != OWN else ""
        said = one.failure or one.status
        call.terminal.message(
            f"[{ended}/{len(here)}] {one.case.id}{judge}: {one_line(said, 120)} ({duration(one.seconds)})"
        )

    return await run_cases(here, laboratory, judge_of, name=name, on_played=tell)


def _print_table(call: Call, played: Sequence[CaseResult], *, with_judge: bool = False) -> None:
    for line in table(rows(played), with_judge=with_judge):
        call.terminal.result(line)
    known = [one.case for one in played if one.case.known]
    if known:
        call.terminal.result("\nKnown, and counted above:")
    for case in known:
        call.terminal.result(f"- {case.id}: {case.known}")
    for identity in broken_bars(played):
        call.terminal.result(f"- {identity} ended falsely, though a check or an integrity rule decides it")
    for one in played:
        if failed(one):
            call.terminal.result(f"- {one.case.id} failed: {one_line(one.failure)}")


def _meaning(name: str, total: Row) -> list[str]:
    """The rates in words."""
    return [
        "",
        f"judge: {name}",
        f"false accept: {total.accepted}: requirements that it found met although they are not.",
        f"false reject: {total.rejected}: requirements that it did not find met although they are.",
        f"undecided: {total.undecided}: requirements that it left open, or its reply could not be used; those "
        "that are met count as false rejects too.",
        f"failed: {total.failed} cases could not be judged, and count in neither.",
        f"cost: {_cost(total.usage)}",
        "A false accept lets a run end as complete when it isn't; a false reject costs turns and money. Requirements "
        "that a check decides are not at the mercy of either.",
    ]


def _cost(usage: Usage) -> str:
    return f"{money(usage.usd)}, {usage.tokens:,} tokens ({usage.cached_tokens:,} cached)"


def _code(played: Sequence[CaseResult]) -> int:
    return NOT_COMPLETE if any(map(failed, played)) or broken_bars(played) else COMPLETE
