"""What a person sees first: the walkthrough, and the extension's page where nothing can be fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PICTURES = """() => [...document.images].filter(e => e.naturalWidth > 300 && e.alt)
    .map(e => [e.alt, e.getBoundingClientRect().width, innerWidth])"""
STEPS = ("Set a goal", "Start it", "See what is missing", "Let an agent do the work")


def test_the_walkthrough_fits_beside_the_side_bar_and_shows_its_pictures_without_it(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    window = open_window(server, tmp_path)
    window.palette.run("Welcome: Open Walkthrough...")
    window.palette.pick("Reach your first goal")
    page = window.page
    steps = page.locator(".getting-started-step")
    steps.first.wait_for()
    assert page.viewport_size == {"width": 1280, "height": 800}
    edges = window.screen.read(".getting-started-step", "e.getBoundingClientRect().right")
    assert len(edges) == len(STEPS)
    assert max(edges) <= 1280
    page.get_by_text("hide the side bar", exact=True).click()
    pictures: list[str] = []
    for title in STEPS:
        page.locator(".getting-started-step .step-title", has_text=title).click()

        def drawn(title: str = title) -> bool:
            for found in window.in_frames(PICTURES):
                for alt, width, room in found:
                    if alt not in pictures and 200 < width <= room:
                        pictures.append(alt)
                        return True
            return False

        window.until(drawn, f"a picture of {title!r}")
    assert len(pictures) == len(STEPS)


def test_the_page_of_the_extension_says_it_without_a_picture(
    server: CodeServer, open_window: Opener, tmp_path: Path
) -> None:
    window = open_window(server, tmp_path)
    window.palette.run("View: Show Extensions")
    window.page.locator(".extensions-viewlet .monaco-list-row", has_text="Done When").first.click()

    def said() -> str:
        texts = window.in_frames("() => document.body?.innerText ?? ''")
        return next((text for text in texts if "Quick start" in text), "")

    text = window.until(said, "the page")
    for promise in ("✔ met", "✘ unmet", "vscode.dev and github.dev", "Linux x64 and arm64"):
        assert promise in text
    assert {url.split("/")[-1] for url in window.outside} <= {
        "first-goal.png",
        "set-goal.png",
        "timeline.png",
        "interrupt.png",
        "consent.png",
    }
    # None of them was let through: what the page says, it says all the same.
    window.outside.clear()
