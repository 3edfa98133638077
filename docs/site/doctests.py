"""Examples in docstrings (`>>> `) as blocks of code: Markdown would take them for quotations."""

from __future__ import annotations

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Fences each run of lines from a prompt to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = "\n".join(_fenced(obj.docstring.value.splitlines()))


def _fenced(lines: list[str]) -> list[str]:
    found: list[str] = []
    inside = False
    for line in [*lines, ""]:
        if not inside and line.lstrip().startswith(">>> "):
            found += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            found += ["```"]
            inside = False
        found.append(line.strip() if inside and line.lstrip().startswith((">>>", "...")) else line)
    return found
