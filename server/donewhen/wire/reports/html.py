"""The receipt as a page: one file that opens without a network, can be printed, and runs nothing.

It is the Markdown receipt, with the goal in full, nothing folded away, and all that happened in its order. No HTML
passes but the receipt's own, and a policy in the page's head forbids scripts and anything from elsewhere.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from donewhen.core import markdown
from donewhen.core.evidence import Evidence
from donewhen.core.people import REFUSED
from donewhen.core.state import IterationRecord, RunState
from donewhen.core.verdict import RequirementView
from donewhen.core.words import listed, money
from donewhen.core.work import WEAK_JUDGE
from donewhen.engine.api import RunView
from donewhen.wire.reports.markdown import (
    act_text,
    code,
    deciding,
    gathered,
    headline,
    joined,
    place,
    plain_line,
    refused_by,
    section,
    verdict,
    when,
    why_as_told,
    without_hidden,
)

MAX_PATHS = 20
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_OWN = re.compile(r"</?(details|sub)>|<summary>[^<>]*</summary>")
"""The only HTML of a receipt."""

STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #6b7280; --good: #15803d; --bad: #b91c1c; --open: #a16207; }
@media (prefers-color-scheme: dark) { :root { --dim: #9ca3af; --good: #4ade80; --bad: #f87171; --open: #facc15; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.5rem; margin-bottom: .25rem; }
h3 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
h2 code, h3 code { font-size: inherit; }
h2 + p { font-size: 1.1rem; }
.good > h2 + p strong { color: var(--good); } .bad > h2 + p strong { color: var(--bad); }
.open > h2 + p strong { color: var(--open); }
sub { color: var(--dim); vertical-align: baseline; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .5rem; border-bottom: 1px solid var(--line); }
td, li, p, summary { overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); padding: .5rem; max-height: 30rem;
  overflow: auto; }
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
    heading, *decided = deciding(view, evidence)
    objective = without_hidden(_QUOTED.sub("", state.goal.objective))
    goal = [markdown.prose(objective)] if state.goal.objective != state.goal.title else []
    sections = [
        heading,
        goal,
        *decided,
        section("Warnings", _other_warnings(state)),
        section("Timeline", _timeline(state)),
        *gathered(view, evidence, history=False),
    ]
    # The marks without width that keep a forge from mentioning people are not needed here.
    body = _markdown().render(joined(sections)).replace("\u200b", "")
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
            f"<title>{html.escape(without_hidden(f'{state.goal.title}: {headline(view)}'))}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            f'<body class="{_tone(view)}">',
            body,
            "</body>",
            "</html>",
            "",
        ]
    )


def _markdown() -> MarkdownIt:
    reader = (
        MarkdownIt("commonmark", {"html": True}).enable("table").disable(["link", "image", "autolink", "reference"])
    )
    for kind in ("html_block", "html_inline"):
        reader.add_render_rule(kind, _own_html)
    return reader


def _own_html(_: object, tokens: Any, at: int, *__: object) -> str:
    """The receipt's own HTML, unfolded; should any other have come through, it is shown as text."""
    written: str = tokens[at].content
    if all(_OWN.fullmatch(line) for line in written.splitlines() if line.strip()):
        return written.replace("<details>", "<details open>")
    return html.escape(written)


def _tone(view: RunView) -> str:
    if view.stale:
        return "open"

    def good(one: RequirementView) -> bool:
        return one.status == "met" and not one.refused and not one.on_a_persons_word

    return "good" if all(map(good, view.views)) and not view.state.lifecycle.broken else "bad"


def _other_warnings(state: RunState) -> list[str]:
    """Those that no other section is about."""
    shown = (WEAK_JUDGE, REFUSED, "rooms")
    return [f"- {plain_line(one.code)}: {plain_line(one.message)}" for one in state.warnings if one.code not in shown]


def _timeline(state: RunState) -> list[str]:
    """Iterations, what people did, and the end, in their order."""
    entries: list[tuple[float, str]] = []
    if state.progress.met_before is not None:
        met, total = state.progress.met_before
        entries.append((state.started_at, f"**Before the first turn**: {met} of {total} met"))
    entries += [(one.started_at, "; ".join(_iteration(state, one))) for one in state.progress.iterations]
    entries += [(act.at, act_text(act)) for act in state.acts]
    if state.lifecycle.ended:
        reason = plain_line(why_as_told(state))
        entries.append((state.updated_at, f"**{verdict(state).replace('_', ' ')}**: {reason}".removesuffix(": ")))
    return [f"1. {text} ({when(at)})" for at, text in sorted(entries, key=lambda one: one[0])]


def _iteration(state: RunState, one: IterationRecord) -> Iterator[str]:
    took = f"{one.seconds:.1f} s · {money(one.usage.usd)}"
    yield f"**Iteration {one.number}**: {one.met} of {one.total} met · {took}"
    if one.error:
        yield f"❌ failed: {plain_line(one.error)}"
    for found in refused_by(state, one.number):
        where = f"{found.id} {found.finding.kind} at {place(found.finding)}"
        yield f"⛔ refused by {where}: {plain_line(found.finding.message)}"
    if one.summary:
        yield f"the worker says: {plain_line(one.summary)}"
    if one.changed:
        yield f"changed {listed([code(path) for path in one.changed], MAX_PATHS)}"
