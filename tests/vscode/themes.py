"""The workbench in a theme of each kind, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

THEMES = {
    "Dark Modern": "vscode-dark",
    "Dark High Contrast": "vscode-high-contrast",
    "Light High Contrast": "vscode-high-contrast-light",
    "Light Modern": "vscode-light",
}
"""With what a page says of its kind; the last one is the one that windows open with."""


def in_each_theme(window: Workbench, evaluate: Callable[[str], object]) -> Iterator[str]:
    """The name of each theme, once the page in which `evaluate` runs scripts has taken it on."""
    for theme, kind in THEMES.items():
        window.palette.run("Preferences: Color Theme")
        window.palette.answer(theme)
        window.until(lambda kind=kind: evaluate("() => document.body.dataset.vscodeThemeKind") == kind, theme)
        yield theme
