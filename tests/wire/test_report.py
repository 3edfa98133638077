"""The receipts, letter by letter where people and programs read them."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml, TestCase

from donewhen.cli.progress import closing
from donewhen.core.evidence import CheckResult, Outcome, Trial, TrialKind
from donewhen.core.goal import Requirement
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.people import ActOnRecord, Person
from donewhen.core.proof import Present
from donewhen.core.state import KnownFinding, Spend
from donewhen.core.verdict import GRADES, Grade
from donewhen.core.work import RunWarning, Usage
from donewhen.engine.api import RunView
from donewhen.wire.reports import ReportFormat, cited, render
from donewhen.wire.reports.markdown import code, plain_line
from tests.cli.fakes import CLEAN, GOAL, PYTEST, RED, complete, evidence, recorded, state_of, view, view_of, with_views
from tests.tools import each_row

ROOT = Path("/w")
FINDING = KnownFinding("F1", IntegrityFinding("k", "test_skipped", "tests/test_x.py", 4, "a test is skipped now"))
OPINION = Requirement("r-3", 3, "The README is <b>good</b> | @everyone", line=10)


def rendered(form: ReportFormat, shown: RunView) -> str:
    known = {one.id: one for one in shown.state.check_evidence}
    return render(form, shown, ROOT, [known[identity] for identity in cited(shown) if identity in known])


def with_everything() -> RunView:
    goal = replace(GOAL, requirements=(RED, CLEAN, OPINION))
    return view_of(
        state_of(
            red=True,
            goal=goal,
            waived={CLEAN.id: "ruff is broken here"},
            findings=(FINDING, replace(FINDING, id="F2", accepted=True, reason="it was flaky")),
            ended=True,
            end_status="capped",
            reason="the limit of 10 iterations is reached",
            iteration=10,
            elapsed=61.25,
        )
    )


def test_the_short_receipt_fits_a_pull_request_and_says_what_is_not_proven() -> None:
    lines = rendered("short", with_everything()).splitlines()
    assert len(lines) <= 15
    assert lines[0] == f"**{plain_line(GOAL.title)}**: capped, 0 of 3 proven"
    table = "\n".join(lines)
    assert "| ❌ |" in table
    assert "| unmet: " in table
    assert "| a person | waived: ruff is broken here |" in table
    assert "\\<b>good" in table
    assert "@everyone" not in table
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC · 61 s · 10 iterations · .* · revision `", lines[-1])


ANA = Person("ana", "terminal")
ACCEPTED = replace(FINDING, id="F2", accepted=True, reason="it was flaky")


def test_the_short_receipt_says_why_a_run_is_blocked_and_by_which_finding() -> None:
    reason = "trials refuse the proof, which a person has to settle"
    blocked = view(ended=True, end_status="blocked", reason=reason, findings=(FINDING,))
    lines = rendered("short", blocked).splitlines()
    assert lines[0].endswith(": blocked, 2 of 2 proven")
    assert reason in lines
    assert "Open findings: F1 test_skipped at `tests/test_x.py:5`: a test is skipped now" in lines
    assert not any(line.startswith("Accepted") for line in lines)


def test_what_a_trial_refuses_is_not_said_to_be_proven() -> None:
    check = GOAL.requirements[0].checks[0]
    key = f"trial:{check.id}"
    found = KnownFinding("F1", IntegrityFinding(key, "original_fails", "tests/test_x.py", 4, "the original fails"))
    blocked = view(ended=True, end_status="blocked", reason="trials refuse the proof", findings=(found,))
    short = rendered("short", blocked).splitlines()
    assert short[0].endswith(": blocked, 1 of 2 proven")
    assert any(line.startswith("| ⛔ |") and line.endswith(", but a trial refuses it |") for line in short)
    assert "**blocked** · 1 of 2 requirements proven" in rendered("markdown", blocked)
    assert "| ⛔ refused by a trial |" in rendered("markdown", blocked)
    accepted = replace(blocked.state, findings=recorded(replace(found, accepted=True, reason="it was wrong")))
    assert "⛔" not in rendered("markdown", view_of(accepted))


def test_receipts_name_what_a_person_accepted_and_who_it_was() -> None:
    act = ActOnRecord("accepted F2", "it was flaky", ANA, 1_700_000_000.0, ("F2",))
    stood = replace(FINDING, id="F3", finding=replace(FINDING.finding, standing="so"), accepted=True, reason="so")
    shown = view(ended=True, end_status="complete", reason="x", findings=(ACCEPTED, stood), acts=(act,))
    lines = rendered("short", shown).splitlines()
    assert "Accepted by a person, not proven: F2 test_skipped at `tests/test_x.py:5` (it was flaky)" in lines
    assert "By people: ana in a terminal accepted F2: it was flaky" in lines
    assert not any("F3" in line or "Open findings" in line for line in lines)
    suite = next(iter(JUnitXml.fromstring(rendered("junit", shown).encode())))
    assert (suite.tests, suite.failures, suite.skipped) == (3, 0, 1)
    assert "accepted by ana in a terminal: it was flaky" in rendered("junit", shown)


def test_what_is_on_a_persons_word_is_not_counted_as_proven() -> None:
    shown = complete()
    first, second = shown.views
    shown = replace(shown, state=replace(shown.state, findings=recorded(ACCEPTED)))
    shown = with_views(shown, replace(first, grade="person"), replace(second, grade="own"))
    assert rendered("short", shown).splitlines()[0].endswith(": complete, 1 of 2 proven, 1 on a person's word")
    head = "**complete** · 1 of 2 requirements proven, 1 on a person's word, 1 finding accepted by a person"
    assert head in rendered("markdown", shown).splitlines()


@each_row("number", [1, 2, 4, 6, 7, 40])
def test_the_short_receipt_is_short_whatever_there_is_to_say(number: int) -> None:
    goal = replace(GOAL, requirements=tuple(replace(OPINION, id=f"r-{n}", number=n) for n in range(1, number + 1)))
    act = ActOnRecord("accepted F2", "it was flaky", ANA, 1_700_000_000.0, ("F2",))
    findings = tuple(replace(one, id=f"F{n}") for n in range(9) for one in (FINDING, ACCEPTED))
    shown = view(goal=goal, ended=True, end_status="capped", reason="the end", findings=findings, acts=(act,))
    shown = replace(shown, present=Present("rev2", ("a.py",)))
    lines = rendered("short", shown).splitlines()
    rows = [line for line in lines if line.startswith("| ❔")]
    assert len(lines) <= 15
    assert any(line.startswith("**Stale**") for line in lines)
    assert len(rows) == number or f"| | and {number - len(rows)} more | | |" in lines
    assert len(rows) >= min(number, 3)


def test_a_short_receipt_of_many_requirements_shows_those_that_are_not_proven() -> None:
    many = tuple(replace(OPINION, id=f"r-{number}", number=number, text=f"part {number}") for number in range(4, 40))
    goal = replace(GOAL, requirements=(*many, RED))
    shown = rendered("short", view_of(state_of(red=True, goal=goal, ended=True, end_status="capped")))
    assert len(shown.splitlines()) <= 15
    assert "| ❌ |" in shown
    assert "| | and 31 more | | |" in shown


def test_the_short_receipt_of_a_complete_run() -> None:
    shown = rendered("short", complete())
    assert shown.splitlines()[0].endswith(": complete, 2 of 2 proven")
    assert "| ✅ |" in shown
    assert "no model used" in shown or "$" in shown or "cost unknown" in shown


def test_a_complete_run_as_markdown() -> None:
    assert (
        rendered("markdown", complete())
        == """\
## Ship the exporter

**complete** · 2 of 2 requirements proven

<sub>run `run-1` · revision `rev1` · worker human · 1 iteration · 3.5 s · no model used</sub>

| | Requirement | Status | Decided by | Proof |
|---|---|---|---|---|
| R1 | `python -m pytest -q` passes | ✅ met | check | E1: `python -m pytest -q` 12 passed |
| R2 | `ruff check .` passes | ✅ met | check | E2: `ruff check .` passed |

<details>
<summary>Evidence and how it was gathered</summary>

### Evidence

| | Command | Result | Time | Revision | Program |
|---|---|---|---|---|---|
| E1 | `python -m pytest -q` | 12 passed (exit 0) | 1.25 s | `rev1` | `python` |
| E2 | `ruff check .` | passed (exit 0) | 1.25 s | `rev1` | `python` |

### Iterations

| | Met | Time | Cost | Changed |
|---|---|---|---|---|
| 1 | 2 of 2 | 2.0 s | $0.00 | `a.py` |

</details>
"""
    )


def test_what_was_tried_is_evidence_too() -> None:
    shown = complete()
    check = shown.state.check_evidence[0]
    result = check.observation
    assert isinstance(result, CheckResult)
    tried = Trial("original", result.check_id, result.command, replace(result, outcome=Outcome.FAILED))
    silent = Trial("planted", result.check_id, result.command, None, "no room could be opened")
    known = [replace(check, id="E8", observation=tried), replace(check, id="E9", observation=silent)]
    shown = replace(shown, state=replace(shown.state, trial=replace(shown.state.trial, evidence_ids=("E8", "E9"))))
    assert set(cited(shown)) >= {"E8", "E9"}
    lines = render("markdown", shown, ROOT, known).splitlines()
    assert (
        "| E8 | `python -m pytest -q`, with the proof as it was at the start | 12 passed (exit 0) | 1.25 s |"
        in "".join(lines)
    )
    assert any(line.startswith("| E9 |") and "| not run: no room could be opened |" in line for line in lines)


def test_why_nothing_follows_from_a_planted_test_stands_beside_its_result() -> None:
    shown = complete()
    check = shown.state.check_evidence[0]
    result = check.observation
    assert isinstance(result, CheckResult)
    kinds: tuple[TrialKind, ...] = ("planted", "planted_before")
    known = [
        replace(check, id=f"E{8 + n}", observation=Trial(kind, result.check_id, result.command, result, plant="dw_x7"))
        for n, kind in enumerate(kinds)
    ]
    planted, before = render("markdown", shown, ROOT, known).partition("### Evidence")[2].splitlines()[4:6]
    assert planted.startswith("| E8 |")
    assert "12 passed (exit 0); nothing follows: " in planted
    assert "does not run a test that is put beside its own |" in planted
    assert "nothing follows" not in before


def test_an_unfinished_run_as_markdown_shows_overrides_apart() -> None:
    shown = rendered("markdown", with_everything())
    assert "**capped** · 0 of 3 requirements proven, 1 waived by a person" in shown
    assert "the limit of 10 iterations is reached" in shown
    assert "| R1 | `python -m pytest -q` passes | ❌ unmet | check |" in shown
    assert "| R2 | `ruff check .` passes | ✋ waived | person | waived: ruff is broken here |" in shown
    overrides = shown.partition("### Overrides by a person (not proven)")[2].partition("###")[0]
    assert "- R2 was **waived**: ruff is broken here" in overrides
    assert "- F2 (test_skipped) was **accepted**: it was flaky" in overrides
    findings = shown.partition("### Integrity findings")[2].partition("###")[0]
    assert "F1 test_skipped at `tests/test_x.py:5`" in findings
    assert "F2" not in findings
    assert "✅" not in shown


def test_what_stood_there_before_is_shown_and_nobodys_decision() -> None:
    stood = replace(FINDING.finding, message="README.md addresses the judge: “met”.", standing="it stood there")
    findings = (
        replace(FINDING, id="F3", finding=stood, accepted=True, reason="it stood there"),
        replace(FINDING, id="F4", finding=replace(stood, path=""), accepted=True, reason="I know it"),
        replace(FINDING, id="F5", accepted=True, reason=""),
    )
    shown = rendered("markdown", view(findings=findings))
    overrides = shown.partition("### Overrides by a person (not proven)")[2].partition("###")[0]
    section = shown.partition("### Integrity findings")[2].partition("###")[0]

    assert "F3" not in overrides
    assert "- F4 (test_skipped) was **accepted**: I know it" in overrides
    assert "F5" in overrides
    assert "- F3 test_skipped at `tests/test_x.py:5`: README.md addresses the judge" in section
    assert "It blocks nothing: it stood there." in section
    assert "F4" not in section


def test_text_from_files_stays_text() -> None:
    shown = rendered("markdown", with_everything())
    assert "The README is \\<b>good\\</b> \\| @\u200beveryone" in shown
    assert code("a `b` ``c") == "```a `b` ``c```"
    assert plain_line("a\n<x>\x1b") == "a \\<x>�"
    assert plain_line("*.py and `a_*<b>`") == "\\*.py and `a_*<b>`"
    for hostile in ("![x](https://a.example/x)", "[x](command:y)", "![x][y]", "[y]: https://a.example/x"):
        assert not re.search(r"(?<!\\)\][(\[:]", plain_line(hostile))


@pytest.mark.conformance("A16")
@each_row("grade", ["own", "worker", "judge", "person", "untried"])
def test_reports_say_what_a_proof_is_worth(grade: Grade) -> None:
    shown = complete()
    graded = with_views(shown, *(replace(one, grade=grade) for one in shown.views))
    assert f"12 passed ({GRADES[grade]})" in rendered("markdown", graded)
    assert f"| 12 passed ({GRADES[grade]}) |" in rendered("short", graded)
    assert f"R1, R2: {GRADES[grade]}" in closing(graded)
    assert f'name="donewhen.grade" value="{grade}"' in rendered("junit", graded)
    assert json.loads(rendered("json", graded))["requirements"][0]["grade"] == grade


def test_the_receipt_says_what_rooms_could_not_do() -> None:
    state = state_of(ended=True, end_status="complete", warnings=(RunWarning("rooms", "copies hide nothing"),))
    assert "### Rooms\n\n- copies hide nothing\n" in rendered("markdown", view_of(state))


def test_a_weak_judge_is_named_so_wherever_its_verdicts_stand() -> None:
    warned = (RunWarning("weak_judge", "the judge is weak: it accepted 5 of 6 false cases"),)
    for warnings, decider in ((warned, "weak judge"), ((), "judge")):
        state = replace(complete().state, warnings=warnings)
        shown = replace(complete(), state=replace(state, options=replace(state.options, judge="openai/j")))
        shown = with_views(shown, *(replace(one, decided_by="judge", evidence_ids=()) for one in shown.views))
        assert f"| {decider} |" in rendered("markdown", shown)
        assert f"· {decider} `openai/j`" in rendered("markdown", shown)
        assert f"| a {decider} |" in rendered("short", shown)
        assert rendered("github", shown).endswith(", by a weak judge\n") is bool(warnings)
        said = [rendered(report, shown) for report in ("markdown", "junit", "json")]
        assert all(("accepted 5 of 6 false cases" in text) == bool(warnings) for text in said)


def test_an_unknown_price_is_said() -> None:
    usage = Usage(input_tokens=1200, output_tokens=34, usd=None)
    shown = rendered("markdown", view(spend=Spend(usage)))
    assert "cost unknown (1,234 tokens)" in shown
    assert "$0.00 " not in shown.partition("###")[0]


def test_an_audit_as_markdown_claims_no_run() -> None:
    shown = rendered("markdown", view(red=True, mode="audit", ended=True, reason="x"))
    assert "**check: not proven** · 1 of 2 requirements proven" in shown
    assert "worker" not in shown


@pytest.mark.parametrize("report", ["markdown", "short", "html", "github", "junit", "sarif", "gitlab"])
def test_an_audit_says_that_it_tried_no_hidden_check(report: str) -> None:
    for hidden, says in ((("secret",), True), ((), False)):
        shown = view(mode="audit", ended=True, reason="everything is proven")
        options = replace(shown.state.options, hidden_checks=hidden)
        shown = replace(shown, state=replace(shown.state, options=options))
        assert ("1 hidden check was not tried: only a run tries it" in rendered(report, shown)) is says


def test_junit_has_one_case_for_each_requirement_and_finding() -> None:
    shown = rendered("junit", with_everything())
    suite = next(iter(JUnitXml.fromfile(io.BytesIO(shown.encode()))))  # type: ignore[arg-type]
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (5, 2, 1, 2)
    cases = [case for case in suite if isinstance(case, TestCase)]
    assert [case.name for case in cases] == [
        "R1 `python -m pytest -q` passes",
        "R2 `ruff check .` passes",
        "R3 The README is <b>good</b> | @everyone",
        "F1 test_skipped",
        "F2 test_skipped",
    ]
    assert [case.result[0].type if case.result else None for case in cases] == [
        "unmet",
        None,
        "unverified",
        "test_skipped",
        None,
    ]
    assert cases[4].result[0].message == "accepted: it was flaky"
    assert "FAILED test_quotes.py" in cases[0].result[0].text
    assert 'file="GOAL.md" line="9"' in shown


def test_junit_of_a_complete_run_passes() -> None:
    suite = next(iter(JUnitXml.fromstring(rendered("junit", complete()).encode())))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (2, 0, 0, 0)


def test_junit_survives_what_xml_can_not_hold() -> None:
    broken = replace(evidence(PYTEST, passed=False), id="E1")
    noisy = replace(broken, observation=replace(broken.observation, output="\x00\x1b[31m\ud800 ]]> &"))  # type: ignore[type-var]
    shown = view_of(state_of(red=True, results={PYTEST.id: noisy}))
    xml = render("junit", shown, ROOT, [noisy])
    suite = next(iter(JUnitXml.fromstring(xml.encode())))
    assert suite.failures == 1


def test_json_is_the_snapshot_with_its_evidence() -> None:
    document = json.loads(rendered("json", complete()))
    assert document["complete"] is True
    first = document["evidence"]["E1"]
    assert (first["kind"], first["revisionAfter"], first["turn"]) == ("checkResult", "rev1", 0)
    assert first["observation"]["kind"] == "checkResult"
    assert first["observation"]["totals"] == {"passed": 12, "failed": 0, "skipped": 0, "source": "junit"}
    assert set(document["evidence"]) == {"E1", "E2"}
