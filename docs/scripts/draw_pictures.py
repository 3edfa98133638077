"""Draws the pictures of the docs as SVG: the house from the imports of the source, the others from what they say.

`--check` only says whether they are fresh. Any Python 3.11 or newer: `python docs/scripts/draw_pictures.py`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import fsum
from pathlib import Path

DOCS = Path(__file__).parents[1]
SOURCE = DOCS.parent / "server" / "donewhen"
TARGET = DOCS / "images"

INK, FAINT, PAPER = "#1d2b28", "#5d6f6a", "#fbfcfb"
GREEN, RED, AMBER, BLUE = "#1f8a64", "#c0392b", "#b7791f", "#2b6cb0"
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


class Picture:
    """Shapes on a card of its own colour, which reads on light and dark pages alike."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="{FONT}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" rx="12" fill="{PAPER}"/>',
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="context-stroke"/></marker></defs>',
        ]

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, *, line: str = "none", dashed: bool = False
    ) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" fill="{fill}" stroke="{line}"'
            f"{dash}/>"
        )

    def text(
        self, x: float, y: float, text: str, *, size: float = 13, fill: str = INK, anchor: str = "middle",
        bold: bool = False, mono: bool = False,
    ) -> None:  # fmt: skip
        weight = ' font-weight="600"' if bold else ""
        family = f' font-family="{MONO}"' if mono else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{fill}" text-anchor="{anchor}"{weight}{family}>'
            f"{escape(text)}</text>"
        )

    def lines(self, x: float, y: float, lines: Sequence[str], *, size: float = 12, fill: str = FAINT) -> None:
        for number, line in enumerate(lines):
            self.text(x, y + number * size * 1.35, line, size=size, fill=fill)

    def arrow(
        self, path: str, colour: str = FAINT, *, width: float = 1.6, dashed: bool = False, tip: bool = True
    ) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        marker = ' marker-end="url(#tip)"' if tip else ""
        self._parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dash}{marker}/>')

    def svg(self) -> str:
        return "\n".join([*self._parts, "</svg>", ""])


# ---------------------------------------------------------------------------------------------------- the house

ROLES: Mapping[str, tuple[str, str]] = {
    "front end": ("#dbeafe", "#1e40af"),
    "composition root": ("#ede9fe", "#5b21b6"),
    "adapter": ("#e7eeec", "#2f4a43"),
    "engine": ("#fef3c7", "#92400e"),
    "pure": ("#d1fae5", "#065f46"),
}
PACKAGES: Mapping[str, tuple[str, str]] = {
    "lsp": ("front end", "the language server"),
    "cli": ("front end", "the command line"),
    "mcp": ("front end", "MCP tools"),
    "library": ("front end", "the Python library"),
    "fleet": ("front end", "many goals"),
    "lookalikes": ("front end", "other loops’ shapes"),
    "attempts": ("front end", "one goal, side by side"),
    "app": ("composition root", "puts the parts together"),
    "adapters": ("adapter", "agents of packages"),
    "goalbench": ("front end", "measures judges"),
    "judges": ("adapter", "what no check decides"),
    "workers": ("adapter", "do the work"),
    "wire": ("pure", "snapshot, reports"),
    "engine": ("engine", "the loop"),
    "evidence": ("adapter", "runs the checks"),
    "goalfile": ("pure", "Markdown to goals"),
    "models": ("adapter", "the seam to litellm"),
    "plugins": ("adapter", "the points on pluggy"),
    "store": ("adapter", "the ledger"),
    "tracing": ("adapter", "OpenTelemetry spans"),
    "workspace": ("adapter", "files, processes, rooms"),
    "ports": ("pure", "the engine's protocols"),
    "settings": ("pure", "their table and sources"),
    "core": ("pure", "decides; knows nobody"),
}
"""What a package is, and in a few words what it does; the rest is read from the source."""


def imports() -> dict[str, set[str]]:
    """The packages that each package imports, lazily or for types too. Those in `extras` stand for themselves."""
    folders = {
        one.parent.name: one.parent for depth in ("*", "extras/*") for one in SOURCE.glob(f"{depth}/__init__.py")
    }
    del folders["extras"]
    packages = set(folders)
    found: dict[str, set[str]] = {name: set() for name in packages}
    for name, folder in folders.items():
        for path in folder.rglob("*.py"):
            if "samples" in path.relative_to(folder).parts[:-2]:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                # `from donewhen import core` names the package only in what it takes.
                if modules == ["donewhen"] and isinstance(node, ast.ImportFrom):
                    modules = [f"donewhen.{alias.name}" for alias in node.names]
                parts = (one.removeprefix("donewhen.extras.").removeprefix("donewhen.").split(".") for one in modules)
                found[name].update(part[0] for part in parts)
    return {name: (reached & packages) - {name} for name, reached in found.items()}


def house() -> str:
    graph = imports()
    if set(graph) != set(PACKAGES):
        raise SystemExit(f"say in PACKAGES what these are: {sorted(set(graph) ^ set(PACKAGES))}")
    floors = _floors(graph)
    top = 78
    step, width, height, gap = 90, 136, 52, 10
    wide = max(len(floor) for floor in floors) * (width + gap) + 40
    picture = Picture(wide, top + step * len(floors) - 20, "The packages of Done When, each above what it imports")
    picture.text(24, 34, "The house", size=17, bold=True, anchor="start")
    picture.text(
        24,
        54,
        "A package imports what lies below it. Arrows that others imply are left out. Dashed: extras.",
        size=12,
        fill=FAINT,
        anchor="start",
    )
    x = wide - 24.0
    for role, (fill, ink) in reversed(ROLES.items()):
        x -= 7.2 * len(role) + 30
        picture.box(x, 22, 14, 14, fill, line=ink)
        picture.text(x + 20, 34, role, size=12, fill=FAINT, anchor="start")
    place: dict[str, tuple[float, float]] = {}
    for number, floor in enumerate(reversed(floors)):
        room = wide / len(floor)
        # Few packages stand close together in the middle.
        room = min(room, width + 60)
        left = (wide - room * len(floor)) / 2
        for index, name in enumerate(floor):
            place[name] = (left + room * (index + 0.5), top + number * step)
    for name in sorted(graph):
        for target in sorted(_direct(name, graph)):
            (x1, y1), (x2, y2) = place[name], place[target]
            middle = (y1 + height + y2) / 2
            ink = ROLES[PACKAGES[name][0]][1]
            picture.arrow(
                f"M{x1:g} {y1 + height:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}", ink + "88", width=1.3
            )
    for name, (x, y) in place.items():
        role, does = PACKAGES[name]
        fill, ink = ROLES[role]
        is_extra = (SOURCE / "extras" / name).is_dir()
        picture.box(x - width / 2, y, width, height, fill, line=ink, dashed=is_extra)
        picture.text(x, y + 22, name, size=14, fill=ink, bold=True, mono=True)
        picture.text(x, y + 40, does, size=10.5, fill=INK)
    return picture.svg()


def _floors(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """From the ground up: each package as high as those that import it allow, ordered so that few arrows cross."""
    depth: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((of(target) for target in graph[name]), default=-1)
        return depth[name]

    for name in sorted(graph, key=lambda name: (-of(name), name)):
        users = [depth[user] for user in graph if name in graph[user]]
        depth[name] = min(users) - 1 if users else depth[name]
    floors: list[list[str]] = [[] for _ in range(1 + max(depth.values()))]
    for name in sorted(graph):
        floors[depth[name]].append(name)
    spot: dict[str, float] = {}
    for floor in floors:
        floor.sort(key=lambda name: (_mean([spot[target] for target in _direct(name, graph)]), name))
        for index, name in enumerate(floor):
            spot[name] = (index + 0.5) / len(floor)
    return floors


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else 0.5  # whatever order they come in


def _direct(name: str, graph: Mapping[str, set[str]]) -> set[str]:
    """What a package imports and reaches by nothing else that it imports."""

    def beyond(one: str) -> set[str]:
        return {far for target in graph[one] for far in {target} | beyond(target)}

    return graph[name] - {far for target in graph[name] for far in beyond(target)}


# --------------------------------------------------------------------------------------------- evidence, not words


def evidence() -> str:
    picture = Picture(
        860, 350, "What reaches the verdict: evidence that the server observed, and not the worker's words"
    )

    def part(x: float, y: float, name: str, lines: Sequence[str], fill: str, ink: str, width: float = 170) -> None:
        picture.box(x, y, width, 76, fill, line=ink)
        picture.text(x + width / 2, y + 27, name, bold=True, fill=ink, size=15)
        picture.lines(x + width / 2, y + 47, lines, size=12)

    part(30, 40, "worker", ["an agent, a command,", "a person"], "#dbeafe", "#1e40af")
    part(30, 210, "files", ["the workspace,", "at a revision"], "#e7eeec", "#2f4a43")
    part(345, 210, "server", ["runs the checks,", "reads, compares"], "#d1fae5", "#065f46")
    part(660, 210, "verdict", ["met, unmet,", "unverified"], "#fef3c7", "#92400e")
    part(660, 40, "reader", ["you"], "#f3f4f6", FAINT)
    picture.arrow("M115 116V206", BLUE)
    picture.text(125, 165, "edits", anchor="start", fill=BLUE)
    picture.arrow("M200 248H341", GREEN)
    picture.text(270, 238, "observed", fill=GREEN)
    picture.arrow("M515 248H656", GREEN)
    picture.text(586, 238, "evidence", fill=GREEN)
    picture.arrow("M200 78H656", FAINT, dashed=True)
    picture.text(428, 68, "“All tests pass.”", size=15)
    picture.text(428, 98, "kept to be read; counts for nothing", fill=FAINT, size=12)
    picture.arrow("M745 286V322H14V78H27", RED)
    picture.text(380, 314, "what is unproven, why and where: the next prompt", fill=RED, size=12)
    picture.arrow("M430 106V196", RED, dashed=True, tip=False)
    picture.text(430, 158, "✕", fill=RED, size=22, bold=True)
    return picture.svg()


# -------------------------------------------------------------------------------------------------------- trials


def trials() -> str:
    shown = (
        ("original", "start", "now", "must pass", "Was a test weakened?", GREEN),
        ("reverted", "now", "start", "must fail", "Do new tests need the work?", RED),
        ("planted", "now + a failing test", "now", "must report it", "Does the runner tell?", AMBER),
        ("control", "now", "now", "must pass", "Is the room at fault?", GREEN),
    )
    picture = Picture(900, 270, "Four trials: which version of proof and product each combines, and what it must show")
    for number, (name, proof, product, must, question, colour) in enumerate(shown):
        x = 20 + number * 218
        picture.box(x, 20, 206, 230, "#ffffff", line="#cdd8d5")
        picture.text(x + 103, 50, name, size=16, bold=True, mono=True)
        picture.text(x + 103, 72, question, size=12, fill=FAINT)
        for row, (what, version) in enumerate((("proof", proof), ("product", product))):
            old = version == "start"
            y = 88 + row * 56
            picture.box(x + 18, y, 170, 46, "#f5e9d3" if old else "#d1fae5", line=AMBER if old else GREEN)
            picture.text(x + 103, y + 19, what, size=12, fill=FAINT)
            said = "as at the start" if old else ("as it is now" if version == "now" else version)
            picture.text(x + 103, y + 36, said, size=13, bold=True)
        picture.text(x + 103, 230, must, size=15, bold=True, fill=colour)
    return picture.svg()


def room() -> str:
    picture = Picture(760, 300, "A room: layers over the workspace, at the workspace's own path")
    layers = (
        ("what the check writes", "thrown away when the room closes", "#fee2e2", RED),
        ("files of another version", "the tests of the start; files that came are hidden", "#f5e9d3", AMBER),
        ("the workspace", "as it is, ignored files too; never changed", "#d1fae5", GREEN),
    )
    for number, (name, about, fill, ink) in enumerate(layers):
        y = 60 + number * 66
        x = 40 + number * 18
        picture.box(x, y, 400, 54, fill, line=ink)
        picture.text(x + 200, y + 23, name, size=14, bold=True)
        picture.text(x + 200, y + 42, about, size=12, fill=FAINT)
    picture.text(240, 40, "/home/me/shop, seen from inside", mono=True, size=13)
    picture.arrow("M505 60H520V246H505", FAINT, tip=False)
    picture.text(545, 80, "and around it", size=14, bold=True, anchor="start")
    for number, line in enumerate(
        (
            "home folder: toolchains only",
            "temporary folders: fresh",
            "everything else: read-only",
            "keys, the ledger: out of sight",
            "network: off",
            "processes: its own alone",
        )
    ):
        picture.text(545, 106 + number * 24, line, size=12.5, fill=FAINT, anchor="start")
    picture.text(240, 282, "Opened in milliseconds: nothing is copied.", size=12.5, fill=FAINT)
    return picture.svg()


PICTURES: Mapping[str, Callable[[], str]] = {
    "house.svg": house, "evidence.svg": evidence, "trials.svg": trials, "room.svg": room,
}  # fmt: skip


def main() -> int:
    stale: list[str] = []
    for name, draw in PICTURES.items():
        path, text = TARGET / name, draw()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8", newline="\n")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"not fresh in docs/images: {', '.join(stale)}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
