"""`bench`: GoalBench with the scripted judges, or with a model as the judge, so that one can be chosen by numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from donewhen.cli.calling import Call
from donewhen.cli.formatting import duration, one_line
from donewhen.cli.outcome import COMPLETE, NOT_COMPLETE
from donewhen.core.errors import JudgeOutage, UsageError
from donewhen.core.words import money
from donewhen.core.work import Usage
from donewhen.extras.goalbench.cases import Case, JudgeName, chosen, load_cases
from donewhen.extras.goalbench.environment import bench_environment, note_measured
from donewhen.extras.goalbench.playing import CASE_SECONDS, OWN, BenchEnvironment, CaseResult, JudgeOf, run_cases
from donewhen.extras.goalbench.quick import SECONDS, believed, measured, quick
from donewhen.extras.goalbench.scoring import (
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
from donewhen.extras.goalbench.verdicts import scripted_judge
from donewhen.ports import Measured
from donewhen.settings.loading import Settings
from donewhen.settings.table import BY_NAME, JUDGE, Choices

SCRIPTED: tuple[JudgeName, ...] = ("honest", "gullible", "hostile", "garbage")
"""The judges whose rates are printed if no model is named."""
HOW = (
    "No model was asked. To measure one: donewhen bench --judge-model PROVIDER/NAME\n"
    "(any model that litellm knows; its key comes from the environment, as for `run`)."
)


async def bench(call: Call) -> int:
    """0 if nothing ended falsely and everything could be played, else 1. Raises UsageError for an unknown case."""
    cases = quick(load_cases()) if call.arguments.quick else chosen(load_cases(), call.arguments.case or ())
    if call.arguments.quick and call.arguments.case:
        raise UsageError("--quick plays cases of its own: leave out --case")
    if call.arguments.list:
        return _list_cases(call, cases)
    if call.arguments.judge_model:
        return await (_quickly if call.arguments.quick else _with_a_model)(call, cases)
    if not (call.json or call.arguments.case or call.arguments.quick):
        raise UsageError(
            f"`donewhen bench --json` plays all {len(cases)} cases with scripted judges, which takes minutes. To "
            "measure a model: donewhen bench --quick --judge-model PROVIDER/NAME; to play some: --case ID; to see "
            "them: --list"
        )
    if call.arguments.quick:
        raise UsageError("--quick measures a model: donewhen bench --quick --judge-model PROVIDER/NAME")
    return await _with_scripted_judges(call, cases)


def _list_cases(call: Call, cases: Sequence[Case]) -> int:
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
    rest = [*asked[1:], *(case for case in fit if case not in asked)]
    results = await _play_with_a_model(call, settings, asked[:1], rest)
    if call.json:
        call.terminal.document(document(results, [(name, rows(results)[-1])]))
        return _exit_of_cases(results)
    _print_table(call, results, with_judge=True)
    for line in _meaning(name, rows(results)[-1]):
        call.terminal.result(line)
    return _exit_of_cases(results)


async def _quickly(call: Call, cases: Sequence[Case]) -> int:
    """0 if the judge can be relied on as far as these cases tell, else 1; the result is kept for the model."""
    settings = _judging(call.settings)
    name = settings.given.judge_model or ""
    results = await _play_with_a_model(call, settings, cases[:1], cases[1:], SECONDS)
    found = measured(results, datetime.now(UTC).date())
    if found is not None:
        note_measured(settings, call.state_dir, found)
    if call.json:
        kept = None if found is None else {**asdict(found), "weak": found.weak}
        call.terminal.document({**document(results, [(name, rows(results)[-1])]), "measured": kept})
    else:
        for line in (*_in_words(name, found, believed(results)), f"cost: {_cost_in_words(rows(results)[-1].usage)}"):
            call.terminal.result(line)
    return COMPLETE if found is not None and not found.weak else NOT_COMPLETE


def _in_words(name: str, found: Measured | None, kinds: Sequence[str]) -> Iterator[str]:
    yield f"judge: {name}"
    yield from (f"it believed {kind}" for kind in kinds)
    if found is None:
        yield "Not every case could be judged, so no result is kept: see the failures above, and measure it again."
        return
    yield f"it {found}, cases {found.cases}"
    if found.weak:
        yield (
            "It is weak: its verdicts are marked as such from now on. Bind a check to what it would decide, or set "
            "another judge_model."
        )
    else:
        yield "It passes. All cases of GoalBench tell more: donewhen bench --judge-model " + name


async def _play_with_a_model(
    call: Call, settings: Settings, first: Sequence[Case], rest: Sequence[Case], seconds: float = CASE_SECONDS
) -> tuple[CaseResult, ...]:
    """With the judge of the settings. If it can't be asked about the first case, no other is played."""
    name = settings.given.judge_model or ""

    def none(case: Case, root: Path) -> None:
        """Provides no judge: the settings name one."""

    async with bench_environment(settings) as bench:
        results = await _play_cases(call, first, bench, name, none, seconds)
        if any(one.failure for one in results):
            raise JudgeOutage(f"{name} could not be asked, so nothing was measured: {results[0].failure}")
        return results + await _play_cases(call, rest, bench, name, none, seconds)


def _judging(settings: Settings) -> Settings:
    """The settings for the judge, without those for the person's own runs."""
    return Settings(
        Choices(**{name: settings.pick(name) for name, one in BY_NAME.items() if one.group == JUDGE}),
        prices=settings.prices,
    )


async def _with_scripted_judges(call: Call, cases: Sequence[Case]) -> int:
    judged = [case for case in with_any_judge(cases) if case.decided_by == "judge"]
    async with bench_environment(Settings()) as bench:
        results = await _play_cases(call, cases, bench, OWN, lambda case, root: scripted_judge(case.judge, case, root))
        by_judge: list[tuple[str, Row]] = []
        for name in SCRIPTED if judged else ():
            alone = await _play_cases(
                call, judged, bench, name, lambda case, root, name=name: scripted_judge(name, case, root)
            )
            by_judge.append((name, rows(alone)[-1]))
    if call.json:
        call.terminal.document(document(results, by_judge))
        return _exit_of_cases(results)
    _print_table(call, results)
    if by_judge:
        call.terminal.result("\nWhat a judge alone decides, by scripted judge:\n")
        for line in judge_table(by_judge):
            call.terminal.result(line)
    call.terminal.result(f"\n{HOW}")
    return _exit_of_cases(results)


async def _play_cases(
    call: Call,
    cases: Sequence[Case],
    bench: BenchEnvironment,
    name: str,
    judge_of: JudgeOf,
    seconds: float = CASE_SECONDS,
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

    return await run_cases(here, bench, judge_of, name=name, seconds=seconds, on_result=tell)


def _print_table(call: Call, results: Sequence[CaseResult], *, with_judge: bool = False) -> None:
    for line in table(rows(results), with_judge=with_judge):
        call.terminal.result(line)
    known = [one.case for one in results if one.case.known]
    if known:
        call.terminal.result("\nKnown, and counted above:")
    for case in known:
        call.terminal.result(f"- {case.id}: {case.known}")
    for identity in broken_bars(results):
        call.terminal.result(f"- {identity} ended falsely, though a check or an integrity rule decides it")
    for one in results:
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
        f"cost: {_cost_in_words(total.usage)}",
        "A false accept lets a run end as complete when it isn't; a false reject costs turns and money. Requirements "
        "that a check decides are not at the mercy of either.",
    ]


def _cost_in_words(usage: Usage) -> str:
    return f"{money(usage.usd)}, {usage.tokens:,} tokens ({usage.cached_tokens:,} cached)"


def _exit_of_cases(results: Sequence[CaseResult]) -> int:
    return NOT_COMPLETE if any(map(failed, results)) or broken_bars(results) else COMPLETE
