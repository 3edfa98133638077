"""Each receipt for programs, read back by somebody else's parser; and what hostile text can make of them: nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import html5lib
import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st
from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult as Predicate
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementProto
from jsonschema import Draft4Validator, Draft202012Validator
from markdown_it import MarkdownIt
from sarif.loader import load_sarif_file

from donewhen.core.evidence import CheckResult, Outcome, Problem, Trial
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.people import ActOnRecord, Person
from donewhen.core.proof import Present
from donewhen.core.state import IterationRecord, KnownFinding, RaisedFinding
from donewhen.core.verdict import GRADES, Grade
from donewhen.core.work import RunWarning, Usage
from donewhen.engine.api import FileEdit, RunStep, RunView
from donewhen.wire.reports import FORMATS, ReportFormat, cited, file_edits, render
from donewhen.wire.reports.json import schema
from tests.cli.fakes import GOAL, PYTEST, RED, complete, evidence, recorded, red_at, state_of, view, view_of, with_views
from tests.tools import each_row, examples
from tests.wire.test_report import ACCEPTED, FINDING, ROOT, rendered, with_everything

HOSTILE = (
    '</pre></details><script>alert(1)</script><img src=x onerror="alert(1)">&lt;\r\n::error file=a::b%0A##[error]c '
    "\u202ejs.\x00\x1b[31m ``` </details> [x](javascript:alert(1)) --> ]]>"
)
SARIF_SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))


def hostile(said: str = HOSTILE) -> RunView:
    """A run in which everything that others write is hostile."""
    bad = evidence(PYTEST, passed=False)
    place = Problem("tests/test_x.py", 3, said, column=2)
    problems = (place, replace(place, path=said))
    result = replace(bad.observation, output=said, reason=said, command=said, problems=problems)  # type: ignore[type-var]
    goal = replace(
        GOAL, title=said, objective=said, requirements=tuple(replace(r, text=said) for r in GOAL.requirements)
    )
    state = state_of(
        red=True,
        goal=goal,
        results={PYTEST.id: replace(bad, observation=result)},
        waived={GOAL.requirements[1].id: said},
        findings=(replace(FINDING, finding=replace(FINDING.finding, message=said, path=said)),),
        warnings=(RunWarning("x", said),),
        acts=(ActOnRecord("waived R2", said, Person("ana", "terminal"), 1_700_000_000.0),),
        iterations=(IterationRecord(1, 1_700_000_000.0, summary=said, changed=(said,), error=said, total=2),),
        off={"p": said},
        ended=True,
        end_status="capped",
        reason=said,
    )
    return view_of(state)


def page(text: str) -> Any:
    """The document, as a parser of HTML 5 that forgives nothing reads it."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


# ------------------------------------------------------------------------------------------------------- HTML


def test_code_in_words_of_others_stands_out_and_their_quotes_are_read_as_text() -> None:
    state = replace(complete().state, goal=replace(GOAL, objective="> As `a<b>` says:\n> it opens."))
    told = rendered("html", view_of(state))
    assert "<td><code>python -m pytest -q</code> passes</td>" in told
    assert "As <code>a&lt;b&gt;</code> says:<br />\nit opens." in told


@pytest.mark.parametrize("shown", [complete(), with_everything(), hostile()], ids=["complete", "everything", "hostile"])
def test_the_page_is_whole_html_that_names_nothing_outside_of_it(shown: RunView) -> None:
    document = page(rendered("html", shown))
    assert document.find("head/title").text
    names = Counter(element.tag for element in document.iter() if isinstance(element.tag, str))
    assert not names.keys() & {"script", "img", "link", "iframe", "object", "embed", "form", "base", "svg", "video"}
    for element in document.iter():
        for name, value in element.attrib.items():
            assert name not in ("src", "srcset", "style", "background", "action", "data")
            assert not name.startswith("on")
            assert name != "href" or value.startswith("#")
    assert "url(" not in document.find("head/style").text
    assert "@import" not in document.find("head/style").text


def test_the_page_forbids_scripts_whatever_escaping_missed() -> None:
    policies = [one.get("content") for one in page(rendered("html", complete())).iter("meta") if one.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]


def test_hostile_text_is_shown_as_text() -> None:
    document = page(rendered("html", hostile()))
    assert "<script>alert(1)</script>" in "".join(document.itertext())
    assert "\u202e" not in rendered("html", hostile())


@examples(30)
@given((st.text() | st.text("`\\*_{}[]()<>#+-.!|~&:@/=0a \n")).filter(str.strip))
def test_no_text_becomes_more_than_code_in_the_page(said: str) -> None:
    def tags(said: str) -> Counter[str]:
        found = page(rendered("html", hostile(said))).iter()
        return Counter(one.tag for one in found if isinstance(one.tag, str) and one.tag not in ("code", "br"))

    assert tags(said) == tags("x")


def test_the_page_has_the_timeline_in_its_order() -> None:
    run = complete().state
    act = ActOnRecord("accepted F2", "it was flaky", Person("ana", "terminal"), 1_700_000_100.0, ("F2",))
    shown = view_of(
        replace(
            run,
            acts=(act,),
            progress=replace(run.progress, met_before=(1, 2)),
            updated_at=1_700_000_200.0,
            started_at=1_699_999_999.0,
        )
    )
    items = [" ".join("".join(one.itertext()).split()) for one in page(rendered("html", shown)).find(".//ol")]
    assert [item.split(" ")[0] for item in items] == ["Before", "Iteration", "ana", "complete:"]
    assert "2 of 2 met" in items[1]
    assert "the worker says: done" in items[1]


def test_the_printed_page_shows_what_is_folded_on_a_screen() -> None:
    style = page(rendered("html", complete())).find("head/style").text
    printed = style.partition("@media print")[2]
    assert "details::details-content { content-visibility: visible" in printed
    assert "pre { max-height: none" in printed


# --------------------------------------------------------------------------------------------------- Markdown


def test_the_evidence_is_folded_behind_the_requirements() -> None:
    text = rendered("markdown", with_everything())
    head, _, folded = text.partition("<details>")
    assert "| R1 |" in head
    assert "### Integrity findings" in head
    assert "### Evidence" not in head
    assert "### Evidence" in folded
    assert "FAILED test_quotes.py" in folded
    assert text.count("<details>") == text.count("</details>") == 2


def test_hostile_output_stays_in_its_fence() -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(rendered("markdown", hostile()))
    blocks = [one.content.strip() for one in tokens if one.type == "html_block"]
    assert set(re.sub(r"E\d+", "E", one) for one in blocks) == {
        "<details>\n<summary>Evidence and how it was gathered</summary>",
        "<details>\n<summary>What E printed</summary>",
        "</details>",
    }
    inline = [
        child for one in tokens for child in one.children or () if child.type in ("html_inline", "image", "link_open")
    ]
    assert {one.content for one in inline} <= {"<sub>", "</sub>"}


def test_a_receipt_for_a_pull_request_is_no_longer_than_a_forge_takes() -> None:
    loud = evidence(PYTEST, passed=False)
    loud = replace(loud, observation=replace(loud.observation, output="x" * 500_000))  # type: ignore[type-var]
    known = [replace(loud, id=f"E{number}") for number in range(1, 60)]
    shown = view_of(state_of(red=True))
    assert len(render("markdown", shown, ROOT, known)) < 65_536


# ------------------------------------------------------------------------------------------------------ SARIF


def sarif(shown: RunView, root: Path = ROOT) -> Any:
    known = {one.id: one for one in shown.state.check_evidence}
    document = json.loads(render("sarif", shown, root, list(known.values())))
    Draft4Validator(SARIF_SCHEMA).validate(document)
    return document["runs"][0]


@pytest.mark.parametrize("shown", [complete(), with_everything(), hostile()], ids=["complete", "everything", "hostile"])
def test_sarif_follows_its_schema_and_names_its_rules(shown: RunView) -> None:
    run = sarif(shown)
    rules = [one["id"] for one in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    prints = [one["partialFingerprints"]["donewhen/v1"] for one in run["results"]]
    assert len(prints) == len(set(prints))


def test_sarif_is_read_by_sarif_tools(tmp_path: Path) -> None:
    file = tmp_path / "donewhen.sarif"
    file.write_text(rendered("sarif", with_everything()), encoding="utf-8")
    found = load_sarif_file(str(file))
    assert [tool for tool in found.get_distinct_tool_names()] == ["Done When"]
    records = found.get_records()
    assert {(one["Severity"], one["Location"], one["Line"]) for one in records} == {
        ("error", "GOAL.md", 9),
        ("error", "GOAL.md", 1),
        ("warning", "GOAL.md", 11),
        ("note", "GOAL.md", 10),
        ("note", "GOAL.md", 1),
    }


def test_what_a_person_decided_is_a_result_that_is_suppressed() -> None:
    results = {one["ruleId"]: one for one in sarif(with_everything())["results"] if one["level"] == "note"}
    assert results["requirement/waived"]["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "ruff is broken here"}
    ]
    assert results["integrity/test_skipped"]["suppressions"][0]["justification"] == "accepted: it was flaky"


def test_sarif_of_what_is_proven_has_no_result() -> None:
    run = sarif(complete())
    assert run["results"] == []
    assert run["properties"]["donewhen"]["proven"] is True


def test_places_that_are_not_there_give_way_to_the_goal_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    root = tmp_path / "packages" / "my app"
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "test_x.py").write_text("assert False\n", encoding="utf-8")
    there = Problem("tests/test_x.py", 0, "assert False", column=4)
    absent = [replace(there, path=path) for path in ("tests/gone.py", "../../.git/config", "/etc/passwd", "\0")]

    (result,) = sarif(red_at(*absent, there), root)["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "packages/my%20app/tests/test_x.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 1, "startColumn": 5}

    (result,) = sarif(red_at(*absent), root)["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("packages/my%20app/GOAL.md", {"startLine": 9})


def test_a_fingerprint_stays_when_lines_move_and_differs_where_places_do(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x", encoding="utf-8")

    def prints(*places: Problem) -> list[str]:
        return [one["partialFingerprints"]["donewhen/v1"] for one in sarif(red_at(*places), tmp_path)["results"]]

    first = Problem("a.py", 3, "assert False")
    assert prints(first) == prints(replace(first, line=30))
    assert len(set(prints(first, replace(first, path="b.py"), replace(first, line=9)))) == 3


# ------------------------------------------------------------------------------------- annotations, Code Quality


def decoded(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner of GitHub Actions reads it."""
    name, _, rest = line.removeprefix("::").partition(" ")
    fields, _, message = rest.partition("::")

    def plain(text: str) -> str:
        for coded, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(coded, char)
        return text

    named = dict(field.split("=", 1) for field in fields.split(","))
    return name, {key: plain(value) for key, value in named.items()}, plain(message)


def test_annotations_say_where_and_why() -> None:
    lines = [decoded(line) for line in rendered("github", with_everything()).splitlines()]
    assert [line[0] for line in lines] == ["error", "error", "warning", "notice", "notice"]
    _, fields, message = lines[0]
    assert (fields["file"], fields["line"]) == ("GOAL.md", "9")
    assert fields["title"] == "R1 is unmet: `python -m pytest -q` passes"
    assert "2 of 12 tests failed" in message


def test_hostile_text_makes_no_command_of_its_own() -> None:
    lines = rendered("github", hostile()).splitlines()
    assert len(lines) == 3
    for line in lines:
        _, fields, message = decoded(line)
        assert set(fields) <= {"file", "line", "col", "title"}
        assert HOSTILE in message or HOSTILE in fields["title"]


def test_more_annotations_than_github_shows_are_counted() -> None:
    many = tuple(replace(RED, id=f"r-{number}", number=number) for number in range(1, 40))
    lines = rendered("github", view_of(state_of(red=True, goal=replace(GOAL, requirements=many)))).splitlines()
    assert len(lines) == 10
    assert lines[-1] == "::error title=Done When::and 30 more: see the receipt"


def test_a_proven_goal_is_noticed() -> None:
    assert rendered("github", complete()) == "::notice title=Done When::Ship the exporter: complete, 2 of 2 proven\n"


def test_code_quality_has_what_gitlab_asks_for() -> None:
    entries = json.loads(rendered("gitlab", with_everything()))
    assert [one["severity"] for one in entries] == ["critical", "critical", "major", "info", "info"]
    assert entries[0]["location"] == {"path": "GOAL.md", "lines": {"begin": 9}}
    assert entries[0]["check_name"] == "requirement/unmet"
    assert len({one["fingerprint"] for one in entries}) == 5
    assert all(re.fullmatch(r"[0-9a-f]{64}", one["fingerprint"]) for one in entries)
    assert json.loads(rendered("gitlab", complete())) == []


# ------------------------------------------------------------------------------------------------------- JSON


@pytest.mark.parametrize("shown", [complete(), with_everything(), hostile()], ids=["complete", "everything", "hostile"])
def test_json_follows_its_published_schema(shown: RunView) -> None:
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(json.loads(rendered("json", shown)))


def test_the_schema_refuses_what_is_no_receipt() -> None:
    document = json.loads(rendered("json", complete()))
    document["evidence"]["E1"]["kind"] = "hearsay"
    document["requirements"][0]["grade"] = "excellent"
    paths = {tuple(one.absolute_path)[:3] for one in Draft202012Validator(schema()).iter_errors(document)}
    assert paths == {("evidence", "E1", "kind"), ("requirements", 0, "grade")}


def test_trials_follow_the_schema_too() -> None:
    shown = complete()
    check = shown.state.check_evidence[0]
    assert isinstance(check.observation, CheckResult)
    failed = replace(check.observation, outcome=Outcome.FAILED)
    tried = Trial("original", check.observation.check_id, check.observation.command, failed)
    text = render("json", shown, ROOT, [replace(check, id="E8", observation=tried)])
    Draft202012Validator(schema()).validate(json.loads(text))


# ---------------------------------------------------------------------------------------------------- in-toto


def attested(shown: RunView) -> tuple[Any, Predicate]:
    """The statement and its predicate, as the field's own types take them: unknown fields are errors."""
    document = json.loads(rendered("in-toto", shown))
    proto = ParseDict(document, StatementProto())
    Statement.copy_from_pb(proto).validate()
    predicate = ParseDict(document["predicate"], Predicate())
    for one in predicate.configuration:
        ResourceDescriptor.copy_from_pb(one).validate()
    return document, predicate


def test_the_attestation_of_a_proven_goal_is_about_its_commit() -> None:
    document, predicate = attested(replace(complete(), commit="d20ace7968ba43c0219f62d71334c1095bab1602"))
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert document["subject"] == [{"name": "w", "digest": {"gitCommit": "d20ace7968ba43c0219f62d71334c1095bab1602"}}]
    assert document["predicate"]["result"] == "PASSED"
    assert list(predicate.passed_tests) == ["R1 `python -m pytest -q` passes", "R2 `ruff check .` passes"]


def test_without_a_commit_it_is_about_the_revision() -> None:
    revision = "ab" * 32
    document, _ = attested(view(ended=True, end_status="complete", reason="x", revision=revision))
    assert document["subject"][0]["digest"] == {"sha256": revision}


def test_a_stale_result_is_attested_of_the_files_as_they_are() -> None:
    before, now = "ab" * 32, "cd" * 32
    state = state_of(ended=True, end_status="complete", reason="x", revision=before)
    present = Present(now, ("a.py",))
    shown = replace(view_of(state), present=present)
    document, _ = attested(shown)
    assert document["subject"][0]["digest"] == {"sha256": now}
    assert document["predicate"]["result"] == "FAILED"


def test_what_is_not_proven_is_never_attested_as_passed() -> None:
    document, predicate = attested(with_everything())
    assert document["predicate"]["result"] == "FAILED"
    assert list(predicate.passed_tests) == []
    assert [one.split(" ")[0] for one in predicate.warned_tests] == ["R2", "F2"]
    assert [one.split(" ")[0] for one in predicate.failed_tests] == ["R1", "R3", "F1"]
    on_word = with_views(complete(), *(replace(one, grade="person") for one in complete().views))
    assert attested(on_word)[0]["predicate"]["result"] == "WARNED"
    refused = with_views(complete(), *(replace(one, refused=True) for one in complete().views))
    assert attested(refused)[0]["predicate"]["result"] == "FAILED"
    running = view()
    assert attested(running)[0]["predicate"]["result"] == "FAILED"
    waived = view(
        waived={r.id: "x" for r in GOAL.requirements}, ended=True, end_status="complete", findings=(ACCEPTED,)
    )
    assert attested(waived)[0]["predicate"]["result"] == "WARNED"


def test_the_attestation_holds_the_goal_that_was_checked() -> None:
    goal = attested(complete())[0]["predicate"]["configuration"][0]
    content = base64.b64decode(goal["content"])
    assert hashlib.sha256(content).hexdigest() == goal["digest"]["sha256"]
    assert [one["checks"][0]["command"] for one in json.loads(content)["requirements"]] == [
        "python -m pytest -q",
        "ruff check .",
    ]


def test_hostile_text_is_attested_as_text() -> None:
    assert attested(hostile())[0]["predicate"]["result"] == "FAILED"


# ----------------------------------------------------------------------------------------------------- grades


@each_row("grade", list(GRADES))
@each_row("form", [one for one in FORMATS if one not in ("github", "gitlab")])
def test_every_receipt_says_what_a_proof_is_worth(form: ReportFormat, grade: Grade) -> None:
    shown = complete()
    graded = with_views(shown, *(replace(one, grade=grade) for one in shown.views))
    told = unescape(render(form, graded, ROOT, [one for one in graded.state.check_evidence if one.id in cited(graded)]))
    assert GRADES[grade] in told or re.search(rf'grade"[:=, ]*(?:value=)?\s*"{grade}"', told)


# ------------------------------------------------------------------------------------ what was refused on the way


REFUSAL = IntegrityFinding("trial:x", "original_fails", "tests/test_x.py", 4, "the `original` fails")
RAISED = RaisedFinding(1, "F1", REFUSAL, 1, 1, 2)
TURNS = tuple(IterationRecord(number, float(number), met=2, total=2, changed=("a.py",)) for number in (1, 2))


def refused_once(raised: RaisedFinding = RAISED) -> RunView:
    """A complete run whose first iteration was refused."""
    done, undone = complete(), KnownFinding("F1", REFUSAL, present=False, raised=raised)
    return replace(
        done,
        state=replace(
            done.state, findings=recorded(undone), progress=replace(done.state.progress, iterations=TURNS), iteration=2
        ),
    )


@each_row("form", FORMATS)
def test_every_receipt_remembers_what_was_refused_on_the_way(form: ReportFormat) -> None:
    said = rendered(form, refused_once())
    assert "F1" in said
    assert "original" in said
    assert "undone" in said
    assert "F1 original" not in rendered(form, complete())


def test_what_was_undone_is_missing_nowhere() -> None:
    shown = refused_once()
    assert json.loads(rendered("in-toto", shown))["predicate"]["result"] == "PASSED"
    log = json.loads(rendered("sarif", shown))
    Draft4Validator(SARIF_SCHEMA).validate(log)
    run = log["runs"][0]
    assert run["properties"]["donewhen"]["proven"]
    assert [one["suppressions"][0]["justification"] for one in run["results"]] == [
        "raised after iteration 1, undone in iteration 2"
    ]
    assert [one["severity"] for one in json.loads(rendered("gitlab", shown))] == ["info"]
    assert 'failures="0"' in rendered("junit", shown)
    document = json.loads(rendered("json", shown))
    assert document["raised"][0] | {"message": ""} == {
        "id": "F1", "kind": "original_fails", "path": "tests/test_x.py", "line": 5, "message": "",
        "iteration": 1, "until": 1, "undoneIn": 2,
    }  # fmt: skip
    assert "not tried again since" in rendered("short", refused_once(replace(RAISED, undone=None)))


def test_the_page_has_every_warning_once() -> None:
    warnings = tuple(
        RunWarning(code, f"about {code}") for code in ("masked_check", "rooms", "weak_judge", "act_refused")
    )
    shown = rendered("html", view_of(state_of(warnings=warnings)))
    assert [shown.count(f"about {one.code}") for one in warnings] == [1, 1, 1, 1]


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_a_cost_below_a_cent_is_not_shown_as_nothing(form: str) -> None:
    turn = IterationRecord(1, 1.0, met=2, total=2, usage=Usage(100, 10, usd=0.0012))
    shown = rendered(form, view_of(state_of(iterations=(turn,))))
    assert "$0.0012" in shown
    assert "$0.00<" not in shown
    assert "$0.00 " not in shown


def test_the_timeline_marks_the_iteration_that_was_refused() -> None:
    texts = ["".join(one.itertext()) for one in page(rendered("html", refused_once())).findall(".//ol/li")]
    first = next(number for number, text in enumerate(texts) if text.startswith("Iteration 1"))
    assert "⛔ refused by F1 original_fails at tests/test_x.py:5" in texts[first]
    assert "refused" not in texts[first + 1]


def test_a_stale_receipt_says_what_it_was_and_since_when() -> None:
    stale = replace(complete(), present=Present("rev2", ("a.py", "b.py")))
    for form in ("html", "markdown", "short"):
        head = re.sub(r"</?code>", "`", rendered(form, stale))
        assert "was complete; stale since `a.py` and 1 more changed" in head
    check = replace(stale, state=replace(stale.state, mode="audit"))
    assert "was proven; stale since" in rendered("short", check)


def test_a_check_that_is_not_proven_says_so_once() -> None:
    failed = view_of(state_of(red=True, mode="audit", ended=True, end_status=None, reason="something is not proven"))
    assert "something is not proven" not in rendered("html", failed)


def test_backticks_are_code_and_what_failed_is_open() -> None:
    options = replace(state_of().options, summary="Worker: the command `sh agent.sh`")
    shown = rendered("html", view_of(state_of(red=True, options=options, ended=True, end_status="capped")))
    assert "the command <code>sh agent.sh</code>" in shown
    assert re.search(r"<details open>\n<summary>What E\d+ printed", shown)


DIFF = """\
diff --git a/sql/a b.sql b/sql/a b.sql
--- a/sql/a b.sql
+++ b/sql/a b.sql
@@ -1,2 +1,2 @@
--- a comment
++++ another
+more
diff --git a/logo.png b/logo.png
Binary files differ (3 to 4 bytes)
"""


def test_what_a_run_changed_is_summed_up() -> None:
    edits = file_edits(DIFF)
    assert edits == (FileEdit("sql/a b.sql", 2, 1), FileEdit("logo.png"))
    shown = replace(refused_once(), edits=edits)
    for form in ("html", "markdown", "short"):
        assert "2 files, +2 −1" in rendered(form, shown)
    assert json.loads(rendered("json", shown))["edits"][0] == {"path": "sql/a b.sql", "added": 2, "removed": 1}


def test_the_markdown_receipt_tells_what_the_worker_did() -> None:
    steps = (
        RunStep("1", 1, 1, 1.0, 1, "runs", "sh agent.sh", text="All ``` done"),
        RunStep("2", 2, 2, 1.0, 1, "check", "pytest"),
        RunStep("3", 3, 3, 1.0, 1, "says", "", text="I have finished"),
    )
    said = rendered("markdown", replace(refused_once(), steps=steps))
    assert "````text\niteration 1\n  sh agent.sh\n    All ``` done\n  the worker:\n    I have finished\n````" in said
