"""The receipt for CI: JUnit XML, one test case per requirement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from donewhen.core.decide import held_out_untried
from donewhen.core.evidence import CheckResult, Evidence
from donewhen.core.state import RunState
from donewhen.core.summary import room_text
from donewhen.core.verdict import RequirementView
from donewhen.core.work import WEAK_JUDGE
from donewhen.engine.api import RunView
from donewhen.wire.reports.markdown import accepted_text, end_of, undone_text
from donewhen.wire.snapshot import halt_text, shown_halt

MAX_OUTPUT = 20_000
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """Met passes; unmet and stale fail; waived is skipped; what nothing could decide is an error. An integrity
    finding is a case of its own: an open one fails, one that a person accepted is skipped."""
    state = view.state
    suite = Element("testsuite", name=printable(state.goal.title), time=f"{state.elapsed:.3f}")
    _properties(suite, state)
    for one in view.views:
        _add_requirement(suite, view, one, evidence)
    for known in state.present_findings:
        if known.accepted and not known.by_a_person:
            continue  # it stood there before the run, and blocks nothing
        case = SubElement(suite, "testcase", classname="donewhen.integrity", name=f"{known.id} {known.finding.kind}")
        case.set("file", known.finding.path)
        if known.accepted:
            SubElement(case, "skipped", message=printable(accepted_text(state, known)))
        else:
            _add_outcome(case, "failure", known.finding.message, known.finding.kind)
    suite.set("tests", str(len(suite.findall("testcase"))))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{kind}"))))
    suites = Element("testsuites", suite.attrib)
    suites.append(suite)
    indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _properties(suite: Element, state: RunState) -> None:
    """Who worked and judged, and what that took; a cost that nobody knows is left out."""
    options, usage, halt = state.options, state.usage, shown_halt(state)
    values = {
        "worker": options.worker,
        "room": room_text(options) or None,
        "model": options.agent.model if options.agent is not None else None,
        "judge": options.judge,
        "weakJudge": next((one.message for one in state.warnings if one.code == WEAK_JUDGE), None),
        "tokens": str(usage.tokens) if usage.tokens else None,
        "usd": f"{usage.usd:.6f}" if usage.usd is not None and (usage.tokens or usage.usd) else None,
        "halt": halt_text(halt) if halt is not None else None,
        "hiddenChecks": held_out_untried(state) or None,
        "pluginsOff": ", ".join(state.plugins.off) or None,
        "startAcceptedBy": state.started if options.summary else None,
    }
    undone = [("undone", f"{undone_text(one)}: {one.finding.message}") for one in state.undone_findings]
    properties = SubElement(suite, "properties")
    for name, value in (*values.items(), *undone):
        if value is not None:
            SubElement(properties, "property", name=f"donewhen.{name}", value=printable(value))


def _add_requirement(suite: Element, view: RunView, one: RequirementView, evidence: Mapping[str, Evidence]) -> None:
    requirement = next(r for r in view.state.goal.requirements if r.id == one.requirement_id)
    cited = [evidence[identity].observation for identity in one.evidence_ids if identity in evidence]
    results = [seen for seen in cited if isinstance(seen, CheckResult)]
    name = f"{requirement.label} {requirement.text}"
    seconds = sum(result.seconds for result in results)
    case = SubElement(suite, "testcase", classname="donewhen.requirements", name=printable(name), time=f"{seconds:.3f}")
    if view.state.goal.path is not None:
        case.set("file", view.state.goal.path)
        case.set("line", str(requirement.line + 1))
    if one.grade is not None:
        properties = SubElement(case, "properties")
        SubElement(properties, "property", name="donewhen.grade", value=one.grade)
    if one.status == "waived":
        SubElement(case, "skipped", message=printable(one.reason))
    elif one.status == "unverified":
        _add_outcome(case, "error", one.reason, one.status)
    elif one.status != "met":
        _add_outcome(case, "failure", one.reason, one.status, _output(results))
    if one.status == "met" and one.evidence_ids:
        SubElement(case, "system-out").text = printable(_output(results) or ", ".join(one.evidence_ids))


def _add_outcome(case: Element, kind: str, message: str, type_: str, detail: str = "") -> None:
    element = SubElement(case, kind, message=printable(message), type=type_)
    element.text = printable(detail or message)


def _output(results: Iterable[CheckResult]) -> str:
    parts = [f"$ {result.command}\n{result.reason}\n{result.output}".rstrip() for result in results]
    return end_of("\n\n".join(parts), MAX_OUTPUT)


def printable(text: str) -> str:
    """Only what XML 1.0 can hold; the rest is marked."""
    return _NOT_XML.sub("\ufffd", text)
