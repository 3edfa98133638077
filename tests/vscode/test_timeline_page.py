"""The timeline's page, as it is packaged, with a run of a thousand iterations."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
MANY = 1000
HOST = """<!DOCTYPE html><html lang="en"><head><title>Timeline</title></head><body><main id="timeline"></main><script>
  window.sent = [];
  window.acquireVsCodeApi = () => ({
    postMessage: message => window.sent.push(message),
    getState: () => window.kept,
    setState: state => { window.kept = state; },
  });
</script></body></html>"""


def row(number: int) -> dict[str, Any]:
    label, score = f"Iteration {number}", number / MANY if number < MANY else 1
    return {"number": number, "label": label, "facts": f"{number} of {MANY} met", "summary": f"did {number}",
            "point": f"{score:.0%}", "score": score, "usd": 0, "tone": "plain",
            "version": str(number)}  # fmt: skip


def step(state: str, text: str) -> dict[str, Any]:
    return {"id": "x1", "order": 1, "kind": "runs", "lead": "", "title": "run pytest", "state": state, "text": text,
            "diff": "", "cut": True, "uri": None, "added": 0, "removed": 0, "evidenceId": None}  # fmt: skip


def message(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A run as it is told: with its last iterations; all of them in the first message."""
    words = {"facts": "running", "activity": "", "chart": f"{len(rows)} rows", "news": ""}
    timeline = {**words, "before": None, "rows": rows, "underWay": None}
    return {"kind": "run", "runId": "r1", "title": "Export", "hintable": False, "timeline": timeline}


@pytest.fixture
def page(chrome: Browser, vsix: Path) -> Iterator[Page]:
    with zipfile.ZipFile(vsix) as packed:
        style, script = (packed.read(f"extension/dist/timeline/page.{kind}").decode() for kind in ("css", "js"))
    context = chrome.new_context(viewport={"width": 800, "height": 600})
    page = context.new_page()
    page.set_content(HOST)
    page.add_style_tag(content=style)
    page.add_script_tag(content=script)
    post(page, message([row(number) for number in range(1, MANY + 1)]))
    page.get_by_role("heading", name=f"Iteration {MANY}").wait_for()
    yield page
    context.close()


def post(page: Page, told: dict[str, Any]) -> None:
    page.evaluate("told => window.dispatchEvent(new MessageEvent('message', { data: told }))", told)


def test_a_long_run_is_shown_in_parts(page: Page) -> None:
    rows = page.locator("#timeline ol > li")
    assert rows.count() == 100
    more = page.get_by_role("button", name="Show earlier iterations")
    more.focus()
    more.press("Enter")
    assert rows.count() == 200
    assert page.evaluate("document.activeElement.textContent").startswith(f"Iteration {MANY - 100}")

    chart = page.get_by_role("slider")
    chart.focus()
    assert chart.get_attribute("aria-valuemax") == str(MANY)
    chart.press("PageDown")
    assert chart.get_attribute("aria-valuetext") == "Iteration 990: 99%"
    chart.press("Home")
    chart.press("Enter")
    assert rows.count() == MANY
    assert page.evaluate("document.activeElement.textContent").startswith("Iteration 1")
    assert page.evaluate("window.sent.at(-1)") == {"kind": "expand", "runId": "r1", "number": 1}


def test_what_is_new_moves_nothing_that_somebody_reads(page: Page) -> None:
    chosen = page.get_by_role("heading", name="Iteration 950", exact=False).get_by_role("button")
    chosen.focus()
    chosen.press("Enter")
    line = {"lead": "", "text": "calc.py", "note": "", "tone": "plain",
            "evidenceId": None, "uri": "file:///w/calc.py"}  # fmt: skip
    detail = {"kind": "detail", "runId": "r1", "number": 950, "sections": [{"title": "Changed files", "lines": [line]}]}
    post(page, detail)
    page.get_by_role("button", name="calc.py").focus()
    page.evaluate("window.before = document.activeElement")
    where = "Math.round(document.activeElement.getBoundingClientRect().top)"
    top = page.evaluate(where)

    post(page, message([row(MANY + 1)]))
    page.get_by_role("heading", name=f"Iteration {MANY + 1}").wait_for(state="attached")
    assert page.evaluate("document.activeElement === window.before")
    assert page.evaluate(where) == top
    # The open iteration is read again, and says more than before: what had the focus has it still.
    failed = {**line, "lead": "run_command", "text": "b.py", "tone": "bad"}
    longer = {**detail, "sections": [{"title": "Changed files", "lines": [line, failed]}]}
    post(page, longer)
    page.get_by_role("button", name="b.py").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "calc.py"
    assert page.evaluate(where) == top
    # Whoever doesn't see the sign of what failed hears it.
    assert page.locator(".detail li.bad").text_content() == "run_command failed: b.py"


def test_the_table_stays_where_it_was_scrolled_to(page: Page) -> None:
    toggle = page.get_by_role("button", name="Show as table")
    toggle.focus()
    toggle.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Show as chart"
    table = page.get_by_role("region", name="Score and cost of the iterations")
    assert table.get_by_role("row").count() == MANY + 1
    table.focus()
    table.evaluate("e => { e.scrollTop = 5000; }")
    post(page, message([row(MANY + 1)]))
    table.get_by_role("row", name=f"{MANY + 1} ").wait_for(state="attached")
    assert table.evaluate("e => e.scrollTop") == 5000
    assert table.evaluate("e => e === document.activeElement")


def test_a_step_that_goes_on_keeps_its_focus_and_stays_folded_and_a_hint_that_is_typed_stays(page: Page) -> None:
    hintable = {**message([]), "hintable": True}
    post(page, hintable)
    did = {"kind": "steps", "runId": "r1"}
    post(page, {**did, "steps": [step("running", "1\n2\n3")]})
    page.get_by_role("button", name="Show All").focus()
    field = page.get_by_role("textbox")
    field.evaluate("e => { e.value = 'say it'; }")
    # It was short, and now folds: what stands after it is the same button.
    post(page, {**did, "steps": [step("running", "1\n2\n3\n4")]})
    page.locator("li.runs details").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Show All"
    folded = page.locator("li.runs summary")
    folded.focus()
    folded.press("Enter")
    post(page, {**did, "steps": [step("failed", "1\n2\n3\n4\n5")]})
    page.locator("li.runs.failed").wait_for()
    assert page.evaluate("document.activeElement.localName") == "summary"
    assert not page.locator("li.runs details").evaluate("e => e.open")

    field.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("window.sent.at(-1)") == {"kind": "hint", "runId": "r1", "text": "say it"}
    post(page, {"kind": "hinted", "runId": "r1", "text": "no worker", "failed": True})
    assert field.input_value() == "say it"
    post(page, {"kind": "hinted", "runId": "r1", "text": "It reads it next.", "failed": False})
    assert field.input_value() == ""
