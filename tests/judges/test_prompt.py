"""What the judge is shown: the same for the same evidence, within a bound, with what decides (A12, A17, A18)."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.core.errors import InvalidGoal
from donewhen.core.events import JudgeOptions
from donewhen.core.evidence import (
    CheckResult,
    EditorReport,
    Evidence,
    ObservedCommand,
    ObservedFile,
    Outcome,
    Problem,
    TestCase,
    TestTotals,
)
from donewhen.core.goal import Check, Requirement
from donewhen.core.work import Claim
from donewhen.judges.blocks import Material
from donewhen.judges.evidence_prompt import batches, question
from donewhen.judges.excerpts import untimed
from donewhen.judges.llm import LlmJudge
from donewhen.ports import AuditContext, JudgeTask
from tests.judges.models import (
    REVISION,
    MemoryAudit,
    ScriptedModel,
    entry,
    passed,
    prompt_size,
    requirement,
    task,
    verdict,
)
from tests.tools import each_row, examples

OPTIONS = JudgeOptions(("scripted/judge",))


def unverified_all(requirements: Sequence[Requirement]) -> str:
    return verdict(*(entry(r.label, "unverified", []) for r in requirements))


async def prompts_of(judged: JudgeTask, context: AuditContext, options: JudgeOptions = OPTIONS) -> list[str]:
    """All prompts of an audit whose model decides nothing."""

    def answer(request: object) -> str:
        return unverified_all([r for r in judged.requirements if f"\n{r.label}: " in _text(request)])

    model = ScriptedModel(*([answer] * 60))
    await LlmJudge(model, options).judge(judged, context)
    assert all(prompt_size(request) <= options.tokens * 3.5 for request in model.requests)
    return [_text(request) for request in model.requests]


def _text(request: object) -> str:
    return "\n".join(message.text for message in request.messages)  # type: ignore[attr-defined]


def command(text: str, output: str, key: str, seconds: float = 1.0, revision: str = REVISION) -> Evidence:
    return Evidence(key, revision, revision, 1, ObservedCommand(text, 0, seconds, output))


def scene(seed: int) -> tuple[JudgeTask, MemoryAudit]:
    """The same files and observed commands each time; all that may differ between runs differs by `seed`."""
    root = f"/home/person-{seed}/work/project"
    chance = random.Random(seed)  # no secret
    ids = [f"E{n}" for n in chance.sample(range(1, 500), 6)]
    check, other = Check.of("pytest -q"), Check.of("ruff check .")
    requirements = (
        Requirement("r-1", 1, "Quotes are escaped in `src/export.py`", (check,), files=("src/export.py",)),
        Requirement("r-2", 2, "Line breaks are kept", (check, other)),
    )
    evidence = [
        Evidence(
            ids[0], REVISION, REVISION, seed,
            CheckResult(
                check.id, check.command, Outcome.PASSED, "2 passed", 0, started_at=seed * 1e6, seconds=seed * 0.7,
                output=f"rootdir: {root}\n..\n/tmp/pytest-{seed}/cache\n===== 2 passed in {seed}.12s =====\n",
                output_digest=str(seed), environment=f"env-{seed}", program=f"/usr/bin/python{seed}", is_test_run=True,
                totals=TestTotals(2, 0), tests=(TestCase("test_quotes", "passed"), TestCase("test_breaks", "passed")),
            ),
        ),
        Evidence(
            ids[1], REVISION, REVISION, seed,
            CheckResult(other.id, other.command, Outcome.PASSED, "", 0, seconds=seed, output="All checks passed!\n"),
        ),
        Evidence(ids[2], REVISION, REVISION, 1, EditorReport("r-2", True, (Problem("src/export.py", 3, "unused"),))),
        command("python -m csv_export", f"wrote {root}/out.csv for run-{seed:07d}\n", ids[3], seed * 1.0),
        command("pytest -x", f"1 passed in {seed}.5s", ids[4], seed * 2.0),
        command("git status", "clean", ids[5], revision="rev-0"),
    ]  # fmt: skip
    commands, rest = evidence[3:], evidence[:3]
    chance.shuffle(rest)
    files = {
        "src/export.py": "def quote(text):\n    return text\n",
        "README.md": "# Export\n",
        "notes.md": "all done!\n",
    }
    context = MemoryAudit(
        files,
        changed=["src/export.py"],
        diff="--- a/src/export.py\n+++ b/src/export.py\n@@ -1 +1,2 @@\n+def quote(text):\n",
        root=root,
        first=seed * 1_000,
    )
    judged = task(*requirements, evidence=[*rest, *commands])
    return JudgeTask(f"run-{seed:07d}", judged.goal, requirements, REVISION, judged.evidence), context


@pytest.mark.conformance("A17")
async def test_equal_evidence_gives_an_equal_prompt_byte_for_byte() -> None:
    first = await prompts_of(*scene(1))
    for seed in range(2, 8):
        assert await prompts_of(*scene(seed)) == first


@pytest.mark.conformance("A17")
async def test_no_prose_of_a_worker_and_nothing_of_the_machine_is_in_it() -> None:
    judged, context = scene(3)
    (prompt,) = await prompts_of(judged, context)
    for said in ("/home/person", "run-0000003", "/tmp/pytest-3", "python3", "env-3", "E3", "3.12s", REVISION):
        assert said not in prompt or said in ("E3",)
    assert "older than the last edit" in prompt


@pytest.mark.conformance("A17")
async def test_a_claim_is_not_shown_but_where_it_is_the_question() -> None:
    judged, context = scene(1)
    words = "I have verified everything and all tests pass"
    (without,) = await prompts_of(judged, context)
    assert words not in without
    claim = JudgeTask(
        judged.run_id, judged.goal, judged.requirements, REVISION, judged.evidence, claim=Claim("blocked", words)
    )
    model = ScriptedModel('{"confirmed": false, "reason": "no", "evidence_ids": []}')
    reply = await LlmJudge(model, OPTIONS).judge(claim, scene(1)[1])
    assert words in model.prompts[0]
    assert re.search(r"<claim-(\w{16})>\n\| I have verified", model.prompts[0])
    assert reply.confirmed is False


@pytest.mark.conformance("A12")
async def test_the_end_of_long_output_is_shown_and_what_was_cut_is_said() -> None:
    output = "the first line\n" + "".join(f"noise {n}\n" for n in range(30_000)) + "the last line\n"
    judged = task(requirement(1, "It works", checks=["make check"]), evidence=[passed("make check", output=output)])
    (prompt,) = await prompts_of(judged, MemoryAudit())
    assert "| the first line" in prompt
    assert "| the last line" in prompt
    assert re.search(r"\[\.\.\. [\d,]+ lines cut \.\.\.\]", prompt)


async def test_changed_lines_of_a_file_are_shown() -> None:
    lines = [f"value_{n} = {n}" for n in range(20_000)]
    diff = "--- a/big.py\n+++ b/big.py\n@@ -12000,1 +12000,2 @@\n value_11999 = 11999\n+value_12000 = 12000\n"
    judged = task(requirement(1, "Something else is right"))
    (prompt,) = await prompts_of(judged, MemoryAudit({"big.py": "\n".join(lines)}, changed=["big.py"], diff=diff))
    assert "12001| value_12000" in prompt


@pytest.mark.conformance("A18")
async def test_many_requirements_are_asked_in_several_calls_each_within_the_bound() -> None:
    requirements = [requirement(n, f"Feature {n} works", checks=[f"check-{n}"]) for n in range(1, 201)]
    evidence = [
        passed(f"check-{r.number}", f"E{r.number}", "noise\n" * 500 + f"decisive {r.number}\n") for r in requirements
    ]
    context = MemoryAudit(
        {f"f{n}.py": "x\n" * 500 for n in range(300)}, changed=[f"f{n}.py" for n in range(300)], diff="+x\n" * 20_000
    )
    prompts = await prompts_of(task(*requirements, evidence=evidence), context)
    assert len(prompts) > 1
    asked = [r for prompt in prompts for r in re.findall(r"^R(\d+): ", prompt, re.MULTILINE)]
    assert sorted(map(int, asked)) == list(range(1, 201))
    assert all(any(f"| decisive {r.number}\n" in prompt for prompt in prompts) for r in requirements)


@pytest.mark.conformance("A18")
@pytest.mark.parametrize("calls", [0, 8])
async def test_what_ran_since_the_last_edit_is_a_line_each_within_a_quarter_of_the_prompt(calls: int) -> None:
    sizes: list[int] = []
    for count in (10, 1_000):
        commands = [command(f"step {n}", "output\n" * 290 + f"done {n}\n", f"E{n + 2}") for n in range(count)]
        evidence = [passed("pytest -q", output="5 passed\n"), *commands]
        judged = task(requirement(1, "Step 3 is done", checks=["pytest -q"]), evidence=evidence)
        (prompt,) = await prompts_of(judged, MemoryAudit(), JudgeOptions(("m",), calls=calls))
        assert "| 5 passed" in prompt
        told = re.findall(r'^\| E\d+ "step (\d+)": exit 0, ends "output\\ndone \1"$', prompt, re.MULTILINE)
        full = re.findall(r'^command: "step (\d+)"$', prompt, re.MULTILINE)
        # The whole of some where the judge can't ask for it; of the others the latest.
        assert len(full) == (0 if calls else 8)
        assert [int(n) for n in told] == [n for n in range(count - 1, -1, -1) if str(n) not in full][: len(told)]
        assert len(told) + len(full) == count or " more: " in prompt
        sizes.append(len(prompt))
    assert sizes[1] - sizes[0] <= 24_000 * 3.5 / 4


async def test_what_earlier_verdicts_cited_is_kept_where_not_all_has_room() -> None:
    commands = [command(f"run {n}", f"end {n}\n", f"E{n}") for n in range(1, 901)]
    judged = task(requirement(1, "It is fast"), evidence=commands, cited=frozenset({"E1"}))
    (prompt,) = await prompts_of(judged, MemoryAudit(), JudgeOptions(("m",), calls=8))
    assert 'command: "run 1"\n' in prompt
    assert re.search(r"\[\.\.\. \d+ more: E\d+ to E900 are on record, too \.\.\.\]", prompt)


async def test_a_failing_line_is_shown_behind_any_number_of_warnings() -> None:
    lines = [f"warning: deprecated {n}" for n in range(4_000)] + ["assert 1 == 2"] + [f"step {n}" for n in range(4_000)]
    evidence = [passed("make", output="\n".join(lines))]
    (prompt,) = await prompts_of(task(requirement(1, "It works", checks=["make"]), evidence=evidence), MemoryAudit())
    assert "| assert 1 == 2\n" in prompt


async def test_a_requirements_own_checks_are_kept_before_others_where_not_all_has_room() -> None:
    mine = [f"make mine{n}" for n in range(200)]
    evidence = [passed(f"make early{n}", f"E{n}", "0\n") for n in range(1_000)]
    evidence += [passed(one, one, "noise\n" * 200) for one in mine]
    judged = task(requirement(1, "It works", checks=mine), evidence=evidence)
    (prompt,) = await prompts_of(judged, MemoryAudit(), JudgeOptions(("m",), calls=0))
    assert sum(f'"{one}"' in prompt for one in mine) > 100
    assert "make mine" in prompt[prompt.index('kind="what else ran"') :]


async def test_a_new_file_is_shown_once() -> None:
    diff = (
        "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+fresh = 1\n"
        "diff --git a/old.py b/old.py\n--- a/old.py\n+++ b/old.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    )
    files = {"new.py": "fresh = 1\n", "old.py": "x = 2\n"}
    (prompt,) = await prompts_of(
        task(requirement(1, "It works")), MemoryAudit(files, changed=["new.py", "old.py"], diff=diff)
    )
    assert prompt.count("fresh = 1") == 1
    assert "| diff --git a/new.py b/new.py\n| [a new file: its block shows it]\n| diff --git a/old.py" in prompt
    assert "| +x = 2\n" in prompt


texts = (
    st.text(max_size=300)
    | st.integers(1, 4_000).map(lambda n: "line of some text\n" * n)
    | st.integers(1, 8_000).map(lambda n: "日" * n)
)


@st.composite
def material(draw: st.DrawFn) -> Material:
    count = draw(st.integers(1, 12))
    names = [f"src/module_{n}.py" for n in range(draw(st.integers(0, 8)))]
    requirements = tuple(
        Requirement(
            f"r-{n}", n, draw(texts).strip() or "It works", (Check.of(f"check {n}"),),
            files=("src/*.py",) if draw(st.booleans()) else (), details=(draw(texts),),
        )
        for n in range(1, count + 1)
    )  # fmt: skip
    evidence = [passed(f"check {n}", f"E{n}", f"{draw(texts)}\nLAST LINE OF {n}") for n in range(1, count + 1)]
    evidence += [command(draw(texts) or "ls", draw(texts), f"E{n + 100}") for n in range(draw(st.integers(0, 10)))]
    contents = {name: draw(texts).encode("utf-8", "replace") for name in names}
    return Material(requirements, REVISION, tuple(evidence), tuple(names), tuple(names), draw(texts), contents)


@pytest.mark.conformance("A18", "A12")
@given(material(), st.integers(24_000, 90_000))
@examples(25 if settings().max_examples == 100 else 15)  # 25 in full and 3 otherwise: each takes long
def test_a_question_never_exceeds_its_room_and_holds_every_last_line(shown: Material, room: int) -> None:
    judged = task(*shown.requirements)
    made = question(judged, shown, room)
    assert len(made.text.encode("utf-8", "replace")) <= room
    for one in shown.requirements:
        assert f"LAST LINE OF {one.number}\n" in made.text
        assert f"\n{one.label}: " in made.text
    assert made == question(judged, shown, room)
    assert list(made.sources) == [f"E{n}" for n in range(1, len(made.sources) + 1)]


@given(st.integers(1, 400), st.integers(2_000, 90_000))
def test_batches_hold_each_requirement_once(count: int, room: int) -> None:
    requirements = [requirement(n, "x") for n in range(1, count + 1)]
    made = batches(requirements, room)
    assert [r for batch in made for r in batch] == requirements
    assert max(map(len, made)) - min(map(len, made)) <= max(map(len, made)) - 1 or len(made) == 1


def test_a_bound_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(InvalidGoal, match="leaves no room"):
        LlmJudge(ScriptedModel(), JudgeOptions(("m",), tokens=1_000))
    with pytest.raises(InvalidGoal, match="shorten the judge's prompt"):
        LlmJudge(ScriptedModel(), JudgeOptions(("m",), prompt="Be strict. " * 10_000))


@each_row(
    "output, shown",
    [
        ("==== 5 passed, 1 skipped in 0.12s ====", "==== 5 passed, 1 skipped in (time) ===="),
        ("3 failed in 75.20s (0:01:15)", "3 failed in (time)"),
        ("Ran 3 tests in 0.001s\n\nOK", "Ran 3 tests in (time)\n\nOK"),
        ("Time:        1.2 s, estimated 2 s", "Time:        (time)"),
        ("  ✓ adds (5 ms)", "  ✓ adds ((time))"),
        ("  5 passing (12ms)", "  5 passing ((time))"),
        ("ok  \texample.com/x\t0.003s", "ok  \texample.com/x\t(time)"),
        ("--- PASS: TestX (0.00s)", "--- PASS: TestX ((time))"),
        (
            "test result: ok. 3 passed; 0 failed; finished in 0.01s",
            "test result: ok. 3 passed; 0 failed; finished in (time)",
        ),
        ("Finished in 0.01 seconds (files took 0.1 seconds to load)", "Finished in (time)"),
        ("# duration_ms 12.5", "# duration_ms (time)"),
        ("the export took 0.8s, 3x faster", "the export took 0.8s, 3x faster"),
        ("p50 = 12ms", "p50 = 12ms"),
    ],
)
@pytest.mark.conformance("A17")
def test_a_runners_own_durations_are_left_out_and_no_other_figure(output: str, shown: str) -> None:
    assert untimed(output) == shown


async def test_a_benchmark_keeps_its_figures() -> None:
    judged = task(
        requirement(1, "Fast", checks=["./bench"]),
        evidence=[passed("./bench", output="Finished in 0.01s\n5 passed in 3.2s")],
    )
    (prompt,) = await prompts_of(judged, MemoryAudit())
    assert "Finished in 0.01s" in prompt
    assert "in 3.2s" in prompt


async def test_what_is_shown_is_on_record_as_it_was_shown() -> None:
    judged, context = scene(1)
    await prompts_of(judged, context)
    files = {e.observation.path: e.observation for e in context.recorded if isinstance(e.observation, ObservedFile)}
    assert files["src/export.py"].excerpt == "1| def quote(text):\n2|     return text"
    assert files["src/export.py"].size == 33


@pytest.mark.conformance("C13")
async def test_secrets_are_masked_and_binaries_and_large_files_are_bounded() -> None:
    files = {"a.py": "key = 'hunter2-secret'\n", "b.bin": b"\0\1" * 999, "c.txt": "y" * 3_000_000, "empty.py": b""}
    context = MemoryAudit(files, changed=list(files), diff="+key = 'hunter2-secret'\n")
    judged = task(
        requirement(1, "No hunter2-secret"),
        evidence=[passed("x", output="hunter2-secret")],
        disputes={"r-1": "hunter2-secret"},
    )
    model = ScriptedModel(unverified_all(judged.requirements))
    await LlmJudge(model, OPTIONS, mask=lambda text: text.replace("hunter2-secret", "[masked]")).judge(judged, context)
    prompt = model.prompts[0]
    assert "hunter2" not in prompt
    assert "binary, 1998 bytes" in prompt
    assert "too large to be shown whole" in prompt
    assert "content: empty" in prompt
    assert "disputes an earlier verdict" in prompt


@pytest.mark.conformance("A18")
async def test_each_requirement_keeps_its_decisive_file_among_many() -> None:
    requirements = [
        Requirement(
            f"r-{n}",
            n,
            f"What part_{n}.py decides is right. {'It is long. ' * 200}",
            (Check.of(f"c {n}"),),
            files=(f"part_{n}/**",),
        )
        for n in range(1, 61)
    ]
    files = {f"part_{n}/part_{n}.py": "x = 1\n" * 900 + f"decisive_{n} = {n}\n" for n in range(1, 61)}
    files |= {f"part_{n}/noise_{m}.py": "y = 2\n" * 900 for n in range(1, 61) for m in range(5)}
    evidence = [passed(f"c {n}", f"E{n}", "noise\n" * 400 + f"passed {n}\n") for n in range(1, 61)]
    context = MemoryAudit(files, changed=list(files), diff="+x\n" * 9_000)
    prompts = await prompts_of(task(*requirements, evidence=evidence), context)
    for number in range(1, 61):
        (prompt,) = [one for one in prompts if f"\nR{number}: " in one]
        assert f"| decisive_{number} = {number}\n" in prompt
        assert f"| passed {number}\n" in prompt


async def test_a_glob_that_matches_nothing_is_said() -> None:
    asked = task(requirement(1, "It is documented", files=("docs/*.md",)))
    (prompt,) = await prompts_of(asked, MemoryAudit({"a.py": "x\n"}))
    assert "files: docs/*.md (no file matches)" in prompt


async def test_paths_of_the_machine_are_left_out_of_output_but_files_stay_as_they_are() -> None:
    root = "/home/person/project"
    output = (
        f"saved to {root}.\n{root}/a.py ok\n{root}-old stays\n/tmp/pytest-of-me/pytest-12/x0/f\n\x1b[31mred\x1b[0m\n"
    )
    files = {"a.py": "OUT = '/tmp/export.csv'\n"}
    asked = task(requirement(1, "Writes /tmp/export.csv in a.py", checks=["x"]), evidence=[passed("x", output=output)])
    (prompt,) = await prompts_of(asked, MemoryAudit(files, root=root))
    assert f"| saved to ..\n| ./a.py ok\n| {root}-old stays\n| (scratch)/x0/f\n| red\n" in prompt
    assert "1| OUT = '/tmp/export.csv'" in prompt
    assert "R1: Writes /tmp/export.csv" in prompt


@pytest.mark.conformance("A18", "C9")
async def test_a_claim_about_very_many_requirements_stays_within_the_bound() -> None:
    requirements = [requirement(n, f"Feature {n} works " + "x" * 500) for n in range(1, 2_001)]
    model = ScriptedModel('{"confirmed": false, "reason": "no", "evidence_ids": []}')
    claim = Claim("impossible", "it can't be done " * 5_000)
    await LlmJudge(model, OPTIONS).judge(task(*requirements, claim=claim), MemoryAudit())
    assert prompt_size(model.requests[0]) <= 24_000 * 3.5


async def test_a_failed_check_says_why_to_a_claim() -> None:
    result = CheckResult("c", "make", Outcome.NOT_INSTALLED, "make is not installed here", 127)
    asked = task(
        requirement(1, "It works"),
        evidence=[Evidence("E1", REVISION, REVISION, 1, result)],
        claim=Claim("blocked", "x"),
    )
    model = ScriptedModel('{"confirmed": false, "reason": "no", "evidence_ids": []}')
    await LlmJudge(model, OPTIONS).judge(asked, MemoryAudit())
    assert 'result: not installed, exit code 127\nreason: "make is not installed here"' in model.prompts[0]
