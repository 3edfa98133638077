"""The receipt as a page: one file that opens without a network, can be printed, and runs nothing.

Everything that stands in it is escaped, and a policy in its head forbids scripts and anything from elsewhere, whatever
escaping might miss.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from donewhen.core.evidence import AffectedRun, CheckResult, Evidence, Trial
from donewhen.core.state import IterationRecord, RaisedFinding, RunState
from donewhen.core.summary import room_text
from donewhen.core.trials.outcome import TRIED
from donewhen.core.verdict import GRADES, RequirementView
from donewhen.core.words import listed, money
from donewhen.engine.api import RunView
from donewhen.wire.reports.markdown import (
    ACCEPTED,
    FROM,
    SHORT,
    edits_text,
    end_of,
    headline,
    mark,
    place,
    proven,
    refused_by,
    undone_text,
    verdict,
    when,
    why,
    why_as_told,
)
from donewhen.wire.snapshot import changed_since

MAX_OUTPUT = 20_000
MAX_PATHS = 20
MAX_EDITS = 100
_HIDDEN = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What changes the direction of text, so that it reads as something else."""
_CODE = re.compile(r"`([^`\n]+)`")
_QUOTED = re.compile(r"^> ?", re.MULTILINE)

STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #6b7280; --good: #15803d; --bad: #b91c1c; --open: #a16207; }
@media (prefers-color-scheme: dark) { :root { --dim: #9ca3af; --good: #4ade80; --bad: #f87171; --open: #facc15; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .25rem; }
h1 code, h2 code { font-size: inherit; }
h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
p.verdict { font-size: 1.1rem; font-weight: 600; margin: .25rem 0; }
.facts, .dim { color: var(--dim); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .5rem; border-bottom: 1px solid var(--line); }
td, dd, li, p, summary { overflow-wrap: anywhere; }
td:first-child, td.good, td.bad, td.open { white-space: nowrap; }
td.good::before, td.bad::before, td.open::before { content: ""; display: inline-block; width: .6rem; height: .6rem;
  margin-right: .4rem; border: 1px solid; border-radius: 50%; }
td.good::before, td.bad::before { background: currentcolor; }
td.bad::before { border-radius: 0; }
p.goal { white-space: pre-line; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); padding: .5rem; max-height: 30rem;
  overflow: auto; }
details { border: 1px solid var(--line); border-radius: .25rem; margin: .5rem 0; padding: .25rem .5rem; }
ol.timeline { list-style: none; margin: 0; padding: 0 0 0 1rem; border-left: 3px solid var(--line); }
ol.timeline > li { margin: 0 0 1rem; position: relative; }
ol.timeline > li::before { content: ""; position: absolute; left: -1.45rem; top: .45rem; width: .7rem; height: .7rem;
  border-radius: 50%; background: var(--dim); }
ol.timeline > li.good::before { background: var(--good); } ol.timeline > li.bad::before { background: var(--bad); }
ol.timeline > li { color: inherit; }
meter { width: 8rem; }
@page { margin: 15mm; }
@media print {
  :root { color-scheme: light; --dim: #444; --good: #14532d; --bad: #7f1d1d; --open: #713f12; }
  body { max-width: none; margin: 0; padding: 0; font-size: 10pt; color: #000; background: #fff; }
  h2, h3 { break-after: avoid; } tr, li { break-inside: avoid; } thead { display: table-header-group; }
  pre { max-height: none; overflow: visible; font-size: 8pt; }
  details::details-content { content-visibility: visible; block-size: auto; display: block; }
}
"""


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """The whole receipt; it names no folder of this machine."""
    state = view.state
    sections = (
        _heading(view),
        _requirements_table(view),
        _decisions(state),
        _edits(view),
        _timeline(state),
        _evidence_details(evidence),
        _cost_table(state),
        _accepted_at_start(state),
    )
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "base-uri 'none'; form-action 'none'\">",
            '<meta name="referrer" content="no-referrer">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_escaped_html(state.goal.title)}: {_escaped_html(headline(view))}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            *(line for section in sections for line in section),
            "</body>",
            "</html>",
            "",
        ]
    )


def _escaped_html(value: str) -> str:
    """Text of others: what could become markup is escaped, and what can't be seen is marked."""
    shown = (c if (c.isprintable() or c in "\n\t") and c not in _HIDDEN else "\ufffd" for c in value)
    return html.escape("".join(shown), quote=True)


def _prose(value: str) -> str:
    """Text of others in which `code` stands out; nothing else of Markdown means anything."""
    parts = _CODE.split(value)
    return "".join(_code_element(part) if number % 2 else _escaped_html(part) for number, part in enumerate(parts))


def _code_element(value: str) -> str:
    return f"<code>{_escaped_html(value)}</code>" if value else ""


def _heading(view: RunView) -> Iterator[str]:
    state = view.state
    doubted = state.lifecycle.broken or any(one.refused or one.on_a_persons_word for one in view.views)
    met = all(one.status == "met" for one in view.views)
    tone = "open" if view.stale else "good" if met and not doubted else "bad"
    yield f"<h1>{_prose(state.goal.title)}</h1>"
    yield f'<p class="verdict {tone}">{_prose(headline(view))} · {_escaped_html(proven(view, "requirements "))}</p>'
    if reason := why(state):
        yield f"<p>{_prose(reason)}</p>"
    if view.stale:
        changed = changed_since(view)
        named = f": {_paths(changed)}" if changed else ""
        yield f'<p class="open"><strong>Stale</strong>: files changed since this result{named}.</p>'
    if state.goal.objective and state.goal.objective != state.goal.title:
        yield f'<p class="goal">{_prose(_QUOTED.sub("", state.goal.objective))}</p>'
    yield f'<p class="facts">{" · ".join(_facts(state))}</p>'


def _facts(state: RunState) -> Iterator[str]:
    yield _escaped_html(when(state.updated_at))
    yield f"run {_code_element(state.run_id)}"
    yield f"revision {_code_element(state.revision[:SHORT])}"
    if state.options.judge:
        yield f"judge {_code_element(state.options.judge)}"
    if state.mode == "pursue":
        model = f" {_code_element(state.options.agent.model)}" if state.options.agent is not None else ""
        yield f"worker {_escaped_html(state.options.worker or '')}{model}"
        if where := room_text(state.options):
            yield _escaped_html(where)
        yield f"{state.elapsed:.1f} s"


def _requirements_table(view: RunView) -> Iterator[str]:
    known = {one.id: one for one in view.state.goal.requirements}
    yield "<h2>Requirements</h2>"
    yield "<table><thead><tr><th></th><th>Requirement</th><th>Status</th><th>Proof</th></tr></thead><tbody>"
    for one in view.views:
        sure = one.status == "met" and not one.on_a_persons_word
        tone = "bad" if one.refused or one.status in ("unmet", "regressed") else "good" if sure else "open"
        status = mark(one).split(" ", 1)[1] + (" (flaky)" if one.flaky and not one.refused else "")
        text, proof = _prose(known[one.requirement_id].text), "<br>".join(_proof(view.state, one))
        cells = f'<td>R{one.number}</td><td>{text}</td><td class="{tone}">{_escaped_html(status)}</td><td>{proof}</td>'
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table>"


def _proof(state: RunState, one: RequirementView) -> Iterator[str]:
    if one.grade is not None:
        yield f"<strong>{_escaped_html(GRADES[one.grade])}</strong>"
    if one.reason:
        yield _prose(one.reason)
    decided = f"decided by a {state.decider(one.decided_by)}" if one.decided_by else ""
    cited = ", ".join(f'<a href="#{_escaped_html(name)}">{_escaped_html(name)}</a>' for name in one.evidence_ids)
    if decided or cited:
        yield f'<span class="dim">{" · ".join(part for part in (decided, cited) if part)}</span>'


def _decisions(state: RunState) -> Iterator[str]:
    """What stood in for proof, and what was found."""
    labels = {one.id: one.label for one in state.goal.requirements}
    lines = [
        f"{labels[i]} was <strong>waived</strong>: {_escaped_html(said)}"
        for i, said in state.waived.items()
        if i in labels
    ]
    for known in state.present_findings:
        where = f" at {_code_element(f'{known.finding.path}:{known.finding.line + 1}')}" if known.finding.path else ""
        how = f" <strong>Accepted</strong>: {_escaped_html(known.reason)}" if known.accepted else ""
        lines.append(f"{known.id} {_escaped_html(known.finding.kind)}{where}: {_prose(known.finding.message)}{how}")
    lines += [f"{_prose(undone_text(one))}: {_prose(one.finding.message)}" for one in state.undone_findings]
    lines += [f"{_escaped_html(one.code)}: {_prose(one.message)}" for one in state.warnings]
    lines += [
        f"plugin {_code_element(name)} was switched off: {_escaped_html(said)}"
        for name, said in state.plugins.off.items()
    ]
    if lines:
        yield "<h2>Decisions, findings and warnings</h2>"
        yield _bullets(lines)


def _bullets(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _timeline(state: RunState) -> Iterator[str]:
    """Iterations and what people did, in their order."""
    entries: list[tuple[float, str]] = []
    if state.progress.met_before is not None:
        met, total = state.progress.met_before
        entries.append((state.started_at, f"<li><strong>Before the first turn</strong> {_meter(met, total)}</li>"))
    entries += [(one.started_at, _iteration(one, refused_by(state, one.number))) for one in state.progress.iterations]
    for act in state.acts:
        said = f": {_escaped_html(act.said)}" if act.said else ""
        who = f"{_escaped_html(act.person.user)} {FROM[act.person.where]}"
        entries.append((act.at, f"<li><strong>{who}</strong> {_escaped_html(act.what)}{said}{_at(act.at)}</li>"))
    if state.lifecycle.ended:
        tone = "good" if state.lifecycle.end_status == "complete" else ""
        end = _escaped_html(verdict(state).replace("_", " "))
        reason = f": {_prose(said)}" if (said := why_as_told(state)) else ""
        entries.append(
            (state.updated_at, f'<li class="{tone}"><strong>{end}</strong>{reason}{_at(state.updated_at)}</li>')
        )
    if entries:
        yield "<h2>Timeline</h2>"
        yield f'<ol class="timeline">{"".join(line for _, line in sorted(entries, key=lambda one: one[0]))}</ol>'


def _iteration(one: IterationRecord, refused: Sequence[RaisedFinding]) -> str:
    tone = "bad" if one.error or refused else "good" if one.total and one.met == one.total else ""
    told = [f"<strong>Iteration {one.number}</strong> {_meter(one.met, one.total)}"]
    told.append(f'<span class="dim">{one.seconds:.1f} s · {money(one.usage.usd)}</span>{_at(one.started_at)}')
    if one.error:
        told.append(f'<br><span class="bad">failed: {_escaped_html(one.error)}</span>')
    for found in refused:
        where = f" at {_prose(place(found.finding))}" if found.finding.path else ""
        named = f"{found.id} {_escaped_html(found.finding.kind)}{where}"
        told.append(f'<br><span class="bad">refused by {named}</span>: {_prose(found.finding.message)}')
    if one.summary:
        told.append(f"<br>The worker says: {_prose(one.summary)}")
    if one.changed:
        told.append(f"<br>Changed: {_paths(one.changed)}")
    return f'<li class="{tone}">{" ".join(told)}</li>'


def _meter(met: int, total: int) -> str:
    return f'<meter min="0" max="{max(total, 1)}" value="{met}">{met} of {total}</meter> {met} of {total} met'


def _paths(paths: Iterable[str]) -> str:
    return listed([_code_element(path) for path in paths], MAX_PATHS)


def _at(moment: float) -> str:
    return f' <span class="dim">{_escaped_html(when(moment))}</span>'


def _evidence_details(evidence: Mapping[str, Evidence]) -> Iterator[str]:
    if evidence:
        yield "<h2>Evidence</h2>"
    for one in evidence.values():
        seen, tried, told = one.observation, "", ""
        ran = seen.result if isinstance(seen, Trial | AffectedRun) else seen
        if isinstance(seen, Trial):
            tried = f", tried {TRIED[seen.tried]}"
        elif isinstance(seen, AffectedRun):
            tried = ", of some of its tests"
        if isinstance(ran, CheckResult):
            ended, told = _escaped_html(ran.reason or str(ran.outcome)), "".join(_result(ran))
            summary = f"{_code_element(ran.command)}{tried}: {ended}"
        elif isinstance(seen, Trial):
            summary, told = f"{_code_element(seen.command)}{tried}: not run", _escaped_html(seen.reason)
        else:
            summary = _escaped_html(type(seen).__name__)
        # What failed is what a reader came for; a trial may have to fail.
        failed = isinstance(ran, CheckResult) and not ran.passed and not isinstance(seen, Trial)
        identity, revision = _escaped_html(one.id), _code_element(one.revision[:SHORT])
        head = f'<summary>{identity} {summary}</summary><p class="dim">at revision {revision}</p>'
        yield f'<details id="{identity}"{" open" if failed else ""}>{head}{told}</details>'


def _edits(view: RunView) -> Iterator[str]:
    if view.edits:
        yield f"<h2>Changed: {_escaped_html(edits_text(view.edits))}</h2>"
        yield _bullets(f"{_code_element(one.path)} +{one.added} −{one.removed}" for one in view.edits[:MAX_EDITS])
        if len(view.edits) > MAX_EDITS:
            yield f"<p>and {len(view.edits) - MAX_EDITS} more</p>"


def _result(seen: CheckResult) -> Iterator[str]:
    exit_code = "" if seen.exit_code is None else f"exit code {seen.exit_code} · "
    program = f" · {_code_element(Path(seen.program).name)}" if seen.program else ""
    yield f"<p>{exit_code}{seen.seconds:.2f} s{program}</p>"
    if seen.output:
        yield f"<pre>{_escaped_html(end_of(seen.output, MAX_OUTPUT))}</pre>"


def _cost_table(state: RunState) -> Iterator[str]:
    rows: list[str] = []
    for who, usage in (("worker", state.worker_usage), ("judge", state.spend.judge)):
        if usage.tokens or usage.usd != 0:
            tokens = f"{usage.tokens:,}" if usage.tokens or usage.usd is not None else "unknown"
            rows.append(f"<tr><td>{who}</td><td>{tokens}</td><td>{money(usage.usd)}</td></tr>")
    if rows and state.mode == "pursue":
        yield "<h2>Cost</h2>"
        head = "<thead><tr><th></th><th>Tokens</th><th>Cost</th></tr></thead>"
        yield f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _accepted_at_start(state: RunState) -> Iterator[str]:
    if state.options.summary:
        yield "<h2>At the start</h2>"
        yield f"<p>{_escaped_html(ACCEPTED[state.started])}:</p>"
        yield _bullets(_prose(line) for line in state.options.summary.splitlines() if line.strip())
    halt = state.plugins.halt
    if halt is not None and halt.data:
        yield f"<h2>What the plugin {_code_element(halt.plugin)} says</h2>"
        yield f"<pre>{_escaped_html(json.dumps(dict(halt.data), ensure_ascii=False, indent=1))}</pre>"
