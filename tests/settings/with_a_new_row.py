"""Adds one row to the table of settings, as a person would who adds a setting, and shows what each place makes of it.

Run as a module by `test_one_row.py`, in a process of its own: the table is read when the first place is imported.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import sys
from contextlib import redirect_stdout
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

NEW_ROW = """\
    nap: float | Unlimited | None = row(
        kind=kinds.DURATION, unlimited=True, default="20m", examples=("20m", "1h"), meaning="how long a nap takes",
        more="Nobody naps in CI.", also=("siesta",), goal_file=True, of_workspace="may", commands=("run", "check"),
        group=LIMITS, argument="napSeconds", ceiling=True,
    )
    mood: str | None = row(
        kind=choice("wild", "calm"), meaning="how it feels", of_workspace="tighten", commands=("run",), group=SAFETY
    )

    def over(self"""


def load_table() -> ModuleType:
    """`donewhen.settings.table` with the rows."""
    import donewhen.settings

    (folder,) = donewhen.settings.__path__
    path = Path(folder) / "table.py"
    source = path.read_text(encoding="utf-8").replace("    def over(self", NEW_ROW, 1)
    table = importlib.util.module_from_spec(ModuleSpec("donewhen.settings.table", None, origin=str(path)))
    sys.modules["donewhen.settings.table"] = table
    exec(compile(source, path, "exec"), table.__dict__)
    return table


def places(folder: Path) -> dict[str, Any]:
    """What each place makes of the rows."""
    table = load_table()

    from donewhen.cli.parser import build, parse
    from donewhen.goalfile.complete import completions
    from donewhen.goalfile.front_matter import read_front_matter, read_settings
    from donewhen.goalfile.markdown import Layout
    from donewhen.lsp.arguments import RunResume, RunStart
    from donewhen.lsp.goal_view import GoalView
    from donewhen.lsp.hover import goal_hover
    from donewhen.lsp.opening import editor_settings
    from donewhen.lsp.positions import FilePlace
    from donewhen.settings.loading import load_settings

    nothing, user, project = folder / "none.toml", folder / "user.toml", folder / "pyproject.toml"

    def said(front: str) -> Any:
        _, entries, _ = read_front_matter(Layout.of(f"---\n{front}\n---\n"))
        found, problems = read_settings(entries.entries if entries else (), lambda: False)
        return [problem.message for problem in problems] or found.nap

    def labels(marked: str) -> list[str]:
        lines = marked.split("\n")
        return [one.label for one in completions(marked, len(lines) - 1, len(lines[-1]))]

    def in_toml(text: str) -> Any:
        user.write_text(text, encoding="utf-8")
        return load_settings({}, {}, folder, user_file=user)

    from donewhen.goalfile.parse import parse as parse_goal

    parsed = parse_goal("---\nnap: oops\n---\n# T\n")
    text = goal_hover(GoalView("file:///g", FilePlace(folder, "GOAL.md"), parsed, None, parsed.text.split("\n")), 1)
    project.write_text('[tool.donewhen]\nnap = "3h"\nmood = "wild"\n', encoding="utf-8")
    os.environ["XDG_CONFIG_HOME"] = str(folder)
    reached = in_toml('nap = "30m"\nmood = "calm"\n[ceiling]\nnap = "2h"\n')
    project.unlink()
    generator = Path(__file__).parents[2] / "docs" / "scripts" / "generate_settings.py"
    spec = importlib.util.spec_from_file_location("generate_settings", generator)
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    with redirect_stdout(io.StringIO()):
        shown = build()[1]["run"].format_help()
    return {
        "flag": load_settings({"nap": parse(["run", "--nap", "5m"]).nap}, {}, None, user_file=nothing).given.nap,
        "help": re.sub(r"\s+", " ", shown).partition("--nap NAP ")[2].partition(" --")[0],
        "environment": load_settings({}, {"DONEWHEN_NAP": "6m"}, None, user_file=nothing).given.nap,
        "your settings": in_toml('nap = "7m"').configured.nap,
        "a synonym in your settings": [one.message.split(": ")[1] for one in in_toml('siesta = "7m"').warnings],
        "workspace": reached.configured.nap,
        "ceiling": reached.ceiling.nap,
        "only tightened": (reached.configured.mood, [one.code for one in reached.warnings]),
        "editor": editor_settings(folder, {"nap": "8m", "mood": "calm", "workspace": {"mood": "wild"}}).configured.mood,
        "goal file": said("nap: 9m"),
        "a mistake in a goal file": said("nap: 9"),
        "another word in a goal file": said("siesta: 9m"),
        "not of a goal file": said("mood: calm"),
        "keys completed": "nap" in labels("---\nna"),
        "values completed": labels("---\nnap: "),
        "hover": getattr(text.contents if text is not None else None, "value", ""),
        "start": RunStart.model_validate({"goalUri": "x", "napSeconds": 5}).model_dump(by_alias=True)["napSeconds"],
        "resume": "napSeconds" in RunResume.model_json_schema(by_alias=True)["properties"],
        "page": page.page().partition("### nap\n")[2].partition("\n###")[0].strip(),
        "rows": len(table.SETTINGS),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(places(Path(sys.argv[1]))))
